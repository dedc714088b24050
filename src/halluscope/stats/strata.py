"""Error rates over all rows, from samples that people reviewed by strata (THRONE, supplement, section 4.1 and Table 3).

Two methods agree on most responses. Those on which they disagree are reviewed more closely, and the strata's rates are
weighted by their shares of all responses.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.ratios import Floats, ratio, wilson
from halluscope.stats.tallies import Ints
from halluscope.validation import LARGEST_SEED


@dataclass(frozen=True)
class Stratum:
    """A part of all rows, of which a sample was reviewed."""

    rows: float  # how many rows there are, reviewed or not; their share of all rows is the stratum's weight
    judgements: int  # how many judgements were reviewed
    errors: int  # how many of the reviewed judgements were wrong


def error_rate(strata: Sequence[Stratum], level: float = 0.95) -> dict[str, float]:
    """Return the error rate over all rows, the sum of each stratum's rate times its share.

    The interval combines the strata's Wilson intervals: on each side it reaches the square root of the sum of their
    squared, weighted half-widths (Zou and Donner, 2008). It assumes that the judgements of a stratum are independent;
    if several are about one response, it is too narrow, and `clustered_error_rate` fits.
    """
    total = sum(stratum.rows for stratum in strata)
    value = 0.0
    squared_below = 0.0
    squared_above = 0.0
    for stratum in strata:
        low, high = wilson(stratum.errors, stratum.judgements, level)
        weight = stratum.rows / total
        rate = stratum.errors / stratum.judgements
        value += weight * rate
        squared_below += (weight * (rate - low)) ** 2
        squared_above += (weight * (high - rate)) ** 2
    return {
        "value": value,
        "low": value - math.sqrt(squared_below),
        "high": value + math.sqrt(squared_above),
    }


def share_of_ones(
    marks: Sequence[float], strata: Mapping[str, Stratum], level: float = 0.95
) -> dict[str, float]:
    """Return the share of ones among the marks, or, if the sample was drawn by strata, its estimate for all rows."""
    if not strata:
        low, high = wilson(int(sum(marks)), len(marks), level)
        return {"value": sum(marks) / len(marks), "low": low, "high": high}
    rate = error_rate(list(strata.values()), level)
    return {"value": 1 - rate["value"], "low": 1 - rate["high"], "high": 1 - rate["low"]}


@dataclass(frozen=True)
class Clustered:
    """A part of all rows, of which a sample was reviewed; a row in the sample has any number of judgements, or none."""

    rows: float  # as in `Stratum`
    judgements: Ints  # how many judgements were reviewed, per row in the sample
    errors: Ints  # how many of the reviewed judgements were wrong, per row in the sample


def clustered_error_rate(strata: Sequence[Clustered], resampling: Bootstrap) -> dict[str, float]:
    """Return the error rate as `error_rate` does, for judgements of a row that depend on each other.

    Rows are drawn again with all their judgements. A stratum without errors has none in any resample, which makes the
    interval too narrow; a stratum without judgements makes the rate NaN.
    """
    total = sum(stratum.rows for stratum in strata)
    value = 0.0
    resampled = np.zeros(resampling.resamples)
    for index, stratum in enumerate(strata):
        weight = stratum.rows / total
        value += weight * float(ratio(stratum.errors.sum(), stratum.judgements.sum()))
        seed = (resampling.seed + index) % LARGEST_SEED
        resampled += weight * _resampled_rates(stratum, replace(resampling, seed=seed))
    low, high = resampling.interval(resampled)
    return {"value": value, "low": low, "high": high}


def _resampled_rates(stratum: Clustered, resampling: Bootstrap) -> Floats:
    sums = resampling.sums(np.stack([stratum.errors, stratum.judgements], axis=1))
    return ratio(sums[:, 0], sums[:, 1])
