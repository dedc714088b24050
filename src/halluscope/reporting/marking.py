"""What views that mark words share: turning a row's lists of classes, places, and votes into parts of an item."""

from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.reporting.shown import FOUND, HALLUCINATED, MISSED, Fact, Kind, Mark

KIND_OF: Mapping[str, Kind] = {FOUND: "good", HALLUCINATED: "bad"}
"""The kind of mark of a class that was mentioned, by its outcome."""


def outcomes(row: Mapping[str, Any]) -> dict[str, str]:
    """Return class -> outcome, from the lists in a row.

    >>> outcomes({"found": ["dog"], "hallucinated": [], "missed": ["cup"]})
    {'dog': 'found', 'cup': 'missed'}
    """
    return {name: outcome for outcome in (FOUND, HALLUCINATED, MISSED) for name in row[outcome]}


def told(words: Sequence[str], outcome: str) -> list[Fact]:
    """Return a fact that lists words; [] if there are no words."""
    return [Fact(outcome, [(word, "plain") for word in words])] if words else []


def placed(
    words: Sequence[str], places: Sequence[Sequence[int] | None], outcomes: Sequence[tuple[Kind, str]]
) -> tuple[list[Mark], list[Fact]]:
    """Split words that count into marks, where their place is known, and one fact for the rest.

    Args:
        words: the words, or the names of what they mention.
        places: start and end of each word, or None.
        outcomes: the outcome of each word: its kind, and its name.

    >>> placed(["dog"], [(2, 5)], [("good", "found")])
    ([Mark(start=2, end=5, kind='good', says='dog: found', of='dog')], [])
    >>> placed(["cup"], [None], [("bad", "hallucinated")])
    ([], [Fact(name='words', values=[('cup: hallucinated', 'bad')])])
    """
    marks: list[Mark] = []
    rest: list[tuple[str, Kind]] = []
    for word, place, (kind, outcome) in zip(words, places, outcomes, strict=True):
        if place is None:
            rest.append((f"{word}: {outcome}", kind))
        else:
            marks.append(Mark(place[0], place[1], kind, f"{word}: {outcome}", word))
    return marks, [Fact("words", rest)] if rest else []


def ballots(row: Mapping[str, Any], voters: Mapping[str, Any] | None) -> dict[str, str]:
    """Return class -> a sign per voter; {} if nobody voted.

    >>> ballots({"ballots": ["10", "1-"]}, {"classes": ["dog", "cup"]})
    {'dog': '11', 'cup': '0-'}
    """
    if voters is None:
        return {}
    return dict(zip(voters["classes"], map("".join, zip(*row["ballots"], strict=True)), strict=True))


def differ(signs: str) -> bool:
    """Whether one voter says yes and another no.

    >>> differ("1-0"), differ("1-?")
    (True, False)
    """
    return "0" in signs and "1" in signs


def badness(wrong: Sequence[Any], missed: Sequence[Any] = ()) -> float:
    """Return how bad a row is: first by the number of errors, then by the number of misses.

    >>> badness(["dog"]), badness(["dog"], ["cup"]), badness(["dog", "cat"])
    (1.0, 1.5, 2.0)
    """
    return len(wrong) + len(missed) / (1 + len(missed))
