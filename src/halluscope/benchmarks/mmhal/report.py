"""Reports MMHal-Bench's results as text: one row per LVLM, the ratings of each type, and remarks."""

import math
from collections.abc import Mapping
from typing import Any

from halluscope.benchmarks.mmhal import BENCHMARK
from halluscope.benchmarks.mmhal.rows import TYPES
from halluscope.reporting import tables
from halluscope.reporting.tables import Named, Report, Shown, interval, percent, ranked, table, uncertainty
from halluscope.responses.lengths import MEAN_WORDS

BY_TYPE = tuple(f"rating/{name}" for name in TYPES)


def report(results: Named, shown: Shown, *, source: str = "", **_: Any) -> Report:
    """Return a table of scores, the best rating first, a table of ratings by type, and remarks on each result.

    Args:
        results: the results of the scored responses.
        shown: these results, with published ones if requested.
        source: where the published results come from; "" if none are shown.
    """
    best = ranked(shown, "rating")
    scores = [
        table(best, (MEAN_WORDS, "rating", "hallucination_rate"), BENCHMARK.is_points),
        table(best, BY_TYPE, BENCHMARK.is_points, name="types", turned=True),
    ]
    remarks = {name: _remarks(result) for name, result in results}
    return tables.report(scores, remarks, "who judged", source)


def _remarks(result: Mapping[str, Any]) -> list[str]:
    lines = [
        f"{result['questions']:,} questions about {result['images']:,} images, "
        f"{result['counts']['all']['rated']:,} ratings; ratings are from 0 to 6, the rate in percent"
    ]
    if result["unreadable"]:
        lines.append(
            f"no readable rating: {percent(result['unreadable'])} % of the responses{_counted(result)}"
        )
    for text, ends in uncertainty(result):
        if not math.isnan(result["rating"]):
            low, high = ends["rating"]
            rate = interval(ends["hallucination_rate"])
            lines.append(f"{text}: rating {low:.3f} to {high:.3f}, hallucination rate {rate}")
    return [*lines, f"signature: {result['signature']}"]


def _counted(result: Mapping[str, Any]) -> str:
    """Say how responses without a rating count."""
    if "authors-official" in result["signature"]:
        return ", which count as 0, as in the authors' script"
    return " (they count in no score)"
