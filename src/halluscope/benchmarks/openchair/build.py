"""Builds openchair: 2,000 synthetic images, each with the caption that it was made from."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from datasets import Features

from halluscope.benchmarks.openchair import BENCHMARK
from halluscope.benchmarks.openchair.rows import ROWS
from halluscope.building.command import builder
from halluscope.building.fetch import Fetched
from halluscope.building.output import Order, Table
from halluscope.errors import BuildError
from halluscope.files.pictures import open_picture
from halluscope.reading.datasets import read_rows, without_pictures
from halluscope.sanitize import short_repr


def make(order: Order) -> Path:
    """Build openchair."""
    out, given, spec = order.target(), order.source, order.spec
    # a file, a folder, or a Hub id
    source = order.fetch("captions") if given is None or given.is_file() else Fetched(given, None, None)
    upstream, where = read_rows(str(given)), f"--source {given}"
    names, caption = list(upstream[0]), ROWS.upstream["true_caption"]
    if caption not in names:
        raise BuildError(
            f"{where} has the columns {', '.join(map(short_repr, names))}; expected OpenCHAIR's image and {caption}."
        )
    rows = ROWS.read_all(without_pictures(upstream), where)
    counts = {"images": len(rows), "captions": len({row.true_caption for row in rows})}
    spec.matches(counts, order.subset)

    def written() -> Iterator[dict[str, Any]]:
        for row, its in zip(rows, upstream, strict=True):
            values = {**row.row, "prompt": BENCHMARK.prompt}
            if "image" in names:
                image, place = its["image"], f"{where}, row {row.image_id}: image"
                values["image"], stored = image, image.get("bytes") if isinstance(image, Mapping) else None
                if not isinstance(stored, bytes):
                    raise BuildError(f"{place} is {short_repr(image)}; expected an image file's bytes.")
                open_picture(stored, place)
            yield values

    columns = ROWS.features("image_id", *{"image"} & {*names}, "prompt", "true_caption")
    table = Table(Features(columns), written())
    return order.save(out, [table], counts, {"captions": source})


BUILDER = builder(__file__, "openchair", make)
