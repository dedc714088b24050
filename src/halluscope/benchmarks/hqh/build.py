"""Builds hqh: 4,000 free-form questions of eight types about images of Visual Genome.

A row holds a question, its short answer, its image, and the caption and regions of the image, if image_data.json is
given.
"""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from datasets import Image, Value

from halluscope.benchmarks.hqh.rows import LEVELS, FreeQuestion, read_all
from halluscope.building import images, question_list
from halluscope.building.command import Builder, Order
from halluscope.building.parquet import Table
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, read_json
from halluscope.foreign import brief
from halluscope.numbers import id_of

ImageData = Mapping[int, tuple[str, str]]
"""Image id -> the caption, and the annotated regions as text."""


def read(file: Readable) -> list[FreeQuestion]:
    """Read HQH.json, in the order of the file.

    Raises:
        BuildError: for a file in another format, a broken row, an unknown type, or a repeated id.
    """
    return question_list.read(file, read_all, "questions: HQH.json")


def read_image_data(file: Readable) -> ImageData:
    """Read image_data.json: the caption and the image_information of each image id.

    Raises:
        BuildError: for a file in another format, or a broken entry; the message names the image id.
    """
    content = read_json(file)
    if not isinstance(content, dict):
        raise BuildError(
            f"{file} holds {brief(content)}; expected image id -> caption and image_information: "
            "image_data.json."
        )
    return dict(_known(key, entry, str(file)) for key, entry in content.items())


def _known(key: str, entry: Any, file: str) -> tuple[int, tuple[str, str]]:
    if (image_id := id_of(key)) is None:
        raise BuildError(f"{file} has the entry {brief(key)}; expected an image id, which is a number.")
    for name in ("caption", "image_information"):
        if not isinstance(entry, dict) or not isinstance(entry.get(name), str):
            raise BuildError(f"{file}: the image id {key} has no text as {name}; expected one.")
    return image_id, (entry["caption"], entry["image_information"])


def describe(questions: Sequence[FreeQuestion], known: ImageData) -> list[FreeQuestion]:
    """Return the questions with the captions and regions of their images.

    Raises:
        BuildError: for images without an entry, with their ids.
    """
    missing = sorted({question.image_id for question in questions} - known.keys())
    if missing:
        shown = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
        raise BuildError(
            f"--image-data has no entry for {len(missing):,} of the questions' images: image id {shown}. Get the "
            "image_data.json that belongs to these questions, or leave --image-data out."
        )
    told = {image_id: [text.strip() or None for text in texts] for image_id, texts in known.items()}
    return [
        replace(question, caption=caption, details=details)
        for question in questions
        for caption, details in [told[question.image_id]]
    ]


def counts(questions: Sequence[FreeQuestion]) -> dict[str, Any]:
    """Return the counts that stats.json gives for the rows."""
    of_type = Counter(question.type for question in questions)
    asked = Counter((question.image_id, question.question) for question in questions)
    return {
        "questions": len(questions),
        **{name: of_type[name] for name in LEVELS},
        "images": len({question.image_id for question in questions}),
        "asked_more_than_once": sum(count > 1 for count in asked.values()),
        "with_caption": sum(question.caption is not None for question in questions),
        "with_details": sum(question.details is not None for question in questions),
        "questions_per_level": Counter(question.level for question in questions),
    }


def file_name(question: FreeQuestion) -> str:
    """Return the image's file name, in Visual Genome and in the authors' folder of images."""
    return f"{question.image_id}.jpg"


COLUMNS = {
    "id": Value("int64"),
    "image_id": Value("int64"),
    "image": Image(),
    "question": Value("string"),
    "answer": Value("string"),
    "type": Value("string"),
    "level": Value("string"),
    "caption": Value("string"),
    "details": Value("string"),
}


def table(questions: Sequence[FreeQuestion], split: str, folder: Readable | None) -> Table:
    """Return the rows to write, with images if there is a folder to read them from."""
    return question_list.table(questions, COLUMNS, lambda one: one.row, file_name, split, folder)


def make(order: Order, *, image_data: Path | None = None) -> Path:
    """Build hqh.

    Args:
        order: the requested build.
        image_data: image_data.json, or a folder that holds it (default: no captions and details).

    Raises:
        BuildError: for an unknown type, or when `image_data` lacks an image.
    """
    out = order.target()
    sources = {"questions": order.fetch("questions")}
    rows = read(sources["questions"].path)
    if image_data is not None:
        sources["image_data"] = order.fetch("image_data", image_data, "--image-data")
        rows = describe(rows, read_image_data(sources["image_data"].path))
    check, rows_of = partial(images.check_all, map(file_name, rows)), partial(table, rows)
    return question_list.write(order, out, counts(rows), sources, check, rows_of)


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--image-data", type=Path, help="image_data.json: captions and regions, which are shown to a judge"
    )


BUILDER = Builder(
    name="hqh",
    about="""Builds hqh: 4,000 free-form questions of eight types about images of Visual Genome.

    halluscope build hqh                                            # downloads the questions, 0.8 MB; no images
    halluscope build hqh --images images --image-data image_data.json
    halluscope build hqh --source HQH.json

The authors' repository links to the images and holds image_data.json. The images are also in Visual Genome, in one
folder as IMAGE_ID.jpg. Without --images there is no column `image`; without --image-data `caption` and `details` are
null.
""",
    source="HQH.json, or a folder that holds it (default: download)",
    images="the folder of the images, IMAGE_ID.jpg, or a zip of it (default: no column `image`)",
    make=make,
    add=_add,
)
