"""Error rates over all rows, from samples that people reviewed by strata (THRONE, supplement, section 4.1 and Table 3).

Two methods agree on most responses. Those on which they disagree are reviewed more closely, and the strata's rates are
weighted by their shares of all responses.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from halluscope.stats.intervals import blocks_of, interval, leave_out, total_of
from halluscope.stats.ratios import Floats, wilson
from halluscope.stats.tallies import Bools, Ints, counts_of, score_sums


@dataclass(frozen=True)
class Stratum:
    """A part of all rows, of which a sample was reviewed."""

    rows: float  # how many rows there are, reviewed or not; their share of all rows is the stratum's weight
    judgements: int  # how many judgements were reviewed
    errors: int  # how many of the reviewed judgements were wrong


def error_rate(strata: Sequence[Stratum], level: float = 0.95) -> dict[str, float]:
    """Return the error rate over all rows, the sum of each stratum's rate times its share.

    The interval puts together the strata's Wilson intervals. It assumes that the judgements of a stratum are
    independent; if several are about one response, it is too narrow, and `clustered_error_rate` fits.
    """
    estimates = []
    for stratum in strata:
        rate = stratum.errors / stratum.judgements
        estimates.append((rate, *wilson(stratum.errors, stratum.judgements, level)))
    return put_together([stratum.rows for stratum in strata], estimates)


def put_together(sizes: Sequence[float], estimates: Sequence[tuple[float, float, float]]) -> dict[str, float]:
    """Return the mean of strata of these sizes, each with a rate and both ends of its interval.

    On each side the interval reaches the square root of the sum of the strata's squared, weighted half-widths (Zou and
    Donner, 2008).
    """
    value = 0.0
    squared_below = 0.0
    squared_above = 0.0
    for size, (rate, low, high) in zip(sizes, estimates, strict=True):
        weight = size / sum(sizes)
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


def clustered_error_rate(strata: Sequence[Clustered], level: float = 0.95) -> dict[str, float]:
    """Return the error rate as `error_rate` does, for judgements of a row that depend on each other.

    The strata's intervals leave out one row at a time, with all its judgements. A stratum without judgements makes the
    rate NaN.
    """
    estimates = []
    for stratum in strata:
        rate = share_by_cluster(stratum.errors, stratum.judgements, level)
        estimates.append((rate["value"], rate["low"], rate["high"]))
    return put_together([stratum.rows for stratum in strata], estimates)


def weighted_share(counts: Bools, weights: Floats, clusters: Ints, level: float) -> dict[str, float]:
    """Return which share of all things counts, by a sample of them: `value`, `low` and `high`.

    Args:
        counts: which things of the sample count: [things].
        weights: how many each of them stands for, 1 / the chance that it was drawn: [things].
        clusters: the number of what each depends on; the interval leaves out one at a time: [things].
        level: of the interval, in (0, 1).
    """
    _, cluster = np.unique(clusters, return_inverse=True)
    part = np.bincount(cluster, weights=weights * counts)
    whole = np.bincount(cluster, weights=weights)
    return share_by_cluster(part, whole, level)


def share_by_cluster(part: Ints | Floats, whole: Ints | Floats, level: float) -> dict[str, float]:
    """Return the share that parts are of wholes [clusters], with the interval that leaves out one cluster at a time;
    NaN without a whole.
    """
    if not whole.any():
        return dict.fromkeys(("value", "low", "high"), np.nan)
    counts = counts_of({"share": (part, whole)})
    left_out = leave_out(lambda sums: score_sums(sums, ["share"]), total_of(counts), blocks_of(counts))[
        "share"
    ]
    low, high = interval(left_out, level)
    return {"value": left_out.value, "low": low, "high": high}
