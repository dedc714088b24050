"""A transcript of what judges said, word for word: written while they are asked, or read later with no judge to ask.

It takes the place of a store. So every benchmark that asks its judges through `Voting` or `Grading` can be scored
again from a transcript, to the digit, without a judge and without code of its own.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.store import AnswerStore, AskAnew, Outbox
from halluscope.judging.store_records import sha256
from halluscope.judging.votes import UNASKED

Place = tuple[str, int, int]
"""A prompt, the number of its repeat, and the seed of the reply, as in a store."""

RUN, ITEMS = "run.json", "items.jsonl"
"""The files of a run's folder that say whose responses were judged, and what judges said about each."""

SIGNS = b"-01?"
"""The characters for the codes of a vote, from -1 on: not asked, no, yes, and a reply that is neither."""


@dataclass(frozen=True)
class Voted:
    """What voters said.

    Attributes:
        votes: codes [texts, classes, voters]; a voter is a judge with one of its questions.
        facts: what tells these votes from others: "agreement" (how many votes must agree), "judges" (their keys),
            "questions" (the name of the question set) and "classes" (in the order of the votes).
    """

    votes: NDArray[np.int8]
    facts: Mapping[str, Any]

    def lines(self) -> list[list[str]]:
        """Return the votes in `SIGNS`: for each text one line per voter, with one character per class."""
        texts, classes, voters = self.votes.shape
        signs = np.frombuffer(SIGNS, "S1")[self.votes.transpose(0, 2, 1) - UNASKED]
        whole, rows = signs.tobytes().decode("ascii"), range(texts * voters)
        lines = [whole[row * classes : (row + 1) * classes] for row in rows]
        return [lines[text * voters : (text + 1) * voters] for text in range(texts)]

    @classmethod
    def read(cls, lines: Sequence[Sequence[str]], facts: Mapping[str, Any]) -> "Voted":
        """Read votes that `lines` wrote.

        Raises:
            ValueError: if the lines are not a table of votes.
        """
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
        codes = code_of[np.frombuffer(signs, np.uint8)].reshape(len(lines), voters, classes)
        return cls(codes.transpose(0, 2, 1), facts)


@dataclass
class Transcript:
    """A store of votes and replies that also notes what passes through it.

    Attributes:
        given: where votes and replies are also kept: a path, None for the user's cache, or another store.
        is_read: whether the transcript holds all that was said, so that no judge is asked and no store is opened.
        voted: what voters said; None if nobody voted.
        grader: the grader's key, and whether its reply to a prompt is always the same.
        said: the grader's replies, by the prompt's sha256, the repeat and the seed.
    """

    given: AnswerStore | AskAnew | str | Path | None = None
    is_read: bool = False
    voted: Voted | None = None
    grader: tuple[str, bool] | None = None
    said: dict[Place, str] = field(default_factory=dict)

    @property
    def store(self) -> AnswerStore:
        """The store in which votes and replies are also kept."""
        return self._opened.store if isinstance(self._opened, AskAnew) else self._opened

    @property
    def outbox(self) -> Outbox | None:
        """The store's outbox; None if the transcript is only read."""
        return None if self.is_read else self.store.outbox

    def replies(self, judge: str, asked: Iterable[Place]) -> dict[Place, str]:
        """Return the known replies, as `AnswerStore.replies` does."""
        places = list(asked)
        if self.is_read:
            found = {place: self.said.get(_digest(place)) for place in places}
            return {place: reply for place, reply in found.items() if reply is not None}
        kept = self._opened.replies(judge, places)
        for place in places:  # replies of a judge with another key do not count
            self.said.pop(_digest(place), None)
        self.said |= {_digest(place): reply for place, reply in kept.items()}
        return kept

    def keep_reply(self, judge: str, asked: Place, reply: str) -> None:
        """Keep a reply, as `AnswerStore.keep_reply` does."""
        self.said[_digest(asked)] = reply
        self._opened.keep_reply(judge, asked, reply)

    @cached_property
    def _opened(self) -> AnswerStore | AskAnew:
        return self.given if isinstance(self.given, AnswerStore | AskAnew) else AnswerStore(self.given)


class Absent:
    """Takes the place of a transcript's grader, of which only the key is left; it gives no replies."""

    def __init__(self, key: str, greedy: bool) -> None:
        self.key, self.greedy = key, greedy
        self.failures: Counter[str] = Counter()

    def replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        """Yield None, for no reply, for each prompt."""
        return ((place, None) for place in range(len(prompts)))

    def close(self) -> None:
        """Do nothing: nothing is held."""


def _digest(place: Place) -> Place:
    prompt, repeat, seed = place
    return sha256(prompt).hex(), repeat, seed
