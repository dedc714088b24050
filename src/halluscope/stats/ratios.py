"""Computes ratios of counts (a part over a whole), their means, and F. Undefined values are NaN, never 0.

Sources: THRONE, section 3.1, equation 3 (F); the averages are those that its section 3.1 and POPE's section 5.1 use.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def ratio(part: Floats, whole: Floats) -> Floats:
    """Return `part / whole`, NaN (undefined) where the whole is 0."""
    undefined = np.full(np.shape(whole), np.nan)
    quotient: Floats = np.divide(part, whole, out=undefined, where=whole != 0)
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
    return np.where((precision == 0) & (recall == 0), 0.0, f_score(precision, recall, beta))


def defined_mean(values: Floats) -> Floats:
    """Return the mean over the last axis of the defined values."""
    defined = ~np.isnan(values)
    return np.asarray(ratio(np.where(defined, values, 0.0).sum(axis=-1), defined.sum(axis=-1)))


def weighted_mean(values: Floats, weights: Floats) -> Floats:
    """Return the mean of the defined values [rows] for each row of weights [resamples, rows]."""
    defined = ~np.isnan(values)
    return ratio(weights @ np.where(defined, values, 0.0), weights @ defined.astype(float))
