"""HQM's Table I, as printed: correlations and shares, none in percent."""

from pathlib import Path

from halluscope.reporting.published_table import PublishedTable

FOLDER = Path(__file__).parent / "published"

TABLES = (
    PublishedTable(
        file=FOLDER / "hqm.csv",
        source="Yan et al., Measuring the Measurers, Table I",
        url="https://github.com/HQHBench/HQHBench",
        facts=("task", "metric"),
        not_in_percent=("test_retest", "parallel_forms", "content", "criterion"),
    ),
)
