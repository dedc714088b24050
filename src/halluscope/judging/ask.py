"""Asks judges for votes and for replies: from the cache where it holds them, and of the rest no more than is needed.

A vote is found by the judge's key, the question and the text; a reply by the judge's key, the prompt, the number of its
repeat, and its seed. What comes is kept batch by batch. So a killed run continues where it stopped, a second run asks
nothing, and the order of texts and prompts does not matter. With a batch export, judges behind an endpoint are not
asked; the requests are written down instead.
"""

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from halluscope.errors import HalluscopeError, JudgeUnavailable, JudgingFailed
from halluscope.inputs import finite
from halluscope.judging import votes as voting
from halluscope.judging.batch import Reply, Vote
from halluscope.judging.cache import Cache, sha256
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
from halluscope.judging.prompts import Asked
from halluscope.judging.questions import Question
from halluscope.judging.votes import FAILED, NO, OTHER, UNASKED, YES
from halluscope.sanitize import one_line, quoted, short_repr
from halluscope.terminal import tell

SHOWN = 3  # How many reasons, or unreadable replies, a message shows

# How many prompts are asked first; if none of the replies to them can be read, the rest is not asked
FIRST = 50

# If this share may fail, everything is asked, because it may be chance that no first reply is readable
HALF = 0.5

STILL_TO_BE_ASKED = "still to be asked"  # The reason for a missing reply if requests are exported

EXPECTED = (
    "batches of row numbers of the pairs, one code for each (0 no, 1 yes, 2 neither), with or without one margin for "
    "each, and each pair exactly once; see `halluscope.judging.judge.Judge`"
)

_KINDS = re.compile("[iu][iub]f")  # numpy's kinds of row numbers, codes and margins

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
            asked = _Votes(judge, cache, max_failed, progress, unique)
            for turn in rounds:
                wanted = present if which == PRESENT else np.ones(present.shape, dtype=bool)
                if which == "needed":
                    yes, no = voting.count(votes)
                    wanted = voting.undecided(yes, no, n=votes.shape[-1], k=k, present=present)
                of_text = np.zeros_like(waiting)
                np.logical_or.at(of_text, row, wanted)
                about = [question for j in turn for question in questions[j]]
                title = f", question {turn[0] + 1} of {templates}" if len(turn) < templates else ""
                open_cells, held_back = (np.tile(cells, len(turn)) for cells in (of_text, waiting))
                given = asked.put(about, open_cells, held_back, title)
                for j, part in zip(turn, np.split(given, len(turn), axis=1), strict=True):
                    votes[:, :, i * templates + j] = np.where(wanted, part[row], UNASKED)
                    waiting |= of_text & (part == UNASKED) & (which == "needed")
            if asked.failed:
                warnings.warn(f"{asked.facts} They count as unreadable votes.", stacklevel=2)
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
    finite("max_failed", max_failed, 0, 1, "a share of the prompts, such as 0.02,")
    seeds = [0 if is_greedy(judge) else seed + repeat for repeat in range(repeats)]
    replies = _Replies(judge, cache, max_failed, progress, {one.prompt: one for one in asked})
    replies.put([(prompt, repeat, of) for repeat, of in enumerate(seeds) for prompt in replies.asked])
    return [[replies.verdict((one.prompt, repeat, of)) for one in asked] for repeat, of in enumerate(seeds)]


def answers(
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
                    kinds = f"{rows.dtype.kind}{codes.dtype.kind}{margins.dtype.kind}"
                    good = bool(_KINDS.fullmatch(kinds)) and 0 <= rows.min() <= rows.max() < len(pairs)
                    good &= bool(
                        np.isin(codes, (NO, YES, OTHER, FAILED)).all() and not np.isinf(margins).any()
                    )
                    good &= len(np.unique(rows)) == len(rows) and bool(unasked[rows].all())
            except Exception:  # not a tuple, or its parts are not arrays
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


@dataclass
class _Judging:
    """A judge while it is asked: what failed since the beginning, its progress bar, and what its replies cost."""

    judge: Any  # a `Judge` or a `ChatJudge`
    cache: Cache | None
    max_failed: float
    progress: bool

    def __post_init__(self) -> None:
        self.before = Counter(getattr(self.judge, "failures", {}))

    @property
    def reasons(self) -> str:
        """The most frequent reasons for missing replies, in brackets, for a message; "" if there are none."""
        most = (Counter(getattr(self.judge, "failures", {})) - self.before).most_common(SHOWN)
        return f" ({', '.join(f'{reason}: {count:,}' for reason, count in most)})" if most else ""

    @contextmanager
    def bar(self, name: str, total: int, unit: str) -> Iterator[Any]:
        """Show a progress bar, and at its end say what the replies cost."""
        try:
            with tqdm(total=total, desc=name, unit=unit, disable=not self.progress, delay=1) as bar:
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


@dataclass
class _Votes(_Judging):
    """A judge who votes about texts."""

    texts: Sequence[str]
    wanted: int = 0
    failed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.export = self.cache.export if self.cache and hasattr(self.judge, "probe_settings") else None
        self.cache = self.cache if self.judge.stored else None

    @property
    def facts(self) -> str:
        """How many questions got no reply, and why."""
        judge = one_line(self.judge.key, 80)
        return f"{self.failed:,} of {self.wanted:,} questions got no reply from {judge}{self.reasons}."

    def put(
        self,
        questions: Sequence[Question],
        wanted: NDArray[np.bool_],
        waiting: NDArray[np.bool_],
        title: str,
    ) -> NDArray[np.int8]:
        """Return the votes about each text, [texts, questions]: `UNASKED` if not wanted, or waiting for another."""
        given = self._known(questions)
        pairs = np.argwhere(wanted & (given == UNASKED) & ~waiting)
        if self.export:
            if later := int((wanted & (given == UNASKED) & waiting).sum()):
                self.export.later[self.judge.key] += later
            if len(pairs) and not hasattr(self.judge, "body"):
                raise JudgeUnavailable(
                    f"The judge {one_line(self.judge.key, 80)} is asked over HTTP, but not by chat requests, so it "
                    "cannot use batch files. Let it vote first (`halluscope score` with this judge alone), or leave it "
                    "out."
                )
            for i, j in pairs.tolist():
                text, question = self.texts[i], questions[j]
                vote = Vote(self.judge.key, question.frame, question.text, sha256(text).hex())
                self.export.add(vote, self.judge.body(text, question))
            return given
        if len(pairs) and hasattr(self.judge, "probe_settings"):
            key = self.judge.key
            self.judge.probe_settings()
            if key != self.judge.key:  # the server refuses a setting
                given = self._known(questions)
                pairs = np.argwhere(wanted & (given == UNASKED) & ~waiting)
        if len(pairs):
            # keep the votes that come; a question without a reply has the vote `OTHER`
            with self.bar(f"{one_line(self.judge.key.split('@')[0])}{title}", len(pairs), "question") as bar:
                for rows, codes, margins in answers(self.judge, self.texts, questions, pairs):
                    came = codes != FAILED
                    if self.cache:
                        votes = pairs[rows[came]], codes[came], margins[came]
                        self.cache.keep_votes(self.judge.key, questions, self.texts, *votes)
                    self.failed += int((~came).sum())
                    given[tuple(pairs[rows].T)] = np.where(came, codes, OTHER)
                    bar.update(len(rows))
        self.wanted += int(wanted.sum())
        advice = (
            "The votes received so far are kept if there is a cache. Fix the cause, and run again to ask the rest; or "
            "allow more failures"
        )
        self.check(self.failed, self.wanted, self.facts, advice)
        return given

    def _known(self, questions: Sequence[Question]) -> NDArray[np.int8]:
        """Return the votes that are known without asking: codes [texts, questions]."""
        if self.cache:
            votes, _ = self.cache.votes(self.judge.key, questions, self.texts)
        else:
            votes = np.full((len(self.texts), len(questions)), UNASKED, dtype=np.int8)
        votes[[not text.strip() for text in self.texts]] = NO
        return votes


@dataclass
class _Replies(_Judging):
    """A judge who replies to prompts, and the replies so far."""

    asked: dict[str, Asked[Any]]
    requests: Sequence[Request] = ()
    replies: dict[Request, str] = field(default_factory=dict)

    def verdict(self, request: Request) -> Any:
        """Return the verdict in a reply; None if there is no reply, or it is unreadable."""
        reply = self.replies.get(request)
        return None if reply is None else self.asked[request[0]].read(reply)

    def put(self, requests: Sequence[Request]) -> None:
        """Find the replies in the cache, ask for the rest, first for a few, and warn of missing verdicts."""
        self.requests, key, cache = requests, None, self.cache
        export = cache.export if cache else None
        while key != self.judge.key:  # a server that refuses a setting changes the key before a reply comes
            key = self.judge.key
            self.replies = cache.replies(key, requests) if cache else {}
            missing = [] if cache and cache.is_read else [one for one in requests if one not in self.replies]
            first = missing[: max(0, FIRST - len(self.replies))]
            rest = missing[len(first) :]
            arriving = [(part, self._ask(part)) for part in (first, rest) if part and not export]
        if export:
            for prompt, repeat, seed in missing:
                empty = self._may_be_empty(prompt)
                wanted = Reply(key, sha256(prompt).hex(), repeat, seed, export.fresh, empty)
                export.add(wanted, self.judge.body(prompt, self.asked[prompt].schema, seed))
                self.judge.failures[STILL_TO_BE_ASKED] += 1
            missing = []
        silent = 0
        with self.bar(one_line(key), len(missing), "prompt") as bar:
            for part, coming in arriving:
                if part is rest and self.max_failed < HALF:
                    self._check_first(silent, len(rest))
                for number, reply in coming:
                    bar.update()
                    if not self._keep(part[number], reply):
                        silent += 1
                        bar.set_postfix(failed=silent)
        silent = len(requests) - len(self.replies)
        unread = self._unread()
        if not silent + len(unread):
            return
        again = (
            "Run again to ask for the missing replies (kept ones are not asked again); allow longer replies "
            "(--max-tokens, in Python max_tokens) if they were cut off; use"
        )
        advice = f"{again if silent else 'Use'} a judge that follows instructions; or allow more failures"
        facts = self._facts(len(requests), silent, unread)
        self.check(silent + len(unread), len(requests), facts, advice)
        warnings.warn(facts, stacklevel=3)

    def _ask(self, requests: Sequence[Request]) -> Iterator[tuple[int, str | None]]:
        """Return the replies, held to the schemas and drawn by the seeds if the judge can."""
        more: dict[str, Any] = {}
        if getattr(self.judge, "structured", False):
            more["schemas"] = [self.asked[prompt].schema for prompt, _, _ in requests]
        if getattr(self.judge, "seeded", False):
            more["seeds"] = [seed for _, _, seed in requests]
        replies: Iterator[tuple[int, str | None]] = self.judge.replies([one[0] for one in requests], **more)
        return replies

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
        came = (request for request in self.requests if request in self.replies)
        return [self.replies[request] for request in came if self.verdict(request) is None]

    def _check_first(self, silent: int, left: int) -> None:
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
            f"{self._facts(silent + len(unread), silent, unread)} Expected {form}. The other {left:,} were not asked. "
            "Use a judge that follows instructions; allow longer replies (--max-tokens, in Python max_tokens) if they "
            f"were cut off; or ask the rest anyway with --max-failed {HALF:g} or more (in Python max_failed). Replies "
            "that came are kept if there is a cache."
        )

    def _facts(self, of: int, silent: int, unread: Sequence[str]) -> str:
        shown = ", ".join(quoted(reply, 120) for reply in unread[:SHOWN])
        return (
            f"{silent + len(unread)} of {of} prompts have no readable verdict from {self.judge.key}: {silent} without "
            f"a reply{self.reasons}, {len(unread)} with a reply that says something else"
            f"{f' ({shown})' if shown else ''}."
        )
