"""HaloQuest's leaderboard, as printed, in percent.

Each model was judged twice, by people and by a model (Auto-Eval). The scores of the first three models fit 348
questions (221 generated, 127 real), not 608. The rows of InstructBLIP (8B) have the values of visual challenge and
insufficient context swapped, compared with those of InstructBLIP (12B).
"""

from pathlib import Path

from halluscope.reporting.published_table import PublishedTable

FOLDER = Path(__file__).parent / "published"

TABLES = (
    PublishedTable(
        file=FOLDER / "haloquest.csv",
        source=(
            "Table in the authors' README (Wang et al., HaloQuest); its rows of May 2024 fit 348 questions, not 608"
        ),
        url="https://github.com/google/haloquest",
        facts=("size", "judged_by", "when"),
    ),
)
