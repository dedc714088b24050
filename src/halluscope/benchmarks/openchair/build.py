"""Builds openchair: 2,000 synthetic images, each with the caption that it was made from."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from datasets import Features, Image, Value
from tqdm import tqdm

from halluscope.benchmarks.openchair import BENCHMARK
from halluscope.benchmarks.openchair.rows import UPSTREAM, CaptionedImage, columns, numbered
from halluscope.building import output
from halluscope.building.command import Builder, Order
from halluscope.building.fetch import Fetched
from halluscope.building.output import Table
from halluscope.errors import BuildError
from halluscope.files.pictures import open_picture
from halluscope.reading.datasets import read_rows
from halluscope.sanitize import short_repr

IMAGE = "image"


def make(order: Order) -> Path:
    """Build openchair.

    Raises:
        BuildError: for anything but the authors' dataset, or an image that cannot be decoded.
    """
    out = order.target()
    source = _fetched(order)
    upstream = read_rows(str(order.source))
    names = columns(upstream)
    if UPSTREAM not in names:
        raise BuildError(
            f"--source {order.source} has the columns {', '.join(map(short_repr, names))}; expected OpenCHAIR's "
            f"image and {UPSTREAM}."
        )
    try:
        rows = numbered(upstream, f"--source {order.source}")
    except ValueError as error:
        raise BuildError(str(error)) from error
    captions = [row.true_caption for row in rows]
    counts = {"images": len(rows), "captions": len({*captions})}
    complete = order.spec.matches(counts, order.subset)
    pictures = upstream if IMAGE in names else None
    for place, row in enumerate(tqdm(pictures or (), desc="checking images", unit="image", disable=None)):
        _check(row[IMAGE], f"--source {order.source}, row {place}")
    table = _table(rows, pictures, order.spec.split)
    return output.write(order.spec, [table], counts, {"captions": source}, complete, out)


def _fetched(order: Order) -> Fetched:
    """Return the source of the dataset: a file, a folder, or a Hub id."""
    given = order.source
    return order.fetch("captions") if given is None or given.is_file() else Fetched(given, None, None)


def _check(image: Any, where: str) -> None:
    """Check that a stored image can be decoded.

    Raises:
        BuildError: if it cannot.
    """
    stored = image.get("bytes") if isinstance(image, Mapping) else None
    if not isinstance(stored, bytes):
        raise BuildError(f"{where}: {IMAGE} is {short_repr(image)}; expected an image file's bytes.")
    open_picture(stored, f"{where}: {IMAGE}")


def _table(rows: list[CaptionedImage], pictures: Any, split: str) -> Table:
    """Return the rows to write, with images if the source has them."""
    columns: dict[str, Any] = {
        "image_id": Value("int64"),
        IMAGE: Image(),
        "prompt": Value("string"),
        "true_caption": Value("string"),
    }
    if pictures is None:
        del columns[IMAGE]
    return Table(Features(columns), _rows(rows, pictures), split)


def _rows(rows: list[CaptionedImage], pictures: Any) -> Iterator[dict[str, Any]]:
    for place, one in enumerate(tqdm(rows, desc="writing", unit="row", disable=None)):
        row = {"image_id": one.image_id, "prompt": BENCHMARK.prompt, "true_caption": one.true_caption}
        yield row if pictures is None else row | {IMAGE: pictures[place][IMAGE]}


BUILDER = Builder(
    name="openchair",
    about="""Builds openchair: 2,000 synthetic images, each with the caption that it was made from.

    halluscope build openchair --source moranyanuka/OpenCHAIR             # the authors' dataset on the Hub
    halluscope build openchair --source OpenCHAIR                         # a folder of the dataset
    halluscope build openchair --source test-00000-of-00001.parquet

The authors' rows have no id, so `image_id` is a row's index in their dataset, from 0.
""",
    source="the authors' dataset with the columns image and text: a Hub id, a folder, or a Parquet file",
    make=make,
)
