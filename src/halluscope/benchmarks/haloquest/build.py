"""Builds haloquest: 608 free-form questions about generated and real images."""

from collections.abc import Sequence
from pathlib import Path

from halluscope.benchmarks.haloquest.data import QUESTIONS, Question, groups_of
from halluscope.building.command import Builder
from halluscope.building.output import Order


def counts(rows: Sequence[Question]) -> dict[str, int]:
    """Return the counts that the dataset's spec states."""
    numbers = {"questions": len(rows)}
    for name, is_in in groups_of(rows).items():
        if "/" not in name:
            numbers[name] = int(is_in.sum())
    images = set()
    with_one_answer = 0
    for row in rows:
        images.add(row.file_name)
        if len(row.answers) == 1:
            with_one_answer += 1
    numbers["images"] = len(images)
    numbers["with_one_answer"] = with_one_answer
    return numbers


def make(order: Order) -> Path:
    return order.build_rows(QUESTIONS, image_of, counts)


def image_of(row: Question) -> str:
    """Return the name of a row's image."""
    return row.file_name


BUILDER = Builder(
    "haloquest",
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
