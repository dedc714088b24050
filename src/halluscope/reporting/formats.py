"""Writes a report as text tables, CSV, Markdown, or LaTeX. A cell's text can never change more than its own cell."""

import csv
import io
import re
from collections.abc import Sequence
from itertools import chain, groupby
from operator import itemgetter
from shutil import get_terminal_size

from tabulate import tabulate

from halluscope.reporting.tables import Cell, Notes, Number, Report, Table, is_defined
from halluscope.sanitize import one_line

TABLE, CSV, MARKDOWN, LATEX, JSON, LINE = "table", "csv", "markdown", "latex", "json", "line"
# JSON holds the results themselves, and each command makes its own
FORMATS = (TABLE, CSV, MARKDOWN, LATEX, JSON)

WIDEST = 80  # characters in a line of a text table, unless the terminal tells its width
NARROWEST = 40
GAP, PADDING = 2, 2  # characters between its columns, and those that tabulate adds to a column's name
LONGEST = 40  # characters of a name in a text table; a longer one is cut in the middle

# A spreadsheet takes a text that begins with one of these for a formula, unless an apostrophe is before it.
FORMULA = "=+-@＝＋－＠"


def written(report: Report, style: str, intervals: bool = False) -> str:
    """Return a report in one of the formats; CSV has no notes."""
    if style == CSV:
        return _csv([part for part in report if isinstance(part, Table)])
    as_table, as_notes = _WRITERS[style]
    apart = style != LATEX and not intervals
    return "\n\n".join(
        as_notes(part)
        if isinstance(part, Notes)
        else as_table(with_intervals(part) if apart else part, intervals)
        for part in report
    )


def text_notes(report: Report) -> str:
    return "\n\n".join(_text_notes(part) for part in report if isinstance(part, Notes))


def aligned(rows: Sequence[Sequence[object]], header: Sequence[str], left: int = 1) -> str:
    """Return a text table, whose first columns are aligned to the left, the others to the right; "" without rows.

    A table that is too wide is split into parts, each with the columns that are aligned to the left.
    """
    lines = [["" if cell is None else one_line(cell) for cell in row] for row in (header, *rows)]
    widths, widest = _widths(lines), _widest()
    before = sum(widths[:left]) - GAP
    parts, width = [[*range(left)]], before
    for column in range(left, len(widths)):
        # one part if the left columns leave no room for others
        if width + widths[column] > widest and len(parts[-1]) > left and before <= widest * 3 / 4:
            parts.append([*range(left)])
            width = before
        parts[-1].append(column)
        width += widths[column]
    return "\n\n".join(
        tabulate(
            [[row[column] for column in part] for row in lines[1:]],
            [lines[0][column] for column in part],
            tablefmt="simple",
            disable_numparse=True,
            colalign=["left" if column < left else "right" for column in part],
        )
        for part in (parts if rows else ())
    )


def _widest() -> int:
    return max(NARROWEST, get_terminal_size((WIDEST, 24)).columns)


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(head) + PADDING, *map(len, cells)) + GAP for head, *cells in zip(*lines, strict=True)]


def with_intervals(table: Table) -> Table:
    """Put the intervals that are shown beside their score into columns of their own."""
    columns: list[Sequence[Cell]] = []
    for name, *cells in zip(table.header, *table.rows, strict=True):
        columns.append([name, *cells])
        ends = [cell.interval if isinstance(cell, Number) else "" for cell in cells]
        if name in table.intervals and any(ends):
            columns.append([f"{name} interval", *(one or "-" for one in ends)])
    return _of_lines(table, [*zip(*columns, strict=True)])


def upright(table: Table) -> Table:
    """Return a table as it is shown: its columns as rows if it is turned."""
    if not table.turned:
        return table
    return _of_lines(table._replace(left=1), [*zip(table.header, *table.rows, strict=True)])


def _of_lines(table: Table, lines: Sequence[Sequence[Cell]]) -> Table:
    return table._replace(header=[*map(str, lines[0])], rows=lines[1:])


# Text


def _text_table(table: Table, intervals: bool) -> str:
    def write(cell: Cell) -> str:
        text = "-" if cell is None else one_line(cell)
        if isinstance(cell, Number):
            return f"{text} ({cell.interval})" if intervals and cell.interval else text
        half = LONGEST // 2
        return text if len(text) <= LONGEST else f"{text[: half - 2]}...{text[1 - half :]}"

    def fits(lines: Sequence[Sequence[str]]) -> bool:
        return sum(_widths(lines)) - GAP <= _widest()

    shown = upright(table)
    header, *rows = lines = [[*map(write, line)] for line in (shown.header, *shown.rows)]
    if table.turned or not table.ranked or fits(lines):
        blocks = [aligned(rows, header, shown.left)]
    elif fits(turned := [*zip(*lines, strict=True)]):
        blocks = [aligned(turned[1:], turned[0])]
    else:  # a block per LVLM
        blocks = []
        for name, of in groupby(rows, key=itemgetter(0)):
            first, *others = zip(header[1:], *(row[1:] for row in of), strict=True)
            blocks.append(f"{name}\n{aligned(others, first)}")
    title = f"{one_line(table.of)}\n" if table.of else ""
    return "\n\n".join(title + block for block in blocks)


def _text_notes(notes: Notes) -> str:
    lines = [one_line(line) for line in notes.lines]
    return "\n".join([one_line(notes.of), *(f"  {line}" for line in lines)] if notes.of else lines)


# CSV

# Endings of the names of columns that a number fills: its own column, and others if a number has what belongs there
_ENDINGS = ("", " low", " high", " mark")


def _csv(tables: Sequence[Table]) -> str:
    """Return all tables as one table that has all their columns.

    Numbers have all their digits, fractions are not in percent, and undefined numbers are empty. The ends of intervals
    and marks have columns of their own.
    """
    records: list[dict[str, object]] = []
    beside = set[str]()  # columns for the ends of intervals and marks
    for table in tables:
        about = {"table": table.name if len(tables) > 1 else "", "responses": _inert(table.of)}
        for row in table.rows:
            record: dict[str, object] = {name: text for name, text in about.items() if text}
            for name, cell in zip(map(_inert, table.header), row, strict=True):
                record[name] = _inert(cell) if isinstance(cell, str) else cell
                if isinstance(cell, Number):
                    kind = int if cell.form.endswith("d") else float
                    value = kind(cell.value) if is_defined(cell.value) else None
                    ends = map(float, cell.ends) if cell.interval else (None, None)
                    values = (value, *ends, _inert(cell.mark) or None)
                    numbers = dict(zip([name + ending for ending in _ENDINGS], values, strict=True))
                    record |= numbers
                    beside |= numbers.keys() - {name}
            records.append(record)
    held = {name for record in records for name, value in record.items() if value is not None}
    columns = [
        name for name in dict.fromkeys(chain.from_iterable(records)) if name in held or name not in beside
    ]
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return file.getvalue().removesuffix("\n")


def _inert(text: str) -> str:
    """Return a text so that no spreadsheet takes it for a formula."""
    line = one_line(text)
    return f"'{line}" if line.startswith(tuple(FORMULA)) else line


# Markdown

# Characters with a meaning in Markdown; an underscore within a word has none.
_MEANS = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])")

# Characters with a meaning in Markdown only at the beginning of a line.
_BEGINS = re.compile(r"^(?:[#+\-=:]|\d+(?=[.)]))")


def _markdown_table(table: Table, intervals: bool) -> str:
    def write(cell: Cell) -> str:
        text = "-" if cell is None else _MEANS.sub(r"\\\g<0>", one_line(cell))
        if not isinstance(cell, Number):
            return text
        text = f"**{text}**" if cell.best else text
        return f"{text} ({cell.interval})" if intervals and cell.interval else text

    shown = upright(table)
    rule = [":---"] * shown.left + ["---:"] * (len(shown.header) - shown.left)
    lines = [[*map(write, shown.header)], rule, *([*map(write, row)] for row in shown.rows)]
    titled = [f"{_markdown_line(table.of)}\n"] if table.of else []
    return "\n".join([*titled, *(f"| {' | '.join(line)} |" for line in lines)])


def _markdown_notes(notes: Notes) -> str:
    titled = [f"{_markdown_line(notes.of)}\n"] if notes.of else []
    return "\n".join([*titled, *(f"- {_markdown_line(line)}" for line in notes.lines)])


def _markdown_line(text: str) -> str:
    """Return a text escaped so that Markdown prints it as it is, also at the beginning of a line."""
    line = _MEANS.sub(r"\\\g<0>", one_line(text)).lstrip()
    return _BEGINS.sub(lambda found: re.sub(r"(\W)$", r"\\\1", found[0]), line)


# LaTeX

# Characters with a meaning in LaTeX, or that make a ligature -> how LaTeX prints them as text.
_LATEX_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"{{{sign}}}" for sign in "[]*`"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"\u2191": r"$\uparrow$", "\u2193": r"$\downarrow$"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\char34{}"},
}

_LATEX_MEANS = re.compile("|".join(map(re.escape, _LATEX_SIGNS)) + "|-(?=-)|'(?=')")


def _latex_table(table: Table, intervals: bool) -> str:
    r"""Return a table for `\usepackage{booktabs}`."""

    def write(cell: Cell) -> str:
        if isinstance(cell, Number):
            return _latex_number(cell, intervals)
        return _latex_text("-" if cell is None else cell)

    rows = [[*map(write, row)] for row in table.rows]
    shown = upright(table._replace(header=[*map(_latex_head, table.header)], rows=rows))
    head, *body = (" & ".join(map(str, line)) + r" \\" for line in (shown.header, *shown.rows))
    about = one_line(", ".join(filter(None, (table.name, table.of))))
    begin = rf"\begin{{tabular}}{{{'l' * shown.left}{'r' * (len(shown.header) - shown.left)}}}"
    return "\n".join(
        [f"% {about}", begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    )


def _latex_notes(notes: Notes) -> str:
    return "\n".join(f"% {line}" for line in _text_notes(notes).split("\n"))


def _latex_text(text: object) -> str:
    return _LATEX_MEANS.sub(lambda found: _LATEX_SIGNS.get(found[0], f"{{{found[0]}}}"), one_line(text))


def _latex_number(number: Number, with_ends: bool) -> str:
    r"""Return a number; one with a sign or an interval is written between dollar signs."""
    if number.text or not is_defined(number.value):
        return _latex_text(number.text) or "--"
    shown, mark = number.printed(number.value), "*" * bool(number.mark)
    if with_ends and number.interval:
        low, high = map(number.printed, number.ends)
        shown = rf"\mathbf{{{shown}}}" if number.best else shown
        return f"${shown}_{{{low}}}^{{{high}{mark}}}$"
    if shown[0] in "+-":
        shown = rf"$\mathbf{{{shown}}}$" if number.best else f"${shown}$"
    elif number.best:
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


_WRITERS = {
    TABLE: (_text_table, _text_notes),
    MARKDOWN: (_markdown_table, _markdown_notes),
    LATEX: (_latex_table, _latex_notes),
}
