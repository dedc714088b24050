"""Shows MMHal-Bench's rows: the response next to a person's answer, and its rating."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.benchmarks.mmhal.rows import RATING
from halluscope.benchmarks.mmhal.scoring import LEAST_WITHOUT
from halluscope.foreign import heard
from halluscope.reporting.shown import UNREADABLE, Fact, Item, Kind, disagree, said, several
from halluscope.reporting.tables import is_defined, percent

HALLUCINATION = "hallucination"


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Any = None
) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order.

    Args:
        rows: the rows of a run's items.jsonl.
        options: the metric's options.
        voters: unused: this benchmark has no votes.
    """
    for row, text in zip(rows, said(rows, options), strict=True):
        asked, rating = row["inputs"]["references"], row["rating"]
        yield Item(
            id=str(row["id"]),
            text=text,
            image=asked["image_id"],
            question=asked["question"],
            facts=[*_verdict(row), *_known(asked)],
            errors=_errors(row),
            parts={"type": asked["type"]},
            disputed=disagree(row),
            badness=RATING.most / 2 if rating is None else RATING.most - rating,
        )


def meaning(scores: Mapping[str, Any]) -> str:
    """Return what the rating says, in a sentence."""
    if not is_defined(scores["rating"]):
        return "The rating is undefined: no response has a readable rating."
    return (
        f"The mean rating is {scores['rating']:.2f} of {RATING.most}; {percent(scores['hallucination_rate'])} of 100 "
        f"responses are rated below {LEAST_WITHOUT}, which means that they hallucinate."
    )


def _is_bad(rating: int | None) -> bool:
    return rating is not None and rating < LEAST_WITHOUT


def _errors(row: Mapping[str, Any]) -> list[str]:
    about = {HALLUCINATION: _is_bad(row["rating"]), UNREADABLE: row["unreadable"]}
    return [error for error, is_so in about.items() if is_so]


def _verdict(row: Mapping[str, Any]) -> Iterator[Fact]:
    rating = row["rating"]
    if row["unreadable"]:
        counts = "" if rating is None else f", which counts as {rating}"
        yield Fact("rating", [(f"{UNREADABLE}{counts}", "open")])
    else:
        kind: Kind = "bad" if _is_bad(rating) else "good"
        yield Fact("rating", [(f"{rating} of {RATING.most}", kind)])
    if row.get("analysis"):
        yield Fact("the judge's reasons", [(heard(row["analysis"], 1000), "plain")])


def _known(asked: Mapping[str, Any]) -> Iterator[Fact]:
    """Yield the facts about the image."""
    yield Fact("a person's answer", [(asked["answer"], "plain")])
    if asked["contents"]:
        yield several("objects in the image", asked["contents"])
