"""Turns the votes of N judges x M questions into one label per cell, and finds cells that are worth asking about.

Source: THRONE, section 3.2 (the equation of the labels), with `k` of `n = N x M` votes required to agree.
A cell is one (image, class) pair.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halluscope import inputs
from halluscope.inputs import is_number
from halluscope.judging.votes import NO, UNASKED, YES
from halluscope.sanitize import short_repr

IGNORED = -1  # The label of a cell on which too few votes agree; such a cell is not counted

AGREEMENTS = ("unanimous", "majority")

Counts = NDArray[np.signedinteger[Any]]  # Numbers of votes [images, classes]

# Up to this many votes per cell are counted in 16 bits, which is several times as fast
FEW_VOTES = int(np.iinfo(np.int16).max)


def required(agreement: str | int, votes: int) -> int:
    """Return the number k of agreeing votes that `agreement` requires among `votes`.

    More than half must agree; otherwise a cell could be labelled yes and no at once.

    >>> required("unanimous", 9), required("majority", 9), required(8, 9)
    (9, 5, 8)
    """
    fewest = votes // 2 + 1
    if isinstance(agreement, str) and agreement in AGREEMENTS:
        return votes if agreement == "unanimous" else fewest
    if not isinstance(agreement, int | np.integer) or isinstance(agreement, bool):
        raise ValueError(
            f"agreement is {short_repr(agreement)}; expected {', '.join(map(repr, AGREEMENTS))} or a number."
        )
    if not fewest <= agreement <= votes:
        raise ValueError(
            f"agreement is {short_repr(agreement)}, but there are {votes} votes (judges x questions) per cell; "
            f"expected a number from {fewest} (more than half) to {votes} (unanimous)."
        )
    return int(agreement)


def check(votes: ArrayLike, images: int, classes: int) -> NDArray[np.bool_]:
    """Check given votes and return them as bool [images, classes, votes]."""
    array = inputs.array("votes", votes, "0/1 [images, classes, judges x questions]")
    if array.ndim != 3 or array.shape[:2] != (images, classes) or array.shape[2] == 0:
        raise ValueError(
            f"votes has the shape {array.shape}; expected ({images} images, {classes} classes, judges x questions), "
            "one row per response and one column per class, in the vocabulary's order."
        )
    if array.dtype != bool:
        valid = (array == 0) | (array == 1) if array.dtype.kind in "iuf" else _are_votes(array).astype(bool)
        if not valid.all():
            row, cls, vote = map(int, np.argwhere(~valid)[0])
            raise ValueError(
                f"votes[{row}, {cls}, {vote}] is {short_repr(array[row, cls, vote])}; expected 0 (no) or 1 (yes)."
            )
    return array.astype(bool)


def _is_vote(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (is_number(value) and value in (0, 1))


_are_votes = np.frompyfunc(_is_vote, 1, 1)


def count(answers: NDArray[np.int8]) -> tuple[Counts, Counts]:
    """Count yes votes and no votes in `answers` [images, classes, n]; a reply that is neither counts as a no vote."""
    yes, asked = _along_votes(answers == YES), answers != UNASKED
    return yes, (yes.dtype.type(answers.shape[-1]) if asked.all() else _along_votes(asked)) - yes


def label(yes: Counts, no: Counts, k: int) -> NDArray[np.int8]:
    """Return the label of each cell: 1 if k votes say yes, 0 if k say no, else `IGNORED` (THRONE, section 3.2).

    >>> label(np.array([9, 0, 8]), np.array([0, 9, 1]), k=9).tolist()
    [1, 0, -1]
    """
    return np.where(yes >= k, YES, np.where(no >= k, NO, IGNORED)).astype(np.int8)


def known(labels: NDArray[np.int8], present: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return labels that do not depend on whether everything or only the needed was asked (see `undecided`)."""
    # For an absent object only an agreed yes is certain, so an ignored cell becomes a no
    return np.where(~present & (labels == IGNORED), NO, labels).astype(np.int8)


def undecided(yes: Counts, no: Counts, n: int, k: int, present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the cells in which further votes can still change precision or recall.

    A present object's label matters in full (found, missed, or ignored). For an absent object it only matters whether
    it becomes an agreed yes: agreed no and ignored cells enter neither precision nor recall.
    """
    left = n - yes - no
    yes_open = (yes < k) & (yes + left >= k)
    no_open = (no < k) & (no + left >= k)
    return np.where(present, (yes < k) & (no < k) & (yes_open | no_open), yes_open)


def _along_votes(table: NDArray[np.bool_]) -> Counts:
    """Count along the last axis; einsum is several times as fast as sum where that axis is short."""
    kind = np.int16 if table.shape[-1] <= FEW_VOTES else np.int64
    images, classes, votes = table.shape
    cells = table.view(np.int8).reshape(images * classes, votes)
    counts: Counts = np.einsum("cv->c", cells, dtype=kind).reshape(images, classes)
    return counts
