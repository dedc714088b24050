"""The options of judges: who votes or gives verdicts, and how a model is asked."""

import warnings
from collections.abc import Collection, Sequence
from dataclasses import MISSING, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from halluscope.judging import votes as voting
from halluscope.judging.judge import (
    ASK,
    AT_ONCE,
    MAX_FAILED,
    MAX_TOKENS,
    MOST_AT_ONCE,
    MOST_WORKERS,
    PRESENT,
    ChatJudge,
    Voter,
    check_workers,
)
from halluscope.judging.prompts import Collected, PromptSpec
from halluscope.judging.questions import QuestionSet
from halluscope.judging.votes import VoteResult
from halluscope.options import check_values, option
from halluscope.validation import LARGEST_SEED
from halluscope.vocabularies import Vocabulary

if TYPE_CHECKING:  # imported at first use, because a benchmark's options are read without its judges
    from halluscope.judging.cache import Cache

GIVEN = "given"  # The entry in a signature for verdicts that the user gave


V = TypeVar("V")


def _number_or_name(word: str) -> str | int:
    return int(word) if word.isdecimal() else word


def _check_store(value: Any) -> None:
    from halluscope.judging.cache import check_store

    check_store(value)


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """How judges are asked."""

    at_once: int = option(
        AT_ONCE,
        f"the greatest number of concurrent requests to an endpoint (default: {AT_ONCE})",
        about="the most requests that may be under way to an endpoint; fewer while the server is overloaded",
        least=1,
        most=MOST_AT_ONCE,
        what="a number of requests",
    )
    max_failed: float = option(
        MAX_FAILED,
        "the share of a judge's replies that may be missing, or of verdicts that may be unreadable, before it is an "
        f"error (default: {MAX_FAILED})",
        most=1,
        what="a share of the prompts, such as 0.02,",
    )
    device: str | None = option(
        None,
        "where language models run, such as cuda:1 (default: a GPU if there is one)",
        about="where models on this machine run, such as 'cuda:1' or 'cpu'; None takes a GPU if there is one",
        kinds=str | None,
        what="a device such as 'cuda:1' or 'cpu', or None",
    )
    store: "Cache | str | Path | None" = option(
        None,
        "where votes and replies are kept (default: $HALLUSCOPE_STORE or the user's cache)",
        metavar="FILE",
        about="where votes and replies are kept: a path, a cache, or None for the user's cache. If it is a run's "
        "record, or a cache of replies that is only read, no judge is asked",
        check=_check_store,
    )
    progress: bool = option(True, about="show what judges are doing")

    def __post_init__(self) -> None:
        check_values(self)


@dataclass(frozen=True)
class VoteOptions(JudgeOptions):
    """Who votes on which questions, how many must agree, and how judges are asked."""

    judges: str | Voter | Sequence[str | Voter] = option(
        "flan-t5",
        "who votes: flan-t5 (default), lexical, replay:FILE, models (Hub ids, folders, GGUF files; extra judge), "
        "likelier:MODEL (the likelier of yes and no; likelier=0.5:MODEL sets a threshold), checker:MODEL (MiniCheck's "
        "kind, with --questions claims), openai:MODEL[@URL] (extra api)",
        about='who votes: "flan-t5" (the paper\'s three), "lexical" (no model), "replay:FILE" (votes given elsewhere), '
        'a model\'s Hub id, folder or GGUF file, "likelier:MODEL" or "likelier=THRESHOLD:MODEL" (yes if log P(yes) - '
        'log P(no) of its first token is above the threshold, in nats; default 0), "checker:MODEL" (a T5 that says 0 '
        'or 1 about a claim, as MiniCheck does; it needs questions="claims"), "openai:MODEL[@URL]" (a model behind an '
        "OpenAI-compatible endpoint), "
        "a voter of yours, or a list of these, the cheapest first",
        many=True,
    )
    questions: str | Sequence[str] | QuestionSet = option(
        "paper",
        "what judges are asked: a set's name, or templates with {a/an} {x}",
        about="what judges are asked: the name of a set, or a list of templates. Checkers are asked about claims, "
        "other language models are asked questions; the lexical judge and given votes work with both",
        many=True,
    )
    agreement: str | int = option(
        "unanimous",
        "how many votes must agree: unanimous (default), majority, or a number",
        about='how many votes must agree: "unanimous", "majority", or a number (THRONE, section 3.2)',
        type=_number_or_name,
    )
    ask: str = option(
        "needed",
        "ask only what can move a score (needed, default), or everything",
        about='"needed" asks only what can still move precision or recall, "all" asks everything; the scores are equal',
        choices=ASK,
    )
    workers: int = option(
        0,
        "how many processes share the work, each on its own GPU",
        about="how many processes hold a copy of each judge, each on a GPU of its own if there are any, through Ray",
        most=MOST_WORKERS,
        what="a number of processes (0 for none)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_workers(self.workers, self.device)

    @property
    def how(self) -> dict[str, Any]:
        """How language models are run or asked."""
        return {
            "device": self.device,
            "workers": self.workers,
            "at_once": self.at_once,
        }

    @cached_property
    def meant(self) -> list[str | Voter]:
        """The judges, each by its own name; a file of given votes is read once."""
        from halluscope.judging.resolve import named

        return named(self.judges)

    def required(self, templates: int) -> int:
        """Return how many votes must agree, for this number of templates, before any judge is looked for."""
        return voting.required(self.agreement, len(self.meant) * templates)

    def collect_votes(
        self,
        texts: Sequence[str],
        present: NDArray[np.bool_],
        vocabulary: Vocabulary,
        question_set: QuestionSet,
        only_present: bool = False,
    ) -> VoteResult:
        """Ask about each class of each text, as `ask` says; with `only_present` about the cells in `present` alone."""
        from halluscope.judging.ask_votes import collect_votes
        from halluscope.judging.cache import Record, cache_of
        from halluscope.judging.resolve import check_asked

        cache = cache_of(self.store)
        if isinstance(cache, Record) and cache.source is None:
            return _recorded(cache.poll, len(texts), vocabulary)
        questions = question_set.about(vocabulary)
        k = self.required(len(questions))
        check_asked(self.meant, question_set)
        which = PRESENT if only_present else self.ask
        judges = self._judges(vocabulary, cache, exact=which != "needed")
        try:
            votes = collect_votes(
                judges,
                questions,
                [question_set.cut(text) for text in texts],
                present,
                k,
                which=which,
                cache=cache.source if isinstance(cache, Record) else cache,
                progress=self.progress,
                max_failed=self.max_failed,
            )
        finally:
            if cache is not self.store:
                cache.close()
        keys = [judge.key for judge in judges]
        poll = VoteResult(votes, k, keys, question_set.name, vocabulary.classes)
        if isinstance(cache, Record):
            cache.poll = poll
        return poll

    def _judges(self, vocabulary: Vocabulary, cache: "Cache", exact: bool) -> Sequence[Voter]:
        """Return the voters; for a plan, whose `exact` this is, those in whose place nobody is asked."""
        from halluscope.judging.planning import VotePlan
        from halluscope.judging.resolve import resolve

        if isinstance(cache, VotePlan):
            return cache.stand_ins(self.meant, vocabulary, self.how, exact)
        return resolve(self.meant, vocabulary, **self.how)


def _recorded(poll: VoteResult | None, texts: int, vocabulary: Vocabulary) -> VoteResult:
    """Return a run's votes about these classes."""
    if poll is None or len(poll.votes) != texts or not set(vocabulary.classes) <= set(poll.classes):
        raise ValueError(
            f"The run has no votes on all of the {texts:,} texts and {len(vocabulary.classes):,} classes."
        )
    column = {name: number for number, name in enumerate(poll.classes)}
    votes = poll.votes[:, [column[name] for name in vocabulary.classes]]
    return replace(poll, votes=votes, classes=vocabulary.classes)


ASKING = ("repeats", "temperature", "fresh", "judge_seed", "max_tokens")
"""The options of `VerdictOptions` that can move a language model's replies; others say only what asking costs."""


def judge_option(default: Any, rules: str) -> Any:
    """Return the option that says who gives verdicts; `rules` names the judges that ask no model, for the help."""
    return option(
        default,
        f"who gives verdicts: {rules}, openai:MODEL[@BASE_URL] (extra api), or a local model (extra judge)",
        about="the name of a rule that the benchmark knows, or a language model: an endpoint "
        '"openai:MODEL[@BASE_URL]", a local model\'s folder, Hub id or GGUF file, or a chat judge',
    )


def max_tokens_option(most: int) -> Any:
    """Return the option that says how long a judge's reply may be."""
    return option(
        most,
        f"how many tokens a language model's reply may have (default: {most})",
        about="how many tokens a reply may have; a chat judge that is given as an object has its own limit",
        least=1,
        most=1_000_000,
        what="a number of tokens",
    )


def given_verdicts_option(columns: str, does: str, about: str) -> Any:
    """Return the option by which a user gives verdicts; no rule or model `does` then."""
    return option(
        None,
        f"a file of JSON, or a run's folder, for each of --responses, with {columns}; no rule or model {does} then",
        about=about,
        many=True,
        metavar="FILE",
        each=True,
    )


@dataclass(frozen=True)
class VerdictOptions(JudgeOptions):
    """Who gives verdicts, how often, and how a language model is asked."""

    judge: Any = judge_option(MISSING, "none")
    repeats: int = option(
        1,
        "how often a language model judges, each time with the next seed (default: 1)",
        about="how often a language model judges each response, 1 to 1,000, each time with the next seed. A local "
        "model decodes greedily, so its repeats are equal",
        least=1,
        most=1000,
        what="a number of repeats",
    )
    judge_seed: int = option(
        0,
        "the seed of the judge's first replies, sent to an endpoint (default: --seed)",
        about="the seed of the first repeat's replies, by default the metric's `seed`. It is sent to an endpoint, and "
        "replies are kept by it, so another seed asks again",
        most=LARGEST_SEED,
        what="a judge's seed",
    )
    temperature: float = option(
        0.0,
        "the temperature of an endpoint's replies, 0 to 2 (default: 0)",
        about="how freely an endpoint draws its replies, 0 to 2. A local model accepts only 0; a chat judge that is "
        "given as an object has its own temperature",
        most=2.0,
        metavar="T",
    )
    fresh: bool = option(
        False,
        "ask again, and replace the kept replies",
        about="ask again what was asked already; the new replies replace the kept ones",
    )
    max_tokens: int = max_tokens_option(MAX_TOKENS)

    def named(self, names: Collection[str]) -> bool:
        """Whether the judge is one of these names, which mean rules instead of a language model."""
        return isinstance(self.judge, str) and self.judge in names

    def prepare(self, rules: Collection[str]) -> None:
        """Find the language model, so that errors in it appear before anything is asked."""
        from halluscope.judging.resolve import check_chat_name

        check_chat_name(self.judge, rules)
        if not self.chat.greedy:
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
        if self.chat.greedy:
            return {}
        if self.repeats == 1:
            return {"seeds": f"{self.judge_seed}"}
        return {"seeds": f"{self.judge_seed}-{self.judge_seed + self.repeats - 1}"}

    @cached_property
    def chat(self) -> ChatJudge:
        """The language model that the user means, not loaded and not asked yet."""
        from halluscope.judging.resolve import resolve_chat

        return resolve_chat(
            self.judge,
            device=self.device,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            at_once=self.at_once,
        )

    @cached_property
    def cache(self) -> "Cache":
        """The cache of the language model's replies."""
        from halluscope.judging.cache import cache_of

        return cache_of(self.store, self.fresh)

    def collect(self, prompts: Sequence[PromptSpec[V]]) -> Collected[V]:
        """Ask the language model for verdicts, and free it."""
        from halluscope.judging.ask_replies import collect_verdicts
        from halluscope.judging.cache import Record

        try:
            return collect_verdicts(
                prompts,
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
