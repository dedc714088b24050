"""Checks a judge's votes batch by batch, because a voter may be the user's own."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from halluscope.errors import HalluscopeError, JudgingFailed
from halluscope.judging.questions import Question
from halluscope.judging.voter import AnsweredBy, Judge, Pairs
from halluscope.judging.votes import FAILED, NO, OTHER, YES
from halluscope.sanitize import one_line, short_repr

EXPECTED = (
    "batches of row numbers of the pairs, one code for each (0 no, 1 yes, 2 neither), with or without one margin for "
    "each, and each pair exactly once; see `halluscope.judging.voter.Judge`"
)


def answers(
    judge: Judge, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
) -> Iterator[AnsweredBy]:
    """Ask a judge, and yield its votes as they come, with margins of NaN if the judge gives no margins."""
    unasked = np.ones(len(pairs), dtype=bool)
    for batch in _batches(judge, texts, questions, pairs):
        rows, codes, margins = _read(judge, batch, len(pairs))
        if len(np.unique(rows)) < len(rows) or not unasked[rows].all():
            raise _failed(judge, "answered a question twice")
        unasked[rows] = False
        yield rows, codes, margins
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


def _read(judge: Judge, batch: Any, pairs: int) -> AnsweredBy:
    """Return the row numbers, the codes and the margins of a batch."""
    try:
        rows, codes, *more = (np.asarray(part) for part in batch)
    except Exception as error:  # not a tuple, or its parts are not arrays
        raise _failed(judge, f"answered {short_repr(batch)}") from error
    shapes = {part.shape for part in (rows, codes, *more)}
    if rows.ndim != 1 or len(shapes) > 1 or len(more) > 1 or not _are_answers(rows, codes, more, pairs):
        raise _failed(judge, f"answered {short_repr(batch)}")
    margins = more[0] if more else np.full(len(rows), np.nan)
    return rows.astype(np.int64), codes.astype(np.int8), margins.astype(np.float64)


def _are_answers(rows: Any, codes: Any, more: Sequence[Any], pairs: int) -> bool:
    if not len(rows):
        return True
    whole = rows.dtype.kind in "iu" and codes.dtype.kind in "iub"
    numbers = all(margins.dtype.kind == "f" and not np.isinf(margins).any() for margins in more)
    in_range = whole and 0 <= rows.min() <= rows.max() < pairs
    return in_range and bool(np.isin(codes, (NO, YES, OTHER, FAILED)).all()) and numbers


def _failed(judge: Judge, what: str) -> JudgingFailed:
    return JudgingFailed(f"The judge {one_line(judge.key, 80)} {what}; expected {EXPECTED}.")
