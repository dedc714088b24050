"""A review sheet as CSV: what stands on it, and how strictly it is read back.

The column `sheet` names it, such as "valid-3f2a9c1e-200": which marks, a digest of `SIGNED`, and how many rows. So a
marked sheet can be checked by itself: a row that is missing, comes twice, is of another sheet or edited is an error.
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
"""What may be marked. Of rows: whether a question and its answer are valid (HQM, equation 3), or whether people agree
with what stands there, a model's response (equation 4) or a judgement of it; the first is 1. Of what a method reads out
of a response: whether that is right or wrong (THRONE, supplement, section 4, Table 3); of a false positive also that it
is right, and a hallucination or a misclassification (Table 4). Of a response and a class: whether the response implies
it, by which judges are certified."""

OTHERS = ("no others", "others")
"""What may be marked in the row of a response that asks for all other classes; its note names them."""

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
"""So many rows are named in a message."""

YES, NO = "yes", "no"
"""What stands as `annotated`: whether what is read out of the response is in the ground truth."""

SIGNED = ("id", "model", "stratum", "stratum_rows", "read_by", "annotated", "question")
"""What the name of a sheet holds a digest of: letters and digits only, since spreadsheets change spaces, quotes and
leading zeros. Of the other columns they change more, such as an answer that they take for a date."""

SIGNED_TOO = {IMPLIED: ("drawn_from", "text", "chance", "class")}
"""What else it holds a digest of, by the marks."""

_NAME = re.compile(rf"(?P<marks>{'|'.join(MARKS)})-[0-9a-f]{{8}}-(?P<rows>[1-9][0-9]{{0,9}})")
_NUMBER = re.compile(r"[0-9]{1,10}")

_BEGINS = r"(?:\A|(?<=[,;|\"\t\r\n]))"
"""Where a cell begins for some reader: at its beginning, and after what another reader takes for a cell's end."""

_FORMULA = r"(?=[' ]*[=+\-@\t\r\n＝＋－＠])"
"""What a spreadsheet computes. Apostrophes may stand before it, so that what is put there can be told from the text."""

_UNGUARDED = re.compile(_BEGINS + _FORMULA)
_GUARDED = re.compile(f"{_BEGINS}'{_FORMULA}")

Entry = Mapping[str, str]
"""What stands in a row of a sheet, by column."""


@dataclass(frozen=True)
class Sheet:
    """A marked sheet.

    Attributes:
        name: what its column `sheet` says.
        kind: which of `MARKS` it knows.
        entries: its rows in their order, those without a mark left out.
        left: its rows without a mark.
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
        """The marks that it knows; of rows the first is 1."""
        return MARKS[self.kind]

    def ones(self) -> list[int]:
        """1 for each row with the first mark, 0 for each with the other."""
        return [int(entry["mark"] == self.marks[0]) for entry in self.entries]

    def valid(self) -> list[int]:
        """1 for each valid row, 0 for each other.

        Raises:
            ValueError: for a sheet with other marks.
        """
        if self.kind != "valid":
            raise ValueError(
                f"The sheet {self.name} has the marks {', '.join(self.marks)}; expected one made with --marks valid."
            )
        return self.ones()

    def models(self) -> dict[str, "Sheet"]:
        """What of the sheet is about each model; empty if the sheet names none."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry["model"], []).append(entry)
        return {} if set(found) == {""} else {name: replace(self, entries=of) for name, of in found.items()}

    def sizes(self) -> dict[str, int]:
        """From how many rows each stratum was drawn; of readings, from how many responses.

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
                    "the one number of rows that it was drawn from."
                )
        drawn = {
            (entry["model"], entry["stratum"], entry["id"] if self.kind == READING else place)
            for place, entry in enumerate(self.entries)
        }
        for (_, name), count in Counter((model, stratum) for model, stratum, _ in drawn).items():
            if count > int(min(rows[name])):
                raise ValueError(
                    f"The stratum {name!r:.80} has {count:,} rows on the sheet, and was drawn from {min(rows[name])}; "
                    "expected no more than that."
                )
        return {name: int(min(sizes)) for name, sizes in rows.items()}

    def strata(self) -> dict[str, Stratum]:
        """The strata, in which the second mark is an error; empty if the sheet has none.

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
    """The marks that a row may have: what is annotated is neither hallucination nor misclassification."""
    if kind == IMPLIED and not entry["class"]:
        return OTHERS
    return MARKS[kind][:2] if entry.get("annotated") == YES else MARKS[kind]


def name_of(entries: Sequence[Entry], marks: str) -> str:
    """The name of a sheet with these rows."""
    columns = signed_columns(marks)
    signed = [[_characters(entry.get(column, "")) for column in columns] for entry in entries]
    return f"{marks}-{hashlib.sha256(json.dumps(signed).encode()).hexdigest()[:8]}-{len(entries)}"


def signed_columns(marks: str) -> tuple[str, ...]:
    """What the name of a sheet with these marks holds a digest of."""
    return (*SIGNED, *SIGNED_TOO.get(marks, ()))


def _characters(cell: str) -> str:
    """The letters and digits of a cell, without leading zeros."""
    return re.sub(r"[\W_]+", "", cell.casefold()).lstrip("0")


def cells(entry: Entry, columns: Sequence[str]) -> list[str]:
    """A row's cells. What a spreadsheet would take for a formula gets an apostrophe in front."""
    return [guarded(entry.get(column, "")) for column in columns]


def guarded(cell: str) -> str:
    """A cell that no spreadsheet computes, whatever it divides cells by; page.js does the same.

    >>> guarded("=1+1"), guarded("1;=1"), guarded("1+1")
    ("'=1+1", "1;'=1", '1+1')
    """
    return _UNGUARDED.sub("'", cell)


def unguarded(cell: str) -> str:
    """The text of a guarded cell.

    >>> unguarded("1;'=1"), unguarded(guarded("'=1"))
    ('1;=1', "'=1")
    """
    return _GUARDED.sub("", cell)


def to_csv(entries: Sequence[Entry], columns: Sequence[str]) -> str:
    """A sheet as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerow(columns)
    writer.writerows(cells(entry, columns) for entry in entries)
    return file.getvalue()


def read_sheet(path: Path, allow_unmarked: bool = False) -> Sheet:
    """Read a marked sheet, as the page or a spreadsheet saved it (commas or semicolons).

    Args:
        path: the CSV file.
        allow_unmarked: leave rows without a mark out; otherwise they are an error.

    Raises:
        ValueError: for what is no sheet; a row that is missing, comes twice, is of another sheet or was edited; a mark
            that the sheet does not know; rows without a mark; a stratum, or a model's, without any mark.
        FileNotFoundError: if there is no such file.
    """
    lines = _lines(path)
    name, kind, size = _name(path, lines)
    found = _entries(lines, name, kind, size)
    if lacks := size - len(found):
        missing = list(islice((row for row in range(1, size + 1) if row not in found), SOME + 1))
        raise ValueError(
            f"{path} lacks {lacks} of the {size} rows of the sheet {name}: {_some(missing)}. A part of a sample "
            "is no random sample; put them back."
        )
    entries = [found[row] for row in range(1, size + 1)]
    if name_of(entries, kind) != name:
        raise ValueError(
            f"{path}: {', '.join(signed_columns(kind))} are not what the sheet {name} was made with. Only mark and "
            "note may change; a spreadsheet keeps the other columns if they are imported as text."
        )
    marked, left = _divided(path, entries, allow_unmarked)
    return Sheet(name, kind, marked, left)


def _entries(lines: Sequence[tuple[str, Entry]], name: str, kind: str, size: int) -> dict[int, Entry]:
    """Read a sheet's lines, each with its mark: row -> entry."""
    found: dict[int, Entry] = {}
    for where, line in lines:
        if line["sheet"] != name:
            raise ValueError(
                f"{where} is of the sheet {brief(line['sheet'])}, the others of {name!r}. Remove it."
            )
        row = int(line["row"]) if _NUMBER.fullmatch(line["row"]) else 0
        if not 1 <= row <= size:
            raise ValueError(
                f"{where}: row is {line['row']!r:.80}; the sheet {name} has the rows 1 to {size}."
            )
        if row in found:
            raise ValueError(f"{where} is row {row}, which stands there already. Remove one of the two.")
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
    """The stratum and the model that a row is of."""
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
        raise ValueError(f"{path} is no CSV in UTF-8: {error}. Save it as such again.") from error
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
    """The name that most rows have, its marks, and its number of rows."""
    names = Counter(line["sheet"] for _, line in lines)
    name = names.most_common(1)[0][0] if names else ""
    parts = _NAME.fullmatch(name)
    if not parts:
        raise ValueError(f"{path}: sheet is {name!r:.80}; expected a sheet that {MADE_BY} made.")
    return name, parts["marks"], int(parts["rows"])


def _some(rows: Sequence[int]) -> str:
    return ", ".join(map(str, rows[:SOME])) + (" and others" if len(rows) > SOME else "")
