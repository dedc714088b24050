"""Builds the dataset humblebench from the authors' table."""

from pathlib import Path
from typing import Any

from halluscope.benchmarks.humblebench.data import QUESTIONS, counts, features
from halluscope.building.command import Builder
from halluscope.building.output import Order


def make(order: Order) -> Path:
    """Build humblebench."""
    out = order.target()
    source = order.fetch("questions")
    rows = QUESTIONS.read_upstream(source.path)
    written: list[dict[str, Any]] = []
    for row in rows:
        columns_of_row = row.row
        columns_of_row["image"] = row.file_name
        written.append(columns_of_row)
    return order.write(out, written, features(with_image=True), counts(rows), {"questions": source})


BUILDER = Builder(
    "humblebench",
    about="""Builds humblebench: 22,831 questions with five choices.

    halluscope build humblebench --source TABLE --images FOLDER

TABLE is the authors' table as Parquet, csv or JSON lines, with question_id, file_name, type, question (with its
choices) and label. The authors' table was not at hand when this was written: its checksum is not known.
""",
    source="the authors' table, with question_id, file_name, type, question and label",
    images="the folder of the images (default: no column `image`)",
    make=make,
)
