"""Presents OpenCHAIR's results as text: a row per LVLM, and notes."""

from collections.abc import Mapping
from typing import Any

from halluscope.reporting import tables
from halluscope.reporting.tables import Named, Report, interval, percent, ranked, table

MANY = 0.1
"""Above this share of unreadable votes, a note says what to do."""

COLUMNS = ("openchair", "undecided", "unreadable")


def report(results: Named, **_: Any) -> Report:
    """Return a table in percent, and the signatures.

    Args:
        results: the results of the scored responses.
    """
    scores = table(ranked(results, "openchair", higher=False), COLUMNS)
    return tables.report([scores], {name: _remarks(result) for name, result in results})


def _remarks(result: Mapping[str, Any]) -> list[str]:
    lines = [
        f"{result['nouns']:,} nouns in {result['images']:,} captions ({result['nouns_per_caption']:.2f} per caption): "
        f"{result['found']:,} found, {result['hallucinated']:,} hallucinated"
    ]
    if result["without_nouns"]:
        lines.append(f"captions without a noun that counts: {result['without_nouns']:,}")
    if result["undecided"] > 0:
        lines.append(f"undecided nouns: {percent(result['undecided'])} %")
    if (result["unreadable"] or 0) > MANY:
        lines.append("many votes are neither yes nor no: --questions plain asks for only yes or no")
    if "interval" in result:
        lines.append(f"interval of openchair over images: {interval(result['interval']['openchair'])}")
    return [*lines, f"signature: {result['signature']}"]
