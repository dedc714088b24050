"""OpenCHAIR's results as text: a row per LVLM, and what a reader has to know."""

from collections.abc import Mapping
from typing import Any

from halluscope.reporting import tables
from halluscope.reporting.tables import Named, Report, Shown, interval, percent, ranked, table

MANY = 0.1
"""From this share of unreadable replies on a remark says what to do."""

COLUMNS = ("openchair", "undecided", "unreadable")


def report(results: Named, shown: Shown, **_: Any) -> Report:
    """A table in percent and the signatures.

    Args:
        results: of the responses that were scored.
        shown: the same; nothing is published in this form.
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
        lines.append(f"nouns on which nothing was decided: {percent(result['undecided'])} %")
    if (result["unreadable"] or 0) > MANY:
        lines.append("many replies are neither yes nor no: --questions plain asks for yes or no alone")
    if "interval" in result:
        lines.append(f"interval of openchair over images: {interval(result['interval']['openchair'])}")
    return [*lines, f"signature: {result['signature']}"]
