"""Reads rows from JSON lines, JSON, csv, tsv, Parquet and xlsx files, packed by gzip or not."""

import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from halluscope import limits
from halluscope.errors import BuildError, LimitExceeded, needs
from halluscope.files.cut_ends import CutEnds
from halluscope.files.opening import (
    Readable,
    after_gap,
    check_file,
    ending,
    parse,
    read_bytes,
    read_text,
    read_text_to_cut,
    rows_of,
    values_in,
)
from halluscope.reading.separators import separator_of
from halluscope.reading.sheets import Holds, header_of, sheet_of
from halluscope.sanitize import short_repr

# A row's location, as text for messages, and the row
Located = tuple[str, Any]

# How many rows of a Parquet file are unpacked together; few, because a long text may be stored once for many
# rows
UNPACKED_AT_ONCE = 64

# The most rows that a spreadsheet can have
MOST_ROWS = 2**20

# Matches the name of a column; no id in our datasets looks like this
_COLUMN = re.compile(r"[a-z]+(?:_[a-z]+)*")

# What an object has per id: a text, an object, a label that is true or false, or null where there is no response
BY_ID = (str, dict, bool, type(None))

# The mark of UTF-8 with which Excel begins a file
BOM = "\ufeff"

# The columns for the keys and the values of an object of id -> text
KEY = "id"
VALUE = "response"


@dataclass(frozen=True)
class Choices:
    """What is chosen about files of rows."""

    sheet: str | None = None  # the sheet of a workbook; None for the one that holds what is sought
    holds: Holds | None = None  # whether columns with these names may hold what is sought
    # what becomes of a last row that is cut off; None: it is an error like another
    cut_ends: CutEnds | None = None
    kind: str = ""  # what kind of file it is, such as ".csv"; "" if its name says it


def rows(file: Readable, choices: Choices = Choices()) -> Iterator[Located]:
    """Yield the rows of a file with their locations; a JSON object of id -> text (or object) has a row per id."""
    check_file(file)
    most = limits.most("rows")
    widest = limits.most("columns")
    for number, (where, row) in enumerate(_rows_of_kind(file, choices), 1):
        if number > most:
            limits.check("rows", number, str(file))
        if isinstance(row, dict) and len(row) > widest:
            limits.check("columns", len(row), where)
        yield where, row


def _rows_of_kind(file: Readable, choices: Choices) -> Iterator[Located]:
    """Return the rows of a file, whose name's ending says what kind it is, if nothing else does."""
    kind = choices.kind or ending(file)
    if kind in (".csv", ".tsv"):
        return _separated(file, kind, choices)
    if kind == ".parquet":
        return _parquet(file)
    if kind == ".xlsx":
        return _spreadsheet(file, choices)
    return _json(file, choices)


def _json(file: Readable, choices: Choices) -> Iterator[Located]:
    text = read_text_to_cut(file) if choices.cut_ends else read_text(file)
    if not is_one_object(text):
        yield from rows_of(text, str(file), choices.cut_ends)
        return
    where = str(file)
    if _is_one_line(text):
        where += ", line 1"
    limits.check("rows", text.count(":"), where)  # at least as many colons as ids
    try:
        content = parse(text, where)
    except BuildError:
        several = values_in(text, where)
        if not several:
            raise
        for number, value in enumerate(several, 1):
            yield f"{file}, entry {number}", value
        return
    if is_by_id(content):
        yield from by_id(content, str(file))
    else:
        yield where, content


def is_one_object(text: str) -> bool:
    """Whether a text of JSON is one object, and neither a list nor an object per line."""
    start = after_gap(text)
    if not text.startswith("{", start):
        return False
    if _is_one_line(text):
        return True
    # where each line has an object, the first ends in a brace, or the second begins with one
    end = text.index("\n", start)
    return not text[start:end].rstrip().endswith("}") and not text.startswith("{", end + 1)


def _is_one_line(text: str) -> bool:
    """Whether a text has only one line that is not empty."""
    end = text.find("\n", after_gap(text))
    return end < 0 or after_gap(text, end) == len(text)


def is_by_id(content: Mapping[Any, Any], kinds: Sequence[type] = BY_ID) -> bool:
    """Whether an object has a value of these kinds, or a list of one, per id: no key looks like a column's name."""
    for key, value in content.items():
        if type(_single(value)) not in kinds or _COLUMN.fullmatch(str(key)):
            return False
    return len(content) > 0


def numbered(where: str, rows: Iterable[Any]) -> Iterator[Located]:
    """Yield rows that are given in Python with their locations, such as "references[0]"."""
    widest = limits.most("columns")
    for number, row in enumerate(rows):
        place = f"{where}[{number}]"
        if isinstance(row, Mapping) and len(row) > widest:
            limits.check("columns", len(row), place)
        yield place, row


def objects(located: Iterable[Located]) -> list[Located]:
    """Return rows, after checking that each is an object."""
    all_rows = list(located)
    for where, row in all_rows:
        if not isinstance(row, Mapping):
            raise ValueError(f"{where} is {short_repr(row, 120)}; expected an object.")
    return all_rows


def _single(value: Any) -> Any:
    """Return what a list of one value holds; any other value as it is."""
    if isinstance(value, list) and len(value) == 1:
        return value[0]
    return value


def by_id(content: Mapping[Any, Any], where: str) -> Iterator[Located]:
    """Yield the rows of an object of id -> text, or of id -> an object."""
    for key, value in content.items():
        value = _single(value)
        row = {KEY: key}
        if isinstance(value, Mapping):
            row.update(value)
        else:
            row[VALUE] = value
        yield f"{where}, {key!r:.80}", row


def _separated(file: Readable, kind: str, choices: Choices) -> Iterator[Located]:
    text = read_text(file)
    separator = separator_of(text, kind, str(file))
    table = cells(text, str(file), separator)
    names = next(table, [])
    _check_header(names, file)
    # how many stand above this one; at the end of a table, where Excel writes some, they are none
    empty_rows = 0
    for number, row in enumerate(_to_cut(table, str(file), choices.cut_ends), 1):
        where = f"{file}, row {number}"
        if len(row) != len(names):
            error = BuildError(
                f"{where} has a different number of cells than the header: {short_repr(row, 120)}. Put a text that "
                f"contains {separator!r} or a line break in quotation marks."
            )
            if choices.cut_ends is None or len(row) > len(names) or not _is_half_row(table, text):
                raise error
            choices.cut_ends.leave_out(where, separator.join(row), error, "a whole row")
            return
        if len(row) > 1 and not any(row):
            empty_rows += 1
            continue
        if len(row) > 1 and [row[0].removeprefix(BOM), *row[1:]] == names:
            empty_rows = 0  # tables that were joined line by line, each with its header
            continue
        for empty_row in range(number - empty_rows, number):
            yield f"{file}, row {empty_row}", dict.fromkeys(names, "")
        empty_rows = 0
        yield where, dict(zip(names, row, strict=True))


def _is_half_row(table: Iterator[list[str]], text: str) -> bool:
    """Whether the row that was read last is the last of the text, which does not end it."""
    return not text.endswith(("\n", "\r")) and next(table, None) is None


def _to_cut(table: Iterator[list[str]], where: str, cut_ends: CutEnds | None) -> Iterator[list[str]]:
    """Yield rows up to a last line whose quotation mark is not closed, because the line is cut off."""
    number = 0
    try:
        for row in table:
            number += 1
            yield row
    except _HalfQuoted as error:
        if cut_ends is None or number == 0 or len(error.rest.splitlines()) > 1:
            raise
        cut_ends.leave_out(f"{where}, row {number + 1}", error.rest, error, "a whole row")


class _HalfQuoted(BuildError):
    """A table ends within quotation marks."""

    rest = ""  # the text from the row on that has no end


def _allow_long_cells(longest: int) -> None:
    """Let csv read cells of so many characters. Its limit is the whole process's, so it is raised, never lowered."""
    csv.field_size_limit(max(csv.field_size_limit(), min(longest, 2**31 - 1)))


def cells(text: str, where: str, separator: str = ",") -> Iterator[list[str]]:
    """Yield the cells of each row of a table in a text; empty lines are skipped."""
    longest = limits.most("cell")
    _allow_long_cells(longest)
    table = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    lines_read = 0
    try:
        for row in table:
            longest_here = max(map(len, row), default=0)
            if longest_here > longest:
                limits.check("cell", longest_here, f"{where}, after line {lines_read}: a cell")
            lines_read = table.line_num
            if row:
                yield row
    except csv.Error as error:
        if "field limit" in str(error):
            limits.check("cell", longest + 1, f"{where}, after line {lines_read}: a cell")
        message = (
            f"{where} cannot be read as a table after line {lines_read}: {error}. Put a text that contains quotation "
            'marks in quotation marks, and double its own: "a ""red"" bus".'
        )
        if "unexpected end of data" not in str(error):
            raise BuildError(message) from error
        half = _HalfQuoted(message)
        half.rest = "".join(io.StringIO(text, newline="").readlines()[lines_read:])
        raise half from error


def _check_header(names: Sequence[str], file: Readable) -> None:
    """Check that no two columns have the same name: only the last one would count."""
    limits.check("columns", len(names), f"The header of {file}")
    for name, count in Counter(names).items():
        if name and count > 1:
            raise BuildError(
                f"{file} has two columns {short_repr(name)}; expected each name once. Rename one of them."
            )


@contextmanager
def damaged(file: Any, what: str, advice: str = "Get the file again.") -> Iterator[None]:
    """Turn the errors of a library that reads a file, which are of several kinds, into one that says what to do."""
    try:
        yield
    except (BuildError, LimitExceeded, PermissionError):
        raise
    except Exception as error:
        raise BuildError(f"{file} is not {what}: {short_repr(str(error), 200)}. {advice}") from error


PARQUET = "a Parquet file, or is cut off"


def _parquet(file: Readable) -> Iterator[Located]:
    number = 0
    size = 0  # of the texts and bytes so far
    with damaged(file, PARQUET):
        opened = parquet(file, io.BytesIO(read_bytes(file)))
        ranges = _named_ranges(opened)
        for batch in opened.iter_batches(UNPACKED_AT_ONCE):
            batch_rows = batch.to_pylist()
            for row in batch_rows:
                for cell in row.values():
                    if isinstance(cell, str | bytes):
                        size += len(cell)
            limits.check("unpacked", size, str(file))
            for row in batch_rows:
                for name, values in ranges.items():
                    row[name] = values[number]
                number += 1
                yield f"{file}, row {number}", row


def _named_ranges(opened: Any) -> dict[str, range]:
    """Return the columns of ids in even steps that pandas made its index: it writes only their ends and their step."""
    metadata = opened.schema_arrow.pandas_metadata or {}
    ranges = {}
    for column in metadata.get("index_columns", []):
        if not isinstance(column, dict) or column.get("kind") != "range" or not column.get("name"):
            continue
        values = range(column["start"], column["stop"], column["step"])
        if len(values) == opened.metadata.num_rows:
            ranges[column["name"]] = values
    return ranges


def parquet(file: Readable, content: Any = None, dictionaries: Sequence[str] = ()) -> Any:
    """Open a Parquet file, after checking the sizes that it states: rows, unpacked groups.

    Args:
        file: the file.
        content: its bytes, if they were read.
        dictionaries: columns whose cells are read as numbers of their different texts.
    """
    from pyarrow.parquet import ParquetFile  # alone: the library datasets takes a second to import

    check_file(file)
    with damaged(file, PARQUET):
        opened = ParquetFile(content or file, read_dictionary=list(dictionaries))
        limits.check("rows", opened.metadata.num_rows, str(file))
        limits.check("columns", opened.metadata.num_columns, str(file))
        for group in range(opened.metadata.num_row_groups):
            limits.check("unpacked", opened.metadata.row_group(group).total_byte_size, str(file))
        _check_header(opened.schema_arrow.names, file)
    return opened


def cells_of(column: Any) -> list[Any]:
    """Return the cells of an Arrow column; a text that recurs is held once."""
    if str(column.type) == "string":
        if hasattr(column, "combine_chunks"):
            column = column.combine_chunks()
        column = column.dictionary_encode()
    if not hasattr(column, "dictionary"):
        return list(column.to_pylist())
    texts = column.dictionary.to_pylist()
    return [None if number is None else texts[number] for number in column.indices.to_pylist()]


def _spreadsheet(file: Readable, choices: Choices) -> Iterator[Located]:
    with needs(str(file), "excel", " Or save the sheet as csv."):
        from openpyxl import load_workbook
    data = io.BytesIO(read_bytes(file))
    with damaged(file, "an xlsx file, or is damaged", "Save the sheet again, or as csv."):
        _check_archive(data, str(file))
        workbook = load_workbook(data, read_only=True, data_only=True, keep_links=False)
        sheet = sheet_of(workbook, str(file), choices.sheet, choices.holds)
        header = header_of(sheet)
        _check_header(header, file)
        below = {"min_row": 2, "max_col": max(1, len(header)), "values_only": True}
        lines = sheet.iter_rows(**below)
        if _has_formulas(data):
            with_formulas = load_workbook(data, read_only=True, keep_links=False)[sheet.title]
            with_formulas.reset_dimensions()
            lines = _with_texts(header, lines, with_formulas.iter_rows(**below))
        for number, row in enumerate(lines, 2):
            if number > MOST_ROWS:
                raise BuildError(
                    f"{file} has more than the {MOST_ROWS:,} rows of a sheet. Save the sheet again."
                )
            if any(cell is not None for cell in row):
                cells_of_row = dict.fromkeys(header, "")  # a row may be shorter than the header
                for name, cell in zip(header, row, strict=False):
                    cells_of_row[name] = _cell(name, cell)
                yield f"{file}, row {number}", cells_of_row


def _has_formulas(data: io.BytesIO) -> bool:
    """Whether a sheet of an xlsx file has a formula."""
    with zipfile.ZipFile(data) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/") and re.search(b"<f[ >]", archive.read(name)):
                return True
    return False


def _with_texts(
    header: Sequence[str], lines: Iterable[Any], lines_with_formulas: Iterable[Any]
) -> Iterator[list[Any]]:
    """Yield rows with the texts that begin with "=": pandas writes them as formulas, without a value or with 0."""
    for cells_of_row, formulas in zip(lines, lines_with_formulas, strict=True):
        row = list(cells_of_row)
        for place, (column, formula) in enumerate(zip(header, formulas, strict=False)):
            cell = row[place]
            has_no_value = cell is None or (cell == 0 and not isinstance(cell, bool))
            if has_no_value and isinstance(formula, str) and not _is_id(column):
                row[place] = formula
        yield row


def _check_archive(data: io.BytesIO, where: str) -> None:
    """Check the sizes and the compression that the parts of an xlsx file state."""
    size = 0
    with zipfile.ZipFile(data) as archive:
        parts = archive.infolist()
    for part in parts:
        size += part.file_size
    limits.check("sheet", size, where)  # zipfile never unpacks more than the parts state
    for part in parts:
        if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BuildError(
                f"{where} is compressed by a method that xlsx files do not use. Save the sheet again, or as csv."
            )


def _is_id(column: str) -> bool:
    return column.endswith(("id", "index"))


def _cell(column: str, cell: Any) -> Any:
    """Return a spreadsheet's cell: "" for an empty cell, and a number as the text that it shows, unless it is an id."""
    if cell is None:
        return ""
    is_number = isinstance(cell, int | float) and not isinstance(cell, bool)
    if not is_number or _is_id(column):
        return cell
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
