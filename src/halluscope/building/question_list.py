"""What builders share whose source is one file of questions, and a folder of images if the user has it."""

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
        file: it.
        read_all: makes questions of its rows, and of where they stand.
        what: is expected, and the name of its file, such as "questions: FILE.json".

    Raises:
        BuildError: for a file of another form, or where `read_all` raises a ValueError.
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
    """The rows to write, with images when there is a folder to read them from.

    Args:
        rows: what is written.
        columns: their types; the column `image` is left out without a folder.
        row_of: what of each is written beside its image.
        file_of: the file of its image; None for a row without one.
        split: the split's name.
        folder: where the images lie.
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
        order: what is wanted.
        out: what `Order.target` returned.
        counts: of the rows.
        sources: what was fetched, but for the images.
        check: checks the images in their folder, of which some may be missing.
        table: makes the table of a split, with the images of a folder.

    Raises:
        BuildError: for other counts than the published ones, or images that are not there.
    """
    complete = order.spec.matches(counts, order.subset)
    folder = None
    if got := order.fetch_images():
        sources["images"], folder = got, got.path
        check(folder, order.only_images_present)
    return output.write(order.spec, [table(order.spec.split, folder)], counts, sources, complete, out)
