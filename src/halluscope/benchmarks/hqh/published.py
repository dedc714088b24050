"""HQH's results, as printed: fractions, and a number of claims per response; none is in percent."""

from pathlib import Path

from halluscope.reporting.published_table import PublishedTable

FOLDER = Path(__file__).parent / "published"

TABLES = (
    PublishedTable(
        file=FOLDER / "hqh.csv",
        source="Yan et al., Measuring the Measurers, Table IV",
        url="https://github.com/HQHBench/HQHBench",
        facts=("judged_by",),
        not_in_percent=(
            "main_hal/object",
            "main_hal/attribute",
            "main_hal/scene",
            "main_hal",
            "extra_hal",
            "overall_hal",
        ),
    ),
)
