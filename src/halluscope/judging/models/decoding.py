"""Decodes a batch of replies greedily, each only as far as it must be read."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

T = TypeVar("T")


class Steps(Protocol):
    """A model that generates one token of each reply at a time."""

    def begin(self, ids: Any) -> tuple[Any, Any]:
        """Read prompts [batch, length]; return the logits [batch, vocabulary] of the first tokens, and a state."""
        ...

    def go_on(self, tokens: Any, state: Any) -> tuple[Any, Any]:
        """Return the logits of each reply's next token after `tokens` [batch], and the next state."""
        ...

    def keep(self, state: Any, rows: list[int]) -> Any:
        """Return the state of only these rows of the batch."""
        ...


def greedy(
    begun: tuple[Any, Any], steps: Steps, read: Callable[[list[int]], T | None], max_new_tokens: int
) -> list[T]:
    """Return what `read` returns for each reply; a reply that has been read is not continued.

    Args:
        begun: what `steps.begin` returned: the logits of each reply's first token, and a state.
        steps: the model.
        read: reads a reply's tokens; None while it needs more of them, but never at the last token.
        max_new_tokens: how many tokens a reply may have.
    """
    logits, state = begun
    found: list[T | None] = [None] * len(logits)
    replies: list[list[int]] = [[] for _ in found]
    open_ = list(range(len(found)))
    for _ in range(max_new_tokens):
        tokens = logits.argmax(-1)
        for i, token in zip(open_, tokens.tolist(), strict=True):
            replies[i].append(token)
            found[i] = read(replies[i])
        left = [row for row, i in enumerate(open_) if found[i] is None]
        if not left:
            break
        if len(left) < len(open_):
            tokens, state, open_ = tokens[left], steps.keep(state, left), [open_[row] for row in left]
        logits, state = steps.go_on(tokens, state)
    return cast("list[T]", found)
