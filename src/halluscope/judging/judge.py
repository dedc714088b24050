"""The interfaces of judges: of voters, who say yes or no about a text, and of chat judges, who reply to whole prompts.

A judge knows nothing about metrics.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.questions import Question
from halluscope.validation import listed, word

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

# How many requests may be under way, unless the user says otherwise and at most
AT_ONCE, MOST_AT_ONCE = 32, 10_000

FORMAT, SEED, LOGPROBS = "response_format", "seed", "logprobs"

# The settings that a server may refuse: temperature, limit (by its old name), seed, JSON schema, probabilities
SETTINGS = ("temperature", "max_tokens", SEED, FORMAT, LOGPROBS)

# How many tokens a reply may have; a longer reply is cut off, and does not count as a reply
MAX_TOKENS = 256

Schema = Mapping[str, Any]  # The JSON schema of a reply


class Judge(Protocol):
    """Anything that can vote yes or no about a text.

    A judge may have two more members: `failures` counts by reason the questions that got no reply; `spent` describes
    in words what the votes cost.

    Attributes:
        stored: whether votes are worth keeping (a language model's are; those looked up in a table are not).
    """

    stored: bool

    @property
    def key(self) -> str:
        """The judge's name in signatures and in the cache: everything about it that can change a vote.

        It holds no access key and no path on this machine.
        """
        ...

    def answer(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[Answered | AnsweredBy]:
        """Vote on each pair once, in any order, one batch at a time, so that the caller can keep each batch.

        A question that gets no reply after all attempts has the vote `halluscope.judging.votes.FAILED`.

        A vote depends only on its text and question, never on the rest of the batch.
        """
        ...

    def close(self) -> None:
        """Free what the judge holds, such as a model's memory. The judge may be asked again afterwards."""
        ...


class ChatJudge(Protocol):
    """Anything that replies to prompts.

    A judge shows what else it can do by attributes that are true. With `structured` it holds its replies to a JSON
    schema: `replies` then gets `schemas`, one per prompt. With `seeded` it draws its replies by a seed: `replies` then
    gets `seeds`, one per prompt. With `greedy` its reply to a prompt is always the same, so it gets each prompt once.
    """

    @property
    def failures(self) -> Counter[str]:
        """How many prompts got no reply, by reason."""
        ...

    @property
    def key(self) -> str:
        """The judge's name in signatures and in the cache: everything about it that can change a reply.

        It holds no access key and no path on this machine. The seed of a reply is stored next to it. A call of
        `replies` may change the key if a server refuses a setting, but not while replies come.
        """
        ...

    def replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        """Yield each prompt's index with the reply, in any order, as they come; None if no reply came.

        A reply depends only on its prompt and its seed.
        """
        ...

    def close(self) -> None:
        """Free what the judge holds, such as a model's memory. The judge may be asked again afterwards."""
        ...


@dataclass
class KnownJudge:
    """A chat judge of which only the key is known, for a cache that is only read."""

    key: str
    greedy: bool
    failures: Counter[str] = field(default_factory=Counter)

    def replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        return iter(())

    def close(self) -> None: ...


def is_greedy(judge: ChatJudge) -> bool:
    """Whether a judge's reply to a prompt is always the same."""
    return bool(getattr(judge, "greedy", False))


def check_leave_out(names: Any) -> list[str]:
    """Return the settings that a server is known to refuse, from one name or a list of names."""
    known = [names] if isinstance(names, str) else listed("leave_out", names, "a list of settings' names")
    return [word("leave_out", name, SETTINGS) for name in known]
