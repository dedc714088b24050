"""Writes a report as text tables, CSV, Markdown, or LaTeX. A cell's text can never change more than its own cell.

Each format starts from the same cells (`_cells`); a `_Pen` says how the format writes one cell.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from tabulate import tabulate

from halluscope.foreign import one_line
from halluscope.registry import HIGHER, Direction
from halluscope.reporting.tables import OTHER, ROWS, Cell, Label, Notes, Number, Report, Table

TABLE, CSV, MARKDOWN, LATEX, JSON = "table", "csv", "markdown", "latex", "json"

FORMATS = (TABLE, CSV, MARKDOWN, LATEX, JSON)
"""The formats of a report; JSON holds the results themselves, and each command makes its own JSON."""

WIDEST = 80
"""The most characters in a line of a text table."""

GAP, PADDING = 2, 2
"""Characters between columns of a text table, and those that tabulate adds to a column's name."""

LONGEST = 40
"""The most characters of a name in a text table; a longer one is cut in the middle. Other formats print it whole."""

FORMULA = "=+-@＝＋－＠"
"""A spreadsheet takes a text that begins with one of these for a formula, unless an apostrophe is before it."""

Better = Callable[[str], Direction]
"""Takes the name of a score's column, and returns whether a higher or a lower score is better."""


def written(
    report: Report, style: str, better: Better = lambda _: None, intervals: bool = False
) -> tuple[str, str]:
    """Return a report in one of the formats: what goes to standard output, and what goes to standard error.

    Args:
        report: tables and notes.
        style: one of `FORMATS`, except JSON.
        better: which way a score is better; in ranked tables, the best of each column is then highlighted.
        intervals: whether each score is shown with its interval.
    """
    if style == CSV:
        beside = (_text_notes(one) for one in report if isinstance(one, Notes))
        return _csv([one for one in report if isinstance(one, Table)]), "\n\n".join(beside)
    write_table, write_notes = _WRITERS[style]
    taste = _Taste(better, intervals)
    blocks = (
        write_notes(one) if isinstance(one, Notes) else write_table(one, taste) for one in _numbered(report)
    )
    return "\n\n".join(blocks), ""


def aligned(rows: Sequence[Sequence[object]], header: Sequence[str], left: int = 1) -> str:
    """Return a text table, whose first columns are aligned to the left, the others to the right; "" without rows.

    No cell's text can break the table. A table that is too wide is split into parts, each with the columns that are
    aligned to the left.
    """
    if not rows:
        return ""
    align = ["left"] * left + ["right"] * (len(header) - left)
    shown = [["" if cell is None else one_line(cell) for cell in row] for row in (header, *rows)]
    return "\n\n".join(
        tabulate(
            [[row[place] for place in part] for row in shown[1:]],
            [shown[0][place] for place in part],
            tablefmt="simple",
            disable_numparse=True,
            colalign=[align[place] for place in part],
        )
        for part in _parts(shown, left)
    )


def _parts(shown: Sequence[Sequence[str]], left: int) -> list[list[int]]:
    """Return the columns of each part of a table; each has the left columns, and is no wider than `WIDEST`.

    If the left columns leave no room for others, the table is one part.
    """
    widths = [max(len(head) + PADDING, *map(len, cells)) + GAP for head, *cells in zip(*shown, strict=True)]
    first, before = list(range(left)), sum(widths[:left]) - GAP
    if before > WIDEST * 3 / 4:
        return [list(range(len(widths)))]
    parts, taken = [[*first]], before
    for place in range(left, len(widths)):
        if taken + widths[place] > WIDEST and len(parts[-1]) > left:
            parts.append([*first])
            taken = before
        parts[-1].append(place)
        taken += widths[place]
    return parts


# The cells of each format


@dataclass(frozen=True)
class _Taste:
    """Which way scores are better, and whether each is shown with its interval."""

    better: Better = lambda _: None
    intervals: bool = False


Written = TypeVar("Written")
"""What a format makes of a cell."""


@dataclass(frozen=True)
class _Pen(Generic[Written]):
    """How a format writes a text and a number; a number may be the best, and may come with its interval."""

    text: Callable[[str], Written]
    number: Callable[[Number, bool, bool], Written]


def _cells(table: Table, pen: _Pen[Written], taste: _Taste, columns: bool = True) -> list[list[Written]]:
    """Return a table's cells as a format writes them.

    Args:
        table: the table.
        pen: writes each cell.
        taste: what is shown.
        columns: whether intervals that are not shown with each score get columns of their own.

    Returns:
        The header, and each row.
    """
    best = _best(table, taste.better) if table.ranked else set()
    beside = [name for name in table.intervals if columns and not taste.intervals and _has_ends(table, name)]

    def written(row: Sequence[Cell], number: int) -> Iterator[Written]:
        for place, (name, cell) in enumerate(zip(table.header, row, strict=True)):
            yield _cell(cell, pen, (number, place) in best, taste.intervals)
            if name in beside:
                yield pen.text(cell.interval if isinstance(cell, Number) else "")

    header = [
        pen.text(shown)
        for name in table.header
        for shown in (name, *([f"{name} interval"] if name in beside else []))
    ]
    grid = [header, *([*written(row, number)] for number, row in enumerate(table.rows))]
    return [list(column) for column in zip(*grid, strict=True)] if table.turned else grid


def _cell(cell: Cell, pen: _Pen[Written], is_best: bool, with_ends: bool) -> Written:
    if isinstance(cell, Number):
        return pen.number(cell, is_best, with_ends and cell.has_ends)
    return pen.text("-" if cell is None else str(cell))


def _has_ends(table: Table, name: str) -> bool:
    place = list(table.header).index(name)
    cells = (row[place] for row in table.rows)
    return any(isinstance(cell, Number) and cell.has_ends for cell in cells)


def _best(table: Table, better: Better) -> set[tuple[int, int]]:
    """Return the places of each column's best numbers, if its numbers differ; rows about other data do not compete."""
    found: set[tuple[int, int]] = set()
    rivals: dict[tuple[str, ...], list[int]] = {}
    for number, row in enumerate(table.rows):
        if _competes(table, row):
            rivals.setdefault(tuple(map(str, row[1 : table.left])), []).append(number)
    for place in range(table.left, len(table.header)):
        direction = better(table.header[place])
        for rows in rivals.values() if direction else ():
            found |= {(row, place) for row in _winners(table, place, rows, direction == HIGHER)}
    return found


def _competes(table: Table, row: Sequence[Cell]) -> bool:
    """Whether a row is about the same data as the first row, as far as that is known.

    For results that a paper prints it is not known, so they do not compete.
    """
    if any(isinstance(cell, Number) and cell.mark == OTHER for cell in row):
        return False
    rows = row[table.header.index(ROWS)] if ROWS in table.header else None
    return not isinstance(rows, Number) or rows.is_defined


def _winners(table: Table, place: int, rows: Sequence[int], higher: bool) -> Iterator[int]:
    """Yield the rows that have the best printed number of a column; no row if all have the same."""
    known = {
        row: cell for row in rows if isinstance(cell := table.rows[row][place], Number) and cell.is_defined
    }
    if len({*map(str, known.values())}) > 1:
        order = sorted(known.values(), key=lambda number: number.value or 0.0)
        first = str(order[-1 if higher else 0])
        yield from (row for row, cell in known.items() if str(cell) == first)


def _numbered(report: Report) -> Report:
    """Return a report in which remarks on names (`Label`) are numbered notes, below the last table that has some."""
    labels = {place: _labels(one) for place, one in enumerate(report) if isinstance(one, Table)}
    said = dict.fromkeys(label.said for of in labels.values() for label in of)
    numbers = {text: number for number, text in enumerate(said, 1)}
    if not numbers:
        return report
    last = max(place for place, of in labels.items() if of)
    notes = Notes([f"[{number}] {said}" for said, number in numbers.items()])
    named = [_with_numbers(one, numbers) if isinstance(one, Table) else one for one in report]
    return [*named[: last + 1], notes, *named[last + 1 :]]


def _labels(table: Table) -> list[Label]:
    return [cell for row in table.rows for cell in row if isinstance(cell, Label)]


def _with_numbers(table: Table, numbers: dict[str, int]) -> Table:
    rows = [
        [f"{cell.name} [{numbers[cell.said]}]" if isinstance(cell, Label) else cell for cell in row]
        for row in table.rows
    ]
    return replace(table, rows=rows)


# Text


def _text_table(table: Table, taste: _Taste) -> str:
    header, *rows = _cells(table, _TEXT, taste)
    titled = [one_line(table.of)] if table.of else []
    return "\n".join([*titled, aligned(rows, header, 1 if table.turned else table.left)])


def _text_notes(notes: Notes) -> str:
    lines = [one_line(line) for line in notes.lines]
    return "\n".join([one_line(notes.of), *(f"  {line}" for line in lines)] if notes.of else lines)


def _short(text: str) -> str:
    """Return a name that is cut in the middle if it is long."""
    line, half = one_line(text), LONGEST // 2
    return line if len(line) <= LONGEST else f"{line[: half - 2]}...{line[1 - half :]}"


def _with_interval(number: Number, _: bool, with_ends: bool) -> str:
    return f"{number} ({number.interval})" if with_ends else str(number)


_TEXT = _Pen(_short, _with_interval)


# For a page


Cells = list[list[tuple[str, bool]]]
"""A table's cells, the header first; each is a text, and whether it is the best of its column."""


def laid_out(report: Report, better: Better) -> list[tuple[Table, Cells] | Notes]:
    """Return a report's notes, and its tables each with their cells, for a page to lay out."""
    taste = _Taste(better, False)
    return [one if isinstance(one, Notes) else (one, _cells(one, _BARE, taste)) for one in _numbered(report)]


_BARE: _Pen[tuple[str, bool]] = _Pen(
    lambda text: (text, False), lambda number, is_best, _: (str(number), is_best)
)


# CSV


def _csv(tables: Sequence[Table]) -> str:
    """Return all tables as one table that has all their columns; a cell is empty where a table lacks the column.

    Numbers have all their digits, fractions are not in percent, and undefined numbers are empty. The ends of intervals,
    marks, and remarks on names have columns of their own.
    """
    rows = [
        ({("table", 0): one.name} if len(tables) > 1 else {}) | row for one in tables for row in _records(one)
    ]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    if rows:
        writer.writerow([_inert(name) for name, _ in columns])
        writer.writerows([row.get(column, "") for column in columns] for row in rows)
    return file.getvalue().removesuffix("\n")


_Column = tuple[str, int]
"""A column's name, and how many columns of the same name are before it in its table."""


def _records(table: Table) -> Iterator[dict[_Column, object]]:
    """Yield each row of a table as a mapping from columns to values."""
    header = [name or f"column {place}" for place, name in enumerate(table.header, 1)]
    columns = [(name, header[:place].count(name)) for place, name in enumerate(header)]
    parts = [
        [part for part in _PARTS if any(part in _written(row[place]) for row in table.rows)]
        for place in range(len(header))
    ]
    for row in table.rows:
        record: dict[_Column, object] = {("responses", 0): _inert(table.of)} if table.of else {}
        for (name, which), cell, has in zip(columns, row, parts, strict=True):
            written = _written(cell)
            record |= {(f"{name}{part}", which): written.get(part, "") for part in has}
        yield record


_PARTS = ("", " low", " high", " mark", " said")
"""Endings of the names of columns that a cell may fill: its own column, and those added next to it."""


def _written(cell: Cell) -> dict[str, object]:
    """Return what CSV holds of a cell, by the ending of the column's name."""
    if isinstance(cell, Label):
        return {"": _inert(cell.name), " said": _inert(cell.said)}
    if not isinstance(cell, Number):
        return {"": _inert(cell) if isinstance(cell, str) else "" if cell is None else cell}
    ends = dict(zip((" low", " high"), map(float, cell.ends), strict=True)) if cell.has_ends else {}
    return {
        "": _plain(cell) if cell.is_defined else "",
        **ends,
        **({" mark": _inert(cell.mark)} if cell.mark else {}),
    }


def _plain(number: Number) -> int | float:
    value = number.value
    assert value is not None
    return int(value) if number.form.endswith("d") else float(value)


def _inert(text: str) -> str:
    """Return a text so that no spreadsheet takes it for a formula."""
    line = one_line(text)
    return f"'{line}" if line.startswith(tuple(FORMULA)) else line


# Markdown

_MEANS = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])")
"""Characters with a meaning in Markdown; an underscore within a word has none."""

_BEGINS = re.compile(r"^(?:[#+\-=:]|\d+(?=[.)]))")
"""Characters with a meaning in Markdown only at the beginning of a line."""


def _markdown_table(table: Table, taste: _Taste) -> str:
    header, *rows = _cells(table, _MARKDOWN, taste)
    left = 1 if table.turned else table.left
    rule = [":---"] * left + ["---:"] * (len(header) - left)
    titled = [f"{_markdown_line(table.of)}\n"] if table.of else []
    return "\n".join([*titled, *(f"| {' | '.join(row)} |" for row in (header, rule, *rows))])


def _markdown_notes(notes: Notes) -> str:
    """Return notes as a list."""
    titled = [f"{_markdown_line(notes.of)}\n"] if notes.of else []
    return "\n".join([*titled, *(f"- {_markdown_line(line)}" for line in notes.lines)])


def _markdown_line(text: str) -> str:
    """Return a text escaped so that Markdown prints it as it is, also at the beginning of a line."""
    return _BEGINS.sub(lambda found: re.sub(r"(\W)$", r"\\\1", found[0]), _markdown_text(text).lstrip())


def _markdown_text(text: str) -> str:
    return _MEANS.sub(r"\\\g<0>", one_line(text))


def _markdown_number(number: Number, is_best: bool, with_ends: bool) -> str:
    shown = _markdown_text(str(number))
    best = f"**{shown}**" if is_best else shown
    return f"{best} ({number.interval})" if with_ends else best


_MARKDOWN = _Pen(_markdown_text, _markdown_number)


# LaTeX

_LATEX_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"{{{sign}}}" for sign in "[]*`"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\char34{}"},
}
"""Characters with a meaning in LaTeX, or that make a ligature -> how LaTeX prints them as text."""

_LATEX_MEANS = re.compile("|".join(map(re.escape, _LATEX_SIGNS)) + "|-(?=-)|'(?=')")


def _latex_table(table: Table, taste: _Taste) -> str:
    r"""Return a table for `\usepackage{booktabs}`."""
    grid = _cells(table, _LATEX, taste, columns=False)
    header, *rows = (" & ".join(row) + r" \\" for row in grid)
    left = 1 if table.turned else table.left
    about = ", ".join(filter(None, (table.name, table.of)))
    places = "l" * left + "r" * (len(grid[0]) - left)
    return "\n".join(
        [
            _comment(about),
            rf"\begin{{tabular}}{{{places}}}",
            *(r"\toprule", header, r"\midrule", *rows, r"\bottomrule"),
            r"\end{tabular}",
        ]
    )


def _latex_notes(notes: Notes) -> str:
    """Return notes as comments."""
    return "\n".join(map(_comment, _text_notes(notes).split("\n")))


def _comment(line: str) -> str:
    return f"% {one_line(line)}"


def _latex_text(text: str) -> str:
    return _LATEX_MEANS.sub(lambda found: _LATEX_SIGNS.get(found[0], f"{{{found[0]}}}"), one_line(text))


def _latex_number(number: Number, is_best: bool, with_ends: bool) -> str:
    r"""Return a number; one with a sign or an interval is written between dollar signs."""
    if number.said or not number.is_defined:
        return _latex_text(number.said) if number.said else "--"
    low, high = number.printed_ends if with_ends else ("", "")
    mark = "*" if number.mark else ""
    shown = str(number).removesuffix(number.mark) if number.mark else str(number)
    if with_ends:
        base = rf"\mathbf{{{shown}}}" if is_best else shown
        return f"${base}_{{{low}}}^{{{high}{mark}}}$"
    if shown[0] in "+-":
        shown = rf"$\mathbf{{{shown}}}$" if is_best else f"${shown}$"
    elif is_best:
        shown = rf"\textbf{{{shown}}}"
    return shown + (f"$^{{{mark}}}$" if mark else "")


_LATEX = _Pen(_latex_text, _latex_number)

_WRITERS = {
    TABLE: (_text_table, _text_notes),
    MARKDOWN: (_markdown_table, _markdown_notes),
    LATEX: (_latex_table, _latex_notes),
}
