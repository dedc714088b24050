"""What is shown of a run: each row as one item, in one form for every benchmark.

A room's `view` makes items of its rows; the page, the figures and a notebook show the items, and know no benchmark.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from halluscope.responses.thoughts import REMOVED, take_out

Kind = Literal["good", "bad", "open", "back", "plain"]
"""The kind of a mark, a word or an outcome: "good" is right; "bad" is an error; "open" could not be read or judged;
"back" was taken back by a rule, and counts nowhere; "plain" is not judged."""

KINDS: tuple[Kind, ...] = ("bad", "open", "good", "back", "plain")
"""All kinds; where two marks overlap, the kind that comes first here counts."""

FOUND, HALLUCINATED, MISSED, ABSENT = "found", "hallucinated", "missed", "absent"
"""A class's outcome in a row: mentioned and present; mentioned but absent; present but not mentioned; neither."""

UNREADABLE = "unreadable"
"""The error of a response that could not be read or judged."""


@dataclass(frozen=True)
class Mark:
    """A place in a response.

    Attributes:
        start: the place of its first character, counted in Python's characters.
        end: the place after its last character.
        kind: the kind of mark.
        says: what the reader is told about it, such as "dog: hallucinated".
        of: the class that it mentions; "" if it mentions no class.
    """

    start: int
    end: int
    kind: Kind
    says: str
    of: str = ""


@dataclass(frozen=True)
class Fact:
    """Something that is known about a row besides its response.

    Attributes:
        name: such as "missed" or "right answer".
        values: each value with its kind.
    """

    name: str
    values: Sequence[tuple[str, Kind]]


@dataclass(frozen=True)
class Item:
    """A row: what was asked, the response, and the outcome.

    Attributes:
        id: tells it from the other rows; the same for every model.
        text: the response as it was judged, without thoughts.
        image: what identifies its image in the dataset; None if it has no image.
        question: what was asked; "" if all rows have the same prompt.
        group: the same for rows that belong together, such as a pair of questions; "" for no group.
        marks: places in the text, in order.
        facts: what else is known about the row.
        errors: what is wrong with the response, in a word or two each, such as "hallucinated", "missed", "unreadable";
            () if nothing is.
        classes: class -> outcome: `FOUND`, `HALLUCINATED`, `MISSED` or `ABSENT`; only classes that play a part.
        parts: the subsets of the dataset that the row counts in, such as {"type": "existence"}.
        votes: class -> a sign per voter (`halluscope.judging.transcript.SIGNS`), for mentioned or disputed classes.
        disputed: whether the row's judges disagree.
        badness: how bad the row is, from 0 upwards; the worst rows are shown first.
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
        name: the name of the responses.
        scores: the metric's result, without its table of rows.
        items: the rows.
        options: the metric's options with which the run was scored.
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
    """Return the responses of a run's rows as they were judged: without thoughts, unless the options keep them."""
    return take_out([row["response"] for row in rows], options.get("thoughts", REMOVED))[0]


def several(name: str, texts: Sequence[str], most: int = 12) -> Fact:
    """Return a fact that lists the first of many texts, and how many more there are.

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
        text: the words of this part.
        kind: "plain" outside marks; where marks overlap, the kind that is first in `KINDS`.
        says: what the marks say, one after the other; "" outside marks.
    """

    text: str
    kind: Kind = "plain"
    says: str = ""


def pieces(text: str, marks: Sequence[Mark]) -> list[Piece]:
    """Cut a text at the ends of its marks, which may overlap.

    >>> [(one.text, one.kind) for one in pieces("a red dog", [Mark(6, 9, "bad", "dog: hallucinated")])]
    [('a red ', 'plain'), ('dog', 'bad')]
    """
    ends = sorted({0, len(text), *(end for mark in marks for end in (mark.start, mark.end))})
    waiting = sorted(marks, key=lambda mark: mark.start)[::-1]  # reversed: the next mark is last
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
