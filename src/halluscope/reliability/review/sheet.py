"""A review sheet as CSV: its columns and marks, and the strict reader of a marked sheet.

The column `sheet` holds its name, such as "valid-3f2a9c1e-200": the marks, a digest of the columns in `SIGNED`, and the
number of rows. So a marked sheet can be checked by itself: a row that is missing, repeated, edited, or from another
sheet is an error.
"""

import csv
import hashlib
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from halluscope import limits
from halluscope.files.opening import read_text
from halluscope.foreign import brief
from halluscope.stats.strata import Stratum

OF_ROWS = ("valid", "agree")
READING, IMPLIED = "reading", "implied"
MARKS: Mapping[str, tuple[str, ...]] = {
    "valid": ("valid", "not valid"),
    "agree": ("agree", "disagree"),
    READING: ("right", "wrong", "hallucination", "misclassification"),
    IMPLIED: ("implied", "not implied"),
}
"""The kinds of sheet -> their marks.

- "valid": whether a question and its answer are valid (HQM, equation 3); the first mark counts as 1.
- "agree": whether people agree with a model's response (HQM, equation 4), or with a judgement of it; the first mark
  counts as 1.
- "reading": whether a class that a method reads out of a response is right or wrong (THRONE, supplement, section 4,
  Table 3); a false positive that is right may also be a hallucination or a misclassification (Table 4).
- "implied": whether a response implies a class; these marks certify judges.
"""

OTHERS = ("no others", "others")
"""The marks of the row that asks about all other classes of a response; the row's note names them."""

COLUMNS = (
    "sheet",
    "row",
    "id",
    "model",
    "stratum",
    "stratum_rows",
    "read_by",
    "annotated",
    "drawn_from",
    "text",
    "chance",
    "class",
    "question",
    "answer",
    "response",
    "mark",
    "note",
)
MADE_BY = "`halluscope review make` or `halluscope agree`"
NEEDED = ("sheet", "row", "mark")
SOME = 5
"""The most rows that a message names."""

YES, NO = "yes", "no"
"""The values of `annotated`: whether the class that is read out of the response is in the ground truth."""

SIGNED = ("id", "model", "stratum", "stratum_rows", "read_by", "annotated", "question")
"""The columns whose letters and digits are in the digest of a sheet's name. Spreadsheets change spaces, quotes and
leading zeros; they change more in the other columns, such as an answer that they take for a date."""

SIGNED_TOO = {IMPLIED: ("drawn_from", "text", "chance", "class")}
"""The kinds of sheet -> further columns in that digest."""

_NAME = re.compile(rf"(?P<marks>{'|'.join(MARKS)})-[0-9a-f]{{8}}-(?P<rows>[1-9][0-9]{{0,9}})")
_NUMBER = re.compile(r"[0-9]{1,10}")

_BEGINS = r"(?:\A|(?<=[,;|\"\t\r\n]))"
"""Where some reader sees a cell begin: at its start, and after any sign that some reader takes for a cell's end."""

_FORMULA = r"(?=[' ]*[=+\-@\t\r\n＝＋－＠])"
"""The start of a formula, after any apostrophes: so an apostrophe that was added can be told from the text's own."""

_UNGUARDED = re.compile(_BEGINS + _FORMULA)
_GUARDED = re.compile(f"{_BEGINS}'{_FORMULA}")

Entry = Mapping[str, str]
"""A row of a sheet: column -> cell."""


@dataclass(frozen=True)
class Sheet:
    """A marked sheet.

    Attributes:
        name: its name, from the column `sheet`.
        kind: its kind, a key of `MARKS`.
        entries: the rows with a mark, in order.
        left: the rows without a mark.
    """

    name: str
    kind: str
    entries: list[Entry]
    left: list[Entry]

    @property
    def unmarked(self) -> list[int]:
        """The numbers of the rows without a mark."""
        return [int(entry["row"]) for entry in self.left]

    @property
    def marks(self) -> tuple[str, ...]:
        """The marks that it offers; on a sheet of rows, the first mark counts as 1."""
        return MARKS[self.kind]

    def ones(self) -> list[int]:
        """Return 1 for each row with the first mark, 0 for each row with another mark."""
        return [int(entry["mark"] == self.marks[0]) for entry in self.entries]

    def valid(self) -> list[int]:
        """Return 1 for each valid row, 0 for each other row.

        Raises:
            ValueError: for a sheet with other marks.
        """
        if self.kind != "valid":
            raise ValueError(
                f"The sheet {self.name} has the marks {', '.join(self.marks)}; expected one made with --marks valid."
            )
        return self.ones()

    def models(self) -> dict[str, "Sheet"]:
        """Return the part of the sheet about each model; empty if the sheet names no model."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry["model"], []).append(entry)
        return {} if set(found) == {""} else {name: replace(self, entries=of) for name, of in found.items()}

    def sizes(self) -> dict[str, int]:
        """Return how many rows each stratum was drawn from; for readings, how many responses.

        Raises:
            ValueError: for a stratum without its number of rows, or with more rows than that.
        """
        rows: dict[str, set[str]] = {}
        for entry in self.entries:
            rows.setdefault(entry["stratum"], set()).add(entry["stratum_rows"])
        for name, sizes in rows.items():
            if len(sizes) != 1 or not _NUMBER.fullmatch(min(sizes)):
                raise ValueError(
                    f"The stratum {name!r:.80} has {' and '.join(sorted(sizes)) or 'no':.80} as stratum_rows; expected "
                    "one number: how many rows it was drawn from."
                )
        drawn = {
            (entry["model"], entry["stratum"], entry["id"] if self.kind == READING else place)
            for place, entry in enumerate(self.entries)
        }
        for (_, name), count in Counter((model, stratum) for model, stratum, _ in drawn).items():
            if count > int(min(rows[name])):
                raise ValueError(
                    f"The stratum {name!r:.80} has {count:,} rows on the sheet, but was drawn from {min(rows[name])}; "
                    "expected no more rows than that."
                )
        return {name: int(min(sizes)) for name, sizes in rows.items()}

    def strata(self) -> dict[str, Stratum]:
        """Return the strata, where the second mark is an error; empty if the sheet has no strata.

        Raises:
            ValueError: as `sizes`.
        """
        ones: dict[str, list[int]] = {}
        for entry, one in zip(self.entries, self.ones(), strict=True):
            ones.setdefault(entry["stratum"], []).append(one)
        if set(ones) == {""}:
            return {}
        sizes = self.sizes()
        return {
            name: Stratum(sizes[name], len(found), len(found) - sum(found)) for name, found in ones.items()
        }


def marks_of(kind: str, entry: Entry) -> tuple[str, ...]:
    """Return the marks that a row may have: an annotated class is neither hallucination nor misclassification."""
    if kind == IMPLIED and not entry["class"]:
        return OTHERS
    return MARKS[kind][:2] if entry.get("annotated") == YES else MARKS[kind]


def name_of(entries: Sequence[Entry], marks: str) -> str:
    """Return the name of a sheet with these rows."""
    columns = signed_columns(marks)
    signed = [[_characters(entry.get(column, "")) for column in columns] for entry in entries]
    return f"{marks}-{hashlib.sha256(json.dumps(signed).encode()).hexdigest()[:8]}-{len(entries)}"


def signed_columns(marks: str) -> tuple[str, ...]:
    """Return the columns whose digest is in the name of a sheet with these marks."""
    return (*SIGNED, *SIGNED_TOO.get(marks, ()))


def _characters(cell: str) -> str:
    """Return the letters and digits of a cell, without leading zeros."""
    return re.sub(r"[\W_]+", "", cell.casefold()).lstrip("0")


def cells(entry: Entry, columns: Sequence[str]) -> list[str]:
    """Return a row's cells, guarded against formulas."""
    return [guarded(entry.get(column, "")) for column in columns]


def guarded(cell: str) -> str:
    """Put an apostrophe before each part of a cell that a spreadsheet with any separator would compute.

    page.js does the same.


    >>> guarded("=1+1"), guarded("1;=1"), guarded("1+1")
    ("'=1+1", "1;'=1", '1+1')
    """
    return _UNGUARDED.sub("'", cell)


def unguarded(cell: str) -> str:
    """Return the text of a guarded cell.

    >>> unguarded("1;'=1"), unguarded(guarded("'=1"))
    ('1;=1', "'=1")
    """
    return _GUARDED.sub("", cell)


def to_csv(entries: Sequence[Entry], columns: Sequence[str]) -> str:
    """Return a sheet as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerow(columns)
    writer.writerows(cells(entry, columns) for entry in entries)
    return file.getvalue()


def read_sheet(path: Path, allow_unmarked: bool = False) -> Sheet:
    """Read a marked sheet, as the page or a spreadsheet saved it, with commas or semicolons between cells.

    Args:
        path: the CSV file.
        allow_unmarked: whether to leave out rows without a mark; otherwise they are an error.

    Raises:
        ValueError: for a file that is not a sheet; for a row that is missing, repeated, edited, or from another sheet;
            for an unknown mark; for rows without a mark; for a stratum, or a model's part of one, without any mark.
        FileNotFoundError: if there is no such file.
    """
    lines = _lines(path)
    name, kind, size = _name(path, lines)
    found = _entries(lines, name, kind, size)
    if lacks := size - len(found):
        missing = list(islice((row for row in range(1, size + 1) if row not in found), SOME + 1))
        raise ValueError(
            f"{path} lacks {lacks} of the {size} rows of the sheet {name}: {_some(missing)}. A part of a sample "
            "is not a random sample; put the rows back."
        )
    entries = [found[row] for row in range(1, size + 1)]
    if name_of(entries, kind) != name:
        raise ValueError(
            f"{path}: the columns {', '.join(signed_columns(kind))} are not what the sheet {name} was made with. "
            "Only mark and note may change; a spreadsheet keeps the other columns if they are imported as text."
        )
    marked, left = _divided(path, entries, allow_unmarked)
    return Sheet(name, kind, marked, left)


def _entries(lines: Sequence[tuple[str, Entry]], name: str, kind: str, size: int) -> dict[int, Entry]:
    """Read a sheet's lines, each with its mark: row -> entry."""
    found: dict[int, Entry] = {}
    for where, line in lines:
        if line["sheet"] != name:
            raise ValueError(
                f"{where} is from the sheet {brief(line['sheet'])}, and the others are from {name!r}. Remove it."
            )
        row = int(line["row"]) if _NUMBER.fullmatch(line["row"]) else 0
        if not 1 <= row <= size:
            raise ValueError(
                f"{where}: row is {line['row']!r:.80}; the sheet {name} has the rows 1 to {size}."
            )
        if row in found:
            raise ValueError(f"{where} is a second row {row}. Remove one of the two.")
        mark = " ".join(line["mark"].lower().split())
        if mark not in (*(known := marks_of(kind, line)), ""):
            raise ValueError(
                f"{where}: the mark is {line['mark']!r:.80}; expected {' or '.join(map(repr, known))}."
            )
        found[row] = {**line, "mark": mark}
    return found


def _divided(path: Path, entries: list[Entry], allow_unmarked: bool) -> tuple[list[Entry], list[Entry]]:
    """Divide the entries into those with a mark and those without, if enough have one."""
    left = [entry for entry in entries if not entry["mark"]]
    unmarked = [int(entry["row"]) for entry in left]
    if len(unmarked) == len(entries) or (unmarked and not allow_unmarked):
        raise ValueError(
            f"{len(unmarked)} of the {len(entries)} rows of {path} have no mark: {_some(unmarked)}. Mark them, or "
            "leave them out with --allow-unmarked if at least one is marked."
        )
    marked = [entry for entry in entries if entry["mark"]]
    if lost := {_part(entry) for entry in entries} - {_part(entry) for entry in marked}:
        raise ValueError(
            f"{path} has no mark in {min(lost)}, which would then not count at all; mark some of its rows."
        )
    return marked, left


def _part(entry: Entry) -> str:
    """Return the stratum and the model of a row, for a message."""
    of = f" of {entry['model']}" if entry["model"] else ""
    return f"the stratum {entry['stratum']!r:.80}{of}"


def _lines(path: Path) -> list[tuple[str, dict[str, str]]]:
    text = read_text(path)
    header = text.partition("\n")[0]
    delimiter = ";" if header.count(";") > header.count(",") else ","
    csv.field_size_limit(min(limits.most("cell"), sys.maxsize))
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ValueError(
            f"{path} is not a CSV file in UTF-8: {error}. Save it again in that format."
        ) from error
    columns = rows[0] if rows else []
    if missing := [column for column in NEEDED if column not in columns]:
        raise ValueError(
            f"{path} has no column {' or '.join(missing)}; expected a sheet that {MADE_BY} made."
        )
    lines = []
    for number, row in enumerate(rows[1:], 2):
        if not any(map(str.strip, row)):
            continue
        if len(row) != len(columns):
            raise ValueError(
                f"{path}, row {number} of the file has {len(row)} cells; expected {len(columns)}."
            )
        given = dict(zip(columns, map(unguarded, row), strict=True))
        lines.append(
            (f"{path}, row {number} of the file", {column: given.get(column, "") for column in COLUMNS})
        )
    return lines


def _name(path: Path, lines: Sequence[tuple[str, Entry]]) -> tuple[str, str, int]:
    """Return the sheet's name, which most rows have, its kind, and its number of rows."""
    names = Counter(line["sheet"] for _, line in lines)
    name = names.most_common(1)[0][0] if names else ""
    parts = _NAME.fullmatch(name)
    if not parts:
        raise ValueError(f"{path}: sheet is {name!r:.80}; expected a sheet that {MADE_BY} made.")
    return name, parts["marks"], int(parts["rows"])


def _some(rows: Sequence[int]) -> str:
    return ", ".join(map(str, rows[:SOME])) + (" and others" if len(rows) > SOME else "")
