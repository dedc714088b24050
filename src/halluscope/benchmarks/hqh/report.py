"""Reports HQH's results as text: Table IV, each type and level, and remarks."""

import math
from collections.abc import Mapping
from typing import Any

from halluscope.benchmarks.hqh import BENCHMARK
from halluscope.reporting import tables
from halluscope.reporting.tables import (
    Named,
    Report,
    Shown,
    as_published,
    group_table,
    interval,
    percent,
    ranked,
    table,
    uncertainty,
)
from halluscope.responses.lengths import MEAN_WORDS

COLUMNS = (
    *("main_hal/object", "main_hal/attribute", "main_hal/scene"),
    *("main_hal", "extra_hal", "overall_hal"),
)
"""The columns of Table IV; the length of the responses precedes them."""


def report(results: Named, shown: Shown, *, source: str = "", **_: Any) -> Report:
    """Return tables like the paper's, the least hallucination first, with remarks on each result.

    Args:
        results: the results of the scored responses.
        shown: these results, with published ones if requested.
        source: where the published results come from; "" if none are shown.
    """
    by = "main_hal" if any(math.isnan(result["overall_hal"]) for _, result in shown) else "overall_hal"
    scores = [
        table(ranked(shown, by, higher=False), (MEAN_WORDS, *COLUMNS), BENCHMARK.is_points),
        group_table(results, "main_hal"),
    ]
    remarks = {name: _remarks(result) for name, result in results}
    return tables.report(scores, remarks, as_published("who judged", 4_000), source)


def _remarks(result: Mapping[str, Any]) -> list[str]:
    lines = [f"{result['questions']:,} questions about {result['images']:,} images"]
    counts = result["counts"]["all"]
    if counts["judged"] and counts["extra_claims"] is None:
        lines.append("nobody looked for extra claims: there is no extra rate and no overall rate")
    elif counts["judged_in_full"] < counts["judged"]:
        lines.append(
            f"overall covers only the {counts['judged_in_full']:,} of {counts['judged']:,} judged responses in which "
            "extra claims were looked for; it may be below main"
        )
    if result["unjudged"]:
        lines.append(f"not judged: {percent(result['unjudged'])} % of the responses (they count in no score)")
    for text, ends in uncertainty(result):
        shown = [f"main {interval(ends['main_hal'])}"]
        if not math.isnan(ends["overall_hal"][0]):
            shown.append(f"overall {interval(ends['overall_hal'])}")
        lines.append(f"{text}: {', '.join(shown)}")
    return [*lines, f"signature: {result['signature']}"]
