"""Rows in whatever file a user has them: JSON lines, JSON, csv, tsv, Parquet, xlsx; packed by gzip or not."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from halluscope.errors import BuildError, MissingExtra
from halluscope.files.opening import ending, json_rows, parse, read_bytes, read_text

Located = tuple[str, Any]
"""Where a row stands, and the row."""

LONGEST_CELL = 10_000_000
_COLUMN = re.compile(r"[a-z]+(?:_[a-z]+)*")
"""A name that a column may have, and that no id of ours has."""

KEY, VALUE = "id", "response"
"""What the two sides of an object of id -> text are called as columns."""


def rows(file: Path) -> Iterator[Located]:
    """The rows of a file, each with where it stands. Its name's ending tells its form; JSON unless it is known.

    A JSON object of id -> text, or of id -> an object, has a row per id.

    Raises:
        BuildError: for what is not of that form, or is cut off.
        MissingExtra: for xlsx without openpyxl.
        FileNotFoundError: if there is no such file.
    """
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}.")
    kind = ending(file)
    if kind in (".csv", ".tsv"):
        yield from _separated(file, "\t" if kind == ".tsv" else ",")
    elif kind == ".parquet":
        yield from _parquet(file)
    elif kind == ".xlsx":
        yield from _spreadsheet(file)
    else:
        yield from _json(file)


def _json(file: Path) -> Iterator[Located]:
    text = read_text(file)
    lines = text.strip().split("\n", 2)
    if text.lstrip().startswith("{") and not _is_one_per_line(lines):
        where = f"{file}, line 1" if len(lines) == 1 else str(file)
        content = parse(text, where)
        yield from by_id(content, str(file)) if _is_by_id(content) else [(where, content)]
    else:
        yield from json_rows(file)


def by_id(content: Mapping[Any, Any], where: str) -> Iterator[Located]:
    """The rows of an object of id -> text, or of id -> an object."""
    for key, value in content.items():
        row = {KEY: key, **value} if isinstance(value, Mapping) else {KEY: key, VALUE: value}
        yield f"{where}, {key!r:.80}", row


def _is_one_per_line(lines: Sequence[str]) -> bool:
    """Whether the first lines of a file hold an object each: a line that is cut off does not end in a bracket."""
    return len(lines) > 1 and (lines[0].rstrip().endswith("}") or lines[1].startswith("{"))


def _is_by_id(content: Mapping[str, Any]) -> bool:
    """Whether an object holds a text, or an object, per id: its keys are no names of columns."""
    kinds = {type(value) for value in content.values()}
    return bool(content) and kinds <= {str, dict} and not any(_COLUMN.fullmatch(key) for key in content)


def _separated(file: Path, separator: str) -> Iterator[Located]:
    csv.field_size_limit(LONGEST_CELL)
    text = read_text(file)
    header = text.partition("\n")[0]
    if separator == "," and "," not in header and ";" in header:
        separator = ";"
    table = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    number = 0
    try:
        _check_header(table.fieldnames or (), file)
        for number, row in enumerate(table, 1):
            if None in row or None in row.values():
                raise BuildError(
                    f"{file}, row {number} has another number of cells than the header: {str(row)[:120]}. A text with "
                    f"{separator!r} or a line's end in it stands in quotation marks."
                )
            yield f"{file}, row {number}", row
    except csv.Error as error:
        raise BuildError(
            f"{file} cannot be read as a table after row {number}: {error}. A text with quotation marks stands in "
            'quotation marks itself, and its own are doubled: "a ""red"" bus".'
        ) from error


def _check_header(names: Sequence[str], file: Path) -> None:
    """Check that no two columns have one name, of which only the last would count.

    Raises:
        BuildError: if they do.
    """
    if twice := [name for name in names if name and names.count(name) > 1]:
        raise BuildError(
            f"{file} has two columns {twice[0]!r:.80}; expected each name once. Rename one of them."
        )


def _parquet(file: Path) -> Iterator[Located]:
    import pyarrow.parquet as pq

    data = read_bytes(file)
    try:
        content = pq.read_table(io.BytesIO(data)).to_pylist()
    except Exception as error:  # pyarrow's own, of several kinds
        raise BuildError(f"{file} is no Parquet file, or is cut off: {str(error)[:200]}.") from error
    yield from ((f"{file}, row {number}", row) for number, row in enumerate(content, 1))


def _spreadsheet(file: Path) -> Iterator[Located]:
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise MissingExtra(
            f"{file} needs openpyxl ({error}): pip install 'halluscope[excel]', or save the sheet as csv."
        ) from error
    data = read_bytes(file)
    try:
        sheet = load_workbook(io.BytesIO(data), read_only=True, data_only=True).active
        sheet.reset_dimensions()  # what a file says of its size may be less than it holds
        cells = list(sheet.iter_rows(values_only=True))
    except Exception as error:  # openpyxl's own, zipfile's, and XML's
        raise BuildError(f"{file} is no xlsx file, or is damaged: {str(error)[:200]}.") from error
    header = ["" if name is None else str(name) for name in cells[0]] if cells else []
    _check_header(header, file)
    for number, row in enumerate(cells[1:], 2):
        if any(cell is not None for cell in row):
            found = {name: _cell(name, cell) for name, cell in zip(header, row, strict=False)}
            yield f"{file}, row {number}", dict.fromkeys(header, "") | found


def _cell(column: str, cell: Any) -> Any:
    """A cell of a spreadsheet: nothing is the empty text, and a number that is no id is the text that it shows."""
    if cell is None:
        return ""
    is_id = column.endswith(("id", "index")) or isinstance(cell, bool) or not isinstance(cell, int | float)
    return cell if is_id else str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)
