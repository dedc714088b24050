"""The options of verdicts on free text: who gives them, how often, and how a language model is asked."""

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from halluscope.inputs import finite, flags, kind, whole
from halluscope.judging.cache import Cache, Record, cache_of
from halluscope.judging.chat_completions import AT_ONCE_OPTION, LEAVE_OUT, check_leave_out
from halluscope.judging.client import AT_ONCE, check_at_once
from halluscope.judging.failed import MAX_FAILED, check_max_failed
from halluscope.judging.graders.chat import MAX_TOKENS, ChatJudge
from halluscope.judging.graders.verdicts import Asked, collect, is_greedy
from halluscope.options import Option

GIVEN = "given"  # The entry in a signature for verdicts that the user gave

MOST_REPEATS = 1000  # The most repeats; more would tell nothing new

MOST_TOKENS = 1_000_000

LARGEST_SEED = 2**63 - 1  # The largest seed that a cache keeps, and that a server accepts

HOTTEST = 2.0  # The highest temperature that endpoints accept

V = TypeVar("V")


def offered(rules: str, max_tokens: int = MAX_TOKENS) -> tuple[Option, ...]:
    """Return the command-line options for `Grading`; `device`, `store` and `progress` are options of every judge."""
    return (
        Option(
            "judge",
            f"who gives verdicts: {rules}, openai:MODEL[@BASE_URL] (extra api), or a local model (extra judge)",
        ),
        Option(
            "repeats",
            "how often a language model judges, each time with the next seed (default: 1)",
            int,
            metavar="N",
        ),
        Option(
            "judge_seed",
            "the seed of the judge's first replies, sent to an endpoint (default: --seed)",
            int,
            metavar="N",
        ),
        Option(
            "temperature", "the temperature of an endpoint's replies, 0 to 2 (default: 0)", float, metavar="T"
        ),
        LEAVE_OUT,
        Option("fresh", "ask again, and replace the kept replies", flag=True),
        AT_ONCE_OPTION,
        Option(
            "max_failed",
            f"the share of verdicts that may be unreadable before it is an error (default: {MAX_FAILED})",
            float,
        ),
        Option(
            "max_tokens",
            f"how many tokens a language model's reply may have (default: {max_tokens})",
            int,
            metavar="N",
        ),
    )


def given(name: str, columns: str, does: str) -> Option:
    """Return the command-line option for verdicts from the user: a file, or a run, for each file of responses."""
    about = (
        f"a file, or a run's folder, for each of --responses, with {columns}; no rule or model {does} then"
    )
    return Option(name, about, many=True, metavar="FILE", each=True)


@dataclass(frozen=True)
class Grading:
    """Who gives verdicts, and how a language model is asked.

    Attributes:
        judge: the name of a rule that the benchmark knows, or a language model: an endpoint "openai:MODEL[@BASE_URL]",
            a local model's folder, Hub id or GGUF file, or a chat judge.
        repeats: how often a language model judges each response, 1 to 1,000, each time with another seed. A local model
            decodes greedily, so its repeats are equal.
        judge_seed: the seed of the first repeat's replies, by default the metric's `seed`; each further repeat has the
            next seed. The seed is sent to an endpoint, and replies are kept by it, so another seed asks again.
        temperature: how freely an endpoint draws its replies, 0 to 2. A local model accepts only 0; a chat judge that
            is given as an object has its own temperature.
        leave_out: settings that the endpoint is known to refuse, from
            `halluscope.judging.chat_completions.SETTINGS`; by default the endpoint is asked which it refuses.
        fresh: ask again what was asked already; the new replies replace the kept ones.
        at_once: the most requests that may be under way to an endpoint; fewer while the server is overloaded.
        max_failed: the share of the judge's replies, 0 to 1, that may be unreadable before it is an error.
        max_tokens: how many tokens a reply may have; a chat judge that is given as an object has its own limit.
        device: where a local model runs; None takes a GPU if there is one.
        store: where replies are kept: a path, a cache, or None for the user's cache. If it is only read, no judge is
            asked.
        progress: show what the judge is doing.

    Raises:
        ValueError: for an option out of range.
    """

    judge: Any
    repeats: int = 1
    judge_seed: int = 0
    temperature: float = 0.0
    leave_out: str | Sequence[str] = ()
    fresh: bool = False
    at_once: int = AT_ONCE
    max_failed: float = MAX_FAILED
    max_tokens: int = MAX_TOKENS
    device: str | None = None
    store: Cache | str | Path | None = None
    progress: bool = True

    def __post_init__(self) -> None:
        """Check the options."""
        check_max_failed(self.max_failed)
        check_leave_out(self.leave_out)
        check_at_once(self.at_once)
        whole("repeats", self.repeats, 1, MOST_REPEATS, "a number of repeats")
        whole("judge_seed", self.judge_seed)
        finite("temperature", self.temperature, 0, HOTTEST)
        whole("max_tokens", self.max_tokens, 1, MOST_TOKENS, "a number of tokens")
        flags(progress=self.progress, fresh=self.fresh)
        kind("device", self.device, str | None, "a device such as 'cuda:1' or 'cpu', or None")
        kind("store", self.store, Cache | str | Path | None, "a path, or None for the user's cache")

    def check_once(self, why: str) -> None:
        """Check that no option asks a language model to judge again or differently, where it would have no effect."""
        plain = {"repeats": 1, "temperature": 0, "fresh": False}
        for name, value in plain.items():
            if (given := getattr(self, name)) != value:
                raise ValueError(f"{name} is {given}, but {why}; expected {value}.")

    def named(self, names: Collection[str]) -> bool:
        """Whether the judge is one of these names, which mean rules instead of a language model."""
        return isinstance(self.judge, str) and self.judge in names

    def prepare(self, rules: Collection[str]) -> None:
        """Find the language model, so that errors in it appear before anything is asked."""
        from halluscope.judging.graders.resolve import check_name

        whole("judge_seed", self.judge_seed, most=LARGEST_SEED - self.repeats, what="a judge's seed")
        check_name(self.judge, rules)
        if not is_greedy(self.chat):
            return
        if self.temperature:
            raise ValueError(
                f"temperature is {self.temperature:g}, but {self.chat.key} decodes greedily; expected 0, or a judge "
                "behind an endpoint (openai:MODEL[@BASE_URL])."
            )
        if self.repeats > 1:
            warnings.warn(
                f"{self.chat.key} decodes greedily: its {self.repeats} repeats are equal.", stacklevel=4
            )

    @property
    def drawn(self) -> dict[str, str]:
        """The seeds of a language model's replies, as in a signature; empty if the model decodes greedily."""
        if is_greedy(self.chat):
            return {}
        last = self.judge_seed + self.repeats - 1
        return {"seeds": f"{self.judge_seed}-{last}" if self.repeats > 1 else f"{last}"}

    @cached_property
    def chat(self) -> ChatJudge:
        """The language model that the user means, not loaded and not asked yet."""
        from halluscope.judging.graders.resolve import resolve_chat

        return resolve_chat(
            self.judge,
            device=self.device,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            leave_out=self.leave_out,
            at_once=self.at_once,
        )

    @cached_property
    def cache(self) -> Cache:
        """The cache of the language model's replies."""
        return cache_of(self.store, self.fresh)

    def verdicts(self, asked: Sequence[Asked[V]]) -> list[list[V | None]]:
        """Ask the language model, and free it."""
        try:
            return collect(
                asked,
                self.chat,
                repeats=self.repeats,
                seed=self.judge_seed,
                cache=self.cache,
                max_failed=self.max_failed,
                progress=self.progress,
            )
        finally:
            if isinstance(self.cache, Record):
                self.cache.judge = self.chat
            if self.cache is not self.store:
                self.cache.close()
            self.chat.close()
