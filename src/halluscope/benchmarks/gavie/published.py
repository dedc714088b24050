"""GAVIE's leaderboard, as printed: scores from 0 to 10.

According to the README, GPT4-32k-0314 acts as the teacher who gives the scores.
"""

from pathlib import Path

from halluscope.reporting.published_table import PublishedTable

FOLDER = Path(__file__).parent / "published"

TABLES = (
    PublishedTable(
        file=FOLDER / "gavie.csv",
        source="Liu et al., leaderboard in the README of LRV-Instruction",
        url="https://github.com/FuxiaoLiu/LRV-Instruction",
        facts=("judged_by",),
        not_in_percent=("relevancy", "accuracy"),
        highest=10,
    ),
)
