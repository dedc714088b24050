"""HallusionBench's results as text: Tables 2 and 3, each group of questions, and what a reader has to know."""

from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.benchmarks.hallusionbench import metric
from halluscope.benchmarks.hallusionbench.rows import OFFICIAL
from halluscope.reporting.tables import (
    Named,
    aligned,
    group_table,
    interval,
    percent,
    ranked,
    table,
    uncertainty,
)
from halluscope.responses.lengths import MEAN_WORDS

ACCURACY = ("qAcc", "fAcc", "easy_aAcc", "hard_aAcc", "aAcc")
"""The columns of Table 2."""

ANALYSIS = (
    *("pct_diff", "fp_ratio", "correct", "inconsistent", "wrong"),
    *("language_hallucination", "visual_illusion", "mixed"),
)
"""The columns of Table 3; before them stands the length of the answers."""

BY_CATEGORY = (*ACCURACY, "figure_score")
"""What the authors' script computes of each category too."""

PLAIN = (MEAN_WORDS, "pct_diff", "fp_ratio")
"""What the paper does not print in percent."""


def report(
    results: Named,
    shown: Named,
    style: str,
    *,
    rows: Sequence[Any],
    source: str = "",
    protocol: str = OFFICIAL,
    **_: Any,
) -> str:
    """Tables like the paper's, best aAcc first, and what a reader of the numbers has to know.

    Args:
        results: of the responses that were scored.
        shown: the same, and published ones if they were asked for.
        style: of the tables.
        rows: the questions that were answered; they tell what a coin would score.
        source: of what is published; "" if nothing is shown.
        protocol: whose way to count.
    """
    chance = ("random chance, expected", metric.chance(rows, protocol))
    best = ranked([*shown, chance], "aAcc")
    lines = [
        table(best, ACCURACY, style, "answers"),
        "",
        table(best, (MEAN_WORDS, *ANALYSIS), style, "answers", PLAIN),
        "",
        categories(results, style),
        "",
        group_table(results, "aAcc", style),
    ]
    if source:
        lines += [
            "",
            "In square brackets: who judged. Where no number of rows stands there, the row is as published, of all "
            f"1,129 questions. {source}.",
        ]
    for name, result in results:
        lines += [f"\n{name}", *(f"  {line}" for line in remarks(result))]
    return "\n".join(lines)


def categories(results: Named, style: str) -> str:
    """One row per LVLM and category, and one for both: what the authors' script says of VD, VS and overall."""
    rows = [
        [name, of or "overall", *(percent(result.get(f"{score}{of and '/'}{of}")) for score in BY_CATEGORY)]
        for name, result in results
        for of in (*result["counts"], "")
    ]
    return aligned(rows, ["answers", "category", *BY_CATEGORY], style, left=2)


def remarks(result: Mapping[str, Any]) -> list[str]:
    """What a reader of the numbers has to know: what could not be read, intervals, and the signature."""
    lines = [f"{result['questions']:,} questions, {result['pairs']:,} pairs, {result['figures']:,} figures"]
    if "overall" in result:
        lines.append(f"mean of aAcc, qAcc and fAcc: {percent(result['overall'])} %")
    if result["unread"]:
        lines.append(f"could not be read: {percent(result['unread'])} % (counted as uncertain)")
    if result["uncertain"]:
        lines.append(f"uncertain: {percent(result['uncertain'])} % (right where there is no image)")
    for text, each in uncertainty(result, "sets"):
        shown = (f"{name} {interval(ends)}" for name, ends in each.items() if name in metric.HEADLINE)
        lines.append(f"{text}: {', '.join(shown)}")
    return [*lines, f"signature: {result['signature']}"]
