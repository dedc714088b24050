"""MMHal-Bench's results as text: a row per LVLM with the ratings of each type, and what a reader has to know."""

from collections.abc import Mapping
from typing import Any

from halluscope.benchmarks.mmhal.rows import TYPES
from halluscope.reporting.tables import Named, below, interval, percent, ranked, table
from halluscope.responses.lengths import MEAN_WORDS

RATINGS = ("rating", *(f"rating/{name}" for name in TYPES))


def report(results: Named, shown: Named, style: str, *, source: str = "", **_: Any) -> str:
    """A table like the paper's, the best rating first, and what a reader of the numbers has to know.

    Args:
        results: of the responses that were scored.
        shown: the same, and published ones if they were asked for.
        style: of the tables.
        source: of what is published; "" if nothing is shown.
    """
    columns = (MEAN_WORDS, "rating", "hallucination_rate", *RATINGS[1:])
    lines = [table(ranked(shown, "rating"), columns, style, plain=(MEAN_WORDS, *RATINGS))]
    if source:
        lines += ["", f"In square brackets: who judged. {source}."]
    return "\n".join([*lines, below({name: _remarks(result) for name, result in results})])


def _remarks(result: Mapping[str, Any]) -> list[str]:
    lines = [
        f"{result['questions']:,} questions about {result['images']:,} images, "
        f"{result['counts']['all']['rated']:,} ratings; ratings are from 0 to 6, the rate in percent"
    ]
    if result["unreadable"]:
        lines.append(
            f"no readable rating: {percent(result['unreadable'])} % of the responses{_counted(result)}"
        )
    for key, text in (("interval", "interval over images"), ("spread", "least and greatest of the repeats")):
        if key in result and result["rating"] == result["rating"]:
            low, high = result[key]["rating"]
            rate = interval(result[key]["hallucination_rate"])
            lines.append(f"{text}: rating {low:.3f} to {high:.3f}, hallucination rate {rate}")
    return [*lines, f"signature: {result['signature']}"]


def _counted(result: Mapping[str, Any]) -> str:
    """What becomes of responses without a rating."""
    if "authors-official" in result["signature"]:
        return ", which count as 0, as in the authors' script"
    return " (they count in no score)"
