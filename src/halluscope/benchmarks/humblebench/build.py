"""Builds the dataset humblebench from the authors' table."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from halluscope.benchmarks.humblebench.data import QUESTIONS, TYPES, Question
from halluscope.building.command import Builder
from halluscope.building.output import Order


def counts(rows: Sequence[Question]) -> dict[str, int]:
    """Return the counts that the dataset's spec may state."""
    types = Counter(row.type for row in rows)
    numbers = {"questions": len(rows)}
    for name in TYPES:
        numbers[name] = types[name]
    numbers["images"] = len({row.file_name for row in rows})
    return numbers


def make(order: Order) -> Path:
    return order.build_rows(QUESTIONS, image_of, counts)


def image_of(row: Question) -> str | None:
    """Return the name of a row's image; None if it has none."""
    return row.file_name


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
