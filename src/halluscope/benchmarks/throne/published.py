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
        title="THRONE on COCO",
        source=f"{SOURCE}, Table 1",
        url=URL,
        facts=("judged_by", "convention"),
        not_in_percent=("median_characters",),
    ),
    PublishedTable(
        file=FOLDER / "throne_objects365.csv",
        title="THRONE on Objects365",
        source=f"{SOURCE}, Table 2",
        url=URL,
        facts=("judged_by",),
    ),
    PublishedTable(
        file=FOLDER / "throne_votes.csv",
        title="THRONE on COCO by the number of agreeing votes",
        source=f"{SOURCE}, supplement, Table 1",
        url=URL,
        facts=("judged_by", "agreement"),
    ),
    PublishedTable(
        file=FOLDER / "throne_sampling.csv",
        title="THRONE on COCO, on all cells and on those that POPE samples",
        source=f"{SOURCE}, supplement, Table 2",
        url=URL,
        facts=("judged_by", "cells"),
    ),
    PublishedTable(
        file=FOLDER / "throne_against_chair.csv",
        title="THRONE against CHAIR: judgements that people found wrong",
        source=f"{SOURCE}, supplement, Table 3",
        url=URL,
        facts=("where",),
        not_in_percent=("responses", "evaluated", "judgements", "errors"),
    ),
    PublishedTable(
        file=FOLDER / "throne_false_positives.csv",
        title="What people found THRONE's false positives to be",
        source=f"{SOURCE}, supplement, Table 4",
        url=URL,
        not_in_percent=("evaluated", "false_positives", "hallucinations", "misclassifications"),
    ),
)
