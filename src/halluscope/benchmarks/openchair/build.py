"""Builds openchair: 2,000 synthetic images, each with the caption that it was made from."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import Features, Image, Value

from halluscope.benchmarks.openchair.metric import METRIC
from halluscope.benchmarks.openchair.rows import IMAGES, CaptionedImage
from halluscope.building.command import Builder
from halluscope.building.fetch import Fetched
from halluscope.building.output import Order, Table
from halluscope.errors import BuildError
from halluscope.files.pictures import open_picture
from halluscope.reading.datasets import read_rows, without_pictures
from halluscope.sanitize import short_repr

CAPTION = IMAGES.upstream["true_caption"]

COLUMNS = {
    "image_id": Value("int64"),
    "image": Image(),
    "prompt": Value("string"),
    "true_caption": Value("string"),
}


def counts(rows: Sequence[CaptionedImage]) -> dict[str, int]:
    """Return the counts that the dataset's spec states."""
    return {"images": len(rows), "captions": len({row.true_caption for row in rows})}


def make(order: Order) -> Path:
    out = order.target()
    source = source_of(order)
    upstream = read_rows(str(order.source))
    where = f"--source {order.source}"
    names = list(upstream[0])
    if CAPTION not in names:
        stated = ", ".join(short_repr(name) for name in names)
        raise BuildError(f"{where} has the columns {stated}; expected OpenCHAIR's image and {CAPTION}.")
    rows = IMAGES.read_all(without_pictures(upstream), where)
    with_image = "image" in names
    columns = dict(COLUMNS)
    if not with_image:
        del columns["image"]
    table = Table(Features(columns), written_rows(rows, upstream, with_image, where))
    return order.save(out, [table], counts(rows), {"captions": source})


def source_of(order: Order) -> Fetched:
    """Return the authors' dataset: a file, which may have a published sum, a folder, or a Hub id."""
    if order.source is None or order.source.is_file():
        return order.fetch("captions")
    return Fetched(order.source, sha256=None, published=None)


def written_rows(
    rows: Sequence[CaptionedImage], upstream: Any, with_image: bool, where: str
) -> Iterator[dict[str, Any]]:
    """Yield the rows as they are written; an image is decoded, and stored as it came."""
    for row, row_upstream in zip(rows, upstream, strict=True):
        columns = row.row
        columns["prompt"] = METRIC.prompt
        if with_image:
            columns["image"] = row_upstream["image"]
            check_image(row_upstream["image"], f"{where}, row {row.image_id}: image")
        yield columns


def check_image(image: Any, where: str) -> None:
    """Check that an image of the library `datasets` holds a file's bytes, and that they can be decoded."""
    stored = None
    if isinstance(image, Mapping):
        stored = image.get("bytes")
    if not isinstance(stored, bytes):
        raise BuildError(f"{where} is {short_repr(image)}; expected an image file's bytes.")
    open_picture(stored, where)


BUILDER = Builder(
    "openchair",
    about="""Builds openchair: 2,000 synthetic images, each with the caption that it was made from.

    halluscope build openchair --source moranyanuka/OpenCHAIR             # the authors' dataset on the Hub
    halluscope build openchair --source OpenCHAIR                         # a folder of the dataset
    halluscope build openchair --source test-00000-of-00001.parquet

The authors' rows have no id, so `image_id` is a row's index in their dataset, from 0.
""",
    source="the authors' dataset with the columns image and text: a Hub id, a folder, or a Parquet file",
    make=make,
)
