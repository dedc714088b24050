"""Builds openchair: 2,000 synthetic images, each with the caption that it was made from."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from datasets import Features, Image, Value
from tqdm import tqdm

from halluscope.benchmarks.openchair import BENCHMARK
from halluscope.benchmarks.openchair.rows import UPSTREAM, columns, numbered
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
    """Build openchair."""
    out, given, spec = order.target(), order.source, order.spec
    source = (
        order.fetch("captions") if given is None or given.is_file() else Fetched(given, None, None)
    )  # a file, a folder, or a Hub id
    upstream = read_rows(str(given))
    names, where = columns(upstream), f"--source {given}"
    if UPSTREAM not in names:
        raise BuildError(
            f"{where} has the columns {', '.join(map(short_repr, names))}; expected OpenCHAIR's image and {UPSTREAM}."
        )
    try:
        rows = numbered(upstream, where)
    except ValueError as error:
        raise BuildError(str(error)) from error
    counts = {"images": len(rows), "captions": len({row.true_caption for row in rows})}
    complete = spec.matches(counts, order.subset)
    has_images = IMAGE in names
    for place, row in enumerate(
        tqdm(upstream if has_images else (), desc="checking images", unit="image", disable=None)
    ):
        stored = row[IMAGE].get("bytes") if isinstance(row[IMAGE], Mapping) else None
        if not isinstance(stored, bytes):
            raise BuildError(
                f"{where}, row {place}: {IMAGE} is {short_repr(row[IMAGE])}; expected an image file's bytes."
            )
        open_picture(stored, f"{where}, row {place}: {IMAGE}")

    def written() -> Iterator[dict[str, Any]]:
        for place, one in enumerate(tqdm(rows, desc="writing", unit="row", disable=None)):
            row = {"image_id": one.image_id, "prompt": BENCHMARK.prompt, "true_caption": one.true_caption}
            yield row | ({IMAGE: upstream[place][IMAGE]} if has_images else {})

    features = Features(
        {
            "image_id": Value("int64"),
            **({IMAGE: Image()} if has_images else {}),
            "prompt": Value("string"),
            "true_caption": Value("string"),
        }
    )
    return output.write(
        spec, [Table(features, written(), spec.split)], counts, {"captions": source}, complete, out
    )


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
