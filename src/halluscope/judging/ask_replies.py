"""Asks a chat judge for replies to prompts, and reads verdicts in them."""

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from halluscope.errors import JudgingFailed
from halluscope.judging.ask import SHOWN, Asking, check_failed, reasons
from halluscope.judging.cache import Cache, Request, reply_key
from halluscope.judging.endpoint import EMPTY
from halluscope.judging.judge import MAX_FAILED, ChatJudge, Schema
from halluscope.judging.prompts import Collected, PromptSpec, Refusal, said_of, without_thoughts
from halluscope.sanitize import one_line, quoted, short_repr

# How many prompts are asked first; if none of the replies to them can be read, the rest is not asked
FIRST = 50

# If this share may fail, everything is asked, because it may be chance that no first reply is readable
HALF = 0.5

EXPECTED = (
    "the number of a prompt, each at most once, and the reply to it as a text, or None if there is none; see "
    "`halluscope.judging.judge.ChatJudge`"
)

V = TypeVar("V")


def collect_verdicts(
    prompts: Sequence[PromptSpec[V]],
    judge: ChatJudge,
    *,
    repeats: int = 1,
    seed: int = 0,
    cache: Cache | None = None,
    max_failed: float = MAX_FAILED,
    progress: bool = False,
) -> Collected[V]:
    """Ask each distinct prompt `repeats` times; return its verdicts, and the replies without one.

    The first repeat's replies have the seed `seed`, and each further repeat the next one. A greedy judge has no seed,
    and is asked once. If `max_failed` is less than `HALF`, and none of the first `FIRST` prompts has a readable reply,
    the others are not asked. The caller closes the judge.
    """
    specs = {spec.prompt: spec for spec in prompts}
    draws = [(repeat, seed + repeat) for repeat in range(repeats)]
    if judge.greedy:
        draws = [(0, 0)]
    failures_before = judge.failures.copy()
    asking = AskingReplies(judge, specs, draws, max_failed, cache=cache, progress=progress)
    asking.run()
    reading = asking.read()
    if reading.missing:
        outcome = reading.outcome(asking.key, reasons(judge.failures - failures_before))
        advice = reading.advice(prompts[0].schema)
        check_failed(reading.missing, reading.total, max_failed, outcome, advice)
        warnings.warn(outcome, stacklevel=2)
    verdicts = []
    unread = []
    for repeat, drawn_by in draws:
        requests = [Request(spec.prompt, repeat, drawn_by) for spec in prompts]
        verdicts.append([reading.verdicts.get(request) for request in requests])
        unread.append([reading.unread.get(request, "") for request in requests])
    if judge.greedy:
        return Collected(verdicts * repeats, unread * repeats)
    return Collected(verdicts, unread)


class AskingReplies(Asking[Request]):
    """Prompts, each asked once for each of its draws."""

    unit = "prompt"
    judge: ChatJudge

    def __init__(
        self,
        judge: ChatJudge,
        specs: Mapping[str, PromptSpec[Any]],
        draws: Sequence[tuple[int, int]],
        max_failed: float,
        *,
        cache: Cache | None,
        progress: bool,
    ) -> None:
        super().__init__(judge, cache, progress)
        self.replies: dict[Request, str] = {}
        self._kept: Collection[Request] = ()  # those with a reply from before
        self._specs = specs
        self._requests: list[Request] = []
        self._max_failed = max_failed
        for repeat, seed in draws:
            self._requests += [Request(prompt, repeat, seed) for prompt in specs]

    def start(self) -> list[Request]:
        self.replies = {}
        if self.cache:
            self.replies = self.cache.replies(self.key, self._requests)
            self._kept = frozenset(self.replies)
            if self.cache.is_read:
                return []
        missing = [request for request in self._requests if request not in self.replies]
        self.total = len(missing)
        return missing

    def schemas(self, requests: Sequence[Request]) -> list[Schema | None]:
        return [self._specs[request.prompt].schema for request in requests]

    def claim_keys(self, requests: Sequence[Request]) -> list[bytes]:
        return [reply_key(self.key, request) for request in requests]

    def look_up(self, requests: Collection[Request]) -> list[Request]:
        if self.cache:
            arrived = self.cache.replies(self.key, requests)
            self.replies.update(arrived)
            self.count(len(arrived))
        return [request for request in requests if request not in self.replies]

    def ask(self, requests: Sequence[Request]) -> None:
        """Ask some first; give up if nothing can be read of them, and of what came before."""
        first = requests[: max(0, FIRST - len(self.replies))]
        rest = requests[len(first) :]
        self._ask(first)
        if rest and self._max_failed < HALF and not self._is_any_read():
            self.has_given_up = True
            return
        self._ask(rest)

    def _ask(self, requests: Sequence[Request]) -> None:
        if not requests:
            return
        prompts = [request.prompt for request in requests]
        seeds = [request.seed for request in requests]
        for index, reply in checked_replies(self.judge, prompts, self.schemas(requests), seeds):
            request = requests[index]
            if reply is None:
                self.count(0, failed=1)
            elif not self._counts(request, reply):
                self.judge.failures[EMPTY] += 1
                self.count(0, failed=1)
            else:
                self.replies[request] = reply
                if self.cache:
                    self.cache.keep_replies(self.key, {request: reply})
                self.count(1)

    def _counts(self, request: Request, reply: str) -> bool:
        """Whether a reply counts as one; an empty one does not, and is asked for again, unless it can be read."""
        if reply.strip() or self.judge.greedy:
            return True
        return self._verdict_in(request, reply) is not None

    def _is_any_read(self) -> bool:
        """Whether any reply so far can be read."""
        return any(self._verdict_in(request, reply) is not None for request, reply in self.replies.items())

    def _verdict_in(self, request: Request, reply: str) -> Any:
        """Return the verdict in a reply; None if it is unreadable."""
        return self._specs[request.prompt].verdict_in(reply)

    def read(self) -> "Reading":
        """Read the verdicts in all replies, in the order of the requests."""
        unasked = 0
        if self.has_given_up:
            unasked = self.total - self.came - self.failed
        reading = Reading(total=len(self._requests) - unasked, unasked=unasked)
        for request in self._requests:
            if request not in self.replies:
                continue
            reply = self.replies[request]
            verdict = self._verdict_in(request, reply)
            reading.verdicts[request] = verdict
            if verdict is None:
                reading.unread[request] = reply
                reading.refusals.append(self._specs[request.prompt].why_unread(reply))
                reading.unreadable_before += request in self._kept
        return reading


def checked_replies(
    judge: ChatJudge, prompts: Sequence[str], schemas: Sequence[Schema | None], seeds: Sequence[int]
) -> Iterator[tuple[int, str | None]]:
    """Ask a judge, who may be the user's own, and check each reply."""
    open_prompts = set(range(len(prompts)))
    for answer in judge.replies(prompts, schemas, seeds):
        if not _is_reply(answer, open_prompts):
            raise JudgingFailed(
                f"The judge {one_line(judge.key, 80)} answered {short_repr(answer)}; expected {EXPECTED}."
            )
        index, reply = answer
        open_prompts.remove(index)
        yield index, reply


def _is_reply(answer: Any, open_prompts: Collection[int]) -> bool:
    """Whether an answer is the number of an open prompt and the reply to it."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return False
    index, reply = answer
    is_open = isinstance(index, int | np.integer) and index in open_prompts
    return is_open and (reply is None or isinstance(reply, str))


@dataclass
class Reading:
    """What was read in a judge's replies."""

    total: int  # how many requests were asked, now or earlier
    unasked: int  # how many were not, because no reply could be read
    verdicts: dict[Request, Any] = field(default_factory=dict)  # of each reply; None if it is unreadable
    unread: dict[Request, str] = field(default_factory=dict)  # the unreadable replies
    refusals: list[Refusal | None] = field(default_factory=list)  # why each unreadable reply is one
    unreadable_before: int = 0  # how many unreadable replies were kept from before

    @property
    def silent(self) -> int:
        """How many requests got no reply."""
        return self.total - len(self.verdicts)

    @property
    def missing(self) -> int:
        """How many requests have no verdict."""
        return self.silent + len(self.unread)

    def outcome(self, judge: str, why_silent: str) -> str:
        """Say how many verdicts are missing, and why, for a message."""
        quotes = ", ".join(quoted(reply, 120) for reply in list(self.unread.values())[:SHOWN])
        if quotes:
            quotes = f" ({quotes})"
        return (
            f"{self.missing} of {self.total} prompts have no readable verdict from {judge}: {self.silent} without a "
            f"reply{why_silent}, {len(self.unread)} with a reply that says something else{quotes}."
            f"{said_of(self.refusals)}"
        )

    def advice(self, schema: Schema | None) -> str:
        """Say what to do about it, for a message; `schema` is that of a reply."""
        allow = "Allow"
        if self.silent:
            allow = "Run again to ask for the missing replies (kept ones are not asked again); allow"
        again = ""
        if self.unreadable_before:
            again = (
                f"{self.unreadable_before:,} unreadable replies were kept from before: if the judge is another one "
                "now, ask again (--fresh, in Python fresh). "
            )
        thoughts = ""
        if any(reply.strip() and not without_thoughts(reply) for reply in self.unread.values()):
            thoughts = "A thought that never ends holds no verdict: turn the model's thinking off. "
        form = "as the prompt asks"
        if schema:
            form = f"in JSON with {' and '.join(schema['properties'])}"
        last = "allow more failures"
        if self.unasked:
            last = f"ask the other {self.unasked:,} too, with {HALF:g} or more"
        return (
            f"{again}{thoughts}{allow} longer replies (--max-tokens, in Python max_tokens) if they were cut off; use a "
            f"judge that replies {form}; or {last}"
        )
