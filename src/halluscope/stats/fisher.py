"""Tests by Fisher's exact test, one-sided, whether two properties occur together more often than by chance.

Source: Fisher (1934), Statistical Methods for Research Workers, section 21.02.
"""

from math import lgamma

import numpy as np
from numpy.typing import NDArray


def by_chance(both: int, one: int, other: int, total: int) -> float:
    """Return the probability that at least `both` of `total` items have both properties, if these are independent.

    `one` and `other` items have the first and the second property; the p value is the upper tail of the hypergeometric
    distribution.

    >>> round(by_chance(3, 3, 3, 6), 3)  # 1 of the 20 ways to take 3 of 6
    0.05
    """
    if not max(0, one + other - total) <= both <= min(one, other) <= max(one, other) <= total:
        raise ValueError(
            f"Of {total} items, {one} have one property, {other} the other and {both} both, which is impossible; "
            "expected counts that fit together."
        )
    many = np.arange(both, min(one, other) + 1)
    ways = _ways(other, many) + _ways(total - other, one - many) - _ways(total, np.array([one]))
    return min(1.0, float(np.exp(ways).sum()))


def _ways(total: int, taken: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the logarithm of the number of ways to take some items of all."""
    return np.array([lgamma(total + 1) - lgamma(one + 1) - lgamma(total - one + 1) for one in taken.tolist()])
