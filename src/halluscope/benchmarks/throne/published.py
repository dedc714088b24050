"""The papers' tables about THRONE, as printed: in percent, except the columns that are named."""

from pathlib import Path

from halluscope.reporting.published_table import PublishedTable

FOLDER = Path(__file__).parent / "published"

SOURCE = "Kaul et al., THRONE, CVPR 2024"
URL = "https://arxiv.org/abs/2405.05256"

TABLES = (
    # LLaVA-Mistral: the F of its class averages would be 72.9 and 79.4; the printed ones average each class's F
    # (class_f = "mean").
    PublishedTable(
        file=FOLDER / "throne_coco.csv",
        source=f"{SOURCE}, Table 1",
        url=URL,
        facts=("judged_by", "convention"),
        not_in_percent=("median_characters",),
    ),
    PublishedTable(
        file=FOLDER / "throne_objects365.csv",
        source=f"{SOURCE}, Table 2",
        url=URL,
        facts=("judged_by",),
    ),
)
