"""MME's scores, as printed, in points."""

from pathlib import Path

from halluscope.reporting.published_table import PublishedTable

FOLDER = Path(__file__).parent / "published"

TABLES = (
    PublishedTable(
        file=FOLDER / "mme.csv",
        source="README of the authors' eval_tool (LaVIN); Liu et al., Improved Baselines (LLaVA-1.5)",
        url="https://arxiv.org/abs/2306.13394",
        facts=("printed_by",),
        not_in_percent=(
            "perception",
            "cognition",
            "score/existence",
            "score/count",
            "score/position",
            "score/color",
        ),
        highest=2000,
    ),
)
