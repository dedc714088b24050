"""THRONE's results as text: Table 1's columns, and what a reader of the numbers has to know."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.foreign import one_line
from halluscope.reporting.tables import SIMPLE, Named, aligned, below, class_table, interval, percent, ranked

LENGTH = "median_characters"
COLUMNS = (
    *("precision_all", "recall_all", "f1_all", "f0.5_all"),
    *("precision_cls", "recall_cls", "f1_cls", "f0.5_cls"),
)
"""The columns of THRONE's Table 1, after `LENGTH`."""

RANKED_BY = "f0.5_cls"
"""THRONE's principal metric (section 3.1)."""

SAMPLED = {"sampled": "on the sampled cells", "difference": "difference"}
"""What is shown below a result that was also scored on sampled cells."""


def report(results: Named, shown: Named, style: str, **_: Any) -> str:
    """Tables of results, and remarks on each.

    Args:
        results: of the responses that were scored.
        shown: the same, and published ones if they were asked for.
        style: of the tables.
    """
    parts = [table(shown, style), below({name: remarks(result) for name, result in results})]
    parts += [f"\n{name}\n{corrected(result, style)}" for name, result in results if "corrected" in result]
    parts += [f"\n{name}\n{class_table(result, style)}" for name, result in results if "classes" in result]
    return "\n".join(parts)


def table(results: Named, style: str = SIMPLE) -> str:
    """One row per LVLM, the best class-wise F0.5 first, in percent; with the interval where there is one."""
    columns = [*COLUMNS[:4], *_asked(results, "all"), *COLUMNS[4:], *_asked(results, "cls")]
    with_interval = any("interval" in result for _, result in results)
    header = [
        "responses",
        LENGTH,
        *columns,
        *([f"{RANKED_BY} interval"] * with_interval),
    ]
    rows = []
    for name, result in ranked(results, RANKED_BY):
        ends = interval(result.get("interval", {}).get(RANKED_BY, ()))
        length = f"{result[LENGTH]:g}" if LENGTH in result else "-"
        rows.append([name, length, *_scores(result, columns), *([ends] * with_interval)])
        if "sampled" in result:  # THRONE, supplement, Table 2
            for what in ("sampled", "difference"):
                rows.append(
                    [f"  {SAMPLED[what]}", "", *_scores(result[what], columns), *([""] * with_interval)]
                )
    return aligned(rows, header, style)


def corrected(result: Mapping[str, Any], style: str = SIMPLE) -> str:
    """Each score as the judges' labels give it, and corrected by people's, with what these rest on."""
    found = result["corrected"]
    rows = [
        [name, percent(result[name]), percent(one["value"]), interval((one["low"], one["high"]))]
        for name, one in found.items()
        if isinstance(one, Mapping) and "value" in one
    ]
    lines = [
        aligned(rows, ["score", "raw", "corrected", "interval"], style),
        f"corrected by {found['labels']:,} labels of {found['labelled_texts']:,} texts, given by "
        f"{one_line(found['labelled_by'])}",
        *(f"{name} is not corrected: {why}" for name, why in found["refused"].items()),
        f"signature: {found['signature']}",
    ]
    return "\n".join(lines)


def remarks(result: Mapping[str, Any]) -> list[str]:
    """What a reader of the numbers has to know: shares that count nowhere, and the signature."""
    lines = []
    if result["ignored"] is not None:
        lines.append(f"ignored for want of agreement: {percent(result['ignored'])} % of the cells")
    if result["unparsed"]:
        lines.append(f"replies that were neither yes nor no: {percent(result['unparsed'])} % (no yes vote)")
    if result["undefined_classes"]:
        lines.append(f"classes without a precision or a recall: {result['undefined_classes']}")
    if "explained" in result:
        lines.append(_explained(result["explained"]))
    if "sampled" in result:
        lines.append(_sampled(**{name: result["sampled"][name] for name in ("cells", "cells_of")}))
    return [*lines, f"signature: {result['signature']}"]


def _explained(images: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """How many mentions each of the lexical judge's rules took back."""
    rules = Counter(mention["taken_back_by"] for mentions in images for mention in mentions)
    counts = ", ".join(f"{rule} {count:,}" for rule, count in rules.most_common() if rule is not None)
    return f"mentions that the lexical judge read: {rules.total():,}; taken back: {counts or 'none'}"


def _sampled(cells: int, cells_of: int | None) -> str:
    """How much of the sample lies in the images that were scored."""
    of = "" if cells_of is None else f" of {cells_of:,} ({percent(cells / cells_of)} %)"
    return f"sampled cells in the scored images: {cells:,}{of}"


def _scores(result: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    return [percent(result.get(column)) for column in columns]


def _asked(results: Named, suffix: str) -> list[str]:
    """F of another beta than 1 and 0.5, where it was asked for."""
    columns = dict.fromkeys(column for _, result in results for column in result)
    return [
        column
        for column in columns
        if column not in COLUMNS and re.fullmatch(rf"f[\d.e+-]+_{suffix}", column)
    ]
