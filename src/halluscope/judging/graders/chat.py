"""Judges that get whole prompts and give whole replies. What a reply says is the caller's to read."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

MAX_TOKENS = 256
"""A longer reply is cut off, and a reply that is cut off is none."""

Schema = Mapping[str, Any]
"""The JSON schema of a reply."""


class ChatJudge(Protocol):
    """Anyone who replies to prompts.

    A judge says what else it can by attributes that are true. With `structured` it holds its replies to a JSON schema:
    `replies` then gets `schemas`, one per prompt. With `seeded` it draws its replies by a seed: `replies` then gets
    `seeds`, one per prompt. With `greedy` its reply to a prompt is always the same, and it is not asked for it twice.
    """

    @property
    def failures(self) -> Counter[str]:
        """How many prompts got no reply, by reason."""
        ...

    @property
    def key(self) -> str:
        """What stands in a signature and in the store: everything about the judge that can move a reply.

        Model, temperature, the longest reply, and whether it is held to a schema; never an access key, and never a path
        of this machine. The seed of a reply stands beside it. A call of `replies` may change it, for a server that
        refuses a setting, but not while replies come.
        """
        ...

    def replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        """Each prompt's place with the reply, in any order, as they come; None where there was none.

        A reply depends on its prompt and its seed alone.

        Raises:
            JudgeUnavailable: if there is nobody to reply.
        """
        ...

    def close(self) -> None:
        """Free what the judge holds (a model's memory). It may be asked again afterwards."""
        ...
