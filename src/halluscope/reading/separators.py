"""Finds what divides the cells of a text table, by its header and its rows; the ending of its name only proposes."""

import csv
import io
import re
from collections.abc import Sequence
from itertools import islice

from halluscope.errors import BuildError
from halluscope.sanitize import short_repr

COMMA = ","
TAB = "\t"

# What each separator is called in messages
NAMES = {COMMA: "commas", TAB: "tabs", ";": "semicolons", "|": "bars"}

# How columns are often named in tables of responses
_USUAL_NAME = re.compile(
    r"(?:\w*_)?id|index|image|file_name|question|prompt|query|label|category|text|caption"
    r"|(?:\w*_)?(?:response|answer|prediction|output)",
    re.IGNORECASE,
)

_FIRST_LINE = re.compile(r"[^\r\n]+")

# How many rows are compared with the header where its separator is in doubt
COMPARED = 200


def separator_of(text: str, ending: str, where: str) -> str:
    """Return what divides the cells of a table whose file's name ends so.

    Raises:
        BuildError: if two separators fit equally well.
    """
    usual = COMMA
    if ending == ".tsv":
        usual = TAB
    first_line = _FIRST_LINE.search(text)
    if first_line is None:
        return usual
    header = first_line[0]
    in_header = []
    for separator in NAMES:
        if len(_cells(header, separator)) > 1:
            in_header.append(separator)
    if not in_header:
        return usual  # one column
    if len(in_header) == 1:
        return in_header[0]
    fitting = []
    for separator in in_header:
        if _fits(text, separator):
            fitting.append(separator)
    if len(fitting) == 1:
        return fitting[0]
    if not fitting and usual in in_header:
        return usual  # the first row that differs from the header is named when it is read
    if usual == TAB and TAB in fitting:
        return TAB  # a name may well hold a comma, but no tab
    if fitting:
        usual_names = [_usual_names(_cells(header, separator)) for separator in fitting]
        most = max(usual_names)
        if usual_names.count(most) == 1:
            return fitting[usual_names.index(most)]
    names = " and ".join(NAMES[separator] for separator in in_header)
    raise BuildError(
        f"The header of {where} holds {names}: {short_repr(header, 120)}; expected one of them between the names of "
        "the columns. Save the table again, with commas as .csv or with tabs as .tsv."
    )


def _cells(line: str, separator: str) -> list[str]:
    """Return the cells of one line; a separator in quotation marks divides nothing."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []


def _usual_names(names: Sequence[str]) -> int:
    """Return how many columns have a usual name."""
    return len([name for name in names if _USUAL_NAME.fullmatch(name.strip())])


def _fits(text: str, separator: str) -> bool:
    """Whether the first rows have as many cells as the header."""
    table = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        counts = {len(row) for row in islice(table, COMPARED) if row}
    except csv.Error:
        return False
    return len(counts) == 1
