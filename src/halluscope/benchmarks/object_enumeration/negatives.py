"""Draws the classes that an enumeration calls absent: those that often occur with what is present (supplement, 5.2).

This is the paper's pseudocode, line by line; the dataset's card says how the lines that cannot run as printed are
understood. The order of operations is kept, so it gives the same numbers.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

NEGATIVES = 6
SHARPENED = 10

MOST = 2**32 - 1  # The largest image id that `numpy.random.RandomState` takes as its seed; the smallest is 0

# The indices of some classes, in a list of all classes by category id.
Kinds = Sequence[int] | NDArray[np.integer[Any]]


def together(images: Iterable[Kinds], classes: int) -> NDArray[np.float64]:
    """Count the images in which two classes occur together [classes, classes]; the diagonal is 0."""
    co_occur = np.zeros((classes, classes))
    for present in map(_array, images):
        co_occur[np.ix_(present, present)] += 1
    np.fill_diagonal(co_occur, 0)
    return co_occur


def chances(co_occur: NDArray[np.float64], present: Kinds, never: Kinds | None = None) -> NDArray[np.float64]:
    """Return each class's chance of being drawn first [classes]; the sum is 1, or 0 if no class can be drawn."""
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
    """Draw the absent classes of an image: six, or as many as possible, in the order of the draw."""
    size = min(NEGATIVES, int(np.count_nonzero(probabilities)))
    if not size:
        return []
    rng = np.random.RandomState(image_id)
    drawn: list[int] = rng.choice(len(probabilities), size=size, p=probabilities, replace=False).tolist()
    return drawn


def _shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = values.sum(axis=-1, keepdims=True)
    shares: NDArray[np.float64] = np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)
    return shares


def _array(kinds: Kinds) -> NDArray[np.int64]:
    return np.asarray(kinds, dtype=np.int64)
