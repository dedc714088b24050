"""Builds gavie: 1,000 instructions about 120 images of Visual Genome, with the regions that it describes of them."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from datasets import Features, Image, List, Value

from halluscope.benchmarks.gavie import regions as describing
from halluscope.benchmarks.gavie.rows import PLACE, Instruction, read_all
from halluscope.building import images, output
from halluscope.building.command import Builder, Order
from halluscope.building.parquet import Table
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, json_rows


def read(file: Readable) -> list[Instruction]:
    """Read evaluation_set.json, in its order, by which instructions are numbered.

    Raises:
        BuildError: for a file of another form, or a broken row.
    """
    rows = [row for _, row in json_rows(file)]
    if not rows:
        raise BuildError(f"{file} holds nothing; expected a list of instructions: evaluation_set.json.")
    try:
        return read_all(rows, str(file))
    except ValueError as error:
        raise BuildError(str(error)) from error


def counts(questions: Sequence[Instruction]) -> dict[str, Any]:
    """What stats.json says of the rows."""
    return {
        "questions": len(questions),
        "images": len({question.image_id for question in questions}),
        "regions": sum(map(len, {one.image_id: one.regions or () for one in questions}.values())),
    }


def file_name(question: Instruction) -> str:
    """The image's file in Visual Genome."""
    return f"{question.image_id}.jpg"


def table(questions: Sequence[Instruction], split: str, folder: Readable | None) -> Table:
    """The rows to write, with images when there is a folder to read them from."""
    columns: dict[str, Any] = {
        "id": Value("int64"),
        "image_id": Value("int64"),
        "image": Image(),
        "question": Value("string"),
        "regions": List({"phrase": Value("string"), **{name: Value("int64") for name in PLACE}}),
    }
    if folder is None:
        del columns["image"]
    return Table(Features(columns), _rows(questions, folder), split)


def _rows(questions: Sequence[Instruction], folder: Readable | None) -> Iterator[dict[str, Any]]:
    for question in questions:
        row = question.row
        if folder is not None:
            row["image"] = images.stored(file_name(question), folder)
        yield row


def make(order: Order, *, regions: Path | None = None) -> Path:
    """Build gavie.

    Args:
        order: what is wanted.
        regions: region_descriptions.json or vg_annotation.json, or a folder or zip that holds the former (default: no
            regions).

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
    numbers = counts(rows)
    complete = order.spec.matches(numbers, order.subset)
    folder = None
    if got := order.fetch_images():
        sources["images"], folder = got, got.path
        images.check_all(map(file_name, rows), folder, order.only_images_present)
    return output.write(order.spec, [table(rows, order.spec.split, folder)], numbers, sources, complete, out)


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--regions",
        type=Path,
        metavar="FILE",
        help="region_descriptions.json of Visual Genome, or the authors' vg_annotation.json: what a judge is told",
    )


BUILDER = Builder(
    name="gavie",
    about="""Builds gavie: 1,000 instructions about 120 images of Visual Genome.

    halluscope build gavie                                          # downloads the instructions, 0.1 MB; no images
    halluscope build gavie --regions region_descriptions.json --images VG_100K

Visual Genome has region_descriptions.json and the images, in one folder as IMAGE_ID.jpg. Without --regions no judge can
be asked, for it would know nothing of an image; without --images the column `image` is left out.
""",
    source="evaluation_set.json, or a folder that holds it (default: download)",
    images="the folder of the images, IMAGE_ID.jpg, or a zip of it (default: no column `image`)",
    make=make,
    add=_add,
)
