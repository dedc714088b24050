"""Draws the classes that an enumeration calls absent: those that often occur with what is present.

This is the pseudocode of THRONE's supplement, section 5.2, line by line, so it gives the same numbers; the dataset's
card says how the lines that cannot run as printed are understood.
"""

import numpy as np
from numpy.typing import NDArray

from halluscope.stats.ratios import Floats

NEGATIVES = 6
SHARPENED = 10

# The largest image id that `numpy.random.RandomState` takes as its seed; the smallest is 0
LARGEST_SEED = 2**32 - 1


def occurrences(present: NDArray[np.bool_]) -> Floats:
    """Return the number of images in which two classes occur together: [classes, classes]."""
    together = present.T.astype(float) @ present
    np.fill_diagonal(together, 0)
    return together


def chances(together: Floats, present: NDArray[np.bool_], never: NDArray[np.bool_]) -> Floats:
    """Return each class's chance of being drawn first [classes]; the sum is 1, or 0 if no class can be drawn.

    Args:
        together: the number of images in which two classes occur together: [classes, classes].
        present: the classes that the image has: [classes].
        never: the classes that must not be drawn: [classes].
    """
    if not present.any():
        return shares(np.where(never, 0.0, 1.0))
    rows = np.where(never, 0.0, together[present])
    likely = shares(rows).sum(axis=0)  # each class that is present has the same weight
    return shares(shares(likely) ** SHARPENED)


def draw(image_id: int, probabilities: Floats) -> list[int]:
    """Draw the absent classes of an image: six, or as many as possible, in the order of the draw."""
    size = min(NEGATIVES, int(np.count_nonzero(probabilities)))
    if size == 0:
        return []
    generator = np.random.RandomState(image_id)
    classes: list[int] = generator.choice(
        len(probabilities), size=size, p=probabilities, replace=False
    ).tolist()
    return classes


def shares(values: Floats) -> Floats:
    """Divide the values by their sum along the last axis; they stay 0 where it is 0."""
    sums = values.sum(axis=-1, keepdims=True)
    zeros = np.zeros_like(values)
    quotients: Floats = np.divide(values, sums, out=zeros, where=sums > 0)
    return quotients
