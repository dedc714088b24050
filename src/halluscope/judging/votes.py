"""Votes as a table, and rules, each with a name, that read a voter's reply as yes, no or neither.

A rule reads the reply while it is still being generated, so that generation can stop as soon as the rest
cannot change the reading.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Codes of a vote. `OTHER` is a reply that is neither; it does not count as yes, and is reported as unparsed.
NO, YES, OTHER = 0, 1, 2

UNASKED = -1  # Code of a question that was not asked, because its vote could not change any score

# Code of a question that was asked and got no reply. It is not stored, so the next run asks again; until then
# it counts as `OTHER`.
FAILED = -2

# The characters for the codes of a vote, from -1 on: not asked, no, yes, and a reply that is neither
SIGNS = b"-01?"


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
    def facts(self) -> dict[str, Any]:
        """All but the votes, as a run's folder tells it."""
        about = {"agreement": self.k, "judges": [*self.judges], "questions": self.questions}
        return {**about, "classes": [*self.classes]}

    def lines(self) -> list[list[str]]:
        """Return the votes in `SIGNS`: for each text one line per voter, with one character per class."""
        texts, classes, voters = self.votes.shape
        signs = np.frombuffer(SIGNS, "S1")[self.votes.transpose(0, 2, 1) - UNASKED]
        whole, rows = signs.tobytes().decode("ascii"), range(texts * voters)
        lines = [whole[row * classes : (row + 1) * classes] for row in rows]
        return [lines[text * voters : (text + 1) * voters] for text in range(texts)]

    @classmethod
    def read(cls, lines: Sequence[Sequence[str]], facts: Mapping[str, Any]) -> "VoteResult":
        """Return the poll of these `lines` and `facts`."""
        shapes = {tuple(map(len, text)) for text in lines}
        signs = "".join(line for text in lines for line in text).encode("ascii", "replace")
        if len(shapes) != 1 or len({*next(iter(shapes))}) != 1 or not {*signs} <= {*SIGNS}:
            raise ValueError(
                f"The votes do not form a table; expected for each text one line per voter, with one of the "
                f"characters {SIGNS.decode()} per class."
            )
        voters, classes = len(lines[0]), len(lines[0][0])
        code_of = np.zeros(256, np.int8)
        code_of[[*SIGNS]] = np.arange(len(SIGNS)) + UNASKED
        codes = (
            code_of[np.frombuffer(signs, np.uint8)].reshape(len(lines), voters, classes).transpose(0, 2, 1)
        )
        return cls(codes, *(facts[name] for name in ("agreement", "judges", "questions", "classes")))


# `rule(reply_so_far, has_ended)` returns a vote's code, or None while it needs more of the reply
Rule = Callable[[str, bool], int | None]

_WORDS = {"yes": YES, "no": NO}
_LABELS = {"1": YES, "0": NO}
_APOSTROPHES = "'\u2019"
_FIRST_WORD = re.compile(rf"[^\W\d_]+(?:[{_APOSTROPHES}][^\W\d_]+)?")


def whole(reply: str, ended: bool) -> int | None:
    """Read yes or no only if the whole reply, stripped and lowercased, is that word: the rule in THRONE's code release.

    >>> whole(" Yes ", True), whole("yes, a dog", True), whole("ye", False)
    (1, 2, None)
    """
    return _one_of(_WORDS, reply.strip().lower(), ended)


def label(reply: str, ended: bool) -> int | None:
    """Read yes if the whole stripped reply is "1", no if it is "0": a checker's labels for supported and other claims.

    >>> label("1", True), label(" 0", True), label("yes", True), label("", False), label("10", False)
    (1, 0, 2, None, 2)
    """
    return _one_of(_LABELS, reply.strip(), ended)


def _one_of(words: Mapping[str, int], reply: str, ended: bool) -> int | None:
    if ended:
        return words.get(reply, OTHER)
    return None if any(known.startswith(reply) for known in words) else OTHER


def first_word(reply: str, ended: bool = True) -> int | None:
    """Read yes or no if it is the reply's first word, ignoring non-letters before it and everything after it.

    >>> first_word("Yes, there is."), first_word("Nothing"), first_word("**No", ended=False), first_word("1. Yes")
    (1, 2, None, 1)
    """
    found = _FIRST_WORD.search(reply)
    word = found.group().lower() if found else ""
    rest = reply[found.end() :] if found else ""
    if ended or (rest and rest not in _APOSTROPHES):
        return _WORDS.get(word, OTHER)
    return None if any(known.startswith(word) for known in _WORDS) else OTHER


RULES: dict[str, Rule] = {"whole": whole, "first-word": first_word, "label": label}
