"""Shows GAVIE's rows: the response next to Visual Genome's descriptions, and its two ratings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.benchmarks.gavie.rows import MOST
from halluscope.foreign import heard
from halluscope.reporting.shown import UNREADABLE, Fact, Item, Kind, disagree, said, several
from halluscope.reporting.tables import is_defined

ERRORS = {"accuracy": "not fully accurate", "relevancy": "not fully relevant"}
"""Criterion -> the error of a response with less than full points; the authors set no threshold."""


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
        asked = row["inputs"]["references"]
        yield Item(
            id=str(row["id"]),
            text=text,
            image=str(asked["image_id"]),
            question=asked["question"],
            facts=[*_verdict(row), *_known(asked)],
            errors=_errors(row),
            disputed=disagree(row),
            badness=_lost(row["accuracy"]) + _lost(row["relevancy"]) / (10 * MOST),
        )


def meaning(scores: Mapping[str, Any]) -> str:
    """Return what the accuracy says, in a sentence."""
    if not is_defined(scores["accuracy"]):
        return "The accuracy is undefined: no response has a readable rating."
    relevancy = f"{scores['relevancy']:.2f}" if is_defined(scores["relevancy"]) else "undefined"
    return (
        f"On average, responses are rated {scores['accuracy']:.2f} of {MOST} for being true of the image, and "
        f"{relevancy} for doing what the instruction asks."
    )


def _lost(points: float | None) -> float:
    """Return the points that a response lost; half of all points if nobody could rate it."""
    return MOST / 2 if points is None else MOST - points


def _errors(row: Mapping[str, Any]) -> list[str]:
    lost = [error for name, error in ERRORS.items() if row[name] is not None and row[name] < MOST]
    return [*lost, *([UNREADABLE] if row["unreadable"] else [])]


def _verdict(row: Mapping[str, Any]) -> Iterator[Fact]:
    for name in ERRORS:
        yield Fact(name, [_rated(row[name])])
    if row.get("reason"):
        yield Fact("the judge's reasons", [(heard(row["reason"], 1000), "plain")])


def _rated(points: float | None) -> tuple[str, Kind]:
    if points is None:
        return UNREADABLE, "open"
    return f"{points:g} of {MOST}", "good" if points == MOST else "bad"


def _known(asked: Mapping[str, Any]) -> Iterator[Fact]:
    """Yield the facts about the image."""
    if asked["regions"]:
        yield several("regions", [one["phrase"] for one in asked["regions"]])
