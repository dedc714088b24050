"""What judges said, word for word: written down while they are asked, or read again, with nobody to ask.

It takes the place of a store. So every benchmark whose judges are asked through `Voting` or `Grading` can be scored
once more from what was written down, to the digit, without a judge and without a line of its own.
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
"""A prompt, which repeat of it, and the seed of the reply, as a store has them."""

RUN, ITEMS = "run.json", "items.jsonl"
"""The files of a run's folder that say whose responses were judged, and what was said of each."""

SIGNS = b"-01?"
"""How a vote is written: a question that was not put, no, yes, and a reply that is neither, by its code from -1 on."""


@dataclass(frozen=True)
class Voted:
    """What voters said.

    Attributes:
        votes: codes [texts, classes, voters], a voter being a judge with one of its questions.
        facts: what tells them from others: "agreement", how many votes must agree, "judges", their keys, "questions",
            the name of what they were asked, and "classes", in the order of the votes.
    """

    votes: NDArray[np.int8]
    facts: Mapping[str, Any]

    def lines(self) -> list[list[str]]:
        """The votes in `SIGNS`: for each text one line per voter, a sign per class."""
        texts, classes, voters = self.votes.shape
        signs = np.frombuffer(SIGNS, "S1")[self.votes.transpose(0, 2, 1) - UNASKED]
        whole, rows = signs.tobytes().decode("ascii"), range(texts * voters)
        lines = [whole[row * classes : (row + 1) * classes] for row in rows]
        return [lines[text * voters : (text + 1) * voters] for text in range(texts)]

    @classmethod
    def read(cls, lines: Sequence[Sequence[str]], facts: Mapping[str, Any]) -> "Voted":
        """Votes as `lines` writes them.

        Raises:
            ValueError: for what is no table of votes.
        """
        shapes = {tuple(map(len, text)) for text in lines}
        signs = "".join(line for text in lines for line in text).encode("ascii", "replace")
        if len(shapes) != 1 or len({*next(iter(shapes))}) != 1 or not {*signs} <= {*SIGNS}:
            raise ValueError(
                f"The votes are no table; expected for each text one line per voter, each with one of the signs "
                f"{SIGNS.decode()} per class."
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
        given: where votes and replies are kept besides: a path, None for the user's cache, or another store.
        is_read: whether it holds all that was said, so that nobody is asked and no store is opened.
        voted: what voters said; None if nobody voted.
        grader: the key of whoever replied to prompts, and whether its reply to a prompt is always the same.
        said: its replies, by the prompt's sha256, the repeat and the seed.
    """

    given: AnswerStore | AskAnew | str | Path | None = None
    is_read: bool = False
    voted: Voted | None = None
    grader: tuple[str, bool] | None = None
    said: dict[Place, str] = field(default_factory=dict)

    @property
    def store(self) -> AnswerStore:
        """Where votes and replies are kept besides."""
        return self._opened.store if isinstance(self._opened, AskAnew) else self._opened

    @property
    def outbox(self) -> Outbox | None:
        """As `AnswerStore` has it."""
        return None if self.is_read else self.store.outbox

    def replies(self, judge: str, asked: Iterable[Place]) -> dict[Place, str]:
        """The replies that are known, as `AnswerStore.replies` gives them."""
        places = list(asked)
        if self.is_read:
            found = {place: self.said.get(_digest(place)) for place in places}
            return {place: reply for place, reply in found.items() if reply is not None}
        kept = self._opened.replies(judge, places)
        for place in places:  # what a judge of another key said there does not count
            self.said.pop(_digest(place), None)
        self.said |= {_digest(place): reply for place, reply in kept.items()}
        return kept

    def keep_reply(self, judge: str, asked: Place, reply: str) -> None:
        """As `AnswerStore.keep_reply`."""
        self.said[_digest(asked)] = reply
        self._opened.keep_reply(judge, asked, reply)

    @cached_property
    def _opened(self) -> AnswerStore | AskAnew:
        return self.given if isinstance(self.given, AnswerStore | AskAnew) else AnswerStore(self.given)


class Absent:
    """Whoever gave the replies of a transcript, of whom only the key is left: it replies to nothing."""

    def __init__(self, key: str, greedy: bool) -> None:
        self.key, self.greedy = key, greedy
        self.failures: Counter[str] = Counter()

    def replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        """No reply to any prompt."""
        return ((place, None) for place in range(len(prompts)))

    def close(self) -> None:
        """Nothing is held."""


def _digest(place: Place) -> Place:
    prompt, repeat, seed = place
    return sha256(prompt).hex(), repeat, seed
