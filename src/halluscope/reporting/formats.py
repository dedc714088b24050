"""Writes a report as text tables, CSV, Markdown, or LaTeX. A cell's text can never change more than its own cell."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from shutil import get_terminal_size
from typing import Generic, TypeVar

from tabulate import tabulate

from halluscope.registry import HIGHER, Direction
from halluscope.reporting.tables import OTHER, ROWS, Cell, Notes, Number, Report, Table
from halluscope.sanitize import one_line

TABLE, CSV, MARKDOWN, LATEX, JSON, LINE = "table", "csv", "markdown", "latex", "json", "line"
FORMATS = (
    TABLE,
    CSV,
    MARKDOWN,
    LATEX,
    JSON,
)  # JSON holds the results themselves, and each command makes its own

WIDEST = 80  # characters in a line of a text table, unless the terminal tells its width
NARROWEST = 40
GAP, PADDING = 2, 2  # characters between its columns, and those that tabulate adds to a column's name
LONGEST = 40  # characters of a name in a text table; a longer one is cut in the middle

# A spreadsheet takes a text that begins with one of these for a formula, unless an apostrophe is before it.
FORMULA = "=+-@＝＋－＠"

# Takes the name of a score's column, and returns whether a higher or a lower score is better.
Better = Callable[[str], Direction]


def written(
    report: Report, style: str, better: Better = lambda _: None, intervals: bool = False
) -> tuple[str, str]:
    """Return a report in one of the formats: what goes to standard output, and what goes to standard error."""
    if style == CSV:
        beside = (_text_notes(part) for part in report if isinstance(part, Notes))
        return _csv([part for part in report if isinstance(part, Table)]), "\n\n".join(beside)
    table, notes = _WRITERS[style]
    parts = (notes(part) if isinstance(part, Notes) else table(part, better, intervals) for part in report)
    return "\n\n".join(parts), ""


def aligned(rows: Sequence[Sequence[object]], header: Sequence[str], left: int = 1) -> str:
    """Return a text table, whose first columns are aligned to the left, the others to the right; "" without rows.

    A table that is too wide is split into parts, each with the columns that are aligned to the left.
    """
    if not rows:
        return ""
    align = ["left"] * left + ["right"] * (len(header) - left)
    lines = [["" if cell is None else one_line(cell) for cell in row] for row in (header, *rows)]
    return "\n\n".join(
        tabulate(
            [[row[column] for column in part] for row in lines[1:]],
            [lines[0][column] for column in part],
            tablefmt="simple",
            disable_numparse=True,
            colalign=[align[column] for column in part],
        )
        for part in _parts(lines, left)
    )


def _widest() -> int:
    return max(NARROWEST, get_terminal_size((WIDEST, 24)).columns)


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(head) + PADDING, *map(len, cells)) + GAP for head, *cells in zip(*lines, strict=True)]


def _parts(lines: Sequence[Sequence[str]], left: int) -> list[list[int]]:
    """Return the columns of each part of a table; one part if the left columns leave no room for others."""
    widths, widest = _widths(lines), _widest()
    before = sum(widths[:left]) - GAP
    if before > widest * 3 / 4:
        return [list(range(len(widths)))]
    parts, width = [list(range(left))], before
    for column in range(left, len(widths)):
        if width + widths[column] > widest and len(parts[-1]) > left:
            parts.append(list(range(left)))
            width = before
        parts[-1].append(column)
        width += widths[column]
    return parts


# The cells of each format

Written = TypeVar("Written")  # what a format makes of a cell


@dataclass(frozen=True)
class _Pen(Generic[Written]):
    """How a format writes a text, and a number: whether it is the best, and whether its interval is shown with it."""

    text: Callable[[str], Written]
    number: Callable[[Number, bool, bool], Written]
    head: Callable[[str], Written] | None = None  # how it writes a column's name, if not as a text


def _cells(
    table: Table, pen: _Pen[Written], better: Better, intervals: bool = False, columns: bool = True
) -> list[list[Written]]:
    """Return a table's header and rows; intervals beside no score get columns of their own if `columns` is true."""
    best = _best(table, better) if table.ranked else set()
    beside = [name for name in table.intervals if columns and not intervals and _has_ends(table, name)]
    names = [shown for name in table.header for shown in (name, f"{name} interval")[: 1 + (name in beside)]]
    grid = [[*map(pen.head or pen.text, names)]]
    for number, row in enumerate(table.rows):
        grid.append([])
        for column, (name, cell) in enumerate(zip(table.header, row, strict=True)):
            if isinstance(cell, Number):
                written = pen.number(cell, cell.best or (number, column) in best, intervals and cell.has_ends)
            else:
                written = pen.text("-" if cell is None else str(cell))
            grid[-1].append(written)
            if name in beside:
                grid[-1].append(pen.text(cell.interval if isinstance(cell, Number) else ""))
    return [list(column) for column in zip(*grid, strict=True)] if table.turned else grid


def _has_ends(table: Table, name: str) -> bool:
    cells = (row[list(table.header).index(name)] for row in table.rows)
    return any(isinstance(cell, Number) and cell.has_ends for cell in cells)


def _best(table: Table, better: Better) -> set[tuple[int, int]]:
    """Return the cells (row, column) that print the best number of their column, if its numbers differ."""
    best: set[tuple[int, int]] = set()
    rivals: dict[tuple[str, ...], list[int]] = {}
    for number, row in enumerate(table.rows):
        if _competes(table, row):
            rivals.setdefault(tuple(map(str, row[1 : table.left])), []).append(number)
    for column in range(table.left, len(table.header)):
        direction = better(table.header[column])
        for rows in rivals.values() if direction else ():
            each = ((row, table.rows[row][column]) for row in rows)
            cells = {row: cell for row, cell in each if isinstance(cell, Number) and cell.is_defined}
            if len({*map(str, cells.values())}) > 1:
                order = sorted(cells.values(), key=lambda number: number.value or 0.0)
                winner = str(order[-1 if direction == HIGHER else 0])
                best |= {(row, column) for row, cell in cells.items() if str(cell) == winner}
    return best


def _competes(table: Table, row: Sequence[Cell]) -> bool:
    """Whether a row is about the same data as the first row; one without a number of rows, such as chance, is not."""
    if any(isinstance(cell, Number) and cell.mark == OTHER for cell in row):
        return False
    rows = row[table.header.index(ROWS)] if ROWS in table.header else None
    return not isinstance(rows, Number) or rows.is_defined


# Text


def _text_table(table: Table, better: Better, intervals: bool) -> str:
    header, *rows = _cells(table, _TEXT, better, intervals)
    title = [one_line(table.of)] if table.of else []
    if table.turned or not table.ranked or _fits([header, *rows]):
        return "\n".join([*title, aligned(rows, header, 1 if table.turned else table.left)])
    if _fits(turned := [*zip(header, *rows, strict=True)]):
        return "\n".join([*title, aligned(turned[1:], turned[0])])
    blocks = []  # one per LVLM
    for name, of in groupby(rows, key=itemgetter(0)):
        first, *others = zip(header[1:], *(row[1:] for row in of), strict=True)
        blocks.append("\n".join([*title, name, aligned(others, first)]))
    return "\n\n".join(blocks)


def _fits(lines: Sequence[Sequence[str]]) -> bool:
    return sum(_widths(lines)) - GAP <= _widest()


def _text_notes(notes: Notes) -> str:
    lines = [one_line(line) for line in notes.lines]
    return "\n".join([one_line(notes.of), *(f"  {line}" for line in lines)] if notes.of else lines)


def _short(text: str) -> str:
    line, half = one_line(text), LONGEST // 2
    return line if len(line) <= LONGEST else f"{line[: half - 2]}...{line[1 - half :]}"


_TEXT = _Pen(
    _short, lambda number, _, with_ends: f"{number} ({number.interval})" if with_ends else str(number)
)


# For a page

# A table's cells, the header first; each is a text, and whether it is the best of its column.
Cells = list[list[tuple[str, bool]]]

_BARE: _Pen[tuple[str, bool]] = _Pen(lambda text: (text, False), lambda number, best, _: (str(number), best))


def laid_out(report: Report) -> list[tuple[Table, Cells] | Notes]:
    """Return a report's notes, and its tables each with their cells, for a page to lay out."""
    return [
        part if isinstance(part, Notes) else (part, _cells(part, _BARE, lambda _: None)) for part in report
    ]


# CSV

_Column = tuple[str, int]  # a name, and how many columns of the same name are before it in its table


def _csv(tables: Sequence[Table]) -> str:
    """Return all tables as one table that has all their columns.

    Numbers have all their digits, fractions are not in percent, and undefined numbers are empty. The ends of intervals
    and marks have columns of their own.
    """
    rows = [
        ({("table", 0): table.name} if len(tables) > 1 else {}) | row
        for table in tables
        for row in _records(table)
    ]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    if rows:
        writer.writerow([_inert(name) for name, _ in columns])
        writer.writerows([row.get(column, "") for column in columns] for row in rows)
    return file.getvalue().removesuffix("\n")


def _records(table: Table) -> Iterator[dict[_Column, object]]:
    names = [name or f"column {number}" for number, name in enumerate(table.header, 1)]
    rows = [list(map(_values, row)) for row in table.rows]
    endings = [[end for end in _ENDINGS if any(end in row[i] for row in rows)] for i in range(len(names))]
    for row in rows:
        record: dict[_Column, object] = {("responses", 0): _inert(table.of)} if table.of else {}
        for column, (name, values) in enumerate(zip(names, row, strict=True)):
            before = names[:column].count(name)
            record |= {(f"{name}{end}", before): values.get(end, "") for end in endings[column]}
        yield record


# Endings of the names of columns that a cell may fill: its own column, and those added next to it.
_ENDINGS = ("", " low", " high", " mark")


def _values(cell: Cell) -> dict[str, object]:
    """Return what CSV holds of a cell, by the ending of the column's name."""
    if not isinstance(cell, Number):
        return {"": _inert(cell) if isinstance(cell, str) else "" if cell is None else cell}
    kind = int if cell.form.endswith("d") else float
    values: dict[str, object] = {"": "" if cell.value is None or not cell.is_defined else kind(cell.value)}
    if cell.has_ends:
        values |= zip((" low", " high"), map(float, cell.ends), strict=True)
    return values | ({" mark": _inert(cell.mark)} if cell.mark else {})


def _inert(text: str) -> str:
    """Return a text so that no spreadsheet takes it for a formula."""
    line = one_line(text)
    return f"'{line}" if line.startswith(tuple(FORMULA)) else line


# Markdown

# Characters with a meaning in Markdown; an underscore within a word has none.
_MEANS = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])")

# Characters with a meaning in Markdown only at the beginning of a line.
_BEGINS = re.compile(r"^(?:[#+\-=:]|\d+(?=[.)]))")


def _markdown_table(table: Table, better: Better, intervals: bool) -> str:
    header, *rows = _cells(table, _MARKDOWN, better, intervals)
    left = 1 if table.turned else table.left
    rule = [":---"] * left + ["---:"] * (len(header) - left)
    titled = [f"{_markdown_line(table.of)}\n"] if table.of else []
    return "\n".join([*titled, *(f"| {' | '.join(row)} |" for row in (header, rule, *rows))])


def _markdown_notes(notes: Notes) -> str:
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

# Characters with a meaning in LaTeX, or that make a ligature -> how LaTeX prints them as text.
_LATEX_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"{{{sign}}}" for sign in "[]*`"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\char34{}"},
}

_LATEX_MEANS = re.compile("|".join(map(re.escape, _LATEX_SIGNS)) + "|-(?=-)|'(?=')")


def _latex_table(table: Table, better: Better, intervals: bool) -> str:
    r"""Return a table for `\usepackage{booktabs}`."""
    grid = _cells(table, _LATEX, better, intervals, columns=False)
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


def _latex_head(name: str) -> str:
    """Return a score's name as papers print it, such as "$F_1$" and "$F_{0.5}$ (cls)"; other names as they are."""
    found = re.fullmatch(r"(?:f(\d)|f(\d\.\d)|([a-z][a-z\d.]*))((?:[_/][a-z\d_./]+)?)", name[:50])
    if not found or len(name) > 50:
        return _latex_text(name)
    digit, fraction, word, rest = found.groups()
    rest = rest[1:].replace("_", " ").replace("/", " ")
    if word:
        return f"{word} {rest}".strip().capitalize()
    return f"$F_{digit}$" * bool(digit) + f"$F_{{{fraction}}}$" * bool(fraction) + f" ({rest})" * bool(rest)


_LATEX = _Pen(_latex_text, _latex_number, _latex_head)

_WRITERS = {
    TABLE: (_text_table, _text_notes),
    MARKDOWN: (_markdown_table, _markdown_notes),
    LATEX: (_latex_table, _latex_notes),
}
