"""HQM's tables, as printed: correlations, shares and ratios, none in percent.

Scores that end in `_parallel` are from the parallel test.
"""

from pathlib import Path

from halluscope.reporting.published_table import PublishedTable

FOLDER = Path(__file__).parent / "published"

SOURCE = "Yan et al., Measuring the Measurers"
URL = "https://github.com/HQHBench/HQHBench"

TABLES = (
    PublishedTable(
        file=FOLDER / "hqm.csv",
        title="HQM: how far hallucination benchmarks can be believed",
        source=f"{SOURCE}, Table I",
        url=URL,
        facts=("task", "metric"),
        lists=("types",),  # the types of hallucination that a benchmark asks for
        not_in_percent=("test_retest", "parallel_forms", "content", "criterion"),
    ),
    PublishedTable(
        file=FOLDER / "hqm_yes_ratios.csv",
        title="HQM: yes ratios in the original and the parallel test",
        source=f"{SOURCE}, Table II",
        url=URL,
        facts=("benchmark",),
        not_in_percent=("accuracy", "yes_ratio", "accuracy_parallel", "yes_ratio_parallel"),
    ),
    PublishedTable(
        file=FOLDER / "hqm_lengths.csv",
        title="HQM: CHAIR or OCH, and words per response, in the original and the parallel test",
        source=f"{SOURCE}, Table III",
        url=URL,
        facts=("benchmark",),
        not_in_percent=("hallucination", "words", "hallucination_parallel", "words_parallel"),
    ),
    PublishedTable(
        file=FOLDER / "hqm_leaderboards.csv",
        title="HQM: the first five models in the original, repeated and parallel tests",
        source=f"{SOURCE}, Figure 3",
        url=URL,
        facts=("benchmark", "metric", "test"),
        not_in_percent=("rank", "score"),
    ),
)
