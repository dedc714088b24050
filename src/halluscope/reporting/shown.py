"""What people are shown of a run: each row as one item, in one form for every benchmark.

A room's `view` makes items of its rows; the page, the figures and a notebook show them, and know no benchmark.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from halluscope.responses.thoughts import REMOVED, take_out

Kind = Literal["good", "bad", "open", "back", "plain"]
"""What a mark, a word or an outcome is: right; an error; neither, because nobody could read or judge it; taken back by
a rule, so that it counts nowhere; or told without a judgement."""

KINDS: tuple[Kind, ...] = ("bad", "open", "good", "back", "plain")
"""All of them; where two meet, the first counts."""

FOUND, HALLUCINATED, MISSED, ABSENT = "found", "hallucinated", "missed", "absent"
"""What comes of a class in a row: said and there, said and not there, there and not said, neither."""

UNREADABLE = "unreadable"
"""What is wrong with a response that nobody could read or judge."""


@dataclass(frozen=True)
class Mark:
    """A place in a response.

    Attributes:
        start: the place of its first character, counted in Python's characters.
        end: the place after its last one.
        kind: what it is.
        says: what people are told of it, such as "dog: hallucinated".
        of: the class that it mentions; "" for none.
    """

    start: int
    end: int
    kind: Kind
    says: str
    of: str = ""


@dataclass(frozen=True)
class Fact:
    """Something that is known of a row, beside its response.

    Attributes:
        name: such as "missed" or "right answer".
        values: each with what it is.
    """

    name: str
    values: Sequence[tuple[str, Kind]]


@dataclass(frozen=True)
class Item:
    """A row: what was asked, what was said, and what came of it.

    Attributes:
        id: tells it from the other rows; the same for every model.
        text: the response as it was judged, without thoughts.
        image: what finds its image in the dataset; None where it has none.
        question: what was asked; "" where all rows are asked the same.
        group: rows that belong together, such as a pair of questions, have the same; "" for none.
        marks: places in the text, in order.
        facts: what else is known.
        errors: what is wrong with it, in a word or two each, such as "hallucinated", "missed", "unreadable"; () if
            nothing is.
        classes: class -> what came of it: `FOUND`, `HALLUCINATED`, `MISSED` or `ABSENT`; only those that play a part.
        parts: the groups of rows that it counts in, such as {"type": "existence"}.
        votes: class -> a sign per voter (`halluscope.judging.transcript.SIGNS`), of classes that were said or disputed.
        disputed: whether its judges disagree.
        badness: how bad it is, from 0 on; the worst come first.
    """

    id: str
    text: str
    image: str | None = None
    question: str = ""
    group: str = ""
    marks: Sequence[Mark] = ()
    facts: Sequence[Fact] = ()
    errors: Sequence[str] = ()
    classes: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    votes: Mapping[str, str] = field(default_factory=dict)
    disputed: bool = False
    badness: float = 0.0


@dataclass(frozen=True)
class Shown:
    """A model's run, as far as it is shown.

    Attributes:
        name: of the responses.
        scores: the metric's result, without its table of rows.
        items: its rows.
        options: of the metric, with which it was scored.
        voters: who voted, in the order of the votes; () if nobody did.
        votes: codes [items, classes, voters] (`halluscope.judging.votes`); None if nobody voted.
    """

    name: str
    scores: Mapping[str, Any]
    items: Sequence[Item]
    options: Mapping[str, Any] = field(default_factory=dict)
    voters: Sequence[str] = ()
    votes: NDArray[np.int8] | None = None


def said(rows: Iterable[Mapping[str, Any]], options: Mapping[str, Any]) -> Sequence[str]:
    """The responses of a run's rows as they were judged: without thoughts, unless its options keep them."""
    return take_out([row["response"] for row in rows], options.get("thoughts", REMOVED))[0]


def several(name: str, texts: Sequence[str], most: int = 12) -> Fact:
    """A fact of many texts, of which it tells the first.

    >>> several("regions", ["a dog", "a cup", "a bus"], most=2).values
    [('a dog', 'plain'), ('a cup', 'plain'), ('and 1 more', 'plain')]
    """
    more = [f"and {len(texts) - most:,} more"] if len(texts) > most else []
    return Fact(name, [(text, "plain") for text in (*texts[:most], *more)])


def disagree(row: Mapping[str, Any]) -> bool:
    """Whether a grader that judged a response several times gave different verdicts; unreadable ones do not count."""
    return any(len({*verdicts} - {None}) > 1 for verdicts in row.get("repeats", {}).values())


@dataclass(frozen=True)
class Piece:
    """Part of a text.

    Attributes:
        text: its words.
        kind: "plain" outside of marks; of several marks, the first of `KINDS`.
        says: what is told of it, of several marks one after the other; "" outside of marks.
    """

    text: str
    kind: Kind = "plain"
    says: str = ""


def pieces(text: str, marks: Sequence[Mark]) -> list[Piece]:
    """A text cut at the ends of its marks, which may overlap.

    >>> [(one.text, one.kind) for one in pieces("a red dog", [Mark(6, 9, "bad", "dog: hallucinated")])]
    [('a red ', 'plain'), ('dog', 'bad')]
    """
    ends = sorted({0, len(text), *(end for mark in marks for end in (mark.start, mark.end))})
    waiting = sorted(marks, key=lambda mark: mark.start)[::-1]  # the next one last
    here, found = list[Mark](), list[Piece]()
    for start, end in pairwise(ends):
        while waiting and waiting[-1].start <= start:
            here.append(waiting.pop())
        here = [mark for mark in here if end <= mark.end]
        found.append(_piece(text[start:end], here))
    return found


def _piece(text: str, here: Sequence[Mark]) -> Piece:
    if not here:
        return Piece(text)
    kind = min((mark.kind for mark in here), key=KINDS.index)
    return Piece(text, kind, "; ".join(dict.fromkeys(mark.says for mark in here)))
