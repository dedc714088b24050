"""MMHal-Bench's published run, as printed: ratings from 0 to 6, and a fraction.

The dataset's card shows only this run of the authors' script, on its default file, responses/idefics_80b.json. The
paper's table is missing here, because the paper was not available.
"""

from pathlib import Path

from halluscope.reporting.published_table import PublishedTable

FOLDER = Path(__file__).parent / "published"

TABLES = (
    PublishedTable(
        file=FOLDER / "mmhal.csv",
        source="Sun et al., the card of their dataset",
        url="https://huggingface.co/datasets/Shengcao1006/MMHal-Bench",
        facts=("judged_by",),
        not_in_percent=(
            "rating",
            "hallucination_rate",
            "rating/attribute",
            "rating/adversarial",
            "rating/comparison",
            "rating/counting",
            "rating/relation",
            "rating/environment",
            "rating/holistic",
            "rating/other",
        ),
        highest=6,
    ),
)
