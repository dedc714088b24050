"""Asks judges for votes and for replies: from the cache where it holds them, and of the rest no more than is needed.

A vote is found by the judge's key, the question and the text; a reply by the judge's key, the prompt, the number of its
repeat, and its seed. What comes is kept batch by batch, so a killed run continues, and a second run asks nothing. Of
several processes on one cache, one asks a request, and the others take its reply (`halluscope.judging.claims`).
"""

import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from halluscope.errors import HalluscopeError, JudgingFailed
from halluscope.judging.cache import Cache, reply_key, text_keys
from halluscope.judging.claims import Claims, Unshared, turns
from halluscope.judging.endpoint import EMPTY
from halluscope.judging.judge import (
    MAX_FAILED,
    PRESENT,
    AnsweredBy,
    ChatJudge,
    Judge,
    Pairs,
    is_greedy,
)
from halluscope.judging.prompts import PromptSpec, said_of
from halluscope.judging.questions import Question
from halluscope.judging.votes import FAILED, NO, OTHER, UNASKED, YES, count, undecided
from halluscope.sanitize import one_line, quoted, short_repr
from halluscope.terminal import tell

SHOWN = 3  # How many reasons, or unreadable replies, a message shows

# How many prompts are asked first; if none of the replies to them can be read, the rest is not asked
FIRST = 50

# If this share may fail, everything is asked, because it may be chance that no first reply is readable
HALF = 0.5

EXPECTED = (
    "batches of row numbers of the pairs, one code for each (0 no, 1 yes, 2 neither), with or without one margin for "
    "each, and each pair exactly once; see `halluscope.judging.judge.Judge`"
)

Request = tuple[str, int, int]  # A prompt, the number of its repeat, and the seed of the reply

V = TypeVar("V")


def collect_votes(
    judges: Sequence[Judge],
    questions: Sequence[Sequence[Question]],
    texts: Sequence[str],
    present: NDArray[np.bool_],
    k: int,
    which: str = "needed",
    cache: Cache | None = None,
    progress: bool = False,
    max_failed: float = MAX_FAILED,
) -> NDArray[np.int8]:
    """Return the votes of N judges on M questions about each class of each text, codes [images, classes, N x M].

    `which` "all" asks every question about every cell (an image and a class), `PRESENT` about only the cells in
    `present` [images, classes]. "needed" asks the M questions one after the other, and no more about a cell once its
    votes can no longer change precision or recall (see `votes.undecided`). A vote is `UNASKED` if it was not needed or
    is still to come, and `OTHER` if no reply came. An empty text mentions nothing, so its votes are "no" without
    asking.
    """
    number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    unique, row = [*number], np.array([number[text] for text in texts], dtype=np.int64)
    templates = len(questions)
    votes = np.full((*present.shape, len(judges) * templates), UNASKED, dtype=np.int8)
    waiting = np.zeros((len(unique), present.shape[1]), dtype=bool)
    rounds = [[j] for j in range(templates)] if which == "needed" else [[*range(templates)]]
    wanted = present if which == PRESENT else np.ones_like(present)
    for i, judge in enumerate(judges):
        with closing(judge):
            asked, failed, before = 0, 0, _failures(judge)
            for of_round in rounds:
                if which == "needed":
                    wanted = undecided(*count(votes), n=votes.shape[-1], k=k, present=present)
                of_text = np.zeros_like(waiting)
                np.logical_or.at(of_text, row, wanted)
                about = [question for j in of_round for question in questions[j]]
                title = f", question {of_round[0] + 1} of {templates}" if len(of_round) < templates else ""
                open_cells, held_back = (np.tile(cells, len(of_round)) for cells in (of_text, waiting))
                codes = _votes(judge, cache, unique, about, open_cells, held_back, title, progress)
                asked += int(open_cells.sum())
                failed += int((codes == FAILED).sum())
                outcome = (
                    f"{failed:,} of {asked:,} questions got no reply from {one_line(judge.key, 80)}"
                    f"{_reasons(judge, before)}."
                )
                advice = (
                    "The votes received so far are kept if there is a cache. Fix the cause, and run again to ask the "
                    "rest; or allow more failures"
                )
                _check_failed(failed, asked, max_failed, outcome, advice)
                codes[codes == FAILED] = OTHER
                for j, part in zip(of_round, np.split(codes, len(of_round), axis=1), strict=True):
                    votes[:, :, i * templates + j] = np.where(wanted, part[row], UNASKED)
                    waiting |= of_text & (part == UNASKED) & (which == "needed")
            if failed:
                warnings.warn(f"{outcome} They count as unreadable votes.", stacklevel=2)
    return votes


def _votes(
    judge: Any,
    cache: Cache | None,
    texts: Sequence[str],
    questions: Sequence[Question],
    wanted: NDArray[np.bool_],
    waiting: NDArray[np.bool_],
    title: str,
    progress: bool,
) -> NDArray[np.int8]:
    """Return a judge's votes [texts, questions]; those that are wanted, and wait for no other vote, are asked for."""
    is_served, key = hasattr(judge, "probe_settings"), None
    cache = cache if judge.stored else None
    while key != judge.key:  # a server that refuses a setting changes the key before a vote comes
        key = judge.key
        if cache:
            votes, _ = cache.votes(key, questions, texts)
        else:
            votes = np.full((len(texts), len(questions)), UNASKED, dtype=np.int8)
        votes[[not text.strip() for text in texts]] = NO
        missing = wanted & (votes == UNASKED)
        pairs = np.argwhere(missing & ~waiting)
        if len(pairs) and is_served:
            judge.probe_settings()
    if len(pairs):
        with _bar(judge, f"{one_line(key.split('@')[0])}{title}", len(pairs), "question", progress) as bar:
            _ask_pairs(judge, key, cache, texts, questions, pairs, votes, bar)
    return votes


def _ask_pairs(
    judge: Judge,
    key: str,
    cache: Cache | None,
    texts: Sequence[str],
    questions: Sequence[Question],
    pairs: Pairs,
    votes: NDArray[np.int8],
    bar: Any,
) -> None:
    """Ask a judge about each pair that no other process asks; write these votes and the others' into `votes`."""
    is_wanted = np.zeros(votes.shape, dtype=bool)
    is_wanted[tuple(pairs.T)] = True

    def missing(rows: Collection[int]) -> list[int]:
        """Return those texts of these rows about which votes are missing, after another look into the cache."""
        numbers = list(rows)
        if cache and numbers:
            kept, _ = cache.votes(key, questions, [texts[row] for row in numbers])
            has_come = is_wanted[numbers] & (votes[numbers] == UNASKED) & (kept != UNASKED)
            votes[numbers] = np.where(has_come, kept, votes[numbers])
            bar.update(int(has_come.sum()))
        is_open = (is_wanted & (votes == UNASKED)).any(axis=1)
        return [row for row in numbers if is_open[row]]

    rows = np.unique(pairs[:, 0]).tolist()
    keys = text_keys(key, [texts[row] for row in rows], questions)
    with claims_on(cache) as claims:
        for own in turns(claims, dict(zip(rows, keys, strict=True)), missing):
            is_own = np.zeros(len(texts), dtype=bool)
            is_own[own] = True
            asked = np.argwhere(is_wanted & (votes == UNASKED) & is_own[:, np.newaxis])
            for numbers, codes, margins in checked_answers(judge, texts, questions, asked):
                part = asked[numbers]
                replied = codes != FAILED
                if cache and not cache.is_read:
                    cache.keep_votes(key, questions, texts, part[replied], codes[replied], margins[replied])
                votes[tuple(part.T)] = codes
                bar.update(len(numbers))


def claims_on(cache: Cache | None) -> AbstractContextManager[Claims]:
    """Let this process claim what it asks, if others can see the replies."""
    if cache is None:
        return nullcontext(Unshared())
    return cache.claiming()


def checked_answers(
    judge: Judge, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
) -> Iterator[AnsweredBy]:
    """Ask a judge, who may be the user's own, and check the votes; margins are NaN if the judge gives none."""
    name, unasked = one_line(judge.key, 80), np.ones(len(pairs), dtype=bool)
    try:
        for batch in judge.answer(texts, questions, pairs):
            try:
                rows, codes, margins = (*map(np.asarray, batch), np.full(len(batch[0]), np.nan))[:3]
                good = len(batch) < 4 and rows.ndim == 1 and rows.shape == codes.shape == margins.shape
                if good and len(rows):
                    kinds = (rows.dtype.kind in "iu", codes.dtype.kind in "iub", margins.dtype.kind == "f")
                    good = all(kinds) and rows.min() >= 0 and bool(unasked[rows].all())
                    good &= len(np.unique(rows)) == len(rows) and not np.isinf(margins).any()
                    good &= bool(np.isin(codes, (NO, YES, OTHER, FAILED)).all())
            except Exception:  # not a tuple, or its parts are not arrays, or a row is beyond the last
                good = False
            if not good:
                raise JudgingFailed(f"The judge {name} answered {short_repr(batch)}; expected {EXPECTED}.")
            rows = rows.astype(np.int64)
            unasked[rows] = False
            yield rows, codes.astype(np.int8), margins.astype(np.float64)
    except HalluscopeError:
        raise
    except Exception as error:  # whatever a judge raises
        raise JudgingFailed(
            f"The judge {name} failed with {type(error).__name__}: {one_line(error, 400)}"
        ) from error
    if unasked.any():
        raise JudgingFailed(
            f"The judge {name} left {unasked.sum():,} of {len(pairs):,} questions without an answer; expected "
            f"{EXPECTED}."
        )


def collect_verdicts(
    asked: Sequence[PromptSpec[V]],
    judge: ChatJudge,
    *,
    repeats: int = 1,
    seed: int = 0,
    cache: Cache | None = None,
    max_failed: float = MAX_FAILED,
    progress: bool = False,
) -> list[list[V | None]]:
    """Ask each distinct prompt `repeats` times; return verdicts [repeats][prompts], None where one is missing.

    The first repeat's replies have the seed `seed`, and each further repeat the next one. A greedy judge has no seed,
    and is asked once. If `max_failed` is less than `HALF`, and none of the first `FIRST` prompts has a readable reply,
    the others are not asked. The caller closes the judge.
    """
    specs = {spec.prompt: spec for spec in asked}
    before = _failures(judge)
    greedy = is_greedy(judge)
    draws = [(0, 0)] if greedy else [(repeat, seed + repeat) for repeat in range(repeats)]
    requests = [(prompt, *draw) for draw in draws for prompt in specs]
    key = ""
    while key != judge.key:  # a server that refuses a setting changes the key before a reply comes
        key = judge.key
        replies, unasked = _replies(judge, key, requests, specs, cache, max_failed, progress)
    read = {one: specs[one[0]].read(replies[one]) for one in requests if one in replies}
    total = len(requests) - unasked
    unread = [quoted(replies[one], 120) for one, verdict in read.items() if verdict is None]
    silent, shown = total - len(read), ", ".join(unread[:SHOWN])
    refused = [specs[one[0]].refusal(replies[one]) for one, verdict in read.items() if verdict is None]
    if silent or unread:
        outcome = (
            f"{silent + len(unread)} of {total} prompts have no readable verdict from {key}: {silent} without a reply"
            f"{_reasons(judge, before)}, {len(unread)} with a reply that says something else"
            f"{f' ({shown})' if shown else ''}.{said_of(refused)}"
        )
        run = (
            "Run again to ask for the missing replies (kept ones are not asked again); allow"
            if silent
            else "Allow"
        )
        schema = asked[0].schema
        form = f"in JSON with {' and '.join(schema['properties'])}" if schema else "as the prompt asks"
        more = f"ask the other {unasked:,} too, with {HALF:g} or more" if unasked else "allow more failures"
        advice = (
            f"{run} longer replies (--max-tokens, in Python max_tokens) if they were cut off; use a judge that replies "
            f"{form}; or {more}"
        )
        _check_failed(silent + len(unread), total, max_failed, outcome, advice)
        warnings.warn(outcome, stacklevel=2)
    table = [[read.get((one.prompt, *draw)) for one in asked] for draw in draws]
    return table * repeats if greedy else table


def _replies(
    judge: Any,
    key: str,
    requests: Sequence[Request],
    specs: Mapping[str, PromptSpec[Any]],
    cache: Cache | None,
    max_failed: float,
    progress: bool,
) -> tuple[dict[Request, str], int]:
    """Return the replies, and how many requests were not asked; none is if the judge's key changes."""
    replies = cache.replies(key, requests) if cache else {}
    missing = [request for request in requests if request not in replies]
    if cache and cache.is_read:
        missing = []
    if missing:
        # before anything is claimed, so that all processes claim it under the same key
        _settle(judge, missing, specs)
        if judge.key != key:
            return replies, len(missing)
    keys = {request: reply_key(key, request) for request in missing}
    with _bar(judge, one_line(key), len(missing), "prompt", progress) as bar, claims_on(cache) as claims:
        asking = _Asking(judge, key, specs, cache, bar, replies)
        for own in turns(claims, keys, asking.missing):
            first = own[: max(0, FIRST - len(replies))]
            rest = own[len(first) :]
            asking.ask(first)
            gives_up = rest and max_failed < HALF and not asking.is_any_read()
            if gives_up or judge.key != key:
                return replies, len(missing) - asking.replied - asking.failed
            asking.ask(rest)
    return replies, 0


@dataclass
class _Asking:
    """Replies as they come, from a judge and from other processes."""

    judge: Any
    key: str
    specs: Mapping[str, PromptSpec[Any]]
    cache: Cache | None
    bar: Any
    replies: dict[Request, str]
    replied: int = 0
    failed: int = 0

    def missing(self, requests: Collection[Request]) -> list[Request]:
        """Return those of these requests that have no reply after another look into the cache."""
        if self.cache:
            arrived = self.cache.replies(self.key, requests)
            self.replies.update(arrived)
            self.replied += len(arrived)
            self.bar.update(len(arrived))
        return [request for request in requests if request not in self.replies]

    def ask(self, requests: Sequence[Request]) -> None:
        """Ask these requests, and keep each reply; nothing comes if the judge's key changes."""
        if not requests:
            return
        coming = _send(self.judge, requests, self.specs)
        if self.judge.key != self.key:
            return
        for index, reply in coming:
            self.bar.update()
            self._take(requests[index], reply)

    def _take(self, request: Request, reply: str | None) -> None:
        if reply is not None and self._counts(request, reply):
            self.replies[request] = reply
            self.replied += 1
            if self.cache:
                self.cache.keep_replies(self.key, {request: reply})
            return
        if reply is not None:
            self.judge.failures[EMPTY] += 1
        self.failed += 1
        self.bar.set_postfix(failed=self.failed)

    def _counts(self, request: Request, reply: str) -> bool:
        """Whether a reply counts as one; an empty one does not, and is asked for again, unless it can be read."""
        if reply.strip() or is_greedy(self.judge):
            return True
        return self.specs[request[0]].read(reply) is not None

    def is_any_read(self) -> bool:
        """Whether any reply so far can be read."""
        verdicts = (self.specs[request[0]].read(reply) for request, reply in self.replies.items())
        return any(verdict is not None for verdict in verdicts)


def _settle(judge: Any, requests: Sequence[Request], specs: Mapping[str, PromptSpec[Any]]) -> None:
    """Let a judge behind a server find out which settings are refused, as far as it can without the requests."""
    probe = getattr(judge, "probe_replies", None)
    if probe:
        probe([specs[prompt].schema for prompt, *_ in requests])


def _send(judge: Any, requests: Sequence[Request], specs: Mapping[str, PromptSpec[Any]]) -> Any:
    """Return the replies by index, held to the schemas and drawn by the seeds if the judge can."""
    more: dict[str, Any] = {}
    if getattr(judge, "structured", False):
        more["schemas"] = [specs[prompt].schema for prompt, *_ in requests]
    if getattr(judge, "seeded", False):
        more["seeds"] = [own for *_, own in requests]
    return judge.replies([prompt for prompt, *_ in requests], **more)


def _failures(judge: Any) -> Counter[str]:
    return Counter(getattr(judge, "failures", {}))


def _reasons(judge: Any, before: Counter[str]) -> str:
    """Return the most frequent reasons for missing replies, in brackets, for a message; "" if there are none."""
    most = (_failures(judge) - before).most_common(SHOWN)
    return f" ({', '.join(f'{reason}: {count:,}' for reason, count in most)})" if most else ""


def _check_failed(failed: int, of: int, max_failed: float, outcome: str, advice: str) -> None:
    if failed > max_failed * of:
        raise JudgingFailed(
            f"{outcome} At most {max_failed:.1%} may fail. {advice} (--max-failed, in Python max_failed)."
        )


@contextmanager
def _bar(judge: Any, name: str, total: int, unit: str, progress: bool) -> Iterator[Any]:
    """Show a progress bar, and at its end say what the replies cost."""
    try:
        with tqdm(total=total, desc=name, unit=unit, disable=not progress, delay=1) as bar:
            yield bar
    finally:
        if progress and (spent := getattr(judge, "spent", "")):
            tell(f"{name}: {one_line(spent)}")
