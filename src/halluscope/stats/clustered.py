"""Computes the standard error of a mean over rows that depend on each other within clusters, such as images."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from halluscope.stats.tallies import numbers


def standard_error(values: ArrayLike, clusters: Sequence[Hashable]) -> float:
    """Return the standard error of the mean of values.

    It adds to the variance of independent rows the covariances of rows in the same cluster: Miller, "Adding Error Bars
    to Evals" (2024, arXiv:2411.00640), equation 4, as lmms-eval implements it.

    Args:
        values: [rows], one number per row.
        clusters: [rows], each row's cluster; rows of the same cluster depend on each other.

    Returns:
        At least 0, in the unit of the values; NaN for fewer than two clusters.

    >>> round(standard_error([1, 0, 1, 0], "abcd"), 4), round(standard_error([1, 1, 0, 0], "aabb"), 4)
    (0.2887, 0.3819)
    """
    given, cluster = np.asarray(values, dtype=float), numbers(clusters)
    rows = len(given)
    if rows == 0 or cluster.max() == 0:
        return float("nan")
    away = given - given.mean()
    together = np.bincount(cluster, weights=away)
    squares = away @ away
    independent = squares / (rows - 1) / rows
    return float(np.sqrt(max(0.0, independent + (together @ together - squares) / rows**2)))
