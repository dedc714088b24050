"""Plans what judges will be asked: questions, tokens, FLOP, time, money, and how much the cache saves.

The questions are those that `judging.ask` asks stand-ins, which give a judge's kept votes where there are any, and the
lexical judge's votes for the rest. With ask="all" every question is asked, and their number is exact; with ask="needed"
it is an estimate. No weights are fetched: a tokenizer and a configuration say what prompts cost.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import JudgeUnavailable, MissingExtra
from halluscope.inputs import finite
from halluscope.judging import ask as asking
from halluscope.judging.cache import IN_MEMORY, Cache, Record, cache_of
from halluscope.judging.client import ENDPOINT
from halluscope.judging.judge import PRESENT, Answered, Judge, Pairs, is_greedy
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.models import weights
from halluscope.judging.models.causal import SHARED_FROM, CausalJudge, common_prefix
from halluscope.judging.models.engine import Engine
from halluscope.judging.models.language_model import LanguageModelJudge, positions
from halluscope.judging.models.seq2seq import Seq2SeqJudge, is_checker, model_of
from halluscope.judging.models.weights import Weights
from halluscope.judging.options import VoteOptions
from halluscope.judging.questions import Question, QuestionSet
from halluscope.judging.resolve import (
    LEXICAL,
    check_asked,
    check_once,
    compares_labels,
    is_served,
    served_voter,
)
from halluscope.judging.scoring import ScoringVoter, requests
from halluscope.judging.votes import UNASKED
from halluscope.vocabularies import Vocabulary

CHARACTERS_A_TOKEN = 4.0  # In English, by a rule of thumb

# The note on how tokens were counted without a tokenizer
BY_CHARACTERS = "tokens by a rule of thumb, 4 characters each"

# If there are more prompts than this, tokens are counted in a sample of the texts, chosen evenly by length
SAMPLED_PROMPTS = 20_000

# The most prompts for a calibration, and the fewest batches that it times, after a first one that is not timed
MEASURED_PROMPTS, MEASURED_BATCHES = 4_096, 3

# `read_weights` of the paper's judges, by their configurations
READ_WEIGHTS = {
    "google/flan-t5-base": 99_090_432,
    "google/flan-t5-large": 358_612_992,
    "google/flan-t5-xl": 1_358_954_496,
}

# The prices of a million tokens read, and of a million tokens generated, in any currency
Prices = tuple[float, float]


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
    # how many requests the rest takes, for a judge that gets one request per text; None for any other
    requests: int | None = None
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
    at_least: int  # how many questions are certainly asked: every question, or the first about every cell
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


class Put(NamedTuple):
    """Questions that a judge was asked about texts, as `Judge.answer` gets them."""

    texts: Sequence[str]
    questions: Sequence[Question]
    pairs: Pairs


class Reader(LanguageModelJudge):
    """A judge with its tokenizer and configuration, but without weights: it reads prompts, and does not vote."""

    config: Mapping[str, Any]

    def _load_model(self) -> None:
        load = self._transformers.AutoConfig.from_pretrained
        config = load(self.weights.source, **self.weights.load_options)
        self.config, self._positions = config.to_dict(), positions(config)

    def tokens(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> NDArray[np.float64]:
        """Return how many tokens the model reads for each pair, of a beginning that it reads once in equal parts."""
        self.load()
        shown = {i: self.show(texts[i]) for i in np.unique(pairs[:, 0]).tolist()}
        ids = self._token_ids(shown, questions, pairs)
        tokens = np.array([len(one) for one in ids], dtype=np.float64)
        for text in shown if isinstance(self, CausalJudge) and _shares(self.config) else ():
            rows = np.flatnonzero(pairs[:, 0] == text)
            if len(rows) >= SHARED_FROM:
                before = len(common_prefix([ids[row] for row in rows]))
                tokens[rows] += before / len(rows) - before
        return tokens


class Seq2SeqReader(Reader, Seq2SeqJudge): ...


class CausalReader(Reader, CausalJudge): ...


def _shares(config: Mapping[str, Any]) -> bool:
    """Whether a decoder's prompts can share the cache of their beginning: no layer has a window or a running state."""
    config = config.get("text_config") or config
    kinds = config.get("layer_types")
    return {*kinds} == {"full_attention"} if kinds else config.get("sliding_window") is None


@dataclass(frozen=True)
class ModelInfo:
    """A judge that is a language model, not loaded."""

    model: str  # the model as the user wrote it
    name: str  # the model's name in a signature; never a path
    key: str | None = None  # the judge's key in the cache; None if it cannot be known
    weights: int | None = None  # `read_weights`
    reader: Reader | None = None  # None if the tokenizer is not available
    missing: str = ""  # what is not available, in words; empty if the judge can be asked
    # the longest reply of a model behind an endpoint, in tokens; 0 for a model that generates nothing
    reply: int = 0

    def tokens(self, *put: Any) -> NDArray[np.float64]:
        """Return how many tokens each prompt of a `Put` costs, by the judge's own tokenizer or by a rule of thumb."""
        return self.reader.tokens(*put) if self.reader else _characters(*put) / CHARACTERS_A_TOKEN


def inspect_model(model: str, engine: Engine, **endpoint: Any) -> ModelInfo:
    """Find out what is known of a model; to a server no request is sent, and it is taken to accept all settings."""
    if is_served(model):
        judge = served_voter(model, **endpoint)
        reply = 0 if isinstance(judge, ScoringVoter) else judge.max_tokens
        return ModelInfo(model, judge.name, judge.key, reply=reply)
    found, missing = _find(model_of(model))
    known = READ_WEIGHTS.get(model_of(model).partition("@")[0])
    if found is None:
        return ModelInfo(model, model, weights=known, missing=missing)
    torch = engine.library == "torch"
    precision = engine.precision if torch else None
    try:
        reader: Reader = (
            Seq2SeqReader(found, engine.device, precision=precision, checks=is_checker(model))
            if found.is_encoder_decoder or is_checker(model)
            else CausalReader(found, engine.device, precision=precision)
        )
    except MissingExtra as error:
        return ModelInfo(model, found.name, weights=known, missing=missing or str(error))
    key = reader.key if torch else None if missing else engine.judge(model).key
    info = ModelInfo(model, found.name, key if found.revision else None, known, missing=missing)
    if not found.source:
        return info
    try:
        reader.load()
    except JudgeUnavailable as error:
        if not missing:
            raise
        return replace(info, missing=f"{missing} {error}")
    return replace(info, weights=read_weights(reader.config) or known, reader=reader)


def read_weights(config: Mapping[str, Any]) -> int | None:
    """Return how many of a model's weights each token of a prompt is multiplied with; None if the names are others.

    The names are those of T5, BART, GPT-2 and Llama. Each weight is a multiplication and an addition, so reading a
    prompt takes 2 x weights x tokens FLOP. Attention among tokens and the reply of one or two tokens are left out.
    """
    config = config.get("text_config") or config

    def number(*names: str, otherwise: int = 0) -> int:
        return next((int(config[name]) for name in names if config.get(name) is not None), otherwise)

    width = number("d_model", "hidden_size", "n_embd")
    heads = number("num_heads", "encoder_attention_heads", "num_attention_heads", "n_head")
    layers = number("num_layers", "encoder_layers", "num_hidden_layers", "n_layer")
    if not (width and heads and layers):
        return None
    head = number("d_kv", "head_dim", otherwise=width // heads)
    queries, keys = heads * head, number("num_key_value_heads", otherwise=heads) * head
    hidden = number(
        *("d_ff", "encoder_ffn_dim", "moe_intermediate_size", "intermediate_size", "n_inner", "ffn_dim"),
        otherwise=4 * width,
    ) * number("num_experts_per_tok", otherwise=1)
    gated = "gated" in str(config.get("feed_forward_proj")) or config.get("hidden_act") in ("silu", "swish")
    matrices = 3 if gated or str(config.get("model_type")).startswith("gemma") else 2
    read = layers * width * (2 * (queries + keys) + matrices * hidden)
    if config.get("is_encoder_decoder"):  # the decoder reads the prompt as keys and values of its attention
        read += number("num_decoder_layers", "decoder_layers", otherwise=layers) * width * 2 * keys
    return read


def _find(model: str) -> tuple[Weights | None, str]:
    """Return a model and what is missing of it; the source is "" if only its name and revision are known."""
    path, missing = Path(model).expanduser(), ""
    if path.exists():
        try:
            return weights.find(model), ""
        except JudgeUnavailable as error:
            missing = str(error)
            if not (path / "config.json").is_file():
                raise
    try:
        found = weights.described(model)
        folder = Path(found.source)
        found = replace(found, is_encoder_decoder=weights.encodes(folder / "config.json"))
    except JudgeUnavailable as error:
        name, _, revision = model.partition("@")
        revision = revision or weights.REVISIONS.get(name, "")
        named = revision and name in READ_WEIGHTS
        known = Weights("", name, revision, is_encoder_decoder=True) if named else None
        reason = type(error.__cause__ or error).__name__
        return known, f"neither on this machine nor can it be downloaded ({reason})"
    if not missing and not any(folder.glob("*.safetensors")) and not any(folder.glob("*.bin")):
        missing = "its weights are not on this machine yet; scoring downloads them"
    return found, missing


def _characters(texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> NDArray[np.float64]:
    of_text = np.array([len(text) for text in texts], dtype=np.float64)
    around = np.array([len(question.prompt("")) for question in questions], dtype=np.float64)
    lengths: NDArray[np.float64] = of_text[pairs[:, 0]] + around[pairs[:, 1]]
    return lengths


@dataclass
class StandIn:
    """Votes in a judge's place, and remembers what it was asked."""

    key: str  # the judge's key, or its name if the key is not known
    speaker: Judge  # gives the votes that are not kept
    kept_in: Cache | None  # where kept votes are found; None for a judge whose votes are not kept
    stored: bool  # whether votes about one file of responses are used for the next
    puts: list[Put] = field(default_factory=list)  # the questions whose votes were not kept
    kept: int = 0  # how many votes were kept

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Vote on all pairs in one batch."""
        codes = np.full(len(pairs), UNASKED, dtype=np.int8)
        if self.kept_in:
            votes, _ = self.kept_in.votes(self.key, questions, texts)
            codes = votes[pairs[:, 0], pairs[:, 1]]
        new = np.flatnonzero(codes == UNASKED)
        self.kept += len(pairs) - len(new)
        if len(new):
            self.puts.append(Put(texts, questions, pairs[new]))
            for rows, given_now, _ in asking.answers(self.speaker, texts, questions, pairs[new]):
                codes[new[rows]] = given_now
        yield np.arange(len(pairs)), codes

    def close(self) -> None: ...


def plan_poll(
    sets: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]],
    classes: Vocabulary,
    poll: VoteOptions,
    question_set: QuestionSet,
    calibrate: float = 0.0,
    prices: Prices | None = None,
    only_present: bool = False,
) -> Plan:
    """Plan what a poll will ask.

    Unless `calibrate` is given, nothing is downloaded except the files that describe a model, no endpoint is asked, and
    nothing is written.
    """
    finite("calibrate", calibrate, 0, 86_400, "a number of seconds, 0 for no measurement,")
    present = [classes.presence(references) for _, references in sets]
    shown = [[question_set.cut(text) for text in texts] for texts, _ in sets]
    about, meant = question_set.about(classes), poll.meant
    k = poll.required(len(about))
    check_asked(meant, question_set)
    check_prices(prices, meant)
    kept_in, alone = Cache(cache_of(poll.store).path, "read"), replace(poll.run_by, workers=0)
    lexical = LexicalJudge(classes)
    infos: list[ModelInfo | None] = []
    stand_ins: list[StandIn] = []
    for judge in meant:
        if isinstance(judge, str):
            info = None if judge == LEXICAL else inspect_model(judge, alone, **poll.endpoints)
            key, stored = (info and (info.key or info.name)) or judge, info is not None
            kept = kept_in if info and info.key else None
        else:
            info, key, stored = None, judge.key, judge.stored
            kept = kept_in if stored else None
        speaker = lexical if stored or isinstance(judge, str) else judge
        infos.append(info)
        stand_ins.append(StandIn(key, speaker, kept, stored))
    check_once([stand_in.key for stand_in in stand_ins])
    passed_on = Cache(IN_MEMORY) if len(sets) > 1 else None
    for texts, there in zip(shown, present, strict=True):
        asking.ask(stand_ins, about, texts, there, k, PRESENT if only_present else poll.ask, passed_on)
    kept_in.close()
    loads = []
    for stand_in, info in zip(stand_ins, infos, strict=True):
        load = _load(stand_in, info, prices)
        if info and calibrate and stand_in.puts and not info.missing and not is_served(info.model):
            load = _measured(load, stand_in.puts, info, alone.judge(info.model), kept_in.path, calibrate)
        loads.append(replace(load, seconds=load.seconds / max(1, poll.workers)) if load.seconds else load)
    cells = len({text for texts in shown for text in texts if text.strip()}) * len(classes.classes)
    ask, at_most = poll.ask, cells * len(meant) * len(about)
    if only_present:
        ask, at_most = "all", sum(load.questions for load in loads)
    at_least = at_most if ask == "all" else cells
    return Plan(tuple(loads), ask, at_least, at_most, str(kept_in.path), max(1, poll.workers))


def check_prices(prices: Prices | None, meant: Sequence[str | Judge], option: str = "judges") -> None:
    """Check the prices of tokens."""
    for price in prices or ():
        finite("prices", price, 0, 1e6, "the price of a million tokens")
    if prices and not any(map(is_served, meant)):
        raise ValueError(
            f"prices are for judges behind an endpoint ('{ENDPOINT}MODEL[@URL]'), but {option} names none."
        )


def _load(stand_in: StandIn, info: ModelInfo | None, prices: Prices | None) -> Load:
    left = sum(len(put.pairs) for put in stand_in.puts)
    load = Load(
        info.name if info else stand_in.key,
        left + stand_in.kept,
        stand_in.kept if stand_in.kept_in else None,
    )
    if info is None:
        return load
    sample = _sample(stand_in.puts)
    tokens = sum(float(info.tokens(*put).sum()) for put in sample)
    if sample is not stand_in.puts:
        whole, part = (
            sum(float(_characters(*put).sum()) for put in puts) for puts in (stand_in.puts, sample)
        )
        tokens *= whole / part
    counted = (
        BY_CHARACTERS if info.reader is None
        else "tokens counted in a sample of the texts" if sample is not stand_in.puts
        else ""
    )  # fmt: skip
    said = left * info.reply if info.reply else None
    by_text = compares_labels(info.model)  # a request holds all questions about a text
    return replace(
        load,
        tokens=tokens,
        flop=2 * info.weights * tokens if info.weights else None,
        requests=sum(len(list(requests(put.pairs))) for put in stand_in.puts) if by_text else None,
        said=said,
        money=_cost(tokens, said, prices) if is_served(info.model) else None,
        note="; ".join(filter(None, [info.missing, counted])),
    )


def _cost(tokens: float, said: int | None, prices: Prices | None) -> float | None:
    return (tokens * prices[0] + (said or 0) * prices[1]) / 1e6 if prices else None


def _sample(puts: Sequence[Put]) -> Sequence[Put]:
    """Return all questions; or, if there are many, those about a sample of the texts, chosen evenly by length."""
    step = -(-sum(len(put.pairs) for put in puts) // SAMPLED_PROMPTS)
    if step <= 1:
        return puts
    chosen = []
    for put in puts:
        texts = sorted(np.unique(put.pairs[:, 0]).tolist(), key=lambda i: len(put.texts[i]))
        chosen.append(_about(put, texts[min(step // 2, len(texts) - 1) :: step]))
    return chosen


def _about(put: Put, texts: Sequence[int]) -> Put:
    """Return the questions about some of the texts."""
    return put._replace(pairs=put.pairs[np.isin(put.pairs[:, 0], texts)])


def _measured(
    load: Load, puts: Sequence[Put], info: ModelInfo, judge: Judge, path: Path, seconds: float
) -> Load:
    """Return the load after asking the judge for about `seconds` about texts of medium length; its votes are kept."""
    put = max(puts, key=lambda put: len(put.pairs))
    texts = sorted(np.unique(put.pairs[:, 0]).tolist(), key=lambda i: len(put.texts[i]))
    number = max(1, min(len(texts), MEASURED_PROMPTS * len(texts) // len(put.pairs)))
    first = (len(texts) - number) // 2
    put = _about(put, texts[first : first + number])
    of_row, cache = info.tokens(*put), Cache(path)
    spent: list[float] = []  # seconds of each batch
    read: list[float] = []  # its tokens
    measured = 0
    if isinstance(judge, LanguageModelJudge):
        judge.load()
    began = time.perf_counter()
    for rows, codes, margins in asking.answers(judge, *put):
        spent.append(time.perf_counter() - began)
        read.append(float(of_row[rows].sum()))
        measured += len(rows)
        cache.keep_votes(judge.key, put.questions, put.texts, put.pairs[rows], codes, margins)
        if len(spent) > MEASURED_BATCHES and sum(spent[1:]) >= seconds:
            break
        began = time.perf_counter()
    judge.close()
    cache.close()
    timed = slice(min(1, len(spent) - 1), None)  # the first also warms up
    speed = sum(read[timed]) / sum(spent[timed])  # tokens per second
    tokens = max(0.0, (load.tokens or 0.0) - sum(read))
    return replace(
        load,
        tokens=tokens,
        flop=2 * info.weights * tokens if info.weights else None,
        seconds=tokens / speed,
        flop_per_second=2 * info.weights * speed if info.weights else None,
        measured=measured,
    )


def plan_verdicts(
    record: Record, judge: str, info: ModelInfo | None, repeats: int = 1, prices: Prices | None = None
) -> Plan:
    """Plan what a grader will be asked. It is not asked, no weights are loaded, and nothing is written."""
    if record.judge is None:
        raise ValueError(
            "With these options no language model is asked for a verdict; there is nothing to plan."
        )
    _, kept = record.count()
    prompts: list[Any] = [prompt for prompt, *_ in record.missing]
    if is_greedy(record.judge):
        prompts = list(dict.fromkeys(prompts))  # it gets each prompt once
    reader, missing = (info.reader, info.missing) if info else (None, "")
    tokens = sum(reader.lengths(prompts)) if reader else sum(map(len, prompts)) / CHARACTERS_A_TOKEN
    said = None if info else len(prompts) * record.judge.max_tokens
    every = kept + len(record.missing)
    load = Load(
        info.name if info else judge,
        every,
        None if missing else kept,
        tokens,
        said=said,
        money=_cost(tokens, said, prices),
        note="; ".join(filter(None, [missing, "" if reader else BY_CHARACTERS])),
    )
    return Plan((load,), "all", every, every, str(record.path), asked="prompts", repeats=repeats)
