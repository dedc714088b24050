"""A review sheet as CSV and as a page: its columns, its marks, and its writer. `marked_sheet` reads it back.

The column `sheet` holds its name, such as "valid-3f2a9c1e-200": the marks, a digest of its signed columns, and the
number of rows. So a marked sheet can be checked by itself.
"""

import csv
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from halluscope import vocabularies
from halluscope.files.writing import new_folder
from halluscope.reporting.page.html_template import template
from halluscope.sanitize import encodable

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
    "scale",
    "question",
    "answer",
    "response",
    "mark",
    "note",
)

# Spreadsheets change spaces, quotes and leading zeros; they change more in the other columns, such as an answer that
# they take for a date.
SIGNED = ("id", "model", "stratum", "stratum_rows", "read_by", "annotated", "question")
SIGNED_OF_TEXTS = (*SIGNED, "drawn_from", "text", "chance", "class")


@dataclass(frozen=True)
class Kind:
    """A kind of sheet."""

    marks: tuple[str, ...]  # on sheets of rows, the first counts as 1
    asks: str  # the question at the top of the page
    signed: tuple[str, ...]  # the columns whose letters and digits are in the digest of the sheet's name


VALID = "valid"
AGREE = "agree"
READING = "reading"
IMPLIED = "implied"
VERDICT = "verdict"

KINDS = {
    # Are a question and its answer valid (HQM, equation 3)?
    VALID: Kind(
        marks=("valid", "not valid"),
        asks="Are the question and its answer right, clear and unambiguous?",
        signed=SIGNED,
    ),
    # Do people agree with a model's response (HQM, equation 4), or with a verdict on it?
    AGREE: Kind(
        marks=("agree", "disagree"),
        asks="Do you agree with the response (or the answer, where there is no response)?",
        signed=SIGNED,
    ),
    # Is a class that a method reads out of a response right (THRONE, supplement, section 4, Table 3)? A false positive
    # that is right may also be a hallucination or a misclassification (Table 4).
    READING: Kind(
        marks=("right", "wrong", "hallucination", "misclassification"),
        asks="Mark it right if the response says or implies it. If it is right but not annotated, it may be a "
        "hallucination (nothing like it is there) or a misclassification (something else is there).",
        signed=SIGNED,
    ),
    # Does a response imply a class? These marks certify judges.
    IMPLIED: Kind(
        marks=("implied", "not implied"),
        asks="Does the response say or imply that this is in the image? In the last row, mark whether it implies any "
        "other class of the list, and name each one.",
        signed=SIGNED_OF_TEXTS,
    ),
    # What is the verdict on a response, by each criterion? The column `scale` has the marks. They certify graders.
    VERDICT: Kind(
        marks=("yes", "no"),
        asks="Judge the response by each criterion, as the benchmark's paper asks its judge to.",
        signed=(*SIGNED_OF_TEXTS, "scale"),
    ),
}

# The marks of the row that asks about all other classes of a response; the row's note names them.
NO_OTHERS = "no others"
OTHERS = "others"

# The marks of a criterion that is met or not
YES_MARK = "yes"
NO_MARK = "no"

# The values of `annotated`: whether the class that is read out of the response is in the ground truth.
YES = "yes"
NO = "no"

SHEET = "sheet.csv"
PAGE = "page.html"

# Where some reader sees a cell begin: at its start, and after any sign that some reader takes for a cell's end.
_BEGINS = r"(?:\A|(?<=[,;|\"\t\r\n]))"
# The start of a formula, after any apostrophes: so an apostrophe that was added can be told from the text's own.
_FORMULA = r"(?=[' ]*[=+\-@\t\r\n＝＋－＠])"
_UNGUARDED = re.compile(_BEGINS + _FORMULA)
_GUARDED = re.compile(f"{_BEGINS}'{_FORMULA}")

# A row of a sheet: column -> cell. On a new sheet, "image" is the row's image as a data URI.
Entry = Mapping[str, str]


@dataclass(frozen=True)
class Draft:
    """What a new sheet holds."""

    rows: Sequence[Entry]  # rows about one text follow each other
    title: str
    classes: Sequence[str] = ()  # suggested where other classes may be named


def rows_about(text: Entry, chance: float, questions: Sequence[Entry], card: Entry) -> list[Entry]:
    """Return a row per question about a text that was drawn with this chance; only the first row has its `card`."""
    rows: list[Entry] = []
    for question in questions:
        # in plain digits, which no spreadsheet rewrites
        row = {**text, "chance": f"{chance:.9f}".rstrip("0").rstrip("."), **question}
        if not rows:
            row.update(card)
        rows.append(row)
    return rows


def marks_of(kind: str, entry: Entry) -> Sequence[str]:
    """Return the marks that a row may have: an annotated class is neither hallucination nor misclassification."""
    if kind == IMPLIED and not entry["class"]:
        return (NO_OTHERS, OTHERS)
    if kind == VERDICT:
        return entry["scale"].split()
    marks = KINDS[kind].marks
    if entry.get("annotated") == YES:
        return marks[:2]
    return marks


def class_names(classes: set[str]) -> dict[str, str]:
    """Return the names to show for classes whose meaning in the vocabulary differs from the word's."""
    for vocabulary in map(vocabularies.load, vocabularies.names()):
        if classes <= set(vocabulary.classes):
            named = {}
            for name, plain in vocabulary.plain.items():
                if plain.means:
                    named[name] = f"{name} ({plain.means})"
            return named
    return {}


def number(cell: str) -> float:
    """Return the number in a cell, in which a spreadsheet may have put a comma."""
    return float(cell.replace(",", "."))


def name_of(entries: Sequence[Entry], kind: str) -> str:
    """Return the name of a sheet with these rows."""
    cells = []
    for entry in entries:
        cells.append([signed(column, entry.get(column, "")) for column in KINDS[kind].signed])
    digest = hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:8]
    return f"{kind}-{digest}-{len(entries)}"


def signed(column: str, cell: str) -> str:
    """Return what no spreadsheet changes: a cell's letters and digits, without leading zeros; a chance as a number."""
    if column == "chance" and cell:
        with suppress(ValueError):
            return f"{number(cell):g}"
    return re.sub(r"[\W_]+", "", cell.casefold()).lstrip("0")


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


def write(draft: Draft, folder: Path, kind: str) -> str:
    """Write a sheet into a folder as sheet.csv and page.html, both or neither, and return its name."""
    check_folder(folder)
    rows = []
    for entry in draft.rows:
        rows.append({column: encodable(cell) for column, cell in entry.items()})
    name = name_of(rows, kind)
    for number_of_row, row in enumerate(rows, start=1):
        row["sheet"] = name
        row["row"] = str(number_of_row)
    columns = _columns(rows)
    lines = []
    for row in rows:
        lines.append([guarded(row.get(column, "")) for column in columns])
    page = _page(draft, name, kind, rows, {"columns": columns, "rows": lines})
    with new_folder(folder) as new:
        with (new / SHEET).open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerow(columns)
            writer.writerows(lines)
        (new / PAGE).write_text(page, encoding="utf-8", newline="")
    return name


def check_folder(folder: Path) -> None:
    """Check that a folder has no sheet yet."""
    for kind, file in (("sheet", SHEET), ("page", PAGE)):
        if os.path.lexists(folder / file):
            raise ValueError(
                f"{folder} holds a {kind} already; name another folder, so that no marks are lost."
            )


def _columns(rows: Sequence[Entry]) -> list[str]:
    """Return the columns that a sheet needs, in order."""
    used = {"mark", "note"}
    for row in rows:
        used.update(column for column, cell in row.items() if cell)
    return [column for column in COLUMNS if column in used]


def _page(
    draft: Draft, name: str, kind: str, rows: Sequence[Entry], data: dict[str, Sequence[object]]
) -> str:
    pictures: dict[str, int] = {}  # image -> its number
    for row in rows:
        if "image" in row:
            pictures.setdefault(row["image"], len(pictures))
    cards = []  # a card holds the rows about one text, or any other row by itself
    for _, card in groupby(rows, lambda row: row.get("text") or row["row"]):
        cards.append(list(card))
    marks: Sequence[str] = KINDS[kind].marks
    if kind == VERDICT:
        marks = marks_of(kind, rows[0])
    return template(__package__).render(
        title=draft.title,
        asks=KINDS[kind].asks,
        marks=marks,
        marks_of=lambda row: marks_of(kind, row),
        cards=cards,
        count=len(rows),
        others=(NO_OTHERS, OTHERS),
        pictures=pictures,
        data={**data, "pictures": list(pictures), "classes": list(draft.classes)},
        sheet=name,
    )
