"""Two models on the same rows: the difference of a score, its interval and p value, and Holm's correction for many.

Both are scored on the same resamples, so that what is hard for both moves the difference little.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halluscope.stats.bootstrap import Bootstrap, parts
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Tally

ROUNDING = 1e-12
"""Differences that are so near to each other are the same one."""


@dataclass(frozen=True)
class Difference:
    """By how much one score is larger than another.

    Attributes:
        value: the first less the second; NaN if one of them is undefined.
        low: where its percentile interval begins; NaN for a single cluster.
        high: where it ends.
        p: the p value of no difference, two-sided: the smallest share outside of an interval that holds 0; never below
            2 / (resamples + 1), nor below 2 / 2^clusters, the chance that all clusters favour one of two models
            that are alike.
    """

    value: float
    low: float
    high: float
    p: float


def difference(
    one: float, other: float, ones: Floats, others: Floats, clusters: int, level: float = 0.95
) -> Difference:
    """Compare a score of two models.

    Args:
        one: the first model's score.
        other: the second's.
        ones: the first's [resamples].
        others: the second's on the same resamples; where either is undefined, the resample is left out.
        clusters: the number of clusters that are resampled, such as images.
        level: of the interval, in (0, 1).
    """
    moved = ones - others
    moved = moved[~np.isnan(moved)]
    value = float(one - other)
    if np.isnan(value) or not len(moved):
        return Difference(np.nan, np.nan, np.nan, np.nan)
    low, high = Bootstrap(level=level).interval(moved) if clusters > 1 else (np.nan, np.nan)
    least = min(int((moved <= 0).sum()), int((moved >= 0).sum()))
    p = 2 * (least + 1) / (len(moved) + 1)
    return Difference(value, low, high, min(1.0, max(p, 2.0 ** (1 - clusters))))


def by_swapping(one: Tally, other: Tally, resampling: Bootstrap) -> dict[str, float]:
    """The p value of no difference of each score, two-sided, where few clusters count: also for a single one.

    If the models are alike, each cluster could as well be the other's. So each resample swaps the clusters of half by
    chance; the p value is the share of these whose difference is as large (undefined ones among them).

    Args:
        one: the first model's counts.
        other: the second's, of the same clusters and scores.
        resampling: how often they are swapped, and by which seed.
    """
    if not one:
        return {}
    first, second = (
        np.stack([counts for score in one for counts in of[score]], axis=1) for of in (one, other)
    )
    moved = (second - first).astype(float)
    draws, reached = np.random.default_rng(resampling.seed), np.zeros(len(one))
    known = np.abs(_difference(first.sum(axis=0), second.sum(axis=0))) - ROUNDING
    for part in parts(resampling.resamples, max(moved.shape)):
        swapped = draws.integers(2, size=(part, len(moved))) @ moved
        found = _difference(first.sum(axis=0) + swapped, second.sum(axis=0) - swapped)
        reached += (~(np.abs(found) < known)).sum(axis=0)
    p = np.where(np.isnan(known), np.nan, (reached + 1) / (resampling.resamples + 1))
    return dict(zip(one, p.tolist(), strict=True))


def can_differ(one: Tally, other: Tally, by_chance: float) -> list[str]:
    """The scores of both in which so many clusters differ that swapping them all one way is rarer than `by_chance`."""
    return [
        score
        for score in one
        if score in other
        and 2.0 ** (1 - (np.stack(one[score]) != np.stack(other[score])).any(axis=0).sum()) < by_chance
    ]


def _difference(one: Floats, other: Floats) -> Floats:
    """Of totals [..., 2 per score], a part and a whole each."""
    found: Floats = ratio(one[..., ::2], one[..., 1::2]) - ratio(other[..., ::2], other[..., 1::2])
    return found


def holm(p: Sequence[float]) -> list[float]:
    """P values corrected for their number (Holm, 1979); an undefined one does not count.

    If those below 0.05 are called differences, the chance that any of them is none is at most 0.05.

    >>> holm([0.01, 0.04, float("nan"), 0.03])
    [0.03, 0.06, nan, 0.06]
    """
    values = np.asarray(p, dtype=float)
    corrected, most = np.full(len(values), np.nan), 0.0
    known = np.flatnonzero(~np.isnan(values))
    for place, row in enumerate(known[np.argsort(values[known], kind="stable")]):
        most = max(most, min(1.0, float(values[row]) * (len(known) - place)))
        corrected[row] = most
    return [float(value) for value in corrected]
