"""Reads the rows of a file of verdicts, whatever wrote it: JSON lines, lists, texts, objects around rows, or tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halluscope.files.opening import SHEETS, ending, parse, read_text, rows_of
from halluscope.judging import question_ids
from halluscope.judging.completions import reply_in
from halluscope.judging.verdicts import JUDGE_TEXT
from halluscope.reading import tables
from halluscope.reading.tables import Located
from halluscope.responses.unfolding import are_objects, rows_of_columns

# What an object of verdicts has per id
BY_ID = tables.BY_ID + (int, float)


def rows_in(file: Path, only: str = "") -> list[Located]:
    """Return the rows of a file of verdicts, each with its location. A text is a row with a judge's text.

    Args:
        file: the file.
        only: what each verdict says, if that is one thing: in {id: number} it is the number.
    """
    if ending(file) in (*SHEETS, ".parquet"):
        return [(where, _without_empty_cells(row)) for where, row in tables.rows(file)]
    text = read_text(file)
    if tables.is_one_object(text):
        return _rows_of_object(parse(text, str(file)), str(file), only)
    return [(where, row_of(value, where)) for where, value in rows_of(text, str(file))]


def _without_empty_cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table's row with None for an empty cell: a table cannot tell an empty text from none."""
    filled = {}
    for column, cell in row.items():
        filled[column] = None if cell == "" else cell
    return filled


def _rows_of_object(content: Mapping[str, Any], where: str, only: str) -> list[Located]:
    """Return the rows in an object: in its columns, in its only list, or by their ids; else the object itself."""
    in_columns = rows_of_columns(content)
    if in_columns:
        return [(f"{where}, row {number}", row) for number, row in enumerate(in_columns, 1)]
    if not content.keys().isdisjoint(question_ids.COLUMNS):
        return [(where, content)]
    lists = [name for name, value in content.items() if are_objects(value)]
    if len(lists) == 1:
        name = lists[0]
        return [(f"{where}, {name} {number}", row) for number, row in enumerate(content[name], 1)]
    if not tables.is_by_id(content, BY_ID):
        return [(where, content)]
    rows = []
    for id, value in content.items():
        place = f"{where}, {id!r:.80}"
        row = row_of(value, place)
        if only and isinstance(row, int | float):
            row = {only: row}
        if isinstance(row, Mapping):
            is_completion = reply_in(row, place) is not None  # its own id names no question
            if is_completion or "id" not in row:
                row = dict(row, id=id)
        rows.append((place, row))
    return rows


def row_of(value: Any, where: str) -> Any:
    """Return an entry as a row: a text is a judge's, or the object that it spells, as OpenAI's client writes it."""
    if value is None:
        return {JUDGE_TEXT: None}
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith('{"') or value.lstrip().startswith("{\n"):
        return _object_in(value, where)
    return {JUDGE_TEXT: value}


def _object_in(text: str, where: str) -> Any:
    try:
        return parse(text, where)
    except ValueError:
        return {JUDGE_TEXT: text}
