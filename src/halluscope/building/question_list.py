"""Helps builders whose source is one file of questions, and a folder of images if the user has it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from datasets import Features, Image
from tqdm import tqdm

from halluscope.building import images, output
from halluscope.building.command import Order
from halluscope.building.fetch import Fetched
from halluscope.building.parquet import Table
from halluscope.files.opening import Readable

Q = TypeVar("Q")


def table(
    rows: Sequence[Q],
    columns: Mapping[str, Any],
    row_of: Callable[[Q], Mapping[str, Any]],
    file_of: Callable[[Q], str | None],
    split: str,
    folder: Readable | None,
) -> Table:
    """Make the table to write, with the column `image` if there is a folder of images; `file_of` may return None."""

    def written() -> Iterator[Mapping[str, Any]]:
        for each in tqdm(rows, desc="writing", unit="row", disable=None):
            row = row_of(each)
            yield row if folder is None else {**row, "image": images.stored(file_of(each), folder)}

    there = {name: kind for name, kind in columns.items() if folder or not isinstance(kind, Image)}
    return Table(Features(there), written(), split)


def write(
    order: Order,
    out: Path,
    counts: Mapping[str, Any],
    sources: dict[str, Fetched],
    check: Callable[[Readable, bool], None],
    table: Callable[[str, Readable | None], Table],
) -> Path:
    """Write a dataset of one table into `out`, after `check` of the images, some of which may be missing."""
    complete = order.spec.matches(counts, order.subset)
    folder = None
    if got := order.fetch_images():
        sources["images"], folder = got, got.path
        check(folder, order.only_images_present)
    return output.write(order.spec, [table(order.spec.split, folder)], counts, sources, complete, out)
