"""Reads OpenCHAIR's rows: an image, and the caption that it was made from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.reading.datasets import read_rows
from halluscope.reading.fields import Fields
from halluscope.sanitize import short_repr

NEEDED = ("image_id", "true_caption")
COLUMNS = (*NEEDED, "prompt", "form")
UPSTREAM = "text"  # the caption's column in the authors' dataset, whose rows have only their index as an id


@dataclass(frozen=True)
class CaptionedImage:
    """A row."""

    image_id: int  # the index of the row in the authors' dataset, from 0
    true_caption: str  # the right caption, from which the image was made
    prompt: str = ""  # what the LVLM is asked; "" for the benchmark's own prompt
    form: str = ""  # the row's parallel form; "" for the original


def load(sources: Sequence[str]) -> list[CaptionedImage]:
    """Read the dataset: a built folder or Hub id, a file of its rows, or the authors' own dataset."""
    found: list[Any] = []
    for source in sources:
        rows = read_rows(source)
        names = columns(rows)
        if UPSTREAM in names and not {*NEEDED} & {*names}:
            found += numbered(rows, source)
        elif {*NEEDED} <= {*names}:
            found += rows if isinstance(rows, list) else rows.select_columns([*{*COLUMNS} & {*names}])
        else:
            raise ValueError(
                f"{source} has the columns {', '.join(map(short_repr, names))}; expected {' and '.join(NEEDED)} of "
                f"openchair, or {UPSTREAM} of the authors' dataset."
            )
    return read_all(found, ", ".join(sources))


def inputs(rows: Sequence[CaptionedImage]) -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows."""
    return {
        "references": [row.true_caption for row in rows],
        "image_ids": [row.image_id for row in rows],
        "forms": [row.form for row in rows],
    }


def read_all(rows: Iterable[Any], where: str = "references") -> list[CaptionedImage]:
    """Read rows of the dataset, each image once."""
    found: dict[int, CaptionedImage] = {}
    for number, given in enumerate(rows):
        row = given if isinstance(given, CaptionedImage) else _read(given, f"{where}[{number}]")
        if found.setdefault(row.image_id, row) is not row:
            raise ValueError(
                f"{where}[{number}] has the image_id {row.image_id} of an earlier row; expected each image once. "
                "Remove one of them."
            )
    return list(found.values())


def columns(rows: Any) -> list[str]:
    """Return the column names of rows that `halluscope.reading.datasets.read_rows` has read."""
    return list(rows[0]) if isinstance(rows, list) else list(rows.column_names)


def numbered(rows: Any, source: str) -> list[CaptionedImage]:
    """Return the authors' rows, with their index as id."""
    captions = rows if isinstance(rows, list) else rows.select_columns([UPSTREAM])
    return [
        CaptionedImage(place, _caption(row, UPSTREAM, f"{source}, row {place}"))
        for place, row in enumerate(captions)
    ]


def _caption(row: Any, column: str, where: str) -> str:
    caption = row.get(column)
    if not isinstance(caption, str) or not caption.strip():
        raise ValueError(f"{where}: {column} is {short_repr(caption)}; expected the caption of an image.")
    return caption


def _read(row: Any, where: str) -> CaptionedImage:
    if not isinstance(row, Mapping) or not {*NEEDED} <= row.keys():
        raise ValueError(f"{where} is {short_repr(row)}; expected a row with {' and '.join(NEEDED)}.")
    found = Fields(row, where)
    caption = _caption(row, "true_caption", where)
    return CaptionedImage(found.whole("image_id"), caption, str(row.get("prompt") or ""), found.form)
