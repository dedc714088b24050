"""How verdicts on free text are asked of a language model, and how often."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from halluscope.inputs import flags, kind
from halluscope.judging.graders.chat import MAX_TOKENS, ChatJudge
from halluscope.judging.graders.verdicts import Asked, check_max_failed, collect
from halluscope.judging.store import AnswerStore
from halluscope.numbers import whole
from halluscope.options import Option

GIVEN = "given"
"""Stands in a signature for verdicts that the user gave."""

MOST_REPEATS = 1000
"""More repeats than that say nothing more."""

MOST_TOKENS = 1_000_000

V = TypeVar("V")


def offered(rules: str, max_tokens: int = MAX_TOKENS) -> tuple[Option, ...]:
    """What the command line offers of `Grading`; `device`, `store` and `progress` are those of every judge.

    Args:
        rules: the names that the benchmark knows, for the help.
        max_tokens: how long a reply may be unless the user says otherwise.
    """
    return (
        Option(
            "judge",
            f"who gives verdicts: {rules}, openai:MODEL[@BASE_URL] (extra api), or a local model (judge)",
        ),
        Option("repeats", "how often a language model judges (default: 1)", int, metavar="N"),
        Option("max_failed", "the share of unreadable verdicts that is an error (default: 0.02)", float),
        Option(
            "max_tokens",
            f"how long a language model's reply may be (default: {max_tokens})",
            int,
            metavar="N",
        ),
    )


@dataclass(frozen=True)
class Grading:
    """Who gives verdicts, and how it is asked.

    Attributes:
        judge: the name of a rule that the benchmark knows, or a language model: an endpoint "openai:MODEL[@BASE_URL]",
            a local model's folder, Hub id or GGUF file, or a chat judge.
        repeats: how often it judges each answer, 1 to 1,000.
        max_failed: the share of its replies, 0 to 1, that may be unreadable before that is an error.
        max_tokens: how long a reply may be of a judge that is named; a chat judge that is given has its own.
        device: where a local model runs; None takes a GPU if there is one.
        store: where replies are kept: a path, or None for the user's cache.
        progress: show what it is doing.

    Raises:
        ValueError: for an option out of range.
    """

    judge: Any
    repeats: int = 1
    max_failed: float = 0.02
    max_tokens: int = MAX_TOKENS
    device: str | None = None
    store: AnswerStore | str | Path | None = None
    progress: bool = True

    def __post_init__(self) -> None:
        """Check the options."""
        check_max_failed(self.max_failed)
        whole("repeats", self.repeats, 1, MOST_REPEATS, "a number of repeats")
        whole("max_tokens", self.max_tokens, 1, MOST_TOKENS, "a number of tokens")
        flags(progress=self.progress)
        kind("device", self.device, str | None, "a device such as 'cuda:1' or 'cpu', or None")
        kind("store", self.store, AnswerStore | str | Path | None, "a path, or None for the user's cache")

    def check_once(self, why: str) -> None:
        """Check that nothing is to be judged several times where that would change nothing.

        Raises:
            ValueError: if it is; the message says why it would change nothing.
        """
        if self.repeats != 1:
            raise ValueError(f"repeats is {self.repeats}, but {why}; expected 1.")

    def named(self, names: Collection[str]) -> bool:
        """Whether the judge is one of these names, which stand for rules instead of a language model."""
        return isinstance(self.judge, str) and self.judge in names

    def prepare(self, rules: Collection[str]) -> None:
        """Find the language model and the store, so that what is wrong with them shows before anything is asked.

        Args:
            rules: the names that the benchmark knows, for whoever misspelt one.

        Raises:
            JudgeUnavailable: if there is no such language model.
        """
        from halluscope.judging.graders.resolve import check_name

        check_name(self.judge, rules)
        _ = self.chat, self.kept

    @cached_property
    def chat(self) -> ChatJudge:
        """The language model that is meant, not loaded and not asked yet.

        Raises:
            JudgeUnavailable: if there is none.
        """
        from halluscope.judging.graders.resolve import resolve_chat

        return resolve_chat(self.judge, device=self.device, max_tokens=self.max_tokens)

    @cached_property
    def kept(self) -> AnswerStore:
        """Where its replies are kept."""
        return self.store if isinstance(self.store, AnswerStore) else AnswerStore(self.store)

    def verdicts(self, asked: Sequence[Asked[V]]) -> list[list[V | None]]:
        """Ask the language model, and free it.

        Args:
            asked: the prompts, and how the replies are read.

        Returns:
            [repeats][prompts]: the verdict, None where no reply came or it could not be read.

        Raises:
            JudgingFailed: if more than `max_failed` of the prompts have none.
            JudgeUnavailable: if there is nobody to reply.
            StoreError: if the store cannot be read or written.
        """
        try:
            return collect(
                asked,
                self.chat,
                repeats=self.repeats,
                store=self.kept,
                max_failed=self.max_failed,
                progress=self.progress,
            )
        finally:
            self.chat.close()
