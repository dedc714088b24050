"""The interface of judges that take whole prompts and give whole replies, which the caller reads."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

# How many tokens a reply may have; a longer reply is cut off, and does not count as a reply
MAX_TOKENS = 256

Schema = Mapping[str, Any]  # The JSON schema of a reply


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

        It gives model, temperature, the longest reply, and whether replies are held to a schema, but never an access
        key or a path on this machine. The seed of a reply is stored next to it. A call of `replies` may change the key
        if a server refuses a setting, but not while replies come.
        """
        ...

    def replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        """Yield each prompt's place with the reply, in any order, as they come; None if no reply came.

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
        """Yield nothing: it is not asked."""
        return iter(())

    def close(self) -> None:
        """Do nothing: nothing is held."""
