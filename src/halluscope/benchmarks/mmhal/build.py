"""Builds mmhal: 96 free-form questions of eight types about images of OpenImages."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from datasets import Image, List, Value

from halluscope.benchmarks.mmhal.rows import TYPES, RatedQuestion, read_all
from halluscope.building import images, question_list
from halluscope.building.command import Builder, Order
from halluscope.building.parquet import Table
from halluscope.files.opening import Readable


def read(file: Readable) -> list[RatedQuestion]:
    """Read response_template.json, and number the questions in the order of the file.

    Raises:
        BuildError: for a file in another format, a broken row or an unknown type.
    """
    return question_list.read(file, read_all, "questions: response_template.json")


def counts(questions: Sequence[RatedQuestion]) -> dict[str, Any]:
    """Return the counts that stats.json gives for the rows."""
    of_type = Counter(question.type for question in questions)
    return {
        "questions": len(questions),
        **{name: of_type[name] for name in TYPES},
        "topics": len({question.topic for question in questions}),
        "images": len({question.image_id for question in questions}),
    }


COLUMNS = {
    "id": Value("int64"),
    "image_id": Value("string"),
    "file_name": Value("string"),
    "image": Image(),
    "image_url": Value("string"),
    "question": Value("string"),
    "answer": Value("string"),
    "type": Value("string"),
    "topic": Value("string"),
    "contents": List(Value("string")),
}


def table(questions: Sequence[RatedQuestion], split: str, folder: Readable | None) -> Table:
    """Return the rows to write, with images if there is a folder to read them from."""
    return question_list.table(
        questions, COLUMNS, lambda one: one.row, lambda one: one.file_name, split, folder
    )


def make(order: Order) -> Path:
    """Build mmhal.

    Args:
        order: the requested build.

    Raises:
        BuildError: for a file that is not the authors' response_template.json.
    """
    out = order.target()
    sources = {"questions": order.fetch("questions")}
    rows = read(sources["questions"].path)
    check, rows_of = (
        partial(images.check_all, {one.file_name for one in rows if one.file_name}),
        partial(table, rows),
    )
    return question_list.write(order, out, counts(rows), sources, check, rows_of)


BUILDER = Builder(
    name="mmhal",
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
