"""Writes a report as text tables, CSV, Markdown, or LaTeX. A cell's text can never change more than its own cell."""

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from shutil import get_terminal_size
from typing import Any

from tabulate import tabulate

from halluscope.reporting.tables import Cell, Notes, Number, Report, Table, is_defined
from halluscope.sanitize import one_line

TABLE, CSV, MARKDOWN, LATEX, JSON, LINE = "table", "csv", "markdown", "latex", "json", "line"
# JSON holds the results themselves, and each command makes its own
FORMATS = (TABLE, CSV, MARKDOWN, LATEX, JSON)

WIDEST = 80  # characters in a line of a text table, unless the terminal tells its width
NARROWEST = 40
GAP, PADDING = 2, 2  # characters between its columns, and those that tabulate adds to a column's name
LONGEST = 40  # characters of a text in a text table; a longer one is cut in the middle

# A spreadsheet takes a text that begins with one of these for a formula, unless an apostrophe is before it.
FORMULA = "=+-@＝＋－＠"


def written(report: Report, style: str, intervals: bool = False) -> str:
    """Return a report in one of the formats; CSV has no notes."""
    if style == CSV:
        return _csv([part for part in report if isinstance(part, Table)])
    write_table, write_notes = _WRITERS[style]
    texts = []
    for part in report:
        if isinstance(part, Notes):
            texts.append(write_notes(part))
        elif style == LATEX or intervals:
            texts.append(write_table(part, intervals))
        else:
            texts.append(write_table(with_intervals(part), intervals))
    return "\n\n".join(texts)


def text_notes(report: Report) -> str:
    return "\n\n".join(_text_notes(part) for part in report if isinstance(part, Notes))


def aligned(rows: Sequence[Sequence[object]], header: Sequence[str], left: int = 1) -> str:
    """Return a text table, whose first columns are aligned to the left, the others to the right; "" without rows.

    A table that is too wide is split into parts, each with the columns that are aligned to the left.
    """
    if not rows:
        return ""
    lines = _lines(header, rows, _plain_cell)
    texts = []
    for columns in _columns_of_parts(lines, left):
        part = []
        for line in lines:
            part.append([line[column] for column in columns])
        right = len(columns) - left
        text = tabulate(
            part[1:],
            part[0],
            tablefmt="simple",
            disable_numparse=True,
            colalign=["left"] * left + ["right"] * right,
        )
        texts.append(text)
    return "\n\n".join(texts)


def _lines(
    header: Sequence[Any], rows: Sequence[Sequence[Any]], write: Callable[[Any], str]
) -> list[list[str]]:
    """Return the cells of a header, and of the rows below it, as texts."""
    lines = []
    for row in (header, *rows):
        lines.append([write(cell) for cell in row])
    return lines


def _plain_cell(cell: object) -> str:
    if cell is None:
        return ""
    return one_line(cell)


def _columns_of_parts(lines: Sequence[Sequence[str]], left: int) -> list[list[int]]:
    """Return the columns of each part of a text table, so that as many as possible fit into a line."""
    widths = _widths(lines)
    widest = _widest()
    width_of_left = sum(widths[:left]) - GAP
    # one part if the left columns leave no room for others
    can_be_split = width_of_left <= widest * 3 / 4
    parts = [list(range(left))]
    width = width_of_left
    for column in range(left, len(widths)):
        is_full = width + widths[column] > widest and len(parts[-1]) > left
        if is_full and can_be_split:
            parts.append(list(range(left)))
            width = width_of_left
        parts[-1].append(column)
        width += widths[column]
    return parts


def _widest() -> int:
    return max(NARROWEST, get_terminal_size((WIDEST, 24)).columns)


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column, with the gap after it; the first line is the header."""
    widths = [len(name) + PADDING for name in lines[0]]
    for line in lines[1:]:
        for column, cell in enumerate(line):
            widths[column] = max(widths[column], len(cell))
    return [width + GAP for width in widths]


def with_intervals(table: Table) -> Table:
    """Put the intervals that are shown beside their score into columns of their own."""
    header: list[str] = []
    rows: list[list[Cell]] = [[] for _ in table.rows]
    for column, name in enumerate(table.header):
        header.append(name)
        intervals = []
        for row, cells in zip(rows, table.rows, strict=True):
            cell = cells[column]
            row.append(cell)
            intervals.append(cell.interval if isinstance(cell, Number) else "")
        if name in table.intervals and any(intervals):
            header.append(f"{name} interval")
            for row, interval in zip(rows, intervals, strict=True):
                row.append(interval or "-")
    return table._replace(header=header, rows=rows)


def upright(table: Table) -> Table:
    """Return a table as it is shown: its columns as rows if it is turned."""
    if not table.turned:
        return table
    lines = _transposed([table.header, *table.rows])
    header = [str(cell) for cell in lines[0]]
    return table._replace(left=1, header=header, rows=lines[1:])


def _transposed(lines: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*lines, strict=True)]


# Text


def is_too_wide(table: Table) -> bool:
    """Whether a terminal has no room for a table, upright or turned, so that each LVLM becomes a block of its own."""
    lines = _text_lines(with_intervals(table), intervals=False)
    return not _fits(lines) and not _fits(_transposed(lines))


def _text_table(table: Table, intervals: bool) -> str:
    lines = _text_lines(table, intervals)
    transposed = _transposed(lines)
    if table.turned:
        blocks = [aligned(lines[1:], lines[0])]
    elif not table.ranked or _fits(lines):
        blocks = [aligned(lines[1:], lines[0], table.left)]
    elif _fits(transposed):
        blocks = [aligned(transposed[1:], transposed[0])]
    else:
        blocks = _blocks(lines)
    title = ""
    if table.of:
        title = f"{one_line(table.of)}\n"
    return "\n\n".join(title + block for block in blocks)


def _text_lines(table: Table, intervals: bool) -> list[list[str]]:
    """Return the cells of a table as it is shown, the header first."""
    as_shown = upright(table)
    names = list(as_shown.header)
    for row in as_shown.rows:
        names += [str(cell) for cell in row[: as_shown.left]]
    whole = _alike_when_cut(names)
    return _lines(as_shown.header, as_shown.rows, lambda cell: _text_cell(cell, intervals, whole))


def _alike_when_cut(names: Iterable[str]) -> set[str]:
    """Return the names that nobody could tell apart if they were cut."""
    by_cut: dict[str, set[str]] = {}
    for name in names:
        line = one_line(name)
        by_cut.setdefault(_cut(line), set()).add(line)
    alike: set[str] = set()
    for lines in by_cut.values():
        if len(lines) > 1:
            alike |= lines
    return alike


def _text_cell(cell: Cell, intervals: bool, whole: Collection[str]) -> str:
    """Return a cell; a long text is cut, unless it is one of those that stay whole."""
    if cell is None:
        return "-"
    text = one_line(cell)
    if isinstance(cell, Number):
        if intervals and cell.interval:
            return f"{text} ({cell.interval})"
        return text
    if text in whole:
        return text
    return _cut(text)


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[: half - 2]}...{text[1 - half :]}"


def _fits(lines: Sequence[Sequence[str]]) -> bool:
    return sum(_widths(lines)) - GAP <= _widest()


def _blocks(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return a block for each LVLM, with its scores one below the other; consecutive rows of one LVLM share it."""
    header = lines[0]
    rows_by_model: list[list[Sequence[str]]] = []
    for row in lines[1:]:
        if rows_by_model and rows_by_model[-1][0][0] == row[0]:
            rows_by_model[-1].append(row)
        else:
            rows_by_model.append([row])
    blocks = []
    for rows in rows_by_model:
        block = [header]
        block += rows
        turned = _transposed(block)
        name = rows[0][0]
        scores = aligned(turned[2:], turned[1])
        if not scores:  # a single one has no others below it
            scores = "  ".join(turned[1])
        blocks.append(f"{name}\n{scores}")
    return blocks


def _text_notes(notes: Notes) -> str:
    lines = []
    if notes.of:
        lines.append(one_line(notes.of))
    for line in notes.lines:
        indent = "  " if notes.of else ""
        lines.append(indent + one_line(line))
    return "\n".join(lines)


# CSV


def _csv(tables: Sequence[Table]) -> str:
    """Return all tables as one table that has all their columns.

    Numbers have all their digits, fractions are not in percent, and undefined numbers are empty. The ends of intervals
    and marks have columns of their own, if any number has them.
    """
    records: list[dict[str, object]] = []
    beside: set[str] = set()  # columns for the ends of intervals and marks
    for table in tables:
        about: dict[str, object] = {}
        if len(tables) > 1:
            about["table"] = table.name
        if table.of:
            about["responses"] = _inert(table.of)
        header = [_inert(name) for name in table.header]
        for row in table.rows:
            record = dict(about)
            for name, cell in zip(header, row, strict=True):
                if isinstance(cell, Number):
                    record[name] = _csv_value(cell)
                    extra = _csv_beside(name, cell)
                    record.update(extra)
                    beside.update(extra)
                elif isinstance(cell, str):
                    record[name] = _inert(cell)
                else:
                    record[name] = cell
            records.append(record)

    filled: set[str] = set()
    columns: dict[str, None] = {}
    for record in records:
        for name, value in record.items():
            columns[name] = None
            if value is not None:
                filled.add(name)
    written_columns = [name for name in columns if name in filled or name not in beside]
    file = io.StringIO()
    writer = csv.DictWriter(file, written_columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return file.getvalue().removesuffix("\n")


def _csv_value(number: Number) -> float | None:
    if not is_defined(number.value):
        return None
    if number.form.endswith("d"):
        return int(number.value)
    return float(number.value)


def _csv_beside(name: str, number: Number) -> dict[str, object]:
    """Return what belongs into the columns beside a number's: the ends of its interval, and its mark."""
    low: float | None = None
    high: float | None = None
    if number.interval:
        low = float(number.ends[0])
        high = float(number.ends[1])
    return {
        f"{name} low": low,
        f"{name} high": high,
        f"{name} mark": _inert(number.mark) or None,
    }


def _inert(text: str) -> str:
    """Return a text so that no spreadsheet takes it for a formula."""
    line = one_line(text)
    if line.startswith(tuple(FORMULA)):
        return f"'{line}"
    return line


# Markdown

# Characters with a meaning in Markdown; an underscore within a word has none.
_MEANS = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])")

# Characters with a meaning in Markdown only at the beginning of a line.
_BEGINS = re.compile(r"^(?:[#+\-=:]|\d+(?=[.)]))")


def _markdown_table(table: Table, intervals: bool) -> str:
    as_shown = upright(table)
    lines = _lines(as_shown.header, as_shown.rows, lambda cell: _markdown_cell(cell, intervals))
    right = len(as_shown.header) - as_shown.left
    lines.insert(1, [":---"] * as_shown.left + ["---:"] * right)
    texts = []
    if table.of:
        texts.append(f"{_markdown_line(table.of)}\n")
    for cells in lines:
        texts.append(f"| {' | '.join(cells)} |")
    return "\n".join(texts)


def _markdown_cell(cell: Cell, intervals: bool) -> str:
    if cell is None:
        return "-"
    text = _MEANS.sub(r"\\\g<0>", one_line(cell))
    if not isinstance(cell, Number):
        return text
    if cell.best:
        text = f"**{text}**"
    if intervals and cell.interval:
        text += f" ({cell.interval})"
    return text


def _markdown_notes(notes: Notes) -> str:
    lines = [f"- {_markdown_line(line)}" for line in notes.lines]
    if notes.of:
        lines.insert(0, f"{_markdown_line(notes.of)}\n")
    return "\n".join(lines)


def _markdown_line(text: str) -> str:
    """Return a text escaped so that Markdown prints it as it is, also at the beginning of a line."""
    line = _MEANS.sub(r"\\\g<0>", one_line(text)).lstrip()
    return _BEGINS.sub(lambda start: re.sub(r"(\W)$", r"\\\1", start[0]), line)


# LaTeX

# Characters with a meaning in LaTeX, or that make a ligature -> how LaTeX prints them as text.
_LATEX_SIGNS = {
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "`": "{`}",
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\u2191": r"$\uparrow$",
    "\u2193": r"$\downarrow$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
}

_LATEX_MEANS = re.compile("|".join(re.escape(sign) for sign in _LATEX_SIGNS) + "|-(?=-)|'(?=')")

# A score's name: "f1", "f0.5" or a word, and what it is about, as in "f0.5_cls" and "accuracy/random"
_SCORE_NAME = re.compile(r"(?:f(\d)|f(\d\.\d)|([a-z][a-z\d.]*))((?:[_/][a-z\d_./]+)?)")
_LONGEST_SCORE_NAME = 50


def _latex_table(table: Table, intervals: bool) -> str:
    r"""Return a table for `\usepackage{booktabs}`."""
    lines = [[_latex_head(name) for name in table.header]]
    for row in table.rows:
        lines.append([_latex_cell(cell, intervals) for cell in row])
    left = table.left
    if table.turned:
        lines = _transposed(lines)
        left = 1
    about = table.name
    if table.of:
        about += f", {table.of}"
    columns = "l" * left + "r" * (len(lines[0]) - left)
    rows = [" & ".join(cells) + r" \\" for cells in lines]
    texts = [
        f"% {one_line(about)}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        rows[0],
        r"\midrule",
    ]
    texts += rows[1:]
    texts += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(texts)


def _latex_notes(notes: Notes) -> str:
    return "\n".join(f"% {line}" for line in _text_notes(notes).split("\n"))


def _latex_cell(cell: Cell, intervals: bool) -> str:
    if cell is None:
        return _latex_text("-")
    if isinstance(cell, Number):
        return _latex_number(cell, intervals)
    return _latex_text(cell)


def _latex_text(text: object) -> str:
    return _LATEX_MEANS.sub(lambda sign: _LATEX_SIGNS.get(sign[0], f"{{{sign[0]}}}"), one_line(text))


def _latex_number(number: Number, intervals: bool) -> str:
    r"""Return a number; one with a sign or an interval is written between dollar signs."""
    if number.text:
        return _latex_text(number.text)
    if not is_defined(number.value):
        return "--"
    text = number.printed(number.value)
    mark = "*" if number.mark else ""
    if intervals and number.interval:
        low = number.printed(number.ends[0])
        high = number.printed(number.ends[1])
        if number.best:
            text = rf"\mathbf{{{text}}}"
        return f"${text}_{{{low}}}^{{{high}{mark}}}$"
    if text[0] in "+-":
        if number.best:
            text = rf"\mathbf{{{text}}}"
        text = f"${text}$"
    elif number.best:
        text = rf"\textbf{{{text}}}"
    if mark:
        text += f"$^{{{mark}}}$"
    return text


def _latex_head(name: str) -> str:
    """Return a score's name as papers print it, such as "$F_1$" and "$F_{0.5}$ (cls)"; other names as they are."""
    match = None
    if len(name) <= _LONGEST_SCORE_NAME:
        match = _SCORE_NAME.fullmatch(name)
    if match is None:
        return _latex_text(name)
    digit, fraction, word, about = match.groups()
    about = about[1:].replace("_", " ").replace("/", " ")
    if word:
        return f"{word} {about}".strip().capitalize()
    head = f"$F_{digit}$" if digit else f"$F_{{{fraction}}}$"
    if about:
        head += f" ({about})"
    return head


_WRITERS = {
    TABLE: (_text_table, _text_notes),
    MARKDOWN: (_markdown_table, _markdown_notes),
    LATEX: (_latex_table, _latex_notes),
}
