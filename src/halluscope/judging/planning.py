"""Plans what judges will be asked: how many prompts, how many of them the cache answers, and about how many tokens.

A metric is scored with a store that notes what would be asked. Nobody is asked, and no weights are fetched. Votes that
the cache does not hold are the lexical judge's, so with ask="needed" the number of questions is an estimate.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.errors import JudgeUnavailable, MissingExtra
from halluscope.judging.cache import IN_MEMORY, Cache, Record, Request
from halluscope.judging.client import ENDPOINT
from halluscope.judging.endpoint import EndpointJudge, EndpointVoter
from halluscope.judging.judge import Answered, KnownJudge, Pairs, Voter
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.models import weights
from halluscope.judging.models.engine import local_judge, local_name
from halluscope.judging.questions import Question
from halluscope.judging.resolve import LEXICAL, check_once, is_served
from halluscope.judging.votes import UNASKED
from halluscope.paths import is_there, path_of
from halluscope.vocabularies import Vocabulary

CHARACTERS_A_TOKEN = 4.0  # In English, by a rule of thumb

NOT_YET_HERE = "its weights are not on this machine yet; scoring downloads them"


@dataclass(frozen=True)
class Load:
    """What one judge, or several together, will be asked."""

    judge: str  # the judge's name; of a judge that is given as an object, its key
    questions: int  # how many questions, or prompts, the judge is asked; each once
    # how many of these the cache answers; None if the judge's key is not known, or its replies are not kept
    cached: int | None = None
    # about how many tokens the judge reads for the rest; None for a judge without a model
    tokens: float | None = None
    # the most tokens that the replies to the rest may have; None for a judge on this machine
    reply_tokens: int | None = None
    note: str = ""  # what is not available, in words

    @property
    def left(self) -> int:
        """How many questions are still to be asked."""
        return self.questions - (self.cached or 0)


@dataclass(frozen=True)
class Plan:
    """What a run will ask."""

    loads: tuple[Load, ...]  # the load of each judge, in the order in which they are asked
    exact: bool  # whether the numbers of questions are exact, and no estimate
    store: str  # the file of kept votes and replies
    unit: str = "question"  # what a judge is asked: a "question", or a grader's "prompt"
    repeats: int = 1  # how often a judge is asked each of them

    def total(self) -> Load | None:
        """Return what all language models are asked together; None if there is none."""
        total: Load | None = None
        for load in self.loads:
            if load.tokens is None:
                continue
            if total is None:
                total = replace(load, judge="language models", reply_tokens=None, note="")
            else:
                total = _sum(total, load)
        return total


def _sum(first: Load, second: Load) -> Load:
    cached = None
    if first.cached is not None and second.cached is not None:
        cached = first.cached + second.cached
    return replace(
        first,
        questions=first.questions + second.questions,
        cached=cached,
        tokens=(first.tokens or 0.0) + (second.tokens or 0.0),
    )


@dataclass(frozen=True)
class Model:
    """A judge's model, of which no weights are loaded or fetched."""

    name: str  # the model's name in a signature; never a path
    key: str  # the judge's key in the cache; empty if it cannot be known
    reply_tokens: int | None = None  # the most tokens of one reply; None on this machine
    missing: str = ""  # what is not available, in words; empty if the judge can be asked


def find_model(judge: str, device: str | None) -> Model:
    """Find out what is known of a local judge; of a model on the Hub only the files that describe it are fetched.

    Raises:
        JudgeUnavailable: if the model is there, but is no such judge.
    """
    name = local_name(judge).model
    find = weights.find if is_there(name) else weights.described
    try:
        model = find(name)
    except JudgeUnavailable as error:
        return Model(_plain_name(name), key="", missing=str(error))
    try:
        key = local_judge(judge, device, known=model).key
    except MissingExtra as error:
        return Model(model.name, key="", missing=str(error))
    if weights.are_in(Path(model.source)):
        return Model(model.name, key)
    return Model(model.name, key, missing=NOT_YET_HERE)


def _plain_name(model: str) -> str:
    if is_there(model):
        return path_of(model).resolve().name
    return model.partition("@")[0]


class StandIn(Voter):
    """Votes in a judge's place, by the cache or as a substitute would, and notes what the judge would be asked."""

    def __init__(
        self,
        name: str,
        key: str,
        substitute: Voter,
        cache: Cache | None = None,
        model: Model | None = None,
    ) -> None:
        self.name = name
        self._key = key
        self.substitute = substitute  # who votes where the cache holds no vote
        self._cache = cache  # where the judge's votes are kept; None if they are not, or its key is not known
        self._model = model  # None for a judge without a model
        self._questions = 0  # how many questions the judge was asked
        self._left = 0  # how many of them the cache does not answer
        self._characters = 0  # how many characters the prompts of these have together

    @property
    def key(self) -> str:
        """The judge's key, or its name if the key is not known."""
        return self._key

    def answer(
        self,
        texts: Sequence[str],
        questions: Sequence[Question],
        pairs: Pairs,
    ) -> Iterator[Answered]:
        codes = np.full(len(pairs), UNASKED, dtype=np.int8)
        if self._cache:
            votes, _ = self._cache.votes(self.key, questions, texts)
            codes = votes[pairs[:, 0], pairs[:, 1]]
        left = np.flatnonzero(codes == UNASKED)
        self._questions += len(pairs)
        self._left += len(left)
        self._characters += _characters(texts, questions, pairs[left])
        if len(left):
            for batch in self.substitute.answer(texts, questions, pairs[left]):
                codes[left[batch[0]]] = batch[1]
        yield np.arange(len(pairs)), codes

    def close(self) -> None: ...

    def load(self) -> Load:
        """Return what was noted."""
        cached = None
        if self._cache:
            cached = self._questions - self._left
        if self._model is None:
            return Load(self.name, self._questions, cached)
        return _load_of(self._model, self._questions, cached, self._characters)


def _load_of(model: Model, questions: int, cached: int | None, characters: int) -> Load:
    """Return the load of a model; `characters` are those of the prompts that the cache does not answer."""
    load = Load(
        judge=model.name,
        questions=questions,
        cached=cached,
        tokens=characters / CHARACTERS_A_TOKEN,
        note=model.missing,
    )
    if model.reply_tokens is None:
        return load
    return replace(load, reply_tokens=load.left * model.reply_tokens)


def _characters(texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> int:
    """Return how many characters the prompts of these pairs have together."""
    text_lengths = np.array([len(text) for text in texts], dtype=np.int64)
    question_lengths = np.array([len(question.prompt("")) for question in questions], dtype=np.int64)
    in_texts = text_lengths[pairs[:, 0]].sum()
    around_texts = question_lengths[pairs[:, 1]].sum()
    return int(in_texts + around_texts)


class VotePlan(Cache):
    """The store with which a metric only notes what voters would be asked. It holds the votes of stand-ins."""

    def __init__(self, cache: Cache) -> None:
        super().__init__(IN_MEMORY)
        self.cache = cache  # where the judges' votes are kept
        self.exact = True
        self._stand_ins: list[StandIn] = []
        self._lexical: LexicalJudge | None = None  # the substitute; it knows the classes of the last call

    def stand_ins(
        self,
        judges: Sequence[str | Voter],
        vocabulary: Vocabulary,
        settings: Mapping[str, Any],
        exact: bool,
    ) -> Sequence[Voter]:
        """Return what votes in place of the judges, the same for each file of responses.

        Args:
            settings: how language models are run or asked, see `VoteOptions.how`.
            exact: whether everything is asked, whatever the votes are.
        """
        self.exact = exact
        lexical = LexicalJudge(vocabulary)
        if not self._stand_ins:
            self._stand_ins = [self._stand_in(judge, lexical, settings) for judge in judges]
            check_once([stand_in.key for stand_in in self._stand_ins])
        for stand_in in self._stand_ins:
            if stand_in.substitute is self._lexical:
                stand_in.substitute = lexical
        self._lexical = lexical
        return self._stand_ins

    def _stand_in(
        self,
        judge: str | Voter,
        lexical: LexicalJudge,
        settings: Mapping[str, Any],
    ) -> StandIn:
        if judge == LEXICAL:
            return StandIn(LEXICAL, lexical.key, lexical)
        if not isinstance(judge, str):
            if judge.stored:
                return StandIn(judge.key, judge.key, lexical, self.cache)
            return StandIn(judge.key, judge.key, judge)  # its votes cost nothing
        if is_served(judge):
            served = EndpointVoter(judge.removeprefix(ENDPOINT))
            model = Model(served.name, served.key, served.max_tokens)
        else:
            model = find_model(judge, settings["device"])
        if not model.key:
            return StandIn(model.name, model.name, lexical, model=model)
        return StandIn(model.name, model.key, lexical, self.cache, model)

    def plan(self) -> Plan:
        """Return what was noted."""
        if not self._stand_ins:
            raise _nobody_is_asked()
        loads = tuple(stand_in.load() for stand_in in self._stand_ins)
        return Plan(loads, self.exact, str(self.cache.path))


class VerdictPlan(Record):
    """The store with which a metric only notes which prompts a judge of this name would be asked."""

    def __init__(self, name: str, cache: Cache, device: str | None) -> None:
        super().__init__(cache)
        self.name = name
        self.mode = "read"
        self._local: Model | None = None  # None for a judge behind a server
        if not is_served(name):
            self._local = find_model(name, device)
        self._missing: set[Request] = set()
        self._repeats = 1

    @property
    def grader(self) -> str | KnownJudge:
        """The judge for the metric; of one without weights only the key is known."""
        if self._local and self._local.missing:
            return KnownJudge(self._local.name, greedy=True)
        return self.name

    def replies(self, judge: str, requests: Iterable[Request]) -> dict[Request, str]:
        requests = list(requests)
        replies = super().replies(judge, requests)
        for request in requests:
            if request not in replies:
                self._missing.add(request)
            self._repeats = max(self._repeats, request.repeat + 1)
        return replies

    def _model(self) -> Model:
        if self._local:
            return self._local
        assert isinstance(self.judge, EndpointJudge)  # as its name says
        return Model(self.name, self.judge.key, self.judge.max_tokens)

    def plan(self) -> Plan:
        """Return what was noted."""
        if not self.judge:
            raise _nobody_is_asked()
        model = self._model()
        _, replies = self.count()
        prompts = replies + len(self._missing)
        cached = None if model.missing else replies
        characters = sum(len(request.prompt) for request in self._missing)
        return Plan(
            loads=(_load_of(model, prompts, cached, characters),),
            exact=True,
            store=str(self.path),
            unit="prompt",
            repeats=self._repeats,
        )


def _nobody_is_asked() -> ValueError:
    return ValueError("With these options no judge is asked; there is nothing to plan.")
