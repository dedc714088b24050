"""Builds mmhal: 96 free-form questions of eight types about images of OpenImages."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from halluscope.benchmarks.mmhal.data import QUESTIONS, TYPES, Question
from halluscope.building.command import Builder
from halluscope.building.output import Order


def counts(rows: Sequence[Question]) -> dict[str, int]:
    """Return the counts that the dataset's spec states."""
    types = Counter(row.type for row in rows)
    numbers = {"questions": len(rows)}
    for name in TYPES:
        numbers[name] = types[name]
    numbers["images"] = len({row.image_id for row in rows})
    numbers["topics"] = len({row.topic for row in rows})
    return numbers


def make(order: Order) -> Path:
    return order.build_rows(QUESTIONS, image_of, counts)


def image_of(row: Question) -> str | None:
    """Return the name of a row's photograph in the authors' folder; None if it is not known."""
    return row.file_name


BUILDER = Builder(
    "mmhal",
    about="""Builds mmhal: 96 free-form questions of eight types about images of OpenImages.

    halluscope build mmhal --source response_template.json
    halluscope build mmhal --source test_data.zip --images test_data.zip

Both are on the Hub in Shengcao1006/MMHal-Bench; the zip holds the questions and the photographs. Without --images
there is no column `image`; `image_url` tells where each photograph was published.
""",
    source="response_template.json, or a folder or zip that holds it",
    images="the folder of the photographs, or a zip that holds images/ (default: no column `image`)",
    make=make,
)
