"""Plans what judges will be asked: how many prompts, how many of them the cache answers, and about how many tokens.

A metric is scored with a store that notes what would be asked. Nobody is asked, and no weights are fetched. Votes that
the cache does not hold are the lexical judge's, so with ask="needed" the number of questions is an estimate.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.errors import JudgeUnavailable, MissingExtra
from halluscope.judging.cache import IN_MEMORY, Cache, R, Record, Request
from halluscope.judging.judge import Answered, Judge, KnownJudge, Pairs
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.models import weights
from halluscope.judging.models.engine import CHECKER, local_judge
from halluscope.judging.questions import Question
from halluscope.judging.resolve import LEXICAL, Voter, check_once, is_served, voter
from halluscope.judging.votes import UNASKED
from halluscope.paths import is_there, path_of
from halluscope.vocabularies import Vocabulary

CHARACTERS_A_TOKEN = 4.0  # In English, by a rule of thumb


@dataclass(frozen=True)
class Load:
    """What one judge, or several together, will be asked."""

    judge: str  # the judge's name; for an embedded judge, its key
    questions: int  # how many questions, or prompts, the judge is asked; each once
    # how many of these the cache answers; None if the judge's key is not known, or its replies are not kept
    kept: int | None = None
    # about how many tokens the judge reads for the rest; None for a judge without a model
    tokens: float | None = None
    # the most tokens that the replies to the rest may have; None for a judge on this machine
    said: int | None = None
    note: str = ""  # what is not available, in words

    @property
    def left(self) -> int:
        """How many questions are still to be asked."""
        return self.questions - (self.kept or 0)


@dataclass(frozen=True)
class Plan:
    """What a run will ask."""

    loads: tuple[Load, ...]  # the load of each judge, in the order in which they are asked
    exact: bool  # whether the numbers of questions are exact, and no estimate
    store: str  # the file of kept votes and replies
    asked: str = "questions"  # what a judge is asked: "questions", or a grader's "prompts"
    repeats: int = 1  # how often a judge is asked each of them

    def total(self) -> Load | None:
        """Return what all language models are asked together; None if there is none."""
        models = [load for load in self.loads if load.tokens is not None]
        if not models:
            return None
        kept = [load.kept for load in models if load.kept is not None]
        return Load(
            "language models",
            questions=sum(load.questions for load in models),
            kept=sum(kept) if len(kept) == len(models) else None,
            tokens=sum(load.tokens or 0.0 for load in models),
        )


@dataclass(frozen=True)
class LocalModel:
    """A model on this machine, or on the Hub, of which no weights are loaded or fetched."""

    name: str  # the model's name in a signature; never a path
    key: str  # the judge's key in the cache; empty if it cannot be known
    missing: str  # what is not available, in words; empty if the judge can be asked


def find_model(judge: str, device: str | None) -> LocalModel:
    """Find out what is known of a local judge; of a model on the Hub only the files that describe it are fetched.

    Raises:
        JudgeUnavailable: if the model is there, but is no such judge.
    """
    model = judge.removeprefix(CHECKER)
    try:
        found = weights.find(model) if is_there(model) else weights.described(model)
    except JudgeUnavailable as error:
        name = path_of(model).resolve().name if is_there(model) else model.partition("@")[0]
        return LocalModel(name, "", str(error))
    try:
        key = local_judge(judge, device, found=found).key
    except MissingExtra as error:
        return LocalModel(found.name, "", str(error))
    if any(file.suffix in weights.SUFFIXES for file in Path(found.source).iterdir()):
        return LocalModel(found.name, key, "")
    return LocalModel(found.name, key, "its weights are not on this machine yet; scoring downloads them")


@dataclass
class StandIn:
    """Votes in a judge's place, by the cache or as another judge would, and notes what the judge would be asked."""

    name: str
    key: str  # the judge's key, or its name if the key is not known
    cache: Cache | None  # where the judge's votes are kept; None if they are not, or its key is not known
    own: Judge | None = None  # the judge itself, if its votes cost nothing
    is_model: bool = False
    reply_tokens: int | None = None  # the most tokens of one reply; None for a judge on this machine
    missing: str = ""  # what is not available, in words
    other: Judge | None = None  # who votes where the cache holds no vote
    questions: int = 0  # how many questions the judge was asked
    left: int = 0  # how many of them the cache does not answer
    characters: int = 0  # how many the prompts of these have together
    stored: bool = True

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        assert self.other is not None
        codes = np.full(len(pairs), UNASKED, dtype=np.int8)
        if self.cache:
            kept, _ = self.cache.votes(self.key, questions, texts)
            codes = kept[pairs[:, 0], pairs[:, 1]]
        rest = np.flatnonzero(codes == UNASKED)
        self.questions += len(pairs)
        self.left += len(rest)
        self.characters += _characters(texts, questions, pairs[rest])
        if len(rest):
            for rows, votes, *_ in self.other.answer(texts, questions, pairs[rest]):
                codes[rest[rows]] = votes
        yield np.arange(len(pairs)), codes

    def close(self) -> None: ...

    def load(self) -> Load:
        """Return what was noted."""
        kept = self.questions - self.left if self.cache else None
        tokens = self.characters / CHARACTERS_A_TOKEN if self.is_model else None
        said = None if self.reply_tokens is None else self.left * self.reply_tokens
        return Load(self.name, self.questions, kept, tokens, said, self.missing)


def _characters(texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> int:
    """Return how many characters the prompts of these pairs have together."""
    in_text = np.array([len(text) for text in texts], dtype=np.int64)
    around_it = np.array([len(question.prompt("")) for question in questions], dtype=np.int64)
    return int(in_text[pairs[:, 0]].sum() + around_it[pairs[:, 1]].sum())


class VotePlan(Cache):
    """The store with which a metric only notes what voters would be asked. It holds the votes of stand-ins."""

    def __init__(self, kept: Cache) -> None:
        super().__init__(IN_MEMORY)
        self.kept = kept
        self.exact = True
        self._stand_ins: list[StandIn] = []

    def stand_ins(
        self, judges: Sequence[Voter], vocabulary: Vocabulary, how: Mapping[str, Any], exact: bool
    ) -> Sequence[Judge]:
        """Return what votes in place of the judges; `how` is for `resolve.voter`.

        Args:
            exact: whether all is asked, whatever the votes are.
        """
        lexical = LexicalJudge(vocabulary)
        if not self._stand_ins:  # the same for each file of responses
            self._stand_ins = [self._stand_in(judge, lexical.key, how) for judge in judges]
            check_once([stand_in.key for stand_in in self._stand_ins])
        for stand_in in self._stand_ins:
            stand_in.other = stand_in.own or lexical
        self.exact = exact
        return self._stand_ins

    def _stand_in(self, judge: Voter, lexical_key: str, how: Mapping[str, Any]) -> StandIn:
        if not isinstance(judge, str):
            if judge.stored:
                return StandIn(judge.key, judge.key, self.kept)
            return StandIn(judge.key, judge.key, None, own=judge)
        if judge == LEXICAL:
            return StandIn(LEXICAL, lexical_key, None)
        if is_served(judge):
            served: Any = voter(judge, **how)
            return StandIn(served.name, served.key, self.kept, is_model=True, reply_tokens=served.max_tokens)
        model = find_model(judge, how["device"])
        cache = self.kept if model.key else None
        return StandIn(model.name, model.key or model.name, cache, is_model=True, missing=model.missing)

    def plan(self) -> Plan:
        """Return what was noted."""
        if not self._stand_ins:
            raise _nobody_is_asked()
        loads = tuple(stand_in.load() for stand_in in self._stand_ins)
        return Plan(loads, self.exact, str(self.kept.path))


class VerdictPlan(Record):
    """The store with which a metric only notes which prompts a judge of this name would be asked."""

    def __init__(self, name: str, kept: Cache, device: str | None) -> None:
        super().__init__(kept)
        self.name = name
        self.mode = "read"
        self._model = None if is_served(name) else find_model(name, device)
        self._missing: set[Request] = set()
        self._repeats = 1

    @property
    def grader(self) -> str | KnownJudge:
        """The judge for the metric; of one without weights only the key is known."""
        if self._model and self._model.missing:
            return KnownJudge(self._model.name, greedy=True)
        return self.name

    def replies(self, judge: str, requests: Iterable[R]) -> dict[R, str]:
        requests = list(requests)
        kept = super().replies(judge, requests)
        self._missing.update(request for request in requests if request not in kept)
        for _, repeat, _ in requests:
            self._repeats = max(self._repeats, repeat + 1)
        return kept

    def plan(self) -> Plan:
        """Return what was noted."""
        if not self.judge:
            raise _nobody_is_asked()
        _, kept = self.count()
        left = len(self._missing)
        tokens = sum(len(prompt) for prompt, *_ in self._missing) / CHARACTERS_A_TOKEN
        if self._model is None:
            load = Load(self.name, kept + left, kept, tokens, said=left * self.judge.max_tokens)
        else:
            missing = self._model.missing
            load = Load(self._model.name, kept + left, None if missing else kept, tokens, note=missing)
        return Plan((load,), True, str(self.path), asked="prompts", repeats=self._repeats)


def _nobody_is_asked() -> ValueError:
    return ValueError("With these options no judge is asked; there is nothing to plan.")
