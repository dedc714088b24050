"""Computes ratios of counts (a part over a whole), their means, F, Wilson's interval, and kappa.

Undefined is NaN, never 0. Sources: THRONE, section 3.1, equation 3 (F); the averages are those that its section 3.1 and
POPE's section 5.1 use. Wilson (1927): the interval stays in [0, 1], and has a width even if all or none count.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def ratio(part: ArrayLike, whole: ArrayLike) -> Floats:
    """Return `part / whole`, NaN (undefined) where the whole is 0."""
    undefined = np.full(np.shape(whole), np.nan)
    quotient: Floats = np.divide(part, whole, out=undefined, where=np.not_equal(whole, 0))
    return quotient


def f_score(precision: Floats, recall: Floats, beta: float) -> Floats:
    """Return F of equation 3; NaN where precision or recall is undefined, or both are 0.

    >>> float(f_score(np.array(0.8), np.array(0.4), beta=0.5).round(3))
    0.667
    """
    return ratio((1 + beta**2) * precision * recall, beta**2 * precision + recall)


def f_of_means(precision: Floats, recall: Floats, beta: float) -> Floats:
    """Return F of averages: 0 where precision and recall are both 0 (nothing was right), NaN where one is undefined.

    >>> [float(f_of_means(np.array(p), np.array(0.0), 1.0)) for p in (0.0, np.nan)]
    [0.0, nan]
    """
    are_both_zero = (precision == 0) & (recall == 0)
    return np.where(are_both_zero, 0.0, f_score(precision, recall, beta))


def defined_mean(values: Floats) -> Floats:
    """Return the mean over the last axis of the defined values."""
    is_defined = ~np.isnan(values)
    total = np.where(is_defined, values, 0.0).sum(axis=-1)
    return np.asarray(ratio(total, is_defined.sum(axis=-1)))


def wilson(count: int, total: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval of the share `count` / `total`.

    >>> [round(end, 3) for end in wilson(0, 10)]
    [0.0, 0.278]
    """
    from statistics import NormalDist  # its import takes a while, and few scores need it

    z = NormalDist().inv_cdf((1 + level) / 2)
    low, high = wilson_of(count / total, total, z)
    # At the ends the formula is exact, but its rounding is not.
    if count == 0:
        low = 0.0
    if count == total:
        high = 1.0
    return low, high


def wilson_of(share: float, rows: float, z: float) -> tuple[float, float]:
    """Return the ends of Wilson's interval of a share of so many rows, z standard errors from it."""
    spread = z * z / rows
    middle = (share + spread / 2) / (1 + spread)
    variance = share * (1 - share)
    half = math.sqrt(variance * spread + spread * spread / 4) / (1 + spread)
    return middle - half, middle + half


def kappa(first: ArrayLike, second: ArrayLike) -> float:
    """Return Cohen's kappa of two judges' verdicts on the same things (Cohen 1960, equation 1); NaN where undefined.

    >>> kappa([1] * 25 + [0] * 25, [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15)
    0.4
    """
    values, numbers = np.unique([first, second], return_inverse=True)
    first_numbers, second_numbers = numbers.reshape(2, -1)
    first_counts = np.bincount(first_numbers, minlength=len(values))
    second_counts = np.bincount(second_numbers, minlength=len(values))
    total = len(first_numbers)
    same = int((first_numbers == second_numbers).sum())
    expected = int(first_counts @ second_counts)
    if expected == total * total:
        return math.nan
    return (total * same - expected) / (total * total - expected)
