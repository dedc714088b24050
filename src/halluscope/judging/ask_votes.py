"""Asks voters about texts, and no more than is needed."""

import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import HalluscopeError, JudgingFailed
from halluscope.judging.ask import Asking, check_failed, reasons
from halluscope.judging.cache import Cache, text_keys
from halluscope.judging.judge import MAX_FAILED, PRESENT, Margins, Pairs, Schema, Voter
from halluscope.judging.questions import Question
from halluscope.judging.votes import FAILED, NO, OTHER, UNASKED, YES, count, undecided
from halluscope.sanitize import one_line, short_repr

EXPECTED = (
    "batches of row numbers of the pairs, one code for each (0 no, 1 yes, 2 neither), with or without one margin for "
    "each, and each pair exactly once; see `halluscope.judging.judge.Voter`"
)


def collect_votes(
    judges: Sequence[Voter],
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
    votes can no longer change precision or recall (see `votes.undecided`). A vote is `UNASKED` if it was not needed,
    and `OTHER` if no reply came. An empty text mentions nothing, so its votes are "no" without asking.
    """
    poll = _Poll(texts, questions, present, k, which=which, judges=len(judges))
    for number, judge in enumerate(judges):
        with closing(judge):
            _ask_judge(poll, number, judge, cache, progress, max_failed=max_failed)
    return poll.votes


def _ask_judge(
    poll: "_Poll", number: int, judge: Voter, cache: Cache | None, progress: bool, *, max_failed: float
) -> None:
    """Ask a judge, the poll's judge of this number, in as many rounds as are needed."""
    failures_before = judge.failures.copy()
    questions = 0
    failed = 0
    outcome = ""
    for templates in poll.rounds():
        cells = poll.open_cells()
        asking = poll.asking(judge, templates, cells, cache=cache, progress=progress)
        asking.run(poll.title(templates))
        questions += asking.pairs_in_all
        failed += asking.failed
        outcome = (
            f"{failed:,} of {questions:,} questions got no reply from {one_line(judge.key, 80)}"
            f"{reasons(judge.failures - failures_before)}."
        )
        advice = (
            "The votes received so far are kept if there is a cache. Fix the cause, and run again to ask the rest; or "
            "allow more failures"
        )
        check_failed(failed, questions, max_failed, outcome, advice)
        poll.take(number, templates, cells, asking.codes)
    if failed:
        warnings.warn(f"{outcome} They count as unreadable votes.", stacklevel=3)


class _Poll:
    """The votes of all judges on all cells, and which cells still need more."""

    def __init__(
        self,
        texts: Sequence[str],
        questions: Sequence[Sequence[Question]],
        present: NDArray[np.bool_],
        k: int,
        which: str,
        judges: int,
    ) -> None:
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        self.votes = np.full((*present.shape, judges * len(questions)), UNASKED, dtype=np.int8)
        self._texts = list(numbers)  # the texts that differ, each of which is asked about once
        self._text_of = np.array([numbers[text] for text in texts], dtype=np.int64)  # by image
        self._questions = questions
        self._present = present
        self._k = k
        self._which = which

    def rounds(self) -> list[list[int]]:
        """Return the numbers of the templates that are asked together, round by round."""
        templates = list(range(len(self._questions)))
        if self._which == "needed":
            return [[template] for template in templates]
        return [templates]

    def title(self, templates: Sequence[int]) -> str:
        """Return what a progress bar says of these templates, if there are others."""
        if len(templates) == len(self._questions):
            return ""
        return f", question {templates[0] + 1} of {len(self._questions)}"

    def open_cells(self) -> NDArray[np.bool_]:
        """Return the cells [images, classes] about which more votes are needed."""
        if self._which == PRESENT:
            return self._present
        if self._which == "needed":
            yes, no = count(self.votes)
            return undecided(yes, no, n=self.votes.shape[-1], k=self._k, present=self._present)
        return np.ones_like(self._present)

    def asking(
        self,
        judge: Voter,
        templates: Sequence[int],
        cells: NDArray[np.bool_],
        *,
        cache: Cache | None,
        progress: bool,
    ) -> "AskingVotes":
        """Return a round's requests to a judge about these cells; a text that images share is asked about once."""
        text_cells = np.zeros((len(self._texts), cells.shape[1]), dtype=bool)
        np.logical_or.at(text_cells, self._text_of, cells)
        questions: list[Question] = []
        for template in templates:
            questions += self._questions[template]
        pairs = np.tile(text_cells, len(templates))
        return AskingVotes(judge, self._texts, questions, pairs, cache=cache, progress=progress)

    def take(
        self, judge: int, templates: Sequence[int], cells: NDArray[np.bool_], codes: NDArray[np.int8]
    ) -> None:
        """Note a round's votes on these cells, codes [texts, questions]."""
        codes = np.where(codes == FAILED, OTHER, codes)
        for template, votes in zip(templates, np.split(codes, len(templates), axis=1), strict=True):
            voter = judge * len(self._questions) + template
            self.votes[:, :, voter] = np.where(cells, votes[self._text_of], UNASKED)


class AskingVotes(Asking[int]):
    """Questions about texts. A request is the number of a text: a judge gets all questions about a text together."""

    unit = "question"
    judge: Voter

    def __init__(
        self,
        judge: Voter,
        texts: Sequence[str],
        questions: Sequence[Question],
        pairs: NDArray[np.bool_],
        *,
        cache: Cache | None,
        progress: bool,
    ) -> None:
        """Ask nothing yet; `pairs` [texts, questions] says which questions about which texts are to be asked."""
        super().__init__(judge, cache if judge.stored else None, progress)
        self.codes = np.full(pairs.shape, UNASKED, dtype=np.int8)  # the votes [texts, questions]
        self.pairs_in_all = int(pairs.sum())  # how many pairs there are, in the cache or not
        self._texts = texts
        self._questions = questions
        self._pairs = pairs
        self._open = pairs  # the pairs whose votes were not in the cache at the start
        self._blank = np.array([not text.strip() for text in texts], dtype=bool)

    def start(self) -> list[int]:
        if self.cache:
            self.codes, _ = self.cache.votes(self.key, self._questions, self._texts)
        self.codes[self._blank] = NO
        self._open = self._pairs & (self.codes == UNASKED)
        self.total = int(self._open.sum())
        texts: list[int] = np.flatnonzero(self._open.any(axis=1)).tolist()
        return texts

    def schemas(self, requests: Sequence[int]) -> Sequence[Schema | None]:
        return ()

    def claim_keys(self, requests: Sequence[int]) -> list[bytes]:
        return text_keys(self.key, [self._texts[text] for text in requests], self._questions)

    def look_up(self, requests: Collection[int]) -> list[int]:
        texts = list(requests)
        is_open = self._open[texts] & (self.codes[texts] == UNASKED)
        if self.cache and texts:
            stored_codes, _ = self.cache.votes(
                self.key, self._questions, [self._texts[text] for text in texts]
            )
            has_come = is_open & (stored_codes != UNASKED)
            self.codes[texts] = np.where(has_come, stored_codes, self.codes[texts])
            self.count(int(has_come.sum()))
            is_open &= ~has_come
        return [text for text, is_text_open in zip(texts, is_open.any(axis=1), strict=True) if is_text_open]

    def ask(self, requests: Sequence[int]) -> None:
        is_request = np.zeros(len(self._texts), dtype=bool)
        is_request[requests] = True
        pairs = np.argwhere(self._open & (self.codes == UNASKED) & is_request[:, np.newaxis])
        for votes in checked_answers(self.judge, self._texts, self._questions, pairs):
            self._keep(pairs, votes)
            text, question = pairs[votes.rows].T
            self.codes[text, question] = votes.codes
            failed = int((votes.codes == FAILED).sum())
            self.count(len(votes.rows) - failed, failed)

    def _keep(self, pairs: Pairs, votes: "Votes") -> None:
        if self.cache is None or self.cache.is_read:
            return
        has_reply = votes.codes != FAILED
        self.cache.keep_votes(
            self.key,
            self._questions,
            self._texts,
            pairs[votes.rows[has_reply]],
            codes=votes.codes[has_reply],
            margins=votes.margins[has_reply],
        )


@dataclass(frozen=True)
class Votes:
    """A batch of votes."""

    rows: NDArray[np.int64]  # the numbers of the pairs that were asked
    codes: NDArray[np.int8]  # the vote on each, a code of `halluscope.judging.votes`
    margins: Margins  # the margin of each; NaN if it is unknown


def checked_answers(
    judge: Voter, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
) -> Iterator[Votes]:
    """Ask a judge, who may be the user's own, and check the votes."""
    name = one_line(judge.key, 80)
    is_open = np.ones(len(pairs), dtype=bool)
    try:
        for batch in judge.answer(texts, questions, pairs):
            votes = _read_batch(batch, is_open)
            if votes is None:
                raise JudgingFailed(f"The judge {name} answered {short_repr(batch)}; expected {EXPECTED}.")
            is_open[votes.rows] = False
            yield votes
    except HalluscopeError:
        raise
    except Exception as error:  # whatever a judge raises
        raise JudgingFailed(
            f"The judge {name} failed with {type(error).__name__}: {one_line(error, 400)}"
        ) from error
    if is_open.any():
        raise JudgingFailed(
            f"The judge {name} left {is_open.sum():,} of {len(pairs):,} questions without an answer; expected "
            f"{EXPECTED}."
        )


def _read_batch(batch: Any, is_open: NDArray[np.bool_]) -> Votes | None:
    """Return a batch of votes on open pairs; None if it is anything else."""
    try:
        if len(batch) not in (2, 3):
            return None
        rows = np.asarray(batch[0])
        codes = np.asarray(batch[1])
        margins = np.asarray(batch[2]) if len(batch) == 3 else np.full(len(rows), np.nan)
        if rows.ndim != 1 or not rows.shape == codes.shape == margins.shape:
            return None
        if len(rows) and not _are_votes(rows, codes, margins, is_open):
            return None
    except Exception:  # not a tuple, or its parts are not arrays, or a row is beyond the last
        return None
    return Votes(rows.astype(np.int64), codes.astype(np.int8), margins.astype(np.float64))


def _are_votes(
    rows: NDArray[Any], codes: NDArray[Any], margins: NDArray[Any], is_open: NDArray[np.bool_]
) -> bool:
    """Whether these are numbers of open pairs, each once, with codes of votes and finite or unknown margins."""
    if rows.dtype.kind not in "iu" or codes.dtype.kind not in "iub" or margins.dtype.kind != "f":
        return False
    if rows.min() < 0 or not is_open[rows].all() or len(np.unique(rows)) != len(rows):
        return False
    return bool(np.isin(codes, (NO, YES, OTHER, FAILED)).all()) and not np.isinf(margins).any()
