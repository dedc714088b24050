"""Holds a poll: which judges vote on which questions, how many must agree, and what runs them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from halluscope.inputs import finite, flags, kind, word
from halluscope.judging.cache import Cache, Record, cache_of
from halluscope.judging.chat_completions import AT_ONCE_OPTION, LEAVE_OUT
from halluscope.judging.client import AT_ONCE
from halluscope.judging.failed import MAX_FAILED, check_max_failed
from halluscope.judging.models.engine import ENGINES, LARGEST_LEAD, RECHECKED, Engine
from halluscope.judging.questions import QuestionSet
from halluscope.judging.voter import Judge
from halluscope.judging.voters import asking, voting
from halluscope.judging.voters.resolve import check_asked, named, resolve
from halluscope.judging.voters.served import Served, compares_labels
from halluscope.judging.votes import Poll
from halluscope.options import Option
from halluscope.sanitize import short_repr
from halluscope.vocabularies import Vocabulary


def _number_or_name(word: str) -> str | int:
    return int(word) if word.isdecimal() else word


# The command-line options for `Voting`; those for `device`, `store` and `progress` are the same for every
# judge
OPTIONS = (
    Option(
        "judges",
        "who votes: flan-t5 (default), lexical, replay:FILE, models (Hub ids, folders, GGUF files; extra judge), "
        "checker:MODEL (MiniCheck's kind, with --questions claims), openai:MODEL[@URL] (extra api), scoring:MODEL@URL "
        "(vLLM, SGLang; extras api and judge)",
        many=True,
    ),
    Option("questions", "what judges are asked: a set's name, or templates with {a/an} {x}", many=True),
    Option(
        "agreement", "how many votes must agree: unanimous (default), majority, or a number", _number_or_name
    ),
    Option("ask", "ask only what can move a score (needed, default), or everything", choices=asking.ASK),
    Option("engine", "what runs language models (default: torch); int8 changes votes", choices=ENGINES),
    Option(
        "recheck",
        "ask again if a vote was decided by less than this: int8 judges (in logits) in float32, scoring: judges (in "
        "nats) as openai: asks",
        float,
    ),
    Option(
        "tokenizer", "the tokenizer of scoring:MODEL@URL, as a folder or a Hub id (default: the model's name)"
    ),
    Option("workers", "how many processes share the work, each on its own GPU", int, metavar="N"),
    LEAVE_OUT,
    AT_ONCE_OPTION,
    Option(
        "max_failed",
        f"the share of questions that may get no reply before it is an error (default: {MAX_FAILED})",
        float,
    ),
)


@dataclass(frozen=True)
class Voting:
    """The options of a poll.

    Attributes:
        judges: who votes: "flan-t5" (the paper's three), "lexical" (no model), "replay:FILE" (votes given elsewhere),
            a model's Hub id, folder or GGUF file, "checker:MODEL" (a T5 that says 0 or 1 about a claim, as MiniCheck
            does; it needs questions="claims"), "openai:MODEL[@URL]" (a model behind an OpenAI-compatible endpoint),
            "scoring:MODEL@URL" (another kind of judge: it compares the probabilities of yes and no, one request per
            text; see `halluscope.judging.voters.scoring`), a voter of yours, or a list of these, the cheapest first.
        questions: what the judges are asked: the name of a set, or a list of templates. Checkers are asked about
            claims, other language models are asked questions; the lexical judge and given votes work with both.
        agreement: how many votes must agree: "unanimous", "majority", or a number (THRONE, section 3.2).
        ask: "needed" asks only what can still move precision or recall, "all" asks everything; the scores are equal.
        device: where language models run; by default a GPU if there is one.
        engine: what runs language models: "torch" (bfloat16 on CUDA, else float32), "torch-float32",
            "torch-bfloat16", or for encoder-decoders "ctranslate2" (float32) or "ctranslate2-int8". The precision
            changes votes; the judges' keys in the signature name it.
        recheck: a vote whose lead is smaller than this is asked again: with "ctranslate2-int8" in float32 (the lead is
            in logits), and for "scoring:" judges as "openai:" asks (in nats; a difference of logits is one in nats).
        tokenizer: the tokenizer for "scoring:" judges: a folder or a Hub id; by default the model's name.
        workers: how many processes hold a copy of each judge, each on a GPU of its own if there are any, through Ray.
        leave_out: settings that an endpoint is known to refuse, from `halluscope.judging.chat_completions.SETTINGS`;
            by default the endpoint is asked which it refuses.
        at_once: the most requests that may be under way to an endpoint; fewer while the server is overloaded.
        max_failed: the share of a judge's questions, 0 to 1, that may get no reply before it is an error.
        store: where language models' votes are kept: a path, a cache, or by default the user's cache. A run's record
            that is only read takes the place of all judges.
        progress: show what the judges are doing.

    Raises:
        ValueError: for an option out of range.
    """

    judges: str | Judge | Sequence[str | Judge] = "flan-t5"
    questions: str | Sequence[str] | QuestionSet = "paper"
    agreement: str | int = "unanimous"
    ask: str = "needed"
    device: str | None = None
    engine: str = "torch"
    recheck: float = 0.0
    tokenizer: str | None = None
    workers: int = 0
    leave_out: str | Sequence[str] = ()
    at_once: int = AT_ONCE
    max_failed: float = MAX_FAILED
    store: Cache | str | Path | None = None
    progress: bool = True

    def __post_init__(self) -> None:
        """Check the options."""
        word("engine", self.engine, ENGINES)
        finite("recheck", self.recheck, 0, LARGEST_LEAD, "a number of logits")
        kind("tokenizer", self.tokenizer, str | None, "a folder or a Hub id, or None")
        _ = self.run_by
        word("ask", self.ask, asking.ASK)
        flags(progress=self.progress)
        check_max_failed(self.max_failed)
        _ = self.served
        kind("store", self.store, Cache | str | Path | None, "a path, or None for the user's cache")

    @property
    def run_by(self) -> Engine:
        """How language models on this machine are run."""
        again = 0.0 if self.engine != RECHECKED and any(map(compares_labels, self._listed)) else self.recheck
        return Engine(self.engine, again, self.device, self.workers)

    @property
    def served(self) -> Served:
        """How judges behind servers are asked."""
        return Served(self.at_once, self.leave_out, self.tokenizer, self.recheck)

    @property
    def _listed(self) -> Sequence[object]:
        return self.judges if isinstance(self.judges, list | tuple) else [self.judges]

    @cached_property
    def meant(self) -> list[str | Judge]:
        """The judges, each by its own name; a file of given votes is read once."""
        return named(self.judges)

    def required(self, templates: int) -> int:
        """Return how many votes must agree, for this number of templates."""
        return voting.required(self.agreement, len(self.meant) * templates)

    def hold(
        self,
        texts: Sequence[str],
        present: NDArray[np.bool_],
        vocabulary: Vocabulary,
        question_set: QuestionSet,
        only_present: bool = False,
    ) -> "Poll":
        """Ask about each class of each text, as `ask` says."""
        cache = cache_of(self.store)
        if isinstance(cache, Record) and cache.source is None:
            return _recorded(cache.poll, len(texts), vocabulary)
        about = question_set.about(vocabulary)
        k = self.required(len(about))
        check_asked(self.meant, question_set)
        judges = resolve(self.meant, vocabulary, self.run_by, self.served)
        shown = [question_set.cut(text) for text in texts]
        which = asking.PRESENT if only_present else self.ask
        try:
            votes = asking.ask(judges, about, shown, present, k, which, cache, self.progress, self.max_failed)
        finally:
            if cache is not self.store:
                cache.close()
        poll = Poll(votes, k, [judge.key for judge in judges], question_set.name, vocabulary.classes)
        if isinstance(cache, Record):
            cache.poll = poll
        return poll


def _recorded(poll: Poll | None, texts: int, vocabulary: Vocabulary) -> Poll:
    """Return a run's poll about these classes."""
    column = {name: number for number, name in enumerate(poll.classes)} if poll else {}
    unknown = [name for name in vocabulary.classes if name not in column]
    if poll is None or len(poll.votes) != texts or unknown:
        votes = f"votes on {len(poll.votes):,} texts and {len(column):,} classes" if poll else "no votes"
        raise ValueError(
            f"The run holds {votes}; expected votes on {texts:,} texts and {len(vocabulary.classes):,} classes"
            f"{f', {short_repr(unknown[0])} among them' if unknown else ''}."
        )
    votes_on = poll.votes[:, [column[name] for name in vocabulary.classes]]
    return replace(poll, votes=votes_on, classes=vocabulary.classes)
