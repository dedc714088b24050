"""Reports HallusionBench's results as text: Tables 2 and 3, each group of questions, and remarks."""

from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.benchmarks.hallusionbench import BENCHMARK, metric
from halluscope.benchmarks.hallusionbench.rows import OFFICIAL
from halluscope.reporting import tables
from halluscope.reporting.tables import (
    Named,
    Report,
    Table,
    group_table,
    interval,
    percent,
    ranked,
    score,
    table,
    uncertainty,
)
from halluscope.responses.lengths import MEAN_WORDS

ACCURACY = ("qAcc", "fAcc", "easy_aAcc", "hard_aAcc", "aAcc")  # The columns of Table 2

# The columns of Table 3; the length of the responses precedes them.
ANALYSIS = (
    *("pct_diff", "fp_ratio", "correct", "inconsistent", "wrong"),
    *("language_hallucination", "visual_illusion", "mixed"),
)

BY_CATEGORY = (*ACCURACY, "figure_score")  # The scores that the authors' script also computes per category


def report(
    results: Named,
    *,
    rows: Sequence[Any] = (),
    protocol: str = OFFICIAL,
    **_: Any,
) -> Report:
    """Return tables like the paper's, best aAcc first, with remarks on each result."""
    chance = [("random chance, expected", metric.chance(rows, protocol))] if rows else []
    best = ranked([*results, *chance], "aAcc")
    scores = [
        table(best, ACCURACY, name="table 2"),
        table(best, (MEAN_WORDS, *ANALYSIS), BENCHMARK.is_points, name="table 3"),
        categories(results),
        group_table(results, "aAcc"),
    ]
    said = {name: remarks(result) for name, result in results}
    return tables.report(scores, said)


def categories(results: Named) -> Table:
    """Return one row per LVLM and category, and one for both categories, with the scores of the authors' script."""
    rows = [
        [name, of or "overall", *(score(result, f"{by}{of and '/'}{of}") for by in BY_CATEGORY)]
        for name, result in results
        for of in (*result["counts"], "")
    ]
    return Table("categories", ["responses", "category", *BY_CATEGORY], rows, left=2, ranked=True)


def remarks(result: Mapping[str, Any]) -> list[str]:
    """Return remarks on a result: unreadable verdicts, intervals, and the signature."""
    lines = [f"{result['questions']:,} questions, {result['pairs']:,} pairs, {result['figures']:,} figures"]
    if "overall" in result:
        lines.append(f"mean of aAcc, qAcc and fAcc: {percent(result['overall'])} %")
    if result["unread"]:
        lines.append(f"unreadable: {percent(result['unread'])} % (counted as uncertain)")
    if result["uncertain"]:
        lines.append(
            f"uncertain: {percent(result['uncertain'])} % (counted as right where there is no image)"
        )
    for text, each in uncertainty(result, "sets"):
        shown = (f"{name} {interval(ends)}" for name, ends in each.items() if name in metric.HEADLINE)
        lines.append(f"{text}: {', '.join(shown)}")
    return [*lines, f"signature: {result['signature']}"]
