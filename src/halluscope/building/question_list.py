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
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, json_rows

Q = TypeVar("Q")


def read(file: Readable, read_all: Callable[[Sequence[Any], str], list[Q]], what: str) -> list[Q]:
    """Read upstream's list of questions, in its order.

    Args:
        file: the list.
        read_all: makes questions from rows and the file's name.
        what: what is expected, with the name of its file, such as "questions: FILE.json".

    Raises:
        BuildError: if the file has another form, or `read_all` raises a ValueError.
    """
    rows = [row for _, row in json_rows(file)]
    if not rows:
        raise BuildError(f"{file} holds nothing; expected a list of {what}.")
    try:
        return read_all(rows, str(file))
    except ValueError as error:
        raise BuildError(str(error)) from error


def table(
    rows: Sequence[Q],
    columns: Mapping[str, Any],
    row_of: Callable[[Q], Mapping[str, Any]],
    file_of: Callable[[Q], str | None],
    split: str,
    folder: Readable | None,
) -> Table:
    """Make the table to write, with images if there is a folder to read them from.

    Args:
        rows: the rows.
        columns: the columns' types; without a folder, the column `image` is left out.
        row_of: returns the columns of a row, except its image.
        file_of: returns the file of a row's image; None if the row has none.
        split: the split's name.
        folder: the folder of the images.
    """

    def written() -> Iterator[Mapping[str, Any]]:
        for one in tqdm(rows, desc="writing", unit="row", disable=None):
            row = row_of(one)
            yield row if folder is None else {**row, "image": images.stored(file_of(one), folder)}

    there = {
        name: kind for name, kind in columns.items() if folder is not None or not isinstance(kind, Image)
    }
    return Table(Features(there), written(), split)


def write(
    order: Order,
    out: Path,
    counts: Mapping[str, Any],
    sources: dict[str, Fetched],
    check: Callable[[Readable, bool], None],
    table: Callable[[str, Readable | None], Table],
) -> Path:
    """Write a dataset of one table, with the images that the user names.

    Args:
        order: what the user asks for.
        out: the result of `Order.target`.
        counts: of the rows.
        sources: the sources that were fetched, except the images.
        check: checks the images in a folder; its second argument says whether some may be missing.
        table: makes the table of a split, with the images of a folder.

    Raises:
        BuildError: if the counts are not the published ones, or images are missing.
    """
    complete = order.spec.matches(counts, order.subset)
    folder = None
    if got := order.fetch_images():
        sources["images"], folder = got, got.path
        check(folder, order.only_images_present)
    return output.write(order.spec, [table(order.spec.split, folder)], counts, sources, complete, out)
