"""Asks the judges: each text once, kept votes first, and only the questions that can still change a score."""

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from halluscope.errors import JudgeUnavailable, JudgingFailed
from halluscope.judging.cache import Cache, Outbox
from halluscope.judging.failed import MAX_FAILED, reasons
from halluscope.judging.questions import Question
from halluscope.judging.voter import Answered, Judge, Pairs
from halluscope.judging.voters import voting
from halluscope.judging.voters.answered import answers
from halluscope.judging.votes import FAILED, NO, OTHER, UNASKED
from halluscope.sanitize import one_line
from halluscope.terminal import tell

ASK = ("needed", "all")

# Ask every question about the cells that are present, and about no others. This is for texts that are each
# asked about different classes.
PRESENT = "present"


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
    """Collect the votes of N judges on M questions about each class of each text."""
    number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    unique, row = list(number), np.array([number[text] for text in texts], dtype=np.int64)
    templates = len(questions)
    votes = np.full((*present.shape, len(judges) * templates), UNASKED, dtype=np.int8)
    waiting = np.zeros((len(unique), present.shape[1]), dtype=bool)
    rounds = [range(j, j + 1) for j in range(templates)] if which == "needed" else [range(templates)]
    for i, judge in enumerate(judges):
        with closing(judge):
            asked = _Asked(judge, unique, cache, max_failed, progress)
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


class _Asked:
    """Asks one judge about texts: finds kept votes, and keeps new ones."""

    def __init__(
        self,
        judge: Judge,
        texts: Sequence[str],
        cache: Cache | None,
        max_failed: float,
        progress: bool,
    ) -> None:
        self._judge, self._texts, self._max_failed, self._progress = judge, texts, max_failed, progress
        self._cache = cache if judge.stored else None
        self._outbox = cache.outbox if cache and hasattr(judge, "settle") else None
        self._before = self._failures()
        self._wanted = self._failed = 0

    def put(
        self,
        questions: Sequence[Question],
        wanted: NDArray[np.bool_],
        waiting: NDArray[np.bool_],
        title: str,
    ) -> NDArray[np.int8]:
        """Return the votes about each text that are known or have just been given: codes [texts, questions]."""
        # A vote that is neither is `UNASKED`
        given = self._recalled(questions)
        if self._outbox:
            unknown = wanted & (given == UNASKED)
            self._put_down(self._outbox, questions, np.argwhere(unknown & ~waiting))
            self._outbox.put_off(self._judge.key, int((unknown & waiting).sum()))
            return given
        if (wanted & (given == UNASKED) & ~waiting).any() and self._has_another_key():
            given = self._recalled(questions)
        pairs = np.argwhere(wanted & (given == UNASKED) & ~waiting)
        for rows, codes in self._answers(questions, pairs, title) if len(pairs) else ():
            given[pairs[rows, 0], pairs[rows, 1]] = codes
        self._wanted += int(wanted.sum())
        self._check()
        return given

    def report(self) -> None:
        """Warn of questions that got no reply."""
        if self._failed:
            warnings.warn(f"{self._facts()} They count as unreadable votes.", stacklevel=3)

    def _answers(self, questions: Sequence[Question], pairs: Pairs, title: str) -> Iterator[Answered]:
        """Ask, and keep the votes that come; count questions without a reply, and give them the vote `OTHER`."""
        name = one_line(self._judge.key.split("@")[0])
        hidden = not self._progress
        try:
            with tqdm(
                total=len(pairs), desc=f"{name}{title}", unit="question", disable=hidden, delay=1
            ) as bar:
                for rows, codes, margins in answers(self._judge, self._texts, questions, pairs):
                    came = codes != FAILED
                    if self._cache:
                        votes = pairs[rows[came]], codes[came], margins[came]
                        self._cache.keep_votes(self._judge.key, questions, self._texts, *votes)
                    self._failed += int((~came).sum())
                    yield rows, np.where(came, codes, OTHER)
                    bar.update(len(rows))
        finally:
            if self._progress and (spent := getattr(self._judge, "spent", "")):
                tell(f"{name}{title}: {one_line(spent)}")

    def _put_down(self, outbox: Outbox, questions: Sequence[Question], pairs: Pairs) -> None:
        """Put the requests in the outbox, text by text."""
        judge: Any = self._judge
        if len(pairs) and not hasattr(judge, "body"):
            raise JudgeUnavailable(
                f"The judge {one_line(judge.key, 80)} is asked over HTTP, but not by chat requests, so it cannot "
                "use batch files. Let it vote first (`halluscope score` with this judge alone), or leave it out."
            )
        for text, question in ((self._texts[i], questions[j]) for i, j in pairs.tolist()):
            outbox.put_vote(judge.key, text, question, judge.body(text, question))

    def _check(self) -> None:
        if self._failed > self._max_failed * self._wanted:
            raise JudgingFailed(
                f"{self._facts()} At most {self._max_failed:.1%} may fail. The votes received so far are kept if "
                "there is a cache. Fix the cause, and run again to ask the rest; or allow more failures (--max-failed, "
                "in Python max_failed)."
            )

    def _facts(self) -> str:
        why = reasons(self._failures() - self._before)
        return f"{self._failed:,} of {self._wanted:,} questions got no reply from {one_line(self._judge.key, 80)}{why}."

    def _recalled(self, questions: Sequence[Question]) -> NDArray[np.int8]:
        """Return the votes that are known without asking: codes [texts, questions]."""
        if self._cache:
            votes, _ = self._cache.votes(self._judge.key, questions, self._texts)
        else:
            votes = np.full((len(self._texts), len(questions)), UNASKED, dtype=np.int8)
        votes[[not text.strip() for text in self._texts]] = NO
        return votes

    def _has_another_key(self) -> bool:
        """Let a judge with a server learn which settings it accepts; return whether the judge's key has changed."""
        before = self._judge.key
        getattr(self._judge, "settle", lambda: None)()
        return self._judge.key != before

    def _failures(self) -> Counter[str]:
        return Counter(getattr(self._judge, "failures", {}))


def _wanted(votes: NDArray[np.int8], present: NDArray[np.bool_], k: int, which: str) -> NDArray[np.bool_]:
    if which == "all":
        return np.ones(present.shape, dtype=bool)
    if which == PRESENT:
        return present
    return voting.undecided(*voting.count(votes), n=votes.shape[-1], k=k, present=present)
