"""Computes the share of a reviewed sample that is valid, with Wilson's interval.

Source: HQM, equation 3 (content validity); Wilson (1927). The interval stays in [0, 1], and has a width even if all or
no samples are valid.
"""

import math
from statistics import NormalDist

from halluscope.inputs import share


def content_validity(valid: int, total: int, level: float = 0.95) -> dict[str, float]:
    """Return the content validity (equation 3), the share of the reviewed samples that are valid, with its interval."""
    low, high = wilson(valid, total, level)
    return {"value": valid / total, "low": low, "high": high}


def wilson(count: int, total: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval of the share `count` / `total`.

    >>> [round(end, 3) for end in wilson(0, 10)]
    [0.0, 0.278]
    """
    if total < 1 or not 0 <= count <= total:
        raise ValueError(
            f"The share is {count} of {total}; expected a total of at least 1, and a count up to it."
        )
    z = NormalDist().inv_cdf((1 + share("level", level)) / 2)
    part, spread = count / total, z * z / total
    middle = (part + spread / 2) / (1 + spread)
    half = math.sqrt(part * (1 - part) * spread + spread * spread / 4) / (1 + spread)
    # At the ends the formula is exact, but its rounding is not.
    return (0.0 if count == 0 else middle - half), (1.0 if count == total else middle + half)
