"""Tests by Fisher's exact test, one-sided, whether two properties occur together more often than by chance.

Source: Fisher (1934), Statistical Methods for Research Workers, section 21.02.
"""

from math import lgamma

import numpy as np
from numpy.typing import NDArray


def by_chance(both: int, one: int, other: int, total: int) -> float:
    """Return the probability that at least `both` items have both properties, if the properties are independent.

    >>> round(by_chance(3, 3, 3, 6), 3)  # 1 of the 20 ways to take 3 of 6
    0.05

    Args:
        both: how many items have both properties.
        one: how many have the first.
        other: how many have the second.
        total: how many items there are.

    Returns:
        The p value, in [0, 1]: the upper tail of the hypergeometric distribution.

    Raises:
        ValueError: for impossible counts.
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
