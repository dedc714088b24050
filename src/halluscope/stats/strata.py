"""How often a method errs, estimated from a reviewed sample of strata.

Source: THRONE, supplement, section 4.1 and Table 3: two methods agree on most responses; those on which they disagree
are reviewed more closely, and the error rates of the two strata are weighted by the strata's shares of all responses.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from halluscope.stats.bootstrap import LARGEST_SEED, Bootstrap
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Ints
from halluscope.stats.wilson import content_validity, wilson


@dataclass(frozen=True)
class Stratum:
    """A part of all rows, of which a sample was reviewed.

    Attributes:
        rows: how many there are of it, reviewed or not; its weight is its share of all.
        judgements: how many were reviewed.
        errors: how many of those were wrong.
    """

    rows: float
    judgements: int
    errors: int


def error_rate(strata: Sequence[Stratum], level: float = 0.95) -> dict[str, float]:
    """The error rate over all rows: the sum of each stratum's rate times its share.

    The interval joins the strata's Wilson intervals: on each side the square root of the sum of the squared, weighted
    distances to their ends (Zou and Donner, 2008). It takes the judgements of a stratum as independent; where several
    are about one response, it is too narrow: see `clustered_error_rate`.

    Args:
        strata: at least one, each with at least one judgement.
        level: of the interval, in (0, 1).

    Returns:
        "value", "low" and "high", fractions in [0, 1].

    Raises:
        ValueError: for no stratum, one without rows or judgements, or more errors than judgements.
    """
    total = sum(stratum.rows for stratum in strata)
    if not strata or any(stratum.rows <= 0 for stratum in strata):
        raise ValueError(
            f"The strata have {[stratum.rows for stratum in strata]} rows; expected some of each."
        )
    value = below = above = 0.0
    for stratum in strata:
        low, high = wilson(stratum.errors, stratum.judgements, level)
        weight, rate = stratum.rows / total, stratum.errors / stratum.judgements
        value += weight * rate
        below += (weight * (rate - low)) ** 2
        above += (weight * (high - rate)) ** 2
    return {"value": value, "low": value - math.sqrt(below), "high": value + math.sqrt(above)}


@dataclass(frozen=True)
class Clustered:
    """A part of all rows, of which a sample was reviewed, each with several judgements, or none.

    Attributes:
        rows: how many there are of it, reviewed or not; its weight is its share of all.
        judgements: how many were reviewed, of each row in the sample.
        errors: how many of those were wrong.
    """

    rows: float
    judgements: Ints
    errors: Ints


def clustered_error_rate(strata: Sequence[Clustered], resampling: Bootstrap) -> dict[str, float]:
    """The error rate as `error_rate` has it, where judgements of one row depend on each other.

    Args:
        strata: at least one, each with at least one row in its sample.
        resampling: how the interval is made: the rows of each stratum's sample are drawn again, with all that was
            judged of them. Of a stratum without an error, each resample is without one, and the interval too narrow.

    Returns:
        "value", "low" and "high", fractions in [0, 1]; NaN for a stratum without judgements.
    """
    most = max(len(stratum.judgements) for stratum in strata)
    drawn = (
        replace(resampling, seed=(resampling.seed + place) % LARGEST_SEED).weights(len(one.judgements), most)
        for place, one in enumerate(strata)
    )
    resamples: Iterator[Floats] = (_weighted(strata, weights) for weights in zip(*drawn, strict=True))
    low, high = resampling.interval(np.concatenate([[], *resamples]))
    value = _weighted(strata, [np.ones((1, len(one.judgements))) for one in strata])
    return {"value": float(value[0]), "low": low, "high": high}


def _weighted(strata: Sequence[Clustered], weights: Sequence[Floats]) -> Floats:
    """The error rates [resamples], of how often each row of each stratum's sample was drawn."""
    total = sum(stratum.rows for stratum in strata)
    rates = [
        one.rows / total * ratio(drawn @ one.errors, drawn @ one.judgements)
        for one, drawn in zip(strata, weights, strict=True)
    ]
    weighted: Floats = np.sum(rates, axis=0)
    return weighted


def share(marks: Sequence[float], strata: Mapping[str, Stratum], level: float = 0.95) -> dict[str, float]:
    """The share of ones among the marks; over all rows, if the sample was drawn by strata.

    Args:
        marks: 1 or 0 a reviewed row.
        strata: the same rows by stratum, in which a 0 is an error; empty if the sample has none.
        level: of the interval, in (0, 1).

    Returns:
        "value", "low" and "high", fractions in [0, 1]: with strata 1 less `error_rate`, else as `content_validity`.

    Raises:
        ValueError: for no mark, or as `error_rate`.
    """
    if not strata:
        return content_validity(int(sum(marks)), len(marks), level)
    rate = error_rate(list(strata.values()), level)
    return {"value": 1 - rate["value"], "low": 1 - rate["high"], "high": 1 - rate["low"]}
