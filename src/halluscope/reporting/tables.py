"""Results for people: tables in percent, as the papers print them, and JSON for machines."""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeGuard

from tabulate import tabulate

from halluscope.foreign import one_line

SIMPLE = "simple"
"""The style of tables for people."""

WIDEST = 80
"""Characters of a line of such a table."""

GAP, PADDING = 2, 2
"""Characters between its columns, and those that tabulate adds to the name of one."""

Named = Sequence[tuple[str, Mapping[str, Any]]]
"""Results, each with the name of what was scored."""


def table(
    results: Named,
    columns: Sequence[str],
    style: str = SIMPLE,
    first: str = "responses",
    plain: Collection[str] = (),
) -> str:
    """One row per LVLM, in the order of the results.

    Args:
        results: absent and undefined scores are "-".
        columns: scores, by their names in a result.
        style: as tabulate names it.
        first: how the names are headed.
        plain: scores that are no fractions; the others are in percent.
    """
    rows = [
        [name, *(printed(result.get(column), column in plain) for column in columns)]
        for name, result in results
    ]
    return aligned(rows, [first, *columns], style)


def group_table(results: Named, score: str, style: str = SIMPLE) -> str:
    """One row per group of questions, one column per LVLM, in percent: of "aAcc" all scores "aAcc/..."."""
    groups = dict.fromkeys(name for _, result in results for name in result if name.startswith(f"{score}/"))
    rows = [
        [name.removeprefix(f"{score}/"), *(percent(result.get(name)) for _, result in results)]
        for name in groups
    ]
    return aligned(rows, [score, *(name for name, _ in results)], style)


def aligned(rows: Sequence[Sequence[Any]], header: Sequence[str], style: str, left: int = 1) -> str:
    """A table of text whose first columns are aligned to the left, the others to the right; nothing without rows.

    No cell can break it, whoever's words stand there. For people, in `SIMPLE`, a table that is too wide comes in parts,
    each with the columns that are aligned to the left.
    """
    if not rows:
        return ""
    align = ["left"] * left + ["right"] * (len(header) - left)
    piped = _is_piped(style)
    shown = [[_cell(cell, piped) for cell in row] for row in (header, *rows)]
    parts = _parts(shown, left) if style == SIMPLE else [range(len(header))]
    return "\n\n".join(
        tabulate(
            [[row[place] for place in part] for row in shown[1:]],
            [shown[0][place] for place in part],
            tablefmt=style,
            disable_numparse=True,
            colalign=[align[place] for place in part],
        )
        for part in parts
    )


def _parts(shown: Sequence[Sequence[str]], left: int) -> list[list[int]]:
    """The columns of each part of a table that is to be no wider than `WIDEST`: those to the left, and some others.

    There is one part where those to the left leave no room for others.
    """
    widths = [max(len(head) + PADDING, *map(len, cells)) + GAP for head, *cells in zip(*shown, strict=True)]
    first, before = list(range(left)), sum(widths[:left]) - GAP
    if before > WIDEST / 2:
        return [list(range(len(widths)))]
    parts, taken = [[*first]], before
    for place in range(left, len(widths)):
        if taken + widths[place] > WIDEST and len(parts[-1]) > left:
            parts.append([*first])
            taken = before
        parts[-1].append(place)
        taken += widths[place]
    return parts


def _cell(cell: Any, piped: bool) -> str:
    """A cell on one line, without a sign that ends it."""
    text = "" if cell is None else str(cell)
    line = text if text.isprintable() else one_line(text)
    return line.replace("|", "\\|") if piped else line


@cache
def _is_piped(style: str) -> bool:
    """Whether a style of tables divides cells by the sign |."""
    return "|" in tabulate([["", ""]], tablefmt=style)


def class_table(result: Mapping[str, Any], style: str = SIMPLE) -> str:
    """One row per class: its counts, and its ratios in percent."""
    columns = list(next(iter(result["classes"].values())))
    rows = [
        [name, *(value if isinstance(value, int) else percent(value) for value in row.values())]
        for name, row in result["classes"].items()
    ]
    return aligned(rows, ["class", *columns], style)


def below(remarks: Mapping[str, Sequence[str]]) -> str:
    """What stands below a table: the remarks on each result, those that are the same once."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, lines in remarks.items():
        names.setdefault(tuple(lines), []).append(name)
    return "\n".join(
        "\n".join([f"\n{', '.join(map(one_line, of))}", *(f"  {line}" for line in lines)])
        for lines, of in names.items()
    )


def listed(results: Named) -> list[dict[str, Any]]:
    """Results with their names in them, as they stand in JSON."""
    return [{"responses": name, **result} for name, result in results]


def to_json(value: Any) -> str:
    """A value as JSON, in which any text is told as it is by signs of ASCII; what is undefined is null."""
    return json.dumps(finite(value), indent=2).replace("\x7f", "\\u007f")


def percent(fraction: float | None) -> str:
    """A fraction as a percentage with one decimal, "-" where it is undefined."""
    return f"{100 * fraction:.1f}" if is_defined(fraction) else "-"


def is_defined(score: float | None) -> TypeGuard[float]:
    """Whether a score is of anything: not NaN, nor null, which stands for it in a file."""
    return score is not None and not math.isnan(score)


def printed(value: float | None, plain: bool) -> str:
    """A score as tables have it: as `percent`, or with three digits if it is no fraction (`plain`)."""
    return f"{value:.3f}" if plain and value is not None and math.isfinite(value) else percent(value)


def uncertainty(result: Mapping[str, Any], over: str = "images") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What a result says of how sure its scores are: in words what that is, and the ends of each score.

    Args:
        result: a metric's.
        over: what an interval resamples.
    """
    for key, text in (("interval", f"interval over {over}"), ("spread", "least and greatest of the repeats")):
        if key in result:
            yield text, result[key]


def interval(ends: Sequence[float]) -> str:
    """An interval in percent; nothing if there is none."""
    return " to ".join(map(percent, ends))


def ranked(results: Named, by: str, higher: bool = True) -> Named:
    """Results, the best score first, those without one last."""

    def place(named: tuple[str, Mapping[str, Any]]) -> tuple[bool, float]:
        value = named[1].get(by)
        if not is_defined(value):
            return True, 0.0
        return False, -float(value) if higher else float(value)

    return sorted(results, key=place)


def finite(value: Any) -> Any:
    """The same nested value with None where a number is undefined, as JSON wants it."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
