"""What views share that mark words in texts: rows' lists of classes, places, and votes, as an item has them."""

from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.reporting.shown import FOUND, HALLUCINATED, MISSED, Fact, Kind, Mark

KIND_OF: Mapping[str, Kind] = {FOUND: "good", HALLUCINATED: "bad"}
"""What a class that is said is marked as."""


def outcomes(row: Mapping[str, Any]) -> dict[str, str]:
    """Class -> what came of it, by the lists in a row.

    >>> outcomes({"found": ["dog"], "hallucinated": [], "missed": ["cup"]})
    {'dog': 'found', 'cup': 'missed'}
    """
    return {name: outcome for outcome in (FOUND, HALLUCINATED, MISSED) for name in row[outcome]}


def told(words: Sequence[str], outcome: str) -> list[Fact]:
    """A fact of words, if there are any."""
    return [Fact(outcome, [(word, "plain") for word in words])] if words else []


def placed(
    words: Sequence[str], places: Sequence[Sequence[int] | None], outcomes: Sequence[tuple[Kind, str]]
) -> tuple[list[Mark], list[Fact]]:
    """Words that count: marks of those whose place is known, and a fact of the others.

    Args:
        words: as they are called.
        places: start and end of each, or None.
        outcomes: what came of each: its kind, and the same in words.

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
    """Class -> a sign per voter; nothing where nobody voted.

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
    """How bad a row is: by what is wrong in it, and among equals by what it misses.

    >>> badness(["dog"]), badness(["dog"], ["cup"]), badness(["dog", "cat"])
    (1.0, 1.5, 2.0)
    """
    return len(wrong) + len(missed) / (1 + len(missed))
