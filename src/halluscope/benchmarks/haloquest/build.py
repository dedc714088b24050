"""Builds haloquest: 608 free-form questions about generated and real images.

A row holds a question, the answers that people wrote, its type, and the address where its image was published.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from datasets import Image, List, Value

from halluscope.benchmarks.haloquest.rows import PARTS, HaloQuestion, read_upstream
from halluscope.building import images, question_list
from halluscope.building.command import Builder, Order
from halluscope.building.parquet import Table
from halluscope.files.opening import Readable


def counts(questions: Sequence[HaloQuestion]) -> dict[str, Any]:
    """Return the counts that stats.json gives for the rows."""
    of = Counter(part for question in questions for part in question.parts)
    return {
        "questions": len(questions),
        **{name: of[name] for name in PARTS},
        "images": len({question.file_name for question in questions}),
        "with_one_answer": sum(len(question.answers) == 1 for question in questions),
    }


COLUMNS = {
    "id": Value("int64"),
    "file_name": Value("string"),
    "image": Image(),
    "image_type": Value("string"),
    "type": Value("string"),
    "question": Value("string"),
    "answers": List(Value("string")),
    "url": Value("string"),
}


def table(questions: Sequence[HaloQuestion], split: str, folder: Readable | None) -> Table:
    """Return the rows to write, with images if there is a folder to read them from."""
    return question_list.table(
        questions, COLUMNS, lambda one: one.row, lambda one: one.file_name, split, folder
    )


def make(order: Order) -> Path:
    """Build haloquest.

    Raises:
        BuildError: for a file that is not from HaloQuest's authors, or an image that cannot be decoded.
    """
    out = order.target()
    sources = {"questions": order.fetch("questions")}
    rows = read_upstream(sources["questions"].path)
    check, rows_of = partial(images.check_all, {one.file_name for one in rows}), partial(table, rows)
    return question_list.write(order, out, counts(rows), sources, check, rows_of)


BUILDER = Builder(
    name="haloquest",
    about="""Builds haloquest: 608 free-form questions about generated and real images.

    halluscope build haloquest                                      # downloads the questions, 0.2 MB; no images
    halluscope build haloquest --source haloquest-eval.csv --images images

The authors publish the address of each image (column `url`), not the images. Put the images that you may use into one
folder, under their names (column `file_name`). With --only-images-present, a missing image is null.
""",
    source="haloquest-eval.csv, or a folder that holds it (default: download)",
    images="the folder of the images under their names, or a zip of it (default: no column `image`)",
    make=make,
)
