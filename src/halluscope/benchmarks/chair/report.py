"""CHAIR's results as text."""

from collections.abc import Mapping
from typing import Any

from halluscope.reporting.tables import Named, aligned, below, interval, percent

COLUMNS = ("chair_s", "chair_i", "recall")


def report(results: Named, shown: Named, style: str, **_: Any) -> str:
    """One row per LVLM, in percent, with the interval where there is one, and the signatures below."""
    with_interval = "interval" in results[0][1]
    header = ["responses", *COLUMNS, "words", *(f"{name} interval" for name in COLUMNS if with_interval)]
    rows = [
        [
            name,
            *(percent(result.get(column)) for column in COLUMNS),
            f"{result['mean_words']:.1f}",
            *_intervals(result),
        ]
        for name, result in shown
    ]
    signatures = {name: [f"signature: {result['signature']}"] for name, result in results}
    return f"{aligned(rows, header, style)}\n{below(signatures)}"


def _intervals(result: Mapping[str, Any]) -> list[str]:
    return [interval(result["interval"][name]) for name in COLUMNS if "interval" in result]
