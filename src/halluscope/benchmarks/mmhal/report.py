"""MMHal-Bench's results as text: a row per LVLM with the ratings of each type, and what a reader has to know."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from halluscope.benchmarks.mmhal.rows import TYPES
from halluscope.reporting.tables import Named, aligned, below, interval, percent, ranked, table, uncertainty
from halluscope.responses.lengths import MEAN_WORDS

PLAIN = (MEAN_WORDS, "rating")
"""What is a number of words, or of points."""


def report(results: Named, shown: Named, style: str, *, source: str = "", **_: Any) -> str:
    """A table of scores, the best rating first, one of the ratings of each type, and what a reader has to know.

    Args:
        results: of the responses that were scored.
        shown: the same, and published ones if they were asked for.
        style: of the tables.
        source: of what is published; "" if nothing is shown.
    """
    best = ranked(shown, "rating")
    lines = [
        table(best, (MEAN_WORDS, "rating", "hallucination_rate"), style, plain=PLAIN),
        "",
        aligned([[name, *map(_of_type(result), TYPES)] for name, result in best], ["rating", *TYPES], style),
    ]
    if source:
        lines += ["", f"In square brackets: who judged. {source}."]
    return "\n".join([*lines, below({name: _remarks(result) for name, result in results})])


def _of_type(result: Mapping[str, Any]) -> Callable[[str], str]:
    """The mean rating of a type of questions, "-" where there is none."""

    def shown(name: str) -> str:
        value = result.get(f"rating/{name}", math.nan)
        return "-" if math.isnan(value) else f"{value:.2f}"

    return shown


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
    """What becomes of responses without a rating."""
    if "authors-official" in result["signature"]:
        return ", which count as 0, as in the authors' script"
    return " (they count in no score)"
