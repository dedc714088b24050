"""LLaVA-Bench's scores, as printed, in percent of the ratings of GPT-4's answers."""

from pathlib import Path

from halluscope.reporting.published_table import PublishedTable

FOLDER = Path(__file__).parent / "published"

TABLES = (
    PublishedTable(
        file=FOLDER / "llava_bench.csv",
        source="Table in the authors' Model Zoo",
        url="https://github.com/haotian-liu/LLaVA/blob/main/docs/MODEL_ZOO.md",
        not_in_percent=("score", "score/conv", "score/detail", "score/complex"),
        highest=1000,
    ),
)
