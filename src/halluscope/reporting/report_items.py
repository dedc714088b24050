"""What is shown of a run: each row as one item, in one form for every benchmark.

A benchmark's module `report` makes items of its rows; the page, the figures and a notebook show them, and know no
benchmark.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halluscope.responses.thoughts import REMOVED, take_out
from halluscope.stats.ratios import Floats

# The kind of a mark, a word or an outcome: "good" is right; "bad" is an error; "open" could not be read or
# judged; "back" was taken back by a rule, and counts nowhere; "plain" is not judged.
Kind = Literal["good", "bad", "open", "back", "plain"]

# Where two marks overlap, the kind that comes first here counts.
KINDS: tuple[Kind, ...] = ("bad", "open", "good", "back", "plain")

# A class's outcome in a row: mentioned and present; mentioned but absent; present but not mentioned; neither.
FOUND, HALLUCINATED, MISSED, ABSENT = "found", "hallucinated", "missed", "absent"

UNREADABLE = "unreadable"  # the error of a response that could not be read or judged
WRONG_YES, WRONG_NO = "wrong yes", "wrong no"  # the errors of an answer: a hallucination and a miss


class Mark(NamedTuple):
    """A place in a response."""

    start: int  # in Python's characters
    end: int  # after its last character
    kind: Kind
    says: str  # what the reader is told about it, such as "dog: hallucinated"
    of: str = ""  # the class that it mentions; "" if it mentions no class


class Fact(NamedTuple):
    """Something that is known about a row besides its response."""

    name: str  # such as "missed" or "right answer"
    values: Sequence[tuple[str, Kind]]  # each value with its kind


class Item(NamedTuple):
    """A row: what was asked, the response, and the outcome."""

    id: str  # tells it from the other rows; the same for every model
    text: str  # the response as it was judged, without thoughts
    image: str | None = None  # what identifies its image in the dataset; None if it has no image
    question: str = ""  # what was asked; "" if all rows have the same prompt
    group: str = ""  # the same for rows that belong together, such as a pair of questions; "" for no group
    marks: Sequence[Mark] = ()  # places in the text, in order
    facts: Sequence[Fact] = ()  # what else is known about the row
    # what is wrong with the response, in a word or two each, such as "hallucinated", "missed", "unreadable";
    # () if nothing is
    errors: Sequence[str] = ()
    # class -> outcome: `FOUND`, `HALLUCINATED`, `MISSED` or `ABSENT`; only classes that play a part
    classes: Mapping[str, str] = {}
    # the subsets of the dataset that the row counts in, such as {"type": "existence"}
    parts: Mapping[str, str] = {}
    # class -> a sign per voter (`halluscope.judging.votes.SIGNS`), for mentioned or disputed classes
    votes: Mapping[str, str] = {}
    disputed: bool = False  # whether the row's judges disagree
    badness: float = 0.0  # how bad the row is, from 0 upwards; the worst rows are shown first
    unread: bool = False  # whether a judge's reply could not be read


class ToMark(NamedTuple):
    """What people may mark of a row, for a certificate of its judge."""

    known: str  # what is known of the row, by which a person can check the verdicts
    verdicts: Mapping[str, float]  # criterion -> the judge's verdict; NaN where there is none
    most: Mapping[str, int]  # criterion -> the greatest verdict; the least is 0


class Addends(NamedTuple):
    """What each row adds to a score, which is a sum over another one: [rows] each."""

    part: Floats  # to the numerator
    whole: Floats  # to the denominator; 0 if the row does not count


class Shown(NamedTuple):
    """A model's run, as far as it is shown."""

    name: str
    scores: Mapping[str, Any]  # the metric's result, without its table of rows
    items: Sequence[Item]
    # the metric's options with which the run was scored
    options: Mapping[str, Any] = {}
    voters: Sequence[str] = ()  # who voted, in the order of the votes; () if nobody did
    # codes [items, classes, voters] (`halluscope.judging.votes`); None if nobody voted
    votes: NDArray[np.int8] | None = None


# For the benchmarks' modules `report`


def judged_texts(rows: Iterable[Mapping[str, Any]], options: Mapping[str, Any]) -> Sequence[str]:
    """Return the responses of a run's rows as they were judged: without thoughts, unless the options keep them."""
    responses = [row["response"] for row in rows]
    return take_out(responses, options.get("thoughts", REMOVED)).texts


def plain_fact(name: str, texts: Sequence[str]) -> Fact:
    """Return a fact that lists texts, which are neither right nor wrong."""
    return Fact(name, [(text, "plain") for text in texts])


def several(name: str, texts: Sequence[str], most: int = 12) -> Fact:
    """Return a fact that lists the first of many texts, and how many more there are.

    >>> several("regions", ["a dog", "a cup", "a bus"], most=2).values
    [('a dog', 'plain'), ('a cup', 'plain'), ('and 1 more', 'plain')]
    """
    first = list(texts[:most])
    if len(texts) > most:
        first.append(f"and {len(texts) - most:,} more")
    return plain_fact(name, first)


def verdicts_differ(row: Mapping[str, Any]) -> bool:
    """Whether a judge's repeated verdicts on a response differ; unreadable ones do not count."""
    for verdicts in row.get("repeats", {}).values():
        readable = {verdict for verdict in verdicts if verdict is not None}
        if len(readable) > 1:
            return True
    return False


# For those that mark words

KIND_OF: Mapping[str, Kind] = {FOUND: "good", HALLUCINATED: "bad"}  # of a class that was mentioned


def outcomes(row: Mapping[str, Any]) -> dict[str, str]:
    """Return class -> outcome, from the lists in a row.

    >>> outcomes({"found": ["dog"], "hallucinated": [], "missed": ["cup"]})
    {'dog': 'found', 'cup': 'missed'}
    """
    by_class = {}
    for outcome in (FOUND, HALLUCINATED, MISSED):
        for name in row[outcome]:
            by_class[name] = outcome
    return by_class


def word_facts(words: Sequence[str], outcome: str) -> list[Fact]:
    """Return a fact that lists words; [] if there are no words."""
    if not words:
        return []
    return [plain_fact(outcome, words)]


def placed(
    words: Sequence[str], places: Sequence[Sequence[int] | None], outcomes: Sequence[tuple[Kind, str]]
) -> tuple[list[Mark], list[Fact]]:
    """Split words that count into marks, where their place is known, and one fact for the rest.

    >>> placed(["dog"], [(2, 5)], [("good", "found")])
    ([Mark(start=2, end=5, kind='good', says='dog: found', of='dog')], [])
    >>> placed(["cup"], [None], [("bad", "hallucinated")])
    ([], [Fact(name='words', values=[('cup: hallucinated', 'bad')])])
    """
    marks: list[Mark] = []
    unplaced: list[tuple[str, Kind]] = []
    for word, place, (kind, outcome) in zip(words, places, outcomes, strict=True):
        says = f"{word}: {outcome}"
        if place is None:
            unplaced.append((says, kind))
        else:
            start, end = place
            marks.append(Mark(start, end, kind, says, word))
    facts = []
    if unplaced:
        facts.append(Fact("words", unplaced))
    return marks, facts


def ballots(row: Mapping[str, Any], voters: Mapping[str, Any] | None) -> dict[str, str]:
    """Return class -> a sign per voter; {} if nobody voted.

    >>> ballots({"ballots": ["10", "1-"]}, {"classes": ["dog", "cup"]})
    {'dog': '11', 'cup': '0-'}
    """
    if voters is None:
        return {}
    signs_by_class = {}
    for number, name in enumerate(voters["classes"]):
        signs_by_class[name] = "".join(signs[number] for signs in row["ballots"])
    return signs_by_class


def votes_differ(signs: str) -> bool:
    """Whether one voter says yes and another no.

    >>> votes_differ("1-0"), votes_differ("1-?")
    (True, False)
    """
    return "0" in signs and "1" in signs


def badness(wrong: Sequence[Any], missed: Sequence[Any] = ()) -> float:
    """Return how bad a row is: by the number of errors, then of misses.

    >>> badness(["dog"]), badness(["dog"], ["cup"]), badness(["dog", "cat"])
    (1.0, 1.5, 2.0)
    """
    return len(wrong) + len(missed) / (1 + len(missed))


# For those of yes/no questions


def answer_kind(answer: str | None, right: str) -> Kind:
    """Return the kind of a response by how it was read; None is neither yes nor no.

    >>> answer_kind("yes", "yes"), answer_kind("yes", "no"), answer_kind(None, "no")
    ('good', 'bad', 'open')
    """
    if answer is None:
        return "open"
    if answer == right:
        return "good"
    return "bad"


def answer_error(answer: str | None, right: str) -> str:
    """Return what is wrong with a response by how it was read; "" if nothing is.

    >>> answer_error("yes", "no"), answer_error("no", "yes"), answer_error(None, "no")
    ('wrong yes', 'wrong no', 'unreadable')
    """
    if answer == right:
        return ""
    return {"yes": WRONG_YES, "no": WRONG_NO, None: UNREADABLE}[answer]


def answer_facts(answer: str | None, right: str) -> list[Fact]:
    """Return two facts: how the response was read, and the right answer."""
    return [
        Fact("read as", [(answer or UNREADABLE, answer_kind(answer, right))]),
        Fact("right answer", [(right, "plain")]),
    ]


# A text in pieces


class Piece(NamedTuple):
    """Part of a text."""

    text: str  # the words of this part
    kind: Kind = "plain"  # "plain" outside marks; where marks overlap, the kind that is first in `KINDS`
    says: str = ""  # what the marks say, one after the other; "" outside marks


def pieces(text: str, marks: Sequence[Mark]) -> list[Piece]:
    """Cut a text at the ends of its marks, which may overlap.

    >>> [(piece.text, piece.kind) for piece in pieces("a red dog", [Mark(6, 9, "bad", "dog: hallucinated")])]
    [('a red ', 'plain'), ('dog', 'bad')]
    """
    cuts = {0, len(text)}
    for mark in marks:
        cuts.add(mark.start)
        cuts.add(mark.end)
    in_order = sorted(marks, key=lambda mark: mark.start)
    begun = 0  # how many of them begin at a piece's start or before it
    open_marks: list[Mark] = []  # those of them that hold the piece
    cut_pieces = []
    for start, end in pairwise(sorted(cuts)):
        while begun < len(in_order) and in_order[begun].start <= start:
            open_marks.append(in_order[begun])
            begun += 1
        open_marks = [mark for mark in open_marks if end <= mark.end]
        cut_pieces.append(_piece(text[start:end], open_marks))
    return cut_pieces


def _piece(text: str, marks: Sequence[Mark]) -> Piece:
    if not marks:
        return Piece(text)
    kind = min((mark.kind for mark in marks), key=KINDS.index)
    says = dict.fromkeys(mark.says for mark in marks)  # each once
    return Piece(text, kind, "; ".join(says))
