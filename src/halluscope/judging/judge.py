"""What every judge offers: a `Voter` says yes or no about a text, a `ChatJudge` replies to whole prompts.

A judge knows nothing about metrics. A judge that a user writes offers less; an adapter gives it the rest
(`halluscope.judging.adapters`).
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.questions import Question

Pairs = NDArray[np.int64]  # [n, 2]: row `i` asks question `pairs[i, 1]` about text `pairs[i, 0]`

# The margin of each vote, in the judge's own unit, such as log P(yes) - log P(no); NaN where it is unknown
Margins = NDArray[np.float64]

# Row numbers of `Pairs`, and the vote on each of these rows, as a code of `halluscope.judging.votes`
Answered = tuple[NDArray[np.int64], NDArray[np.int8]]

# `Answered`, with the margin of each vote
AnsweredBy = tuple[NDArray[np.int64], NDArray[np.int8], Margins]

ASK = ("needed", "all")

# Ask every question about the cells that are present, and about no others: for texts with classes of their own
PRESENT = "present"

MAX_FAILED = 0.02  # The share of prompts that may get no reply, unless the user says otherwise

AT_ONCE = 32  # How many requests may be under way, unless the user says otherwise
MOST_AT_ONCE = 10_000

MOST_WORKERS = 1000  # How many processes may share a model's work

FORMAT = "response_format"
SEED = "seed"
LOGPROBS = "logprobs"

# The settings that a server may refuse: temperature, limit (by its old name), seed, JSON schema, probabilities
SETTINGS = ("temperature", "max_tokens", SEED, FORMAT, LOGPROBS)

# How many tokens a reply may have; a longer reply is cut off, and does not count as a reply
MAX_TOKENS = 256

Schema = Mapping[str, Any]  # The JSON schema of a reply


class Judge(ABC):
    """What every judge offers."""

    @property
    @abstractmethod
    def key(self) -> str:
        """The judge's name in signatures and in the cache: everything about it that can change a vote or reply.

        It holds no access key and no path on this machine. Only `settle` may change it.
        """

    @cached_property
    def failures(self) -> Counter[str]:
        """How many requests got no reply, by reason."""
        return Counter()

    @property
    def spent(self) -> str:
        """What the replies have cost so far, in words; empty if nothing is known."""
        return ""

    @property
    def faster(self) -> str:
        """What would take less time than this model on this machine, in words; empty for every other judge."""
        return ""

    def settle(self, schemas: Sequence[Schema | None] = ()) -> None:  # noqa: B027 (most judges have nothing to do)
        """Find out which settings a server refuses, before prompts with replies in these forms are sent to it."""

    @abstractmethod
    def close(self) -> None:
        """Free what the judge holds, such as a model's memory. The judge may be asked again afterwards."""


class Voter(Judge):
    """Anything that can vote yes or no about a text."""

    # whether votes are worth keeping: a language model's are; those looked up in a table are not
    stored: bool = True

    # whether the questions must be claims; None for a voter that takes questions and claims
    claims: bool | None = None

    @abstractmethod
    def answer(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[Answered | AnsweredBy]:
        """Vote on each pair once, in any order, one batch at a time, so that the caller can keep each batch.

        A question that gets no reply after all attempts has the vote `halluscope.judging.votes.FAILED`.

        A vote depends only on its text and question, never on the rest of the batch.
        """


class ChatJudge(Judge):
    """Anything that replies to prompts."""

    # whether the reply to a prompt is always the same; it then gets each prompt once, without a seed
    greedy: bool = False

    @abstractmethod
    def replies(
        self, prompts: Sequence[str], schemas: Sequence[Schema | None], seeds: Sequence[int]
    ) -> Iterator[tuple[int, str | None]]:
        """Yield each prompt's index with the reply, in any order, as they come; None if no reply came.

        A reply depends only on its prompt and its seed.

        Args:
            prompts: the prompts.
            schemas: the JSON schema that each reply should have, or None; for judges that can be held to it.
            seeds: the seed that each reply is drawn by; for judges that draw their replies.
        """


class KnownJudge(ChatJudge):
    """A chat judge of which only the key is known, for a cache that is only read."""

    def __init__(self, key: str, greedy: bool) -> None:
        self._key = key
        self.greedy = greedy

    @property
    def key(self) -> str:
        return self._key

    def replies(
        self, prompts: Sequence[str], schemas: Sequence[Schema | None], seeds: Sequence[int]
    ) -> Iterator[tuple[int, str | None]]:
        return iter(())

    def close(self) -> None: ...


def check_workers(workers: int, device: str | None) -> None:
    """Check that no GPU is named for several processes."""
    if workers and ":" in (device or ""):
        raise ValueError(
            f"device is {device!r} and workers is {workers}; each worker takes a GPU of its own. Leave device out."
        )
