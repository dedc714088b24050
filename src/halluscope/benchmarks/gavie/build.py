"""Builds gavie: 1,000 instructions about 120 images of Visual Genome, with its descriptions of their regions."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from datasets import Image, List, Value

from halluscope.benchmarks.gavie import regions as describing
from halluscope.benchmarks.gavie.rows import PLACE, Instruction, read_all
from halluscope.building import images, question_list
from halluscope.building.command import Builder, Order
from halluscope.building.parquet import Table
from halluscope.files.opening import Readable


def read(file: Readable) -> list[Instruction]:
    """Read evaluation_set.json, and number the instructions in the order of the file.

    Raises:
        BuildError: for a file in another format, or a broken row.
    """
    return question_list.read(file, read_all, "instructions: evaluation_set.json")


def counts(questions: Sequence[Instruction]) -> dict[str, Any]:
    """Return the counts that stats.json gives for the rows."""
    return {
        "questions": len(questions),
        "images": len({question.image_id for question in questions}),
        "regions": sum(map(len, {one.image_id: one.regions or () for one in questions}.values())),
    }


def file_name(question: Instruction) -> str:
    """Return the image's file name in Visual Genome."""
    return f"{question.image_id}.jpg"


COLUMNS = {
    "id": Value("int64"),
    "image_id": Value("int64"),
    "image": Image(),
    "question": Value("string"),
    "regions": List({"phrase": Value("string"), **{name: Value("int64") for name in PLACE}}),
}


def table(questions: Sequence[Instruction], split: str, folder: Readable | None) -> Table:
    """Return the rows to write, with images if there is a folder to read them from."""
    return question_list.table(questions, COLUMNS, lambda one: one.row, file_name, split, folder)


def make(order: Order, *, regions: Path | None = None) -> Path:
    """Build gavie.

    Args:
        order: the requested build.
        regions: region_descriptions.json or vg_annotation.json, or a folder or zip that holds region_descriptions.json
            (default: no regions).

    Raises:
        BuildError: for a file that is not the authors' evaluation_set.json, or when `regions` lacks an image.
    """
    out = order.target()
    sources = {"questions": order.fetch("questions")}
    rows = read(sources["questions"].path)
    if regions is not None:
        sources["regions"] = order.fetch("regions", regions, "--regions")
        known = describing.read(sources["regions"].path, {row.image_id for row in rows})
        rows = [replace(row, regions=tuple(known[row.image_id])) for row in rows]
    check, rows_of = partial(images.check_all, map(file_name, rows)), partial(table, rows)
    return question_list.write(order, out, counts(rows), sources, check, rows_of)


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--regions",
        type=Path,
        metavar="FILE",
        help="region_descriptions.json of Visual Genome, or the authors' vg_annotation.json, for a judge to read",
    )


BUILDER = Builder(
    name="gavie",
    about="""Builds gavie: 1,000 instructions about 120 images of Visual Genome.

    halluscope build gavie                                          # downloads the instructions, 0.1 MB; no images
    halluscope build gavie --regions region_descriptions.json --images VG_100K

Visual Genome has region_descriptions.json and the images, in one folder as IMAGE_ID.jpg. Without --regions no judge
can be asked, because it would know nothing about an image; without --images there is no column `image`.
""",
    source="evaluation_set.json, or a folder that holds it (default: download)",
    images="the folder of the images, IMAGE_ID.jpg, or a zip of it (default: no column `image`)",
    make=make,
    add=_add,
)
