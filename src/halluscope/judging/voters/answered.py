"""What a judge answers, checked batch by batch, for a voter may be the user's own."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from halluscope.errors import HalluscopeError, JudgingFailed
from halluscope.foreign import brief, one_line
from halluscope.judging.questions import Question
from halluscope.judging.voter import Answered, Judge, Pairs
from halluscope.judging.votes import NO, OTHER

EXPECTED = (
    "batches of row numbers of the pairs and as many codes, 0 (no), 1 (yes) or 2 (neither), and each pair once; see "
    "`halluscope.judging.voter.Judge`"
)


def answers(
    judge: Judge, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
) -> Iterator[Answered]:
    """Ask a judge, and give on its answers as they come.

    Raises:
        JudgingFailed: if it fails, or answers otherwise than `halluscope.judging.voter.Judge` says.
    """
    unasked = np.ones(len(pairs), dtype=bool)
    for batch in _batches(judge, texts, questions, pairs):
        rows, codes = _read(judge, batch, len(pairs))
        if len(np.unique(rows)) < len(rows) or not unasked[rows].all():
            raise _failed(judge, "answered a question twice")
        unasked[rows] = False
        yield rows, codes
    if unasked.any():
        raise _failed(judge, f"left {unasked.sum():,} of {len(pairs):,} questions without an answer")


def _batches(judge: Judge, *asked: Any) -> Iterator[Any]:
    try:
        yield from judge.answer(*asked)
    except HalluscopeError:
        raise
    except Exception as error:  # whatever a judge raises
        raise JudgingFailed(
            f"The judge {one_line(judge.key, 80)} failed with {type(error).__name__}: {one_line(error, 400)}"
        ) from error


def _read(judge: Judge, batch: Any, pairs: int) -> Answered:
    """The row numbers and the codes of a batch."""
    try:
        rows, codes = (np.asarray(part) for part in batch)
    except Exception as error:  # no pair, or of things that make no array
        raise _failed(judge, f"answered {brief(batch)}") from error
    if rows.ndim != 1 or rows.shape != codes.shape or (len(rows) and not _are_answers(rows, codes, pairs)):
        raise _failed(judge, f"answered {brief(batch)}")
    return rows.astype(np.int64), codes.astype(np.int8)


def _are_answers(rows: Any, codes: Any, pairs: int) -> bool:
    whole = rows.dtype.kind in "iu" and codes.dtype.kind in "iub"
    return whole and 0 <= rows.min() <= rows.max() < pairs and NO <= codes.min() <= codes.max() <= OTHER


def _failed(judge: Judge, what: str) -> JudgingFailed:
    return JudgingFailed(f"The judge {one_line(judge.key, 80)} {what}; expected {EXPECTED}.")
