"""Plans what judges will be asked: questions, tokens, FLOP, time, money, and how much the cache saves.

A metric is scored with a store that notes; votes that the cache does not hold are the lexical judge's. With ask="all"
the number of questions is exact; with ask="needed" it is an estimate. No weights are fetched.
"""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import JudgeUnavailable, MissingExtra
from halluscope.judging.ask import checked_answers
from halluscope.judging.cache import IN_MEMORY, Cache, R, Record, Request
from halluscope.judging.client import ENDPOINT
from halluscope.judging.judge import Answered, Judge, KnownJudge, Pairs
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.models import weights
from halluscope.judging.models.engine import CHECKER, SHARED_FROM, CausalJudge, common_prefix, local_judge
from halluscope.judging.models.language_model import LanguageModelJudge
from halluscope.judging.models.weights import Weights
from halluscope.judging.options import VoteOptions
from halluscope.judging.questions import Question
from halluscope.judging.resolve import LEXICAL, Voter, check_once, is_served, voter
from halluscope.judging.votes import UNASKED
from halluscope.paths import is_there
from halluscope.validation import finite
from halluscope.vocabularies import Vocabulary

CHARACTERS_A_TOKEN = 4.0  # In English, by a rule of thumb

# The note on how tokens were counted without a tokenizer
BY_CHARACTERS = "tokens by a rule of thumb, 4 characters each"

# If there are more prompts than this, tokens are counted in a sample of the texts, chosen evenly by length
SAMPLED_PROMPTS = 20_000

# The most prompts for a calibration, and the fewest batches that it times, after a first one that is not timed
MEASURED_PROMPTS, MEASURED_BATCHES = 4_096, 3

# `read_weights` of the paper's judges
READ_WEIGHTS = {
    "google/flan-t5-base": 99_090_432,
    "google/flan-t5-large": 358_612_992,
    "google/flan-t5-xl": 1_358_954_496,
}

# The prices of a million tokens read, and of a million tokens generated, in any currency
Prices = tuple[float, float]


class Prompts(NamedTuple):
    """Questions about texts, as `Judge.answer` gets them."""

    texts: Sequence[str]
    questions: Sequence[Question]
    pairs: Pairs

    @property
    def characters(self) -> int:
        """How many characters all prompts have together."""
        texts = np.array([len(text) for text in self.texts], dtype=np.int64)
        around = np.array([len(question.prompt("")) for question in self.questions], dtype=np.int64)
        return int(texts[self.pairs[:, 0]].sum() + around[self.pairs[:, 1]].sum())

    def sample(self, most: int) -> "Prompts":
        """Return about as many prompts, at the most, about texts that are chosen evenly by length."""
        by_length = sorted(np.unique(self.pairs[:, 0]).tolist(), key=lambda i: len(self.texts[i]))
        step = max(1, -(-len(self.pairs) // most))
        return self._replace(pairs=self.pairs[np.isin(self.pairs[:, 0], by_length[::step])])


@dataclass(frozen=True)
class Load:
    """What one judge will be asked."""

    judge: str  # the judge's name; for an embedded judge, its key
    questions: int  # how many questions the judge is asked; each text is asked about once
    # how many of these the cache answers; None if the judge's key is not known, or its votes are not kept
    kept: int | None = None
    # how many tokens the judge reads for the rest; None for a judge without a model
    tokens: float | None = None
    flop: float | None = None  # 2 x weights x tokens for the rest; None if the weights are not known
    seconds: float | None = None  # how long the rest takes on all workers together; None unless measured
    flop_per_second: float | None = None  # the speed of one worker; None unless measured
    # how many questions were asked in measuring; their votes are kept, and they are not part of the rest
    measured: int = 0
    # the most tokens that the replies to the rest may have; None for a judge on this machine
    said: int | None = None
    # the most that the rest may cost, in the currency of the prices; None without prices
    money: float | None = None
    note: str = ""  # what is not available, or how tokens were counted

    @property
    def left(self) -> int:
        """How many questions are still to be asked."""
        return self.questions - (self.kept or 0) - self.measured


@dataclass(frozen=True)
class Plan:
    """What a run will cost."""

    loads: tuple[Load, ...]  # the load of each judge, in the order in which they are asked
    ask: str  # "all" or "needed"
    at_least: int  # how many questions are certainly asked: every question, or one judge about every cell
    at_most: int  # how many questions there are
    store: str  # the file of kept votes and replies
    workers: int = 1  # among how many processes each judge's work is divided
    asked: str = "questions"  # what a judge is asked: "questions", or a grader's "prompts"
    repeats: int = 1  # how often a judge is asked each of them

    @property
    def exact(self) -> bool:
        """Whether the numbers of questions are exact."""
        return self.ask == "all"

    def total(self, amount: str) -> float | None:
        """Return the sum of an amount over the language models; None if it is not known for one of them."""
        amounts = [getattr(load, amount) for load in self.loads if load.tokens is not None]
        return None if not amounts or None in amounts else sum(amounts)


class ModelInfo(NamedTuple):
    """A judge that is a language model, not loaded."""

    name: str  # the model's name in a signature; never a path
    key: str = ""  # the judge's key in the cache; empty if it cannot be known
    weights: int | None = None  # `read_weights`
    reader: LanguageModelJudge | None = None  # the judge without weights; None if it has no tokenizer here
    missing: str = ""  # what is not available, in words; empty if the judge can be asked
    served: Any = None  # the judge, if it is behind a server


def inspect_model(model: str, options: VoteOptions) -> ModelInfo:
    """Find out what is known of a model; to a server no request is sent, and it is taken to accept all settings."""
    if is_served(model):
        judge: Any = voter(model, **options.how)
        return ModelInfo(judge.name, judge.key, served=judge)
    found, missing = _find(model.removeprefix(CHECKER))
    info = ModelInfo(found.name, weights=READ_WEIGHTS.get(found.name), missing=missing)
    try:
        reader = cast("LanguageModelJudge", local_judge(model, options.device, found=found))
        info = info._replace(key=reader.key if found.revision else "")
        if found.source:
            reader.load(with_weights=False)
            info = info._replace(weights=info.weights or read_weights(reader.config), reader=reader)
    except JudgeUnavailable as error:
        if not (missing or isinstance(error, MissingExtra)):
            raise
        return info._replace(missing=f"{missing} {error}".strip())
    return info


def _find(model: str) -> tuple[Weights, str]:
    """Return a model and what is missing of it; the source is "" if no more than its name is known."""
    if is_there(model):
        try:
            return weights.find(model), ""
        except JudgeUnavailable as error:
            found = weights.described(model)
            if not (Path(found.source) / "config.json").is_file():
                raise
            return found, str(error)
    try:
        found = weights.described(model)
    except JudgeUnavailable as error:
        reason = type(error.__cause__ or error).__name__
        missing = f"neither on this machine nor can it be downloaded ({reason})"
        revision = weights.REVISIONS.get(model, "")
        return Weights("", model.partition("@")[0], revision, is_encoder_decoder=True), missing
    if any(file.suffix in weights.SUFFIXES for file in Path(found.source).iterdir()):
        return found, ""
    return found, "its weights are not on this machine yet; scoring downloads them"


def read_weights(config: Any) -> int:
    """Return how many of a model's weights each token of a prompt is multiplied with, which takes 2 FLOP each.

    These are the matrices of all layers; of a decoder behind an encoder, those for the keys and values of its attention
    to the prompt. Attention among tokens and the reply of one or two tokens are left out.
    """
    import torch
    from transformers import AutoModel

    with torch.device("meta"):  # takes no memory
        model = AutoModel.from_config(config)
    embeddings = {id(layer.weight) for layer in model.modules() if isinstance(layer, torch.nn.Embedding)}
    read = 0
    for name, weight in model.named_parameters():
        is_read = not config.is_encoder_decoder or re.search(
            r"^encoder\.|(?:EncDecA|encoder_a)tt.*\.[kv]", name
        )
        if weight.ndim == 3:  # experts, of which a token meets a few
            weight = weight[: config.num_experts_per_tok]
        read += weight.numel() if weight.ndim > 1 and is_read and id(weight) not in embeddings else 0
    return read


def read_tokens(judge: LanguageModelJudge, prompts: Prompts) -> NDArray[np.float64]:
    """Return how many tokens a judge reads for each prompt; a beginning that prompts share is read once for all."""
    ids = judge.tokens(*prompts)
    tokens = np.array([len(one) for one in ids], dtype=np.float64)
    about = prompts.pairs[:, 0]
    for text in np.unique(about) if isinstance(judge, CausalJudge) and _shares(judge.config) else ():
        rows = np.flatnonzero(about == text)
        if len(rows) >= SHARED_FROM:
            before = len(common_prefix([ids[row] for row in rows]))
            tokens[rows] += before / len(rows) - before
    return tokens


def _shares(config: Any) -> bool:
    """Whether a decoder's prompts can share the cache of their beginning: no layer has a window or a running state."""
    kinds = getattr(config, "layer_types", None)
    return {*kinds} == {"full_attention"} if kinds else getattr(config, "sliding_window", None) is None


@dataclass
class StandIn:
    """A judge in whose place another votes where the cache holds no vote, and what it was asked."""

    name: str  # the judge's name; for an embedded judge, its key
    key: str  # the judge's key, or its name if the key is not known
    kept: Cache | None  # the cache of the judge's votes; None if it has none
    own: Judge | None = None  # the judge itself, if its votes cost nothing
    info: ModelInfo | None = None
    speaker: Any = None
    questions: int = 0  # how many questions it was asked
    asked: list[Prompts] = field(default_factory=list)  # those of them that the cache does not answer
    stored: bool = True

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        codes = np.full(len(pairs), UNASKED, dtype=np.int8)
        if self.kept:
            codes = self.kept.votes(self.key, questions, texts)[0][tuple(pairs.T)]
        self.questions += len(pairs)
        rest = np.flatnonzero(codes == UNASKED)
        if len(rest):
            self.asked.append(Prompts(texts, questions, pairs[rest]))
            for rows, votes, *_ in self.speaker.answer(*self.asked[-1]):
                codes[rest[rows]] = votes
        yield np.arange(len(pairs)), codes

    def close(self) -> None: ...


class VotePlan(Cache):
    """The store with which a metric only notes what judges would be asked; it holds the votes of stand-ins.

    Unless `calibrate` is given, nothing is downloaded except the files that describe a model, no endpoint is asked, and
    nothing is written.
    """

    def __init__(self, kept: Cache, prices: Prices | None = None, calibrate: float = 0.0) -> None:
        super().__init__(IN_MEMORY)
        self.kept, self.prices = kept, prices
        self.calibrate = finite(
            "calibrate", calibrate, 0, 86_400, "a number of seconds, 0 for no measurement,"
        )
        self.stand_ins: list[StandIn] = []
        self.texts: set[str] = set()

    def stand_in(
        self,
        options: VoteOptions,
        vocabulary: Vocabulary,
        texts: Iterable[str],
        about: Sequence[Sequence[Question]],
        only_present: bool,
    ) -> Sequence[Judge]:
        """Return what votes in place of the judges: the lexical judge, or a judge itself if its votes cost nothing."""
        lexical = LexicalJudge(vocabulary)
        self.stand_ins = self.stand_ins or [self._found(judge, options, lexical) for judge in options.meant]
        check_once([one.key for one in self.stand_ins])
        for one in self.stand_ins:
            one.speaker = one.own or lexical
        self.texts.update(text for text in texts if text.strip())  # about an empty text nobody is asked
        self.cells, self.voters = len(self.texts) * len(about[0]), len(about) * len(self.stand_ins)
        self.exact, self.workers = only_present or options.ask == "all", max(1, options.workers)
        return self.stand_ins

    def _found(self, judge: Voter, options: VoteOptions, lexical: LexicalJudge) -> StandIn:
        if not isinstance(judge, str):
            own = (self.kept, None) if judge.stored else (None, judge)
            return StandIn(judge.key, judge.key, *own)
        if judge == LEXICAL:
            return StandIn(LEXICAL, lexical.key, None)
        info = inspect_model(judge, options)
        return StandIn(info.name, info.key or info.name, self.kept if info.key else None, info=info)

    def plan(self) -> Plan:
        """Return what was noted."""
        check_noted(self.stand_ins)
        loads = tuple(map(self._load, self.stand_ins))
        every = sum(load.questions for load in loads)
        bounds = (every, every) if self.exact else (self.cells, self.cells * self.voters)
        ask = "all" if self.exact else "needed"
        return Plan(loads, ask, *bounds, str(self.kept.path), self.workers)

    def _load(self, stand_in: StandIn) -> Load:
        info, asked = stand_in.info, stand_in.asked
        left = sum(len(prompts.pairs) for prompts in asked)
        kept = stand_in.questions - left if stand_in.kept else None
        load = Load(stand_in.name, stand_in.questions, kept)
        if info is None:
            return load
        tokens, counted = _tokens(info.reader, asked)
        speed, measured, read = 0.0, 0, 0.0
        if info.reader and self.calibrate and asked and not info.missing:
            most = max(asked, key=lambda prompts: len(prompts.pairs))
            speed, measured, read = _measured(info.reader, most, self.kept.path, self.calibrate)
            tokens = max(0.0, tokens - read)
        flop, served = info.weights and 2 * info.weights, info.served  # FLOP per token
        said = left * served.max_tokens if served else None
        return replace(
            load,
            tokens=tokens,
            flop=flop and flop * tokens,
            seconds=tokens / speed / self.workers if measured else None,
            flop_per_second=flop and flop * speed if measured else None,
            measured=measured,
            said=said,
            money=price(tokens, said, self.prices) if served else None,
            note="; ".join(filter(None, [info.missing, counted])),
        )


def check_noted(judges: Any) -> None:
    if not judges:
        raise ValueError("With these options no judge is asked; there is nothing to plan.")


def check_prices(prices: Prices | None, judges: Sequence[Voter], option: str) -> None:
    """Check the prices of tokens."""
    for price in prices or ():
        finite("prices", price, 0, 1e6, "the price of a million tokens")
    if prices and not any(map(is_served, judges)):
        raise ValueError(
            f"prices are for judges behind an endpoint ('{ENDPOINT}MODEL[@URL]'), but {option} names none."
        )


def _tokens(reader: LanguageModelJudge | None, asked: Sequence[Prompts]) -> tuple[float, str]:
    """Return how many tokens a judge reads, and a note if they are not all counted."""
    characters = sum(prompts.characters for prompts in asked)
    if not reader:
        return characters / CHARACTERS_A_TOKEN, BY_CHARACTERS
    sample = [prompts.sample(SAMPLED_PROMPTS // len(asked)) for prompts in asked]
    share = sum(prompts.characters for prompts in sample) / (characters or 1)
    tokens = float(sum(read_tokens(reader, prompts).sum() for prompts in sample)) / (share or 1)
    return tokens, "tokens counted in a sample of the texts" if asked and share < 1 else ""


def price(read: float, generated: float | None, prices: Prices | None) -> float | None:
    """Return what so many tokens cost, read and generated; None without prices."""
    return (read * prices[0] + (generated or 0) * prices[1]) / 1e6 if prices else None


def _measured(
    judge: LanguageModelJudge, prompts: Prompts, path: Path, seconds: float
) -> tuple[float, int, float]:
    """Ask a judge for about `seconds`, and keep its votes.

    Return how many tokens it reads in a second, how many questions it was asked, and how many tokens it read.
    """
    prompts = prompts.sample(MEASURED_PROMPTS)
    of_row, batches = read_tokens(judge, prompts), list[tuple[float, float, int]]()
    judge.load()
    began = time.perf_counter()
    with closing(Cache(path)) as cache, closing(judge):
        for rows, codes, margins in checked_answers(judge, *prompts):
            batches.append((time.perf_counter() - began, float(of_row[rows].sum()), len(rows)))
            pairs = prompts.pairs[rows]
            cache.keep_votes(judge.key, prompts.questions, prompts.texts, pairs, codes, margins)
            if len(batches) > MEASURED_BATCHES and sum(spent for spent, *_ in batches[1:]) >= seconds:
                break
            began = time.perf_counter()
    spent, read, _ = np.sum(batches[1:] or batches, axis=0)  # the first also warms up
    _, every, asked = np.sum(batches, axis=0)
    return float(read / spent), int(asked), float(every)


class VerdictPlan(Record):
    """The store with which a metric only notes which prompts a judge of this name would be asked."""

    def __init__(self, name: str, kept: Cache, prices: Prices | None, device: str | None) -> None:
        super().__init__(kept)
        self.name, self.prices, self.mode = name, prices, "read"
        self.info = None if is_served(name) else inspect_model(name, VoteOptions(device=device))
        self.missing: dict[Request, None] = {}
        self.repeats = 1

    @property
    def grader(self) -> str | KnownJudge:
        """The judge for the metric; of one without weights only the key is known."""
        return KnownJudge(self.info.name, greedy=True) if self.info and self.info.missing else self.name

    def replies(self, judge: str, requests: Iterable[R]) -> dict[R, str]:
        found, requests = super().replies(judge, requests), [*requests]
        self.missing |= dict.fromkeys(one for one in requests if one not in found)
        self.repeats = max([self.repeats, *(repeat + 1 for _, repeat, _ in requests)])
        return found

    def plan(self) -> Plan:
        """Return what was noted."""
        check_noted(self.judge)
        _, kept = self.count()
        prompts = [str(prompt) for prompt, *_ in self.missing]
        info = self.info
        reader, missing = (info.reader, info.missing) if info else (None, "")
        tokens = sum(reader.lengths(prompts)) if reader else sum(map(len, prompts)) / CHARACTERS_A_TOKEN
        said = None if info else len(prompts) * self.judge.max_tokens
        load = Load(
            info.name if info else self.name,
            kept + len(prompts),
            None if missing else kept,
            tokens,
            said=said,
            money=price(tokens, said, self.prices),
            note="; ".join(filter(None, [missing, "" if reader else BY_CHARACTERS])),
        )
        every = load.questions
        return Plan((load,), "all", every, every, str(self.path), asked="prompts", repeats=self.repeats)
