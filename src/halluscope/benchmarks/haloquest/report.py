"""Reports HaloQuest's results as text: the columns of its leaderboard, each group, and remarks."""

import math
from collections.abc import Mapping
from typing import Any

from halluscope.benchmarks.haloquest.rows import PARTS
from halluscope.benchmarks.haloquest.scoring import ACCURACY
from halluscope.reporting import tables
from halluscope.reporting.tables import (
    Named,
    Report,
    Shown,
    group_table,
    interval,
    percent,
    ranked,
    table,
    uncertainty,
)

COLUMNS = (ACCURACY, *(f"{ACCURACY}/{part}" for part in PARTS))
"""The columns of the leaderboard."""


def report(results: Named, shown: Shown, *, source: str = "", **_: Any) -> Report:
    """Return tables in percent, the best accuracy first, with remarks on each result.

    Args:
        results: the results of the scored responses.
        shown: these results, with published ones if requested.
        source: where the published results come from; "" if none are shown.
    """
    scores = [table(ranked(shown, ACCURACY), COLUMNS), group_table(results, ACCURACY)]
    remarks = {name: _remarks(result) for name, result in results}
    return tables.report(scores, remarks, "who judged, and when", source)


def _remarks(result: Mapping[str, Any]) -> list[str]:
    lines = [f"{result['questions']:,} questions about {result['images']:,} images"]
    if result["unreadable"]:
        lines.append(
            f"no readable verdict: {percent(result['unreadable'])} % of the responses (they count in no score)"
        )
    for text, ends in uncertainty(result):
        if not math.isnan(result[ACCURACY]):
            lines.append(f"{text}: {ACCURACY} {interval(ends[ACCURACY])}")
    return [*lines, f"signature: {result['signature']}"]
