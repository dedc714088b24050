"""A marked sheet, read strictly: a row that is missing, repeated, edited, or from another sheet is an error."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.files.opening import SHEETS, ending
from halluscope.reading import tables
from halluscope.reporting.tables import interval, percent
from halluscope.sanitize import short_repr
from halluscope.stats.strata import Stratum
from halluscope.studies.sheet import COLUMNS, KINDS, Entry, marks_of, name_of, number, unguarded

MADE_BY = "`halluscope study sheet make` or `halluscope study agree`"
SOME = 5  # the most rows that a message names
NEEDED = ("sheet", "row", "mark")  # the columns without which a file is no sheet

_NAME = re.compile(rf"(?P<kind>{'|'.join(KINDS)})-[0-9a-f]{{8}}-(?P<rows>[1-9][0-9]{{0,9}})")


@dataclass(frozen=True)
class MarkedText:
    """A text whose rows are all marked."""

    chance: float  # the probability that it was drawn and marked
    entries: list[Entry]


@dataclass(frozen=True)
class Sheet:
    """A sheet, marked or to be marked."""

    name: str
    kind: str  # a key of `KINDS`
    entries: list[Entry]  # the rows with a mark, in order
    unmarked: list[Entry]  # the rows without a mark

    @property
    def marks(self) -> Sequence[str]:
        """The marks of its kind."""
        return KINDS[self.kind].marks

    @property
    def rows(self) -> list[Entry]:
        """All rows, in order."""
        return sorted(self.entries + self.unmarked, key=lambda entry: int(entry["row"]))

    def check(self, kind: str, drawn_from: str = "") -> None:
        """Check that it has these marks, and that it was drawn from the texts of this name."""
        if self.kind != kind:
            raise ValueError(
                f"The sheet {self.name} has the marks {', '.join(self.marks)}; expected one made with --marks {kind}."
            )
        population = self.rows[0]["drawn_from"]
        if drawn_from and population != drawn_from:
            raise ValueError(
                f"The sheet {self.name} was drawn from {short_repr(population)}, but the responses are {drawn_from}. "
                "The sheet's weights hold only for the texts that it was drawn from; name the same responses and the "
                "same part."
            )

    @property
    def unfinished(self) -> set[str]:
        """The texts that have a row without a mark."""
        return {entry["text"] for entry in self.unmarked}

    def ones(self) -> list[int]:
        """Return 1 for each row with the first mark, 0 for each row with another mark."""
        return [int(entry["mark"] == self.marks[0]) for entry in self.entries]

    def texts(self) -> dict[str, list[Entry]]:
        """Return the rows of each text whose rows are all marked."""
        unfinished = self.unfinished
        texts: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if entry["text"] not in unfinished:
                texts.setdefault(entry["text"], []).append(entry)
        return texts

    def sample(self, kind: str, population: str) -> dict[str, MarkedText]:
        """Return each marked text of a sheet drawn from this population.

        Texts with unmarked rows count as never drawn.
        """
        self.check(kind, population)
        texts = self.texts()
        if not texts:
            raise ValueError(
                f"No text of the sheet {self.name} has a mark in each of its rows; mark all rows of at least one text."
            )
        marked_share = len(texts) / len(texts.keys() | self.unfinished)
        sample = {}
        for text, entries in texts.items():
            sample[text] = MarkedText(marked_share * number(entries[0]["chance"]), entries)
        return sample

    def sizes(self) -> dict[str, int]:
        """Return how many rows each stratum was drawn from; for readings, how many responses."""
        sizes = {}
        for entry in self.entries:
            if entry["stratum"]:
                # a spreadsheet may have put a separator of thousands into it
                sizes[entry["stratum"]] = int(re.sub(r"\D", "", entry["stratum_rows"]))
        return sizes

    def strata(self) -> dict[str, Stratum]:
        """Return the strata, where the second mark is an error; empty if the sheet has no strata."""
        marked: Counter[str] = Counter()
        errors: Counter[str] = Counter()
        for entry in self.entries:
            marked[entry["stratum"]] += 1
            if entry["mark"] != self.marks[0]:
                errors[entry["stratum"]] += 1
        strata = {}
        for name, size in self.sizes().items():
            strata[name] = Stratum(size, marked[name], errors[name])
        return strata


def read_sheet(path: Path, allow_unmarked: bool = False) -> Sheet:
    """Read a marked sheet, as the page or a spreadsheet saved it: as CSV with any separator, or as .xlsx.

    A row without a mark is an error unless `allow_unmarked`. Each stratum, and each model's part of one, needs a mark.
    """
    sheet = read_partly_marked(path)
    unmarked = sheet.unmarked
    if not sheet.entries or (unmarked and not allow_unmarked):
        raise ValueError(
            f"{len(unmarked)} of the {len(sheet.rows)} rows of {path} have no mark: "
            f"{_some([entry['row'] for entry in unmarked])}. "
            "Mark them, or leave them out with --allow-unmarked if at least one is marked."
        )
    _check_strata(path, sheet.entries, unmarked)
    return sheet


def read_partly_marked(path: Path) -> Sheet:
    """Read a sheet of which any number of rows is marked."""
    lines = _lines(path)
    ((name, _),) = Counter(line["sheet"] for line in lines).most_common(1)
    parts = _NAME.fullmatch(name)
    if not parts:
        raise ValueError(f"{path}: sheet is {name!r:.80}; expected a sheet that {MADE_BY} made.")
    kind = parts["kind"]
    entries = _in_order(path, lines, name, int(parts["rows"]))
    for entry in entries:
        entry["mark"] = _mark(path, kind, entry)
    if name_of(entries, kind) != name:
        raise ValueError(
            f"{path}: the columns {', '.join(KINDS[kind].signed)} are not what the sheet {name} was made with. "
            "Only mark and note may change; a spreadsheet keeps the other columns if they are imported as text."
        )
    marked: list[Entry] = []
    unmarked: list[Entry] = []
    for entry in entries:
        if entry["mark"]:
            marked.append(entry)
        else:
            unmarked.append(entry)
    return Sheet(name, kind, marked, unmarked)


def _lines(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file that looks like a sheet."""
    kind = ending(path)
    if kind not in SHEETS:
        kind = ".csv"  # as a spreadsheet may name it .txt
    lines = []
    for _, cells in tables.rows(path, tables.Choices(kind=kind)):
        if not all(column in cells for column in NEEDED):
            continue
        line = dict.fromkeys(COLUMNS, "")
        for column, cell in cells.items():
            line[column] = unguarded(_text(cell))
        if "".join(line.values()).strip():
            lines.append(line)
    if not lines:
        raise ValueError(
            f"{path} has no rows with the columns {', '.join(NEEDED)}; expected a sheet that {MADE_BY} made, saved as "
            "CSV in UTF-8 or as .xlsx."
        )
    return lines


def _text(cell: Any) -> str:
    """Return a cell as text; spreadsheets hold a whole number, such as an id, as 7.0."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _in_order(path: Path, lines: Sequence[dict[str, str]], name: str, size: int) -> list[dict[str, str]]:
    """Return all rows of the sheet of this name and size, in order."""
    rows = {line["row"]: line for line in lines if line["sheet"] == name}
    lacking = []
    # only a file claims the size, which may be huge
    for number_of_row in range(1, min(size, len(lines) + SOME + 1) + 1):
        if str(number_of_row) not in rows:
            lacking.append(str(number_of_row))
    if lacking or len(lines) != size:
        it_lacks = ""
        if lacking:
            it_lacks = f"; it lacks {_some(lacking)}"
        raise ValueError(
            f"{path} has {len(lines):,} rows; expected each of the {size:,} rows of the sheet {name} once, and no other"
            f"{it_lacks}. A part of a sample is not a random sample: put "
            "missing rows back, and remove those that are twice there, or from another sheet."
        )
    return [rows[str(number_of_row)] for number_of_row in range(1, size + 1)]


def _mark(path: Path, kind: str, entry: Entry) -> str:
    """Return the mark of a row in lower case; "" if there is none."""
    mark = " ".join(entry["mark"].lower().split())
    mark = mark.removesuffix(".0")  # pandas writes marks of a scale so, if some are missing
    known = marks_of(kind, entry)
    if mark and mark not in known:
        raise ValueError(
            f"{path}, row {entry['row']}: the mark is {entry['mark']!r:.80}; expected "
            f"{' or '.join(map(repr, known))}."
        )
    return mark


def _check_strata(path: Path, marked: Sequence[Entry], unmarked: Sequence[Entry]) -> None:
    """Check that each model's part of each stratum has a mark."""
    with_marks = {(entry["stratum"], entry["model"]) for entry in marked}
    without_marks = {(entry["stratum"], entry["model"]) for entry in unmarked} - with_marks
    if not without_marks:
        return
    stratum, model = min(without_marks)
    where = ""
    if stratum:
        where += f" in the stratum {stratum!r:.80}"
    if model:
        where += f" of {model}"
    raise ValueError(f"{path} has no mark{where}, which would then not count at all; mark some of its rows.")


def _some(rows: Sequence[str]) -> str:
    named = ", ".join(rows[:SOME])
    if len(rows) > SOME:
        named += " and others"
    return named


# What reports on sheets share


def left_out(unmarked: int) -> list[str]:
    """Return the line that says how many rows have no mark; none if all have one."""
    if not unmarked:
        return []
    return [f"{unmarked:,} rows without a mark are left out"]


def with_ends(rate: Mapping[str, float]) -> str:
    """Return an estimate and its interval as text, in percent."""
    return f"{percent(rate['value'])} % ({interval((rate['low'], rate['high']))})"
