"""Plans a poll before it is held: questions, tokens, FLOP, time, and how much the cache saves.

The questions are those that `asking` asks stand-ins, which give a judge's kept votes where there are any, and the
lexical judge's votes for the rest. With ask="all" every question is asked, and their number is exact; with ask="needed"
it is an estimate.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from halluscope.inputs import finite
from halluscope.judging import ask as asking
from halluscope.judging.ask import answers
from halluscope.judging.cache import Cache, cache_of
from halluscope.judging.cache_file import IN_MEMORY
from halluscope.judging.cost.model_info import ModelInfo, characters, look
from halluscope.judging.judge import Answered, Judge, Pairs
from halluscope.judging.lexical import LexicalJudge, Mention
from halluscope.judging.models.language_model import LanguageModelJudge
from halluscope.judging.options import VoteOptions
from halluscope.judging.questions import Question, QuestionSet
from halluscope.judging.resolve import LEXICAL, check_asked, is_served
from halluscope.judging.scoring import requests
from halluscope.judging.server import ENDPOINT
from halluscope.judging.votes import UNASKED
from halluscope.sanitize import short_repr
from halluscope.vocabularies import Vocabulary

# If there are more prompts than this, tokens are counted in a sample of the texts, chosen evenly by length
SAMPLED_PROMPTS = 20_000

# The most prompts for a calibration, which ends when its time is up
MEASURED_PROMPTS = 4_096

# The fewest batches that a calibration times, if there are as many, after a first one that is not timed
MEASURED_BATCHES = 3


# The longest time for a calibration, in seconds: a day
LONGEST_CALIBRATION = 86_400

# The note on how tokens were counted without a tokenizer
BY_CHARACTERS = "tokens by a rule of thumb, 4 characters each"

# The prices of a million tokens read, and of a million tokens generated, in any currency
Prices = tuple[float, float]

# The highest price of a million tokens, in any currency
HIGHEST_PRICE = 1e6


@dataclass(frozen=True)
class Load:
    """What one judge will be asked."""

    judge: str  # the judge's name; for an embedded judge, its key
    questions: int  # how many questions the judge is asked; each text is asked about once
    # how many of these the cache answers; None if the judge's key is not known, or its votes are not kept
    kept: int | None = None
    # how many tokens the judge reads for the rest; None for a judge without a model
    tokens: float | None = None
    # how much the judge computes for the rest, in FLOP; None if its shape is not known
    flop: float | None = None
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
            for rows, given_now, _ in answers(self.speaker, texts, questions, pairs[new]):
                codes[new[rows]] = given_now
        yield np.arange(len(pairs)), codes

    def close(self) -> None:
        """Do nothing: nothing is held."""


class _ReadsOnce(LexicalJudge):
    """The lexical judge, but it reads each text only once, however often it is asked."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self._found: dict[str, list[Mention]] = {}

    def mentions(self, text: str) -> list[Mention]:
        if text not in self._found:
            self._found[text] = super().mentions(text)
        return self._found[text]


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
    finite("calibrate", calibrate, 0, LONGEST_CALIBRATION, "a number of seconds, 0 for no measurement,")
    present = [classes.presence(references) for _, references in sets]
    shown = [[question_set.cut(text) for text in texts] for texts, _ in sets]
    about, meant = question_set.about(classes), poll.meant
    k = poll.required(len(about))
    check_asked(meant, question_set)
    check_prices(prices, meant)
    run_by, kept_in = poll.run_by, Cache(cache_of(poll.store).path, "read")
    alone = replace(run_by, workers=0)
    models = [one for one in meant if isinstance(one, str) and one != LEXICAL]
    looked = dict(zip(models, look(models, alone, poll.endpoints), strict=True))
    outlooks = [looked.get(one) if isinstance(one, str) else None for one in meant]
    lexical = _ReadsOnce(classes)
    stand_ins = [
        _stand_in(one, outlook, lexical, kept_in) for one, outlook in zip(meant, outlooks, strict=True)
    ]
    keys = [stand_in.key for stand_in in stand_ins]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise ValueError(f"judges names {', '.join(twice)} more than once; each judge votes once.")
    passed_on = Cache(IN_MEMORY) if len(sets) > 1 else None
    for texts, there in zip(shown, present, strict=True):
        asking.ask(stand_ins, about, texts, there, k, asking.PRESENT if only_present else poll.ask, passed_on)
    kept_in.close()
    cells = len({text for texts in shown for text in texts if text.strip()}) * len(classes.classes)
    at_most = cells * len(meant) * len(about)
    loads = []
    for stand_in, outlook in zip(stand_ins, outlooks, strict=True):
        load = _load(stand_in, outlook, prices)
        if outlook and calibrate and not outlook.missing and not is_served(outlook.model) and stand_in.puts:
            load = _measured(
                load, stand_in.puts, outlook, alone.judge(outlook.model), kept_in.path, calibrate
            )
        loads.append(replace(load, seconds=load.seconds / max(1, poll.workers)) if load.seconds else load)
    ask, at_least = poll.ask, at_most if poll.ask == "all" else cells
    if only_present:
        ask, at_least = "all", (at_most := sum(load.questions for load in loads))
    return Plan(tuple(loads), ask, at_least, at_most, str(kept_in.path), max(1, poll.workers))


def _stand_in(
    judge: str | Judge, outlook: ModelInfo | None, lexical: LexicalJudge, kept_in: Cache
) -> StandIn:
    if outlook:
        return StandIn(outlook.key or outlook.name, lexical, kept_in if outlook.key else None, stored=True)
    if isinstance(judge, str):
        return StandIn(judge, lexical, None, stored=False)
    if judge.stored:
        return StandIn(judge.key, lexical, kept_in, stored=True)
    return StandIn(judge.key, judge, None, stored=False)


def check_prices(prices: Prices | None, meant: Sequence[str | Judge], option: str = "judges") -> None:
    """Check the prices of tokens."""
    if prices is None:
        return
    if not isinstance(prices, list | tuple) or len(prices) != 2:
        raise ValueError(
            f"prices is {short_repr(prices)}; expected two: of a million tokens read, and of a million generated."
        )
    for price in prices:
        finite("prices", price, 0, HIGHEST_PRICE, "the price of a million tokens")
    if not any(is_served(judge) for judge in meant):
        raise ValueError(
            f"prices are for judges behind an endpoint ('{ENDPOINT}MODEL[@URL]'), but {option} names none."
        )


def _load(stand_in: StandIn, outlook: ModelInfo | None, prices: Prices | None) -> Load:
    left = sum(len(put.pairs) for put in stand_in.puts)
    kept = stand_in.kept if stand_in.kept_in else None
    if outlook is None:
        return Load(stand_in.key, left + stand_in.kept, kept)
    tokens, flop, sampled = _work(stand_in.puts, outlook)
    counted = (
        BY_CHARACTERS if outlook.reader is None
        else "tokens counted in a sample of the texts" if sampled
        else ""
    )  # fmt: skip
    said = left * outlook.reply if outlook.reply else None
    money = cost(tokens, said, prices) if prices and is_served(outlook.model) else None
    return Load(
        outlook.name,
        left + stand_in.kept,
        kept,
        tokens,
        None if math.isnan(flop) else flop,
        requests=sum(len(list(requests(put.pairs))) for put in stand_in.puts) if outlook.by_text else None,
        said=said,
        money=money,
        note="; ".join(filter(None, [outlook.missing, counted])),
    )


def cost(tokens: float, said: int | None, prices: Prices) -> float:
    """Return what it costs to read `tokens` tokens and to generate `said` tokens."""
    return (tokens * prices[0] + (said or 0) * prices[1]) / 1e6


def _work(puts: Sequence[Put], outlook: ModelInfo) -> tuple[float, float, bool]:
    """Return the tokens and FLOP of the questions, and whether they are scaled up from a sample, by characters."""
    sample, sampled = _sample(puts)
    works = [outlook.work(*put) for put in sample]
    whole, part = (sum(float(characters(*put).sum()) for put in some) for some in (puts, sample))
    scale = whole / part if sampled else 1.0
    tokens = sum(float(work.tokens.sum()) for work in works)
    flop = sum(float(work.flop.sum()) for work in works)
    return scale * tokens, scale * flop, sampled


def _sample(puts: Sequence[Put]) -> tuple[Sequence[Put], bool]:
    """Return all questions; or, if there are many, those about a sample of the texts, chosen evenly by length."""
    step = -(-sum(len(put.pairs) for put in puts) // SAMPLED_PROMPTS)
    if step <= 1:
        return puts, False
    texts = [
        (len(put.texts[i]), number, i) for number, put in enumerate(puts) for i in np.unique(put.pairs[:, 0])
    ]
    chosen: dict[int, list[int]] = {}
    for _, number, i in sorted(texts)[min(step // 2, len(texts) - 1) :: step]:
        chosen.setdefault(number, []).append(int(i))
    return [
        puts[number]._replace(pairs=puts[number].pairs[np.isin(puts[number].pairs[:, 0], rows)])
        for number, rows in chosen.items()
    ], True


def _measured(
    load: Load, puts: Sequence[Put], outlook: ModelInfo, judge: Judge, path: Path, seconds: float
) -> Load:
    """Return the load after asking the judge for about `seconds`; its votes are kept."""
    put = _of_middling_length(max(puts, key=lambda put: len(put.pairs)))
    work, cache = outlook.work(*put), Cache(path)
    batches: list[tuple[np.ndarray[Any, Any], float]] = []
    if isinstance(judge, LanguageModelJudge):
        judge.load()
    began = time.perf_counter()
    for rows, codes, margins in answers(judge, *put):
        batches.append((rows, time.perf_counter() - began))
        cache.keep_votes(judge.key, put.questions, put.texts, put.pairs[rows], codes, margins)
        if len(batches) > MEASURED_BATCHES and sum(spent for _, spent in batches[1:]) >= seconds:
            break
        began = time.perf_counter()
    judge.close()
    cache.close()
    asked = np.concatenate([rows for rows, _ in batches])
    timed = batches[1:] or batches  # the first also warms up
    rows, took = np.concatenate([rows for rows, _ in timed]), sum(spent for _, spent in timed)
    tokens, flop = (float(amount[rows].sum()) for amount in work)
    tokens_left = max(0.0, (load.tokens or 0.0) - float(work.tokens[asked].sum()))
    flop_left = None if load.flop is None else max(0.0, load.flop - float(work.flop[asked].sum()))
    return replace(
        load,
        tokens=tokens_left,
        flop=flop_left,
        seconds=took * (tokens_left / tokens if flop_left is None else flop_left / flop),
        flop_per_second=None if flop_left is None else flop / took,
        measured=len(asked),
    )


def _of_middling_length(put: Put) -> Put:
    """Return all questions about texts of medium length, at most `MEASURED_PROMPTS` or those about one text."""
    texts = sorted(np.unique(put.pairs[:, 0]).tolist(), key=lambda i: len(put.texts[i]))
    a_text = len(put.pairs) / len(texts)
    number = max(1, min(len(texts), int(MEASURED_PROMPTS / a_text)))
    first = (len(texts) - number) // 2
    return put._replace(pairs=put.pairs[np.isin(put.pairs[:, 0], texts[first : first + number])])
