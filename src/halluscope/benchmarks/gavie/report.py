"""Reports GAVIE's results as text: one row per LVLM, and remarks."""

from collections.abc import Mapping
from typing import Any

from halluscope.benchmarks.gavie import BENCHMARK
from halluscope.reporting import tables
from halluscope.reporting.tables import Named, Report, Shown, percent, ranked, table, uncertainty
from halluscope.responses.lengths import MEAN_WORDS

COLUMNS = (MEAN_WORDS, "relevancy", "accuracy")


def report(results: Named, shown: Shown, *, source: str = "", **_: Any) -> Report:
    """Return a table like the authors', the most accurate LVLM first, with remarks on each result.

    Args:
        results: the results of the scored responses.
        shown: these results, with published ones if requested.
        source: where the published results come from; "" if none are shown.
    """
    remarks = {name: _remarks(result) for name, result in results}
    return tables.report(
        [table(ranked(shown, "accuracy"), COLUMNS, BENCHMARK.is_points)], remarks, "who judged", source
    )


def _remarks(result: Mapping[str, Any]) -> list[str]:
    lines = [
        f"{result['questions']:,} instructions about {result['images']:,} images, {result['rated']:,} rated; scores "
        "are from 0 to 10"
    ]
    if result["unreadable"]:
        lines.append(f"not rated in both ways: {percent(result['unreadable'])} % of the responses")
    for text, ends in uncertainty(result):
        if result["rated"]:
            shown = (f"{name} {ends[name][0]:.3f} to {ends[name][1]:.3f}" for name in COLUMNS[1:])
            lines.append(f"{text}: {', '.join(shown)}")
    return [*lines, f"signature: {result['signature']}"]
