"""The papers' tables about HallusionBench, as printed: in percent, except the columns that are named."""

from pathlib import Path

from halluscope.reporting.published_table import PublishedTable

FOLDER = Path(__file__).parent / "published"

SOURCE = "Guan et al., HallusionBench, CVPR 2024"
URL = "https://arxiv.org/abs/2310.14566"

TABLES = (
    PublishedTable(
        file=FOLDER / "hallusionbench.csv",
        source=f"{SOURCE}, Tables 2 and 3",
        url=URL,
        facts=("parameters", "judged_by"),
        not_in_percent=("pct_diff", "fp_ratio"),
    ),
    PublishedTable(
        file=FOLDER / "hallusionbench_leaderboard.csv",
        source="The leaderboard in the README of the authors' repository, ranked by overall, at commit 744007c (2025)",
        url="https://github.com/tianyi-lab/HallusionBench",
        facts=("date",),
        dataset="hallusionbench",
    ),
)
