"""The one loop in which judges are asked: only for what the cache lacks and no other process asks.

What comes is kept batch by batch, so a killed run continues, and a second run asks nothing. Of several processes on one
cache, one asks a request, and the others take its reply (`halluscope.judging.claims`). Votes and replies differ in what
a request is, and in how it is looked up, asked and kept: see `ask_votes` and `ask_replies`.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Generic, TypeVar

from tqdm import tqdm

from halluscope.errors import JudgingFailed
from halluscope.judging import pace
from halluscope.judging.cache import Cache
from halluscope.judging.claims import Claims, Unshared, turns
from halluscope.judging.judge import Judge, Schema
from halluscope.sanitize import one_line
from halluscope.terminal import tell

SHOWN = 3  # How many reasons, or unreadable replies, a message shows

SILENT_S = 10.0  # After so many seconds without an answer to the test prompt, a line says so

R = TypeVar("R")  # A request: a text to vote on, or a `Request` for a reply


class Asking(ABC, Generic[R]):
    """The requests to one judge, and what came of them."""

    unit: str  # what the progress bar counts

    def __init__(self, judge: Judge, cache: Cache | None, progress: bool) -> None:
        self.judge = judge
        self.cache = cache  # where replies are kept; None if they are not
        self.key = ""  # the judge's key, under which replies are found
        self.total = 0  # how much is to be asked, in `unit`
        self.came = 0  # how much of it came, from the judge or from another process
        self.failed = 0  # how much of it got no reply
        self.has_given_up = False  # whether the rest is not worth asking
        self._progress = progress
        self._bar: Any = None  # while `run` asks
        self._pace = pace.Pace(0)

    @abstractmethod
    def start(self) -> Sequence[R]:
        """Take what the cache holds under `key`, and nothing else; return what is to be asked, and set `total`."""

    @abstractmethod
    def schemas(self, requests: Sequence[R]) -> Sequence[Schema | None]:
        """Return the JSON schemas that the replies to these requests should have."""

    @abstractmethod
    def claim_keys(self, requests: Sequence[R]) -> list[bytes]:
        """Return what a claim on each of these requests is found by."""

    @abstractmethod
    def look_up(self, requests: Collection[R]) -> list[R]:
        """Take from the cache what has come to these requests since the start; return those that are still open."""

    @abstractmethod
    def ask(self, requests: Sequence[R]) -> None:
        """Ask the judge, and keep and `count` batch by batch; or give up."""

    def run(self, title: str = "") -> None:
        """Ask what is missing; return when it has come, from the judge or from another process."""
        missing = self._settle()
        if not missing:
            return
        self._pace = pace.Pace(self.total)
        claim_keys = dict(zip(missing, self.claim_keys(missing), strict=True))
        with self._showing(title), claims_on(self.cache) as claims:
            for requests in turns(claims, claim_keys, self.look_up):
                self.ask(requests)
                if self.has_given_up:
                    return

    def _settle(self) -> Sequence[R]:
        """Return what is missing under the key that the judge keeps.

        A server that refuses a setting changes the key. That comes out before anything is claimed, so that all
        processes claim under the same key.
        """
        while True:
            self.key = self.judge.key
            missing = self.start()
            if missing:
                with self._saying_if_silent():
                    self.judge.settle(self.schemas(missing))
            if self.judge.key == self.key:
                return missing

    @contextmanager
    def _saying_if_silent(self) -> Iterator[None]:
        """Say that a server is waited for, if it takes long to answer: no progress bar is shown yet."""
        name = one_line(self.key.split("@")[0])
        line = f"{name}: no answer to a test prompt yet; the server may be loading the model."
        timer = threading.Timer(SILENT_S, tell, [line])
        timer.daemon = True
        if self._progress:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def count(self, came: int, failed: int = 0) -> None:
        """Count what came, and what got no reply, and show it."""
        self.came += came
        self.failed += failed
        self._bar.update(came + failed)
        if failed:
            self._bar.set_postfix(failed=self.failed)
        self._tell_how_long(came + failed)

    def _tell_how_long(self, came: int) -> None:
        """Say once how long a model on this machine will take, if that is long."""
        if not self._progress or not self.judge.faster:
            return
        left = self._pace.seconds_left(came, time.monotonic())
        if left is None or left < pace.LONG_S:
            return
        line = (
            f"{one_line(self.key.split('@')[0])}: about {pace.in_words(left)} for {self.total:,} {self.unit}s on "
            f"this machine. What takes less time: {self.judge.faster}."
        )
        if self.cache:
            line += " Ctrl-C keeps what came, and the same command goes on."
        with tqdm.external_write_mode():
            tell(line)

    @contextmanager
    def _showing(self, title: str) -> Iterator[None]:
        """Show a progress bar, and at its end say what the replies cost."""
        name = f"{one_line(self.key.split('@')[0])}{title}"
        try:
            with tqdm(
                total=self.total, desc=name, unit=self.unit, disable=not self._progress, delay=1
            ) as self._bar:
                yield
        finally:
            if self._progress and self.judge.spent:
                tell(f"{name}: {one_line(self.judge.spent)}")


def claims_on(cache: Cache | None) -> AbstractContextManager[Claims]:
    """Let this process claim what it asks, if others can see the replies."""
    if cache is None:
        return nullcontext(Unshared())
    return cache.claiming()


def reasons(failures: Counter[str]) -> str:
    """Return the most frequent reasons for missing replies, in brackets, for a message; "" if there are none."""
    most_frequent = failures.most_common(SHOWN)
    if not most_frequent:
        return ""
    counted = ", ".join(f"{reason}: {count:,}" for reason, count in most_frequent)
    return f" ({counted})"


def check_failed(failed: int, total: int, max_failed: float, outcome: str, advice: str) -> None:
    """Check that no more than this share of all requests failed; the message gives the outcome, and then advice."""
    if failed > max_failed * total:
        raise JudgingFailed(
            f"{outcome} At most {max_failed:.1%} may fail. {advice} (--max-failed, in Python max_failed)."
        )
