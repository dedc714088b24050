"""Votes as a table; the label that they give a cell, an (image, class) pair; and rules that read a reply as a vote.

Labels are those of THRONE, section 3.2, where `k` of the `n` votes of N judges x M questions must agree. A rule reads
the reply while it is generated, which stops as soon as the rest cannot change the reading.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halluscope import validation
from halluscope.sanitize import short_repr

# Codes of a vote. `OTHER` is a reply that is neither; it does not count as yes, and is reported as unparsed.
NO = 0
YES = 1
OTHER = 2

UNASKED = -1  # Code of a question that was not asked, because its vote could not change any score

# Code of a question that was asked and got no reply. It is not stored, so the next run asks again; until then
# it counts as `OTHER`.
FAILED = -2

# The characters for the codes of a vote, from -1 on: not asked, no, yes, and a reply that is neither
SIGNS = "-01?"  # in the order of their code points, in which `VoteResult.read` seeks them
_SIGNS = np.array(list(SIGNS))

IGNORED = -1  # The label of a cell on which too few votes agree; such a cell is not counted

AGREEMENTS = ("unanimous", "majority")

Counts = NDArray[np.signedinteger[Any]]  # Numbers of votes [images, classes]


@dataclass(frozen=True)
class VoteResult:
    """The outcome of a poll."""

    # codes [texts, classes, voters]; a voter is a judge with one of its questions
    votes: NDArray[np.int8]
    k: int  # how many votes must agree
    judges: Sequence[str]  # the judges' keys
    questions: str  # the name of the question set
    classes: Sequence[str]  # the classes that were asked about

    @property
    def metadata(self) -> dict[str, Any]:
        """All but the votes, as a run's folder tells it."""
        return {
            "agreement": self.k,
            "judges": list(self.judges),
            "questions": self.questions,
            "classes": list(self.classes),
        }

    def lines(self) -> list[list[str]]:
        """Return the votes in `SIGNS`: for each text one line per voter, with one character per class."""
        signs = np.ascontiguousarray(_SIGNS[self.votes.transpose(0, 2, 1) - UNASKED])
        texts, voters, classes = signs.shape
        if not classes:  # as where no caption has a noun
            return [[""] * voters] * texts
        lines: list[list[str]] = signs.view(f"U{classes}")[..., 0].tolist()
        return lines

    @classmethod
    def read(cls, lines: Sequence[Sequence[str]], metadata: Mapping[str, Any]) -> "VoteResult":
        """Return the poll of these `lines` and `metadata`."""
        table = np.array(lines, dtype=np.str_)  # a ValueError for texts with different numbers of voters
        # numpy holds a text as its code points: [texts, voters, classes]
        points = table.view(np.uint32).reshape(*table.shape, -1)
        if not metadata["classes"]:
            points = points[..., :0]  # numpy gives an empty text the length 1
        known = _SIGNS.view(np.uint32)
        codes = np.searchsorted(known, points).clip(max=len(known) - 1)
        if (known[codes] != points).any():
            raise ValueError(
                f"The votes do not form a table; expected for each text one line per voter, with one of the "
                f"characters {SIGNS} per class."
            )
        votes = (codes + UNASKED).astype(np.int8).transpose(0, 2, 1)
        return cls(
            votes,
            k=metadata["agreement"],
            judges=metadata["judges"],
            questions=metadata["questions"],
            classes=metadata["classes"],
        )


def required(agreement: str | int, votes: int) -> int:
    """Return the number k of agreeing votes that `agreement` requires among `votes`.

    More than half must agree; otherwise a cell could be labelled yes and no at once.

    >>> required("unanimous", 9), required("majority", 9), required(8, 9)
    (9, 5, 8)
    """
    fewest = votes // 2 + 1
    if isinstance(agreement, str) and agreement == "unanimous":
        return votes
    if isinstance(agreement, str) and agreement == "majority":
        return fewest
    if not isinstance(agreement, int | np.integer) or isinstance(agreement, bool):
        raise ValueError(
            f"agreement is {short_repr(agreement)}; expected {', '.join(map(repr, AGREEMENTS))} or a number."
        )
    if not fewest <= agreement <= votes:
        raise ValueError(
            f"agreement is {short_repr(agreement)}, but there are {votes} votes (judges x questions) per cell; "
            f"expected a number from {fewest} (more than half) to {votes} (unanimous)."
        )
    return int(agreement)


def check(votes: ArrayLike, images: int, classes: int) -> NDArray[np.bool_]:
    """Check given votes and return them as bool [images, classes, votes]."""
    array = validation.array("votes", votes, "0/1 [images, classes, judges x questions]")
    if array.ndim != 3 or array.shape[:2] != (images, classes) or array.shape[2] == 0:
        raise ValueError(
            f"votes has the shape {array.shape}; expected ({images} images, {classes} classes, judges x questions), "
            "one row per response and one column per class, in the vocabulary's order."
        )
    valid = np.asarray((array == NO) | (array == YES), dtype=bool)
    if not valid.all():
        row, cls, vote = map(int, np.argwhere(~valid)[0])
        raise ValueError(
            f"votes[{row}, {cls}, {vote}] is {short_repr(array[row, cls, vote])}; expected 0 (no) or 1 (yes)."
        )
    return array.astype(bool)


def count(answers: NDArray[np.int8]) -> tuple[Counts, Counts]:
    """Count yes votes and no votes in `answers` [images, classes, n]; a reply that is neither counts as a no vote."""
    yes = _along_votes(answers == YES)
    is_asked = answers != UNASKED
    if is_asked.all():
        return yes, yes.dtype.type(answers.shape[-1]) - yes
    return yes, _along_votes(is_asked) - yes


def _along_votes(table: NDArray[np.bool_]) -> Counts:
    """Count along the last axis; einsum in 16 bits is several times as fast as sum where that axis is short."""
    images, classes, votes = table.shape
    kind: type = np.int16
    if votes > np.iinfo(np.int16).max:
        kind = np.int64
    cells = table.view(np.int8).reshape(images * classes, votes)
    counts: Counts = np.einsum("cv->c", cells, dtype=kind).reshape(images, classes)
    return counts


def label(yes: Counts, no: Counts, k: int) -> NDArray[np.int8]:
    """Return the label of each cell: 1 if k votes say yes, 0 if k say no, else `IGNORED` (THRONE, section 3.2).

    >>> label(np.array([9, 0, 8]), np.array([0, 9, 1]), k=9).tolist()
    [1, 0, -1]
    """
    says_yes = np.asarray(yes) >= k
    says_no = np.asarray(no) >= k
    # YES is 1, NO 0 and IGNORED -1; selecting takes ten times as long as subtracting
    return says_yes.astype(np.int8) - (~(says_yes | says_no)).astype(np.int8)


def known(labels: NDArray[np.int8], present: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return labels that do not depend on whether everything or only the needed was asked (see `undecided`)."""
    # For an absent object only an agreed yes is certain, so an ignored cell becomes a no
    return np.where(~present & (labels == IGNORED), NO, labels).astype(np.int8)


def undecided(yes: Counts, no: Counts, n: int, k: int, present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the cells in which further votes can still change precision or recall.

    A present object's label matters in full (found, missed, or ignored). For an absent object it only matters whether
    it becomes an agreed yes: agreed no and ignored cells enter neither precision nor recall.
    """
    may_disagree = n - k
    may_be_found = (yes < k) & (no <= may_disagree)
    decided = (yes >= k) | (no >= k) | (np.minimum(yes, no) > may_disagree)
    return np.where(present, ~decided, may_be_found)


# `rule(reply_so_far, has_ended)` returns a vote's code, or None while it needs more of the reply
Rule = Callable[[str, bool], int | None]

_WORDS = {"yes": YES, "no": NO}
_LABELS = {"1": YES, "0": NO}
_APOSTROPHES = "'\u2019"
_FIRST_WORD = re.compile(rf"[^\W\d_]+(?:[{_APOSTROPHES}][^\W\d_]+)?")


def whole_reply(reply: str, ended: bool = True) -> int | None:
    """Read yes or no if it is the whole reply, as THRONE's code release does.

    >>> whole_reply(" YES"), whole_reply("Yes."), whole_reply("n", ended=False)
    (1, 2, None)
    """
    return _whole(reply, ended, _WORDS)


def checkers_label(reply: str, ended: bool) -> int | None:
    """Read a checker's label: 1 for a claim that the text supports, else 0."""
    return _whole(reply, ended, _LABELS)


def _whole(reply: str, ended: bool, words: Mapping[str, int]) -> int | None:
    """Read a vote if the whole reply, stripped and lowercased, is one of the words."""
    reply = reply.strip().lower()
    if ended:
        return words.get(reply, OTHER)
    if any(word.startswith(reply) for word in words):
        return None
    return OTHER


def first_word(reply: str, ended: bool = True) -> int | None:
    """Read yes or no if it is the reply's first word, ignoring non-letters before it and everything after it.

    >>> first_word("Yes, there is."), first_word("Nothing"), first_word("**No", ended=False), first_word("1. Yes")
    (1, 2, None, 1)
    """
    word = ""
    rest = ""
    match = _FIRST_WORD.search(reply)
    if match:
        word = match.group().lower()
        rest = reply[match.end() :]
    # the word may go on after an apostrophe
    is_complete = ended or (rest and rest not in _APOSTROPHES)
    if not is_complete and any(known.startswith(word) for known in _WORDS):
        return None
    return _WORDS.get(word, OTHER)


RULES: dict[str, Rule] = {"whole": whole_reply, "first-word": first_word, "label": checkers_label}
