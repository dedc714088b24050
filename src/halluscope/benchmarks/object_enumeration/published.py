"""The papers' tables about LLaVA trained and asked with object enumeration, as printed, in percent."""

from pathlib import Path

from halluscope.reporting.published_table import PublishedTable

FOLDER = Path(__file__).parent / "published"

SOURCE = "Kaul et al., THRONE, CVPR 2024"
URL = "https://arxiv.org/abs/2405.05256"

TABLES = (
    PublishedTable(
        file=FOLDER / "object_enumeration.csv",
        title="Training and asking LLaVA with object enumeration",
        source=f"{SOURCE}, Table 3",
        url=URL,
        facts=("enumeration",),
    ),
    PublishedTable(
        file=FOLDER / "object_enumeration_ablation.csv",
        title="Object enumeration without negatives, and without the first turn",
        source=f"{SOURCE}, supplement, Table 5",
        url=URL,
        facts=("enumeration", "negatives", "first_turn"),
    ),
)
