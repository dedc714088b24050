"""Draws the classes that an enumeration calls absent: those that often stand beside what is there (supplement, 5.2).

The paper's pseudocode, line by line; where it cannot run as it stands, the dataset's card says what it was taken to
mean. The order of its operations stays, so that the same numbers come out.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

NEGATIVES = 6
SHARPENED = 10

MOST = 2**32 - 1
"""The largest image id that `numpy.random.RandomState` takes as its seed; the least is 0."""

Kinds = Sequence[int] | NDArray[np.integer[Any]]
"""Places of classes among all, by category id."""


def together(images: Iterable[Kinds], classes: int) -> NDArray[np.float64]:
    """In how many images two classes are together [classes, classes]; the diagonal is 0.

    Args:
        images: what is in each, every class once.
        classes: how many there are.
    """
    co_occur = np.zeros((classes, classes))
    for present in map(_array, images):
        co_occur[np.ix_(present, present)] += 1
    np.fill_diagonal(co_occur, 0)
    return co_occur


def chances(co_occur: NDArray[np.float64], present: Kinds, never: Kinds | None = None) -> NDArray[np.float64]:
    """How likely each class is to be drawn first [classes]. They add up to 1, or are all 0 if no class can be drawn.

    Args:
        co_occur: what `together` gives.
        present: the classes whose company is asked for, each once. Where none is present, all have the same chance.
        never: the classes that must not be drawn; by default those present.
    """
    barred = _array(present if never is None else never)
    if len(present) == 0:
        even = np.ones(len(co_occur))
        even[barred] = 0
        return _shares(even)
    rows = co_occur[_array(present)].copy()
    rows[:, barred] = 0
    summed = _shares(_shares(rows).sum(axis=0))
    return _shares(summed**SHARPENED)


def draw(image_id: int, probabilities: NDArray[np.float64]) -> list[int]:
    """Draw the absent classes of an image, six or as many as can be drawn, in the order in which they are drawn."""
    size = min(NEGATIVES, int(np.count_nonzero(probabilities)))
    if not size:
        return []
    rng = np.random.RandomState(image_id)
    drawn: list[int] = rng.choice(len(probabilities), size=size, p=probabilities, replace=False).tolist()
    return drawn


def _shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values through their sum, row by row; a row of zeros stays one."""
    sums = values.sum(axis=-1, keepdims=True)
    shares: NDArray[np.float64] = np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)
    return shares


def _array(kinds: Kinds) -> NDArray[np.int64]:
    return np.asarray(kinds, dtype=np.int64)
