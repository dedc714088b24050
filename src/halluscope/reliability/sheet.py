"""A review sheet as CSV and as a page: its columns and marks, its writer, and the strict reader of a marked sheet.

The column `sheet` holds its name, such as "valid-3f2a9c1e-200": the marks, a digest of its signed columns, and the
number of rows. So a marked sheet can be checked by itself: a row that is missing, repeated, edited, or from another
sheet is an error.
"""

import csv
import hashlib
import io
import json
import os
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from halluscope import limits, vocabularies
from halluscope.files.opening import read_text
from halluscope.files.writing import new_folder
from halluscope.reporting.page.html_template import template
from halluscope.reporting.tables import interval, percent
from halluscope.sanitize import encodable, short_repr
from halluscope.stats.samples import Stratum

VALID, AGREE, READING, IMPLIED, VERDICT = "valid", "agree", "reading", "implied", "verdict"
YES_MARK, NO_MARK = "yes", "no"

DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_name("people.toml").read_text("utf-8"))
KINDS = DATA["kinds"]
OTHERS: list[str] = DATA["others"]
MARKS: dict[str, list[str]] = {kind: of["marks"] for kind, of in KINDS.items()}

MADE_BY = "`halluscope study sheet make` or `halluscope study agree`"
SOME = 5  # the most rows that a message names
SHEET, PAGE = "sheet.csv", "page.html"

# The values of `annotated`: whether the class that is read out of the response is in the ground truth.
YES, NO = "yes", "no"

_NAME = re.compile(rf"(?P<marks>{'|'.join(KINDS)})-[0-9a-f]{{8}}-(?P<rows>[1-9][0-9]{{0,9}})")

# Where some reader sees a cell begin: at its start, and after any sign that some reader takes for a cell's end.
_BEGINS = r"(?:\A|(?<=[,;|\"\t\r\n]))"
# The start of a formula, after any apostrophes: so an apostrophe that was added can be told from the text's own.
_FORMULA = r"(?=[' ]*[=+\-@\t\r\n＝＋－＠])"
_UNGUARDED = re.compile(_BEGINS + _FORMULA)
_GUARDED = re.compile(f"{_BEGINS}'{_FORMULA}")

# A row of a sheet: column -> cell. On a new sheet, "image" is the row's image as a data URI.
Entry = Mapping[str, str]


class Draft(NamedTuple):
    """What a new sheet holds."""

    rows: Sequence[Entry]  # rows about one text follow each other
    title: str
    classes: Sequence[str] = ()  # suggested where other classes may be named


class Sheet(NamedTuple):
    """A marked sheet."""

    name: str
    kind: str  # a key of `KINDS`
    entries: list[Entry]  # the rows with a mark, in order
    left: list[Entry]  # the rows without a mark

    @property
    def marks(self) -> Sequence[str]:
        return MARKS[self.kind]

    def check(self, kind: str, drawn_from: str = "") -> None:
        """Check that it has these marks, and that it was drawn from the texts of this name."""
        if self.kind != kind:
            raise ValueError(
                f"The sheet {self.name} has the marks {', '.join(self.marks)}; expected one made with --marks {kind}."
            )
        if drawn_from and (other := self.entries[0]["drawn_from"]) != drawn_from:
            raise ValueError(
                f"The sheet {self.name} was drawn from {short_repr(other)}, but the responses are {drawn_from}. The "
                "sheet's weights hold only for the texts that it was drawn from; name the same responses and the same "
                "part."
            )

    def ones(self) -> list[int]:
        """Return 1 for each row with the first mark, 0 for each row with another mark."""
        return [int(entry["mark"] == self.marks[0]) for entry in self.entries]

    def texts(self) -> dict[str, list[Entry]]:
        """Return the rows of each text whose rows are all marked."""
        left = {entry["text"] for entry in self.left}
        texts: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if entry["text"] not in left:
                texts.setdefault(entry["text"], []).append(entry)
        return texts

    def sample(self, kind: str, population: str) -> dict[str, tuple[float, list[Entry]]]:
        """Return each marked text of a sheet drawn from this population: the chance of that, and its rows.

        Texts with unmarked rows count as never drawn.
        """
        self.check(kind, population)
        texts, left = self.texts(), {entry["text"] for entry in self.left}
        if not texts:
            raise ValueError(
                f"No text of the sheet {self.name} has a mark in each of its rows; mark all rows of at least one text."
            )
        part = len(texts) / len(texts.keys() | left)
        return {text: (part * _number(entries[0]["chance"]), entries) for text, entries in texts.items()}

    def sizes(self) -> dict[str, int]:
        """Return how many rows each stratum was drawn from; for readings, how many responses."""
        return {
            # a spreadsheet may have put a separator of thousands into it
            entry["stratum"]: int(re.sub(r"\D", "", entry["stratum_rows"]))
            for entry in self.entries
            if entry["stratum"]
        }

    def strata(self) -> dict[str, Stratum]:
        """Return the strata, where the second mark is an error; empty if the sheet has no strata."""
        counts = Counter((entry["stratum"], entry["mark"] == self.marks[0]) for entry in self.entries)
        return {
            name: Stratum(size, counts[name, True] + counts[name, False], counts[name, False])
            for name, size in self.sizes().items()
        }


def rows_about(text: Entry, chance: float, questions: Sequence[Entry], shown: Entry) -> list[Entry]:
    """Return a row per question about a text that was drawn with this probability; only the first row shows it."""
    # in plain digits, which no spreadsheet rewrites
    about = {**text, "chance": f"{chance:.9f}".rstrip("0").rstrip(".")}
    return [{**about, **question, **(shown if not row else {})} for row, question in enumerate(questions)]


def marks_of(kind: str, entry: Entry) -> Sequence[str]:
    """Return the marks that a row may have: an annotated class is neither hallucination nor misclassification."""
    if kind == IMPLIED and not entry["class"]:
        return OTHERS
    if kind == VERDICT:
        return entry["scale"].split()
    return MARKS[kind][:2] if entry.get("annotated") == YES else MARKS[kind]


def class_names(classes: set[str]) -> dict[str, str]:
    """Return the names to show for classes whose meaning in the vocabulary differs from the word's."""
    known = map(vocabularies.load, vocabularies.names())
    plain = next((vocabulary.plain for vocabulary in known if classes <= {*vocabulary.classes}), {})
    return {name: f"{name} ({word.means})" for name, word in plain.items() if word.means}


def _number(cell: str) -> float:
    return float(cell.replace(",", "."))  # a spreadsheet may have put a comma into it


def name_of(entries: Sequence[Entry], marks: str) -> str:
    def signed(column: str, cell: str) -> str:
        """Return the letters and digits of a cell, without leading zeros; a chance as a number."""
        if column == "chance" and cell:
            with suppress(ValueError):
                return f"{_number(cell):g}"
        return re.sub(r"[\W_]+", "", cell.casefold()).lstrip("0")

    columns = KINDS[marks]["signed"]
    signed_cells = [[signed(column, entry.get(column, "")) for column in columns] for entry in entries]
    return f"{marks}-{hashlib.sha256(json.dumps(signed_cells).encode()).hexdigest()[:8]}-{len(entries)}"


def guarded(cell: str) -> str:
    """Put an apostrophe before each part of a cell that a spreadsheet would compute, as page.js does.

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


def write(draft: Draft, folder: Path, marks: str) -> str:
    """Write a sheet into a folder as sheet.csv and page.html, both or neither, and return its name."""
    check_folder(folder)
    texts = [{column: encodable(cell) for column, cell in entry.items()} for entry in draft.rows]
    name = name_of(texts, marks)
    entries = [{**entry, "sheet": name, "row": str(number)} for number, entry in enumerate(texts, 1)]
    used = {"mark", "note"}.union(*({column for column, cell in entry.items() if cell} for entry in entries))
    columns = [column for column in DATA["columns"] if column in used]
    lines = [[guarded(entry.get(column, "")) for column in columns] for entry in entries]
    pictures = list(dict.fromkeys(entry["image"] for entry in entries if "image" in entry))
    # A card holds the rows about one text, or any other row by itself.
    cards = groupby(entries, lambda entry: entry.get("text") or entry["row"])
    page = template(__package__).render(
        title=draft.title,
        asks=KINDS[marks]["asks"],
        marks=marks_of(marks, entries[0]) if marks == VERDICT else MARKS[marks],
        marks_of=lambda entry: marks_of(marks, entry),
        cards=[list(card) for _, card in cards],
        count=len(entries),
        others=OTHERS,
        pictures={image: index for index, image in enumerate(pictures)},
        data={"columns": columns, "rows": lines, "pictures": pictures, "classes": list(draft.classes)},
        sheet=name,
    )
    with new_folder(folder) as new:
        with (new / SHEET).open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([columns, *lines])
        (new / PAGE).write_text(page, encoding="utf-8", newline="")
    return name


def check_folder(folder: Path) -> None:
    for what, file in (("sheet", SHEET), ("page", PAGE)):
        if os.path.lexists(folder / file):
            raise ValueError(
                f"{folder} holds a {what} already; name another folder, so that no marks are lost."
            )


def read_sheet(path: Path, allow_unmarked: bool = False) -> Sheet:
    """Read a marked sheet, as the page or a spreadsheet saved it, with commas or semicolons between cells.

    A row that is missing, repeated, edited, or from another sheet is an error, and so is a row without a mark unless
    `allow_unmarked`. Each stratum, and each model's part of one, needs a mark.
    """
    lines = _lines(path)
    ((name, _),) = Counter(line["sheet"] for line in lines).most_common(1)
    parts = _NAME.fullmatch(name)
    if not parts:
        raise ValueError(f"{path}: sheet is {name!r:.80}; expected a sheet that {MADE_BY} made.")
    kind, size = parts["marks"], int(parts["rows"])
    rows = {line["row"]: line for line in lines if line["sheet"] == name}
    expected = map(str, range(1, min(size, len(lines) + SOME + 1) + 1))
    lacking = [row for row in expected if row not in rows]
    if lacking or len(lines) != size:
        raise ValueError(
            f"{path} has {len(lines):,} rows; expected each of the {size:,} rows of the sheet {name} once, and no other"
            f"{f'; it lacks {_some(lacking)}' if lacking else ''}. A part of a sample is not a random sample: put "
            "missing rows back, and remove those that are twice there, or from another sheet."
        )
    entries = [rows[str(row)] for row in range(1, size + 1)]
    for entry in entries:
        mark, known = " ".join(entry["mark"].lower().split()), marks_of(kind, entry)
        if mark not in (*known, ""):
            raise ValueError(
                f"{path}, row {entry['row']}: the mark is {entry['mark']!r:.80}; expected "
                f"{' or '.join(map(repr, known))}."
            )
        entry["mark"] = mark
    if name_of(entries, kind) != name:
        raise ValueError(
            f"{path}: the columns {', '.join(KINDS[kind]['signed'])} are not what the sheet {name} was made with. "
            "Only mark and note may change; a spreadsheet keeps the other columns if they are imported as text."
        )
    marked: list[Entry] = [entry for entry in entries if entry["mark"]]
    left: list[Entry] = [entry for entry in entries if not entry["mark"]]
    if not marked or (left and not allow_unmarked):
        raise ValueError(
            f"{len(left)} of the {size} rows of {path} have no mark: {_some([entry['row'] for entry in left])}. "
            "Mark them, or leave them out with --allow-unmarked if at least one is marked."
        )
    every, known_of = ({(one["stratum"], one["model"]) for one in of} for of in (left, marked))
    if lost := every - known_of:
        stratum, model = min(lost)
        raise ValueError(
            f"{path} has no mark in the stratum {stratum!r:.80}{f' of {model}' if model else ''}, which would then not "
            "count at all; mark some of its rows."
        )
    return Sheet(name, kind, marked, left)


def _lines(path: Path) -> list[dict[str, str]]:
    text, longest = read_text(path), min(limits.most("cell"), sys.maxsize)
    header = text.partition("\n")[0]
    delimiter = ";" if header.count(";") > header.count(",") else ","
    csv.field_size_limit(longest)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    with suppress(csv.Error, TypeError):  # a line with fewer or more cells holds a None
        lines = [
            dict.fromkeys(DATA["columns"], "") | {column: unguarded(cell) for column, cell in row.items()}
            for row in reader
            if "".join(map(str, row.values())).strip()
        ]
        if lines and {"sheet", "row", "mark"} <= {*(reader.fieldnames or ())}:
            return lines
    raise ValueError(
        f"{path}, line {reader.reader.line_num}: expected a sheet that {MADE_BY} made: CSV in UTF-8 with the columns "
        f"sheet, row and mark, and in each line as many cells, each of at most {longest:,} characters. Save it "
        "again as that."
    )


def left_out(unmarked: int) -> list[str]:
    return [f"{unmarked:,} rows without a mark are left out"] if unmarked else []


def with_ends(rate: Mapping[str, float]) -> str:
    """Return an estimate and its interval as text, in percent."""
    return f"{percent(rate['value'])} % ({interval((rate['low'], rate['high']))})"


def _some(rows: Sequence[str]) -> str:
    return ", ".join(rows[:SOME]) + (" and others" if len(rows) > SOME else "")
