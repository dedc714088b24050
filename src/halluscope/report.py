"""Results for people: tables in percent, as the papers print them, and JSON for machines."""

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tabulate import tabulate

Named = Sequence[tuple[str, Mapping[str, Any]]]
"""Results, each with the name of what was scored."""

COLUMNS = (
    "precision_all",
    "recall_all",
    "f1_all",
    "f0.5_all",
    "precision_cls",
    "recall_cls",
    "f1_cls",
    "f0.5_cls",
)
"""The columns of THRONE's Table 1."""

RANKED_BY = "f0.5_cls"
"""THRONE's principal metric (section 3.1)."""


def table(
    results: Named,
    columns: Mapping[str, str],
    style: str = "simple",
    first: str = "responses",
    plain: Collection[str] = (),
) -> str:
    """One row an LVLM, in the order of the results.

    Args:
        results: absent and undefined figures are "-".
        columns: figures, and how they are headed.
        style: as tabulate names it.
        first: how the names are headed.
        plain: figures that are no fractions; the others are in percent.
    """

    def cell(column: str, value: float | None) -> str:
        return (
            f"{value:.3f}"
            if column in plain and value is not None and math.isfinite(value)
            else percent(value)
        )

    rows = [[name, *(cell(column, result.get(column)) for column in columns)] for name, result in results]
    return _aligned(rows, [first, *columns.values()], style)


def group_table(results: Named, figure: str, style: str = "simple") -> str:
    """One row a group of questions, one column an LVLM, in percent: of "aAcc" all figures "aAcc/..."."""
    groups = dict.fromkeys(name for _, result in results for name in result if name.startswith(f"{figure}/"))
    rows = [
        [name.removeprefix(f"{figure}/"), *(percent(result.get(name)) for _, result in results)]
        for name in groups
    ]
    return _aligned(rows, [figure, *(name for name, _ in results)], style)


def _aligned(rows: Sequence[Sequence[str]], header: Sequence[str], style: str) -> str:
    align = ["left"] + ["right"] * (len(header) - 1)
    return tabulate(rows, header, tablefmt=style, disable_numparse=True, colalign=align)


def throne_table(results: Named, style: str = "simple") -> str:
    """One row an LVLM, the best class-wise F0.5 first, in percent; with the interval where there is one."""
    ranked = sorted(results, key=lambda named: _or(named[1][RANKED_BY], -1.0), reverse=True)
    columns = [*COLUMNS[:4], *_asked(results, "all"), *COLUMNS[4:], *_asked(results, "cls")]
    with_interval = any("interval" in result for _, result in results)
    header = [
        "responses",
        *map(_short, columns),
        *([f"{_short(RANKED_BY)} interval"] * with_interval),
    ]
    rows = []
    for name, result in ranked:
        rows.append([name, *_figures(result, columns), *([_interval(result)] * with_interval)])
        if "sampled" in result:  # THRONE, supplement, Table 2
            rows.append(["  on the sampled cells", *_figures(result["sampled"], columns)])
            rows.append(["  difference", *_figures(result["difference"], columns)])
    return _aligned(rows, header, style)


def class_table(result: Mapping[str, Any], style: str = "simple") -> str:
    """One row a class: its counts, and its ratios in percent."""
    columns = list(next(iter(result["classes"].values())))
    rows = [
        [name, *(value if isinstance(value, int) else percent(value) for value in row.values())]
        for name, row in result["classes"].items()
    ]
    return tabulate(rows, ["class", *columns], tablefmt=style, disable_numparse=True)


def remarks(result: Mapping[str, Any]) -> list[str]:
    """What a reader of the numbers has to know: shares that count nowhere, and the signature."""
    lines = []
    if result["ignored"] is not None:
        lines.append(f"ignored for want of agreement: {percent(result['ignored'])} % of the cells")
    if result["unparsed"]:
        lines.append(f"replies that were neither yes nor no: {percent(result['unparsed'])} % (no yes vote)")
    if result["undefined_classes"]:
        lines.append(f"classes without a precision or a recall: {result['undefined_classes']}")
    return [*lines, f"signature: {result['signature']}"]


def to_json(results: Named) -> str:
    """A JSON list of results; what is undefined is null."""
    return json.dumps([{"responses": name} | finite(dict(result)) for name, result in results], indent=2)


def percent(fraction: float | None) -> str:
    """A fraction as a percentage with one decimal, "-" where it is undefined."""
    return "-" if fraction is None or math.isnan(fraction) else f"{100 * fraction:.1f}"


def _figures(result: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    return [percent(result.get(column)) for column in columns]


def _asked(results: Named, suffix: str) -> list[str]:
    """F of another beta than 1 and 0.5, where it was asked for."""
    columns = dict.fromkeys(column for _, result in results for column in result)
    return [
        column
        for column in columns
        if column not in COLUMNS and re.fullmatch(rf"f[\d.e+-]+_{suffix}", column)
    ]


def _short(column: str) -> str:
    return column.replace("precision", "P").replace("recall", "R").replace("f", "F", 1)


def _interval(result: Mapping[str, Any]) -> str:
    return " to ".join(map(percent, result["interval"][RANKED_BY])) if "interval" in result else ""


def _or(value: float, otherwise: float) -> float:
    return otherwise if math.isnan(value) else value


def finite(value: Any) -> Any:
    """The same nested value with None where a number is undefined, as JSON wants it."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
