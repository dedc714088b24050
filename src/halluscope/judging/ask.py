"""Asks judges for votes and for replies: from the cache where it holds them, and of the rest no more than is needed.

A vote is found by the judge's key, the question and the text; a reply by the judge's key, the prompt, the number of its
repeat, and its seed. What comes is kept batch by batch. So a killed run continues where it stopped, a second run asks
nothing, and the order of texts and prompts does not matter. With a batch export, judges behind an endpoint are not
asked; the requests are written down instead.
"""

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from halluscope.errors import HalluscopeError, JudgeUnavailable, JudgingFailed
from halluscope.inputs import finite
from halluscope.judging import voting
from halluscope.judging.cache import Cache
from halluscope.judging.endpoint import EMPTY
from halluscope.judging.judge import Answered, AnsweredBy, ChatJudge, Judge, Pairs, is_greedy
from halluscope.judging.prompts import Asked
from halluscope.judging.questions import Question
from halluscope.judging.votes import FAILED, NO, OTHER, UNASKED, YES
from halluscope.sanitize import one_line, quoted, short_repr
from halluscope.terminal import tell

MAX_FAILED = 0.02  # The share of prompts that may get no reply, unless the user says otherwise

SHOWN = 3  # How many reasons, or unreadable replies, a message shows

ASK = ("needed", "all")

# Ask every question about the cells that are present, and about no others: for texts that are each asked about
# different classes
PRESENT = "present"

# How many prompts are asked first; if none of the replies to them can be read, the rest is not asked
FIRST = 50

# If this share may fail, everything is asked, because it may be chance that no first reply is readable
HALF = 0.5

STILL_TO_BE_ASKED = "still to be asked"  # The reason for a missing reply if requests are exported

EXPECTED = (
    "batches of row numbers of the pairs, one code for each (0 no, 1 yes, 2 neither), with or without one margin for "
    "each, and each pair exactly once; see `halluscope.judging.judge.Judge`"
)

Request = tuple[str, int, int]  # A prompt, the number of its repeat, and the seed of the reply

V = TypeVar("V")


def ask(
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
    `present` [images, classes]. "needed" asks the M questions one after the other, and no more about a cell once
    its votes can no longer change precision or recall, which gives the same scores (see `voting.undecided`); with a
    batch export, a cell waits for its vote before more is asked about it. A vote is `UNASKED` if it was not needed
    or is still to come, and `OTHER` if no reply came. An empty text mentions nothing, so its votes are "no" without
    asking.
    """
    number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    unique, row = list(number), np.array([number[text] for text in texts], dtype=np.int64)
    templates = len(questions)
    votes = np.full((*present.shape, len(judges) * templates), UNASKED, dtype=np.int8)
    waiting = np.zeros((len(unique), present.shape[1]), dtype=bool)
    rounds = [range(j, j + 1) for j in range(templates)] if which == "needed" else [range(templates)]
    for i, judge in enumerate(judges):
        with closing(judge):
            asked = _Votes(judge, unique, cache, max_failed, progress)
            for turn in rounds:
                wanted = _wanted(votes, present, k, which)
                of_text = np.zeros_like(waiting)
                np.logical_or.at(of_text, row, wanted)
                about = [question for j in turn for question in questions[j]]
                title = f", question {turn[0] + 1} of {templates}" if len(turn) < templates else ""
                open_cells, held_back = (np.tile(cells, len(turn)) for cells in (of_text, waiting))
                given = asked.put(about, open_cells, held_back, title)
                for j, part in zip(turn, np.split(given, len(turn), axis=1), strict=True):
                    votes[:, :, i * templates + j] = np.where(wanted, part[row], UNASKED)
                    waiting |= of_text & (part == UNASKED) & (which == "needed")
            asked.report()
    return votes


def collect(
    asked: Sequence[Asked[V]],
    judge: ChatJudge,
    *,
    repeats: int = 1,
    seed: int = 0,
    cache: Cache | None = None,
    max_failed: float = MAX_FAILED,
    progress: bool = False,
) -> list[list[V | None]]:
    """Ask each distinct prompt `repeats` times; return verdicts [repeats][prompts], None where one is missing.

    The first repeat's replies have the seed `seed`, and each further repeat the next one; a greedy judge has no seed.
    Equal prompts are read in the same way. If `max_failed` is less than `HALF`, and none of the first `FIRST` prompts
    has a readable reply, the others are not asked. The caller closes the judge.
    """
    check_max_failed(max_failed)
    seeds = [0 if is_greedy(judge) else seed + repeat for repeat in range(repeats)]
    replies = _Replies(asked, judge, cache, max_failed, progress)
    replies.put([(prompt, repeat, of) for repeat, of in enumerate(seeds) for prompt in replies.asked])
    replies.report()
    return [[replies.verdict((one.prompt, repeat, of)) for one in asked] for repeat, of in enumerate(seeds)]


def check_max_failed(value: Any) -> None:
    """Check the allowed share of failures."""
    finite("max_failed", value, 0, 1, "a share of the prompts, such as 0.02,")


def answers(
    judge: Judge, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
) -> Iterator[AnsweredBy]:
    """Ask a judge, who may be the user's own, and check the votes; margins are NaN if the judge gives none."""
    unasked = np.ones(len(pairs), dtype=bool)
    for batch in _batches(judge, texts, questions, pairs):
        rows, codes, margins = _checked(judge, batch, len(pairs))
        if len(np.unique(rows)) < len(rows) or not unasked[rows].all():
            raise _wrong(judge, "answered a question twice")
        unasked[rows] = False
        yield rows, codes, margins
    if unasked.any():
        raise _wrong(judge, f"left {unasked.sum():,} of {len(pairs):,} questions without an answer")


class _Judging:
    """A judge while it is asked: what failed since the beginning, its progress bar, and what its replies cost."""

    def __init__(
        self, judge: Judge | ChatJudge, cache: Cache | None, max_failed: float, progress: bool
    ) -> None:
        self.judge: Any = judge
        self.cache, self.max_failed, self.progress = cache, max_failed, progress
        self.before = self._counted()

    @property
    def reasons(self) -> str:
        """The most frequent reasons for missing replies, in brackets, for a message; "" if there are none."""
        most = (self._counted() - self.before).most_common(SHOWN)
        return f" ({', '.join(f'{reason}: {count:,}' for reason, count in most)})" if most else ""

    @contextmanager
    def bar(self, name: str, total: int, unit: str, hidden: bool = False) -> Iterator[Any]:
        """Show a progress bar, and at its end say what the replies cost."""
        hidden |= not self.progress
        try:
            with tqdm(total=total, desc=name, unit=unit, disable=hidden, delay=1) as bar:
                yield bar
        finally:
            if self.progress and (spent := getattr(self.judge, "spent", "")):
                tell(f"{name}: {one_line(spent)}")

    def check(self, failed: int, of: int, facts: str, advice: str) -> None:
        """Check that no more failed than may fail."""
        if failed > self.max_failed * of:
            raise JudgingFailed(
                f"{facts} At most {self.max_failed:.1%} may fail. {advice} (--max-failed, in Python max_failed)."
            )

    def _counted(self) -> Counter[str]:
        return Counter(getattr(self.judge, "failures", {}))


class _Votes(_Judging):
    """A judge who votes about texts."""

    def __init__(
        self,
        judge: Judge,
        texts: Sequence[str],
        cache: Cache | None,
        max_failed: float,
        progress: bool,
    ) -> None:
        super().__init__(judge, cache if judge.stored else None, max_failed, progress)
        self.texts = texts
        self.export = cache.export if cache and hasattr(judge, "probe_settings") else None
        self.wanted = self.failed = 0

    def put(
        self,
        questions: Sequence[Question],
        wanted: NDArray[np.bool_],
        waiting: NDArray[np.bool_],
        title: str,
    ) -> NDArray[np.int8]:
        """Return the votes about each text, [texts, questions]: `UNASKED` if not wanted, or waiting for another."""
        given = self._known(questions)
        if self.export:
            unknown = wanted & (given == UNASKED)
            self._write_down(questions, np.argwhere(unknown & ~waiting))
            if later := int((unknown & waiting).sum()):
                self.export.later[self.judge.key] += later
            return given
        if (wanted & (given == UNASKED) & ~waiting).any() and self._has_another_key():
            given = self._known(questions)
        pairs = np.argwhere(wanted & (given == UNASKED) & ~waiting)
        for rows, codes in self._new(questions, pairs, title) if len(pairs) else ():
            given[pairs[rows, 0], pairs[rows, 1]] = codes
        self.wanted += int(wanted.sum())
        advice = (
            "The votes received so far are kept if there is a cache. Fix the cause, and run again to ask the rest; or "
            "allow more failures"
        )
        self.check(self.failed, self.wanted, self._facts(), advice)
        return given

    def report(self) -> None:
        """Warn of questions that got no reply."""
        if self.failed:
            warnings.warn(f"{self._facts()} They count as unreadable votes.", stacklevel=3)

    def _new(self, questions: Sequence[Question], pairs: Pairs, title: str) -> Iterator[Answered]:
        """Ask, and keep the votes that come; count questions without a reply, and give them the vote `OTHER`."""
        name = one_line(self.judge.key.split("@")[0])
        with self.bar(f"{name}{title}", len(pairs), "question") as bar:
            for rows, codes, margins in answers(self.judge, self.texts, questions, pairs):
                came = codes != FAILED
                if self.cache:
                    votes = pairs[rows[came]], codes[came], margins[came]
                    self.cache.keep_votes(self.judge.key, questions, self.texts, *votes)
                self.failed += int((~came).sum())
                yield rows, np.where(came, codes, OTHER)
                bar.update(len(rows))

    def _write_down(self, questions: Sequence[Question], pairs: Pairs) -> None:
        """Export the requests, text by text."""
        if len(pairs) and not hasattr(self.judge, "body"):
            raise JudgeUnavailable(
                f"The judge {one_line(self.judge.key, 80)} is asked over HTTP, but not by chat requests, so it cannot "
                "use batch files. Let it vote first (`halluscope score` with this judge alone), or leave it out."
            )
        assert self.export
        for text, question in ((self.texts[i], questions[j]) for i, j in pairs.tolist()):
            self.export.put_vote(self.judge.key, text, question, self.judge.body(text, question))

    def _facts(self) -> str:
        return (
            f"{self.failed:,} of {self.wanted:,} questions got no reply from {one_line(self.judge.key, 80)}"
            f"{self.reasons}."
        )

    def _known(self, questions: Sequence[Question]) -> NDArray[np.int8]:
        """Return the votes that are known without asking: codes [texts, questions]."""
        if self.cache:
            votes, _ = self.cache.votes(self.judge.key, questions, self.texts)
        else:
            votes = np.full((len(self.texts), len(questions)), UNASKED, dtype=np.int8)
        votes[[not text.strip() for text in self.texts]] = NO
        return votes

    def _has_another_key(self) -> bool:
        """Let a judge with a server learn which settings it accepts; return whether the judge's key has changed."""
        before = self.judge.key
        getattr(self.judge, "probe_settings", lambda: None)()
        return bool(self.judge.key != before)


class _Replies(_Judging):
    """A judge who replies to prompts, and the replies so far."""

    def __init__(
        self,
        asked: Sequence[Asked[Any]],
        judge: ChatJudge,
        cache: Cache | None,
        max_failed: float,
        progress: bool,
    ) -> None:
        super().__init__(judge, cache, max_failed, progress)
        self.asked = {one.prompt: one for one in asked}
        self.export = cache.export if cache else None
        self.requests: Sequence[Request] = ()
        self.replies: dict[Request, str] = {}
        self.silent = 0  # how many requests got no reply

    def verdict(self, request: Request) -> Any:
        """Return the verdict in a reply; None if there is no reply, or it is unreadable."""
        reply = self.replies.get(request)
        return None if reply is None else self.asked[request[0]].read(reply)

    def put(self, requests: Sequence[Request]) -> None:
        """Find the replies in the cache, and ask for the rest; first for a few."""
        self.requests, key = requests, None
        while key != self.judge.key:  # a server that refuses a setting changes the key before a reply comes
            key = self.judge.key
            self.replies = self.cache.replies(key, requests) if self.cache else {}
            is_read = self.cache is not None and self.cache.is_read
            missing = [] if is_read else [one for one in requests if one not in self.replies]
            first = missing[: max(0, FIRST - len(self.replies))]
            rest = missing[len(first) :]
            arriving = [(part, self._ask(part)) for part in (first, rest) if part]
        hidden = self.export is not None  # an exported request has no reply, but has not failed
        with self.bar(one_line(self.judge.key), len(missing), "prompt", hidden) as bar:
            for part, coming in arriving:
                if part is rest and self.max_failed < HALF and not self.export:
                    self._check_first(len(rest))
                for number, reply in coming:
                    bar.update()
                    if not self._keep(part[number], reply):
                        self.silent += 1
                        bar.set_postfix(failed=self.silent)
        self.silent = len(requests) - len(self.replies)

    def report(self) -> None:
        """Warn of missing verdicts, or fail if there are too many."""
        unread, requests = self._unread(), len(self.requests)
        failed = self.silent + len(unread)
        if not failed:
            return
        again = (
            "Run again to ask for the missing replies (kept ones are not asked again); allow longer replies "
            "(--max-tokens, in Python max_tokens) if they were cut off; use"
        )
        facts = self._facts(requests, unread)
        advice = (
            f"{again if self.silent else 'Use'} a judge that follows instructions; or allow more failures"
        )
        self.check(failed, requests, facts, advice)
        warnings.warn(facts, stacklevel=3)

    def _ask(self, requests: Sequence[Request]) -> Iterator[tuple[int, str | None]]:
        """Return the replies, held to the schemas and drawn by the seeds if the judge can; exported, only None."""
        if self.export:
            return self._write_down(requests)
        more: dict[str, Any] = {}
        if getattr(self.judge, "structured", False):
            more["schemas"] = [self.asked[prompt].schema for prompt, _, _ in requests]
        if getattr(self.judge, "seeded", False):
            more["seeds"] = [seed for _, _, seed in requests]
        replies: Iterator[tuple[int, str | None]] = self.judge.replies([one[0] for one in requests], **more)
        return replies

    def _write_down(self, requests: Sequence[Request]) -> Iterator[tuple[int, None]]:
        assert self.export
        for number, (prompt, repeat, seed) in enumerate(requests):
            body = self.judge.body(prompt, self.asked[prompt].schema, seed)
            self.export.put_reply(self.judge.key, prompt, repeat, seed, self._may_be_empty(prompt), body)
            self.judge.failures[STILL_TO_BE_ASKED] += 1
            yield number, None

    def _keep(self, request: Request, reply: str | None) -> bool:
        """Keep a reply; return whether it is one."""
        if reply is None:
            return False
        if not (reply.strip() or is_greedy(self.judge) or self._may_be_empty(request[0])):
            self.judge.failures[EMPTY] += 1
            return False
        self.replies[request] = reply
        if self.cache:
            self.cache.keep_replies(self.judge.key, {request: reply})
        return True

    def _may_be_empty(self, prompt: str) -> bool:
        """Whether an empty reply has a verdict; if not, it counts as no reply, and is asked for again."""
        return self.asked[prompt].read("") is not None

    def _unread(self) -> list[str]:
        came = [request for request in self.requests if request in self.replies]
        return [self.replies[request] for request in came if self.verdict(request) is None]

    def _check_first(self, left: int) -> None:
        """Check that at least one of the first replies can be read, before the rest is asked."""
        unread = self._unread()
        if len(unread) < len(self.replies):
            return
        schema = next(iter(self.asked.values())).schema
        form = (
            f"JSON with {' and '.join(schema['properties'])}"
            if schema
            else "the form that the prompt asks for"
        )
        raise JudgingFailed(
            f"{self._facts(self.silent + len(unread), unread)} Expected {form}. The other {left:,} were not asked. Use "
            "a judge that follows instructions; allow longer replies (--max-tokens, in Python max_tokens) if they were "
            f"cut off; or ask the rest anyway with --max-failed {HALF:g} or more (in Python max_failed). Replies that "
            "came are kept if there is a cache."
        )

    def _facts(self, n: int, unread: Sequence[str]) -> str:
        shown = ", ".join(quoted(reply, 120) for reply in unread[:SHOWN])
        return (
            f"{self.silent + len(unread)} of {n} prompts have no readable verdict from {self.judge.key}: {self.silent} "
            f"without a reply{self.reasons}, {len(unread)} with a reply that says something else"
            f"{f' ({shown})' if shown else ''}."
        )


def _wanted(votes: NDArray[np.int8], present: NDArray[np.bool_], k: int, which: str) -> NDArray[np.bool_]:
    if which == "all":
        return np.ones(present.shape, dtype=bool)
    if which == PRESENT:
        return present
    return voting.undecided(*voting.count(votes), n=votes.shape[-1], k=k, present=present)


def _batches(judge: Judge, *asked: Any) -> Iterator[Any]:
    try:
        yield from judge.answer(*asked)
    except HalluscopeError:
        raise
    except Exception as error:  # whatever a judge raises
        raise JudgingFailed(
            f"The judge {one_line(judge.key, 80)} failed with {type(error).__name__}: {one_line(error, 400)}"
        ) from error


def _checked(judge: Judge, batch: Any, pairs: int) -> AnsweredBy:
    try:
        rows, codes, *more = (np.asarray(part) for part in batch)
    except Exception as error:  # not a tuple, or its parts are not arrays
        raise _wrong(judge, f"answered {short_repr(batch)}") from error
    shapes = {part.shape for part in (rows, codes, *more)}
    if rows.ndim != 1 or len(shapes) > 1 or len(more) > 1 or not _are_answers(rows, codes, more, pairs):
        raise _wrong(judge, f"answered {short_repr(batch)}")
    margins = more[0] if more else np.full(len(rows), np.nan)
    return rows.astype(np.int64), codes.astype(np.int8), margins.astype(np.float64)


def _are_answers(rows: Any, codes: Any, more: Sequence[Any], pairs: int) -> bool:
    if not len(rows):
        return True
    whole = rows.dtype.kind in "iu" and codes.dtype.kind in "iub"
    numbers = all(margins.dtype.kind == "f" and not np.isinf(margins).any() for margins in more)
    in_range = whole and 0 <= rows.min() <= rows.max() < pairs
    return in_range and bool(np.isin(codes, (NO, YES, OTHER, FAILED)).all()) and numbers


def _wrong(judge: Judge, what: str) -> JudgingFailed:
    return JudgingFailed(f"The judge {one_line(judge.key, 80)} {what}; expected {EXPECTED}.")
