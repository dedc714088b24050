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

    A judge that can hold its replies to a JSON schema says so by an attribute `structured` that is true; `replies` then
    gets the schemas as well, one a prompt.

    Attributes:
        failures: how many prompts got no reply, by reason.
    """

    failures: Counter[str]

    @property
    def key(self) -> str:
        """What stands in a signature and in the store: everything about the judge that can move a reply.

        Model, temperature, seed, the longest reply, and whether it is held to a schema; never an access key, and never
        a path of this machine. A call of `replies` may change it, for a server that refuses a setting, but not while
        replies come.
        """
        ...

    def replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        """Each prompt's place with the reply, in any order, as they come; None where there was none.

        A reply depends on its prompt alone.

        Raises:
            JudgeUnavailable: if there is nobody to reply.
        """
        ...

    def close(self) -> None:
        """Free what the judge holds (a model's memory). It may be asked again afterwards."""
        ...
