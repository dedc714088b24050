"""Compares two models on the same rows: a score's difference, its interval and p value, and Holm's correction.

Both models are scored on the same resamples, so rows that are hard for both change the difference little.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halluscope.stats.bootstrap import Bootstrap, parts
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Tally

ROUNDING = 1e-12
"""Differences that are nearer to each other than this count as equal."""


@dataclass(frozen=True)
class Difference:
    """The difference of two scores.

    Attributes:
        value: the first score minus the second; NaN if either is undefined.
        low: the lower end of the percentile interval; NaN for a single cluster.
        high: the upper end; NaN likewise.
        p: the two-sided p value of no difference: the share of resamples outside the narrowest interval that holds 0;
            never below 2 / (resamples + 1), nor below 2 / 2^clusters, the probability that all clusters favour the same
            of two equal models.
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
        other: the second model's score.
        ones: [resamples], the first model's scores.
        others: [resamples], the second model's scores on the same resamples; where either is undefined, the resample is
            left out.
        clusters: the number of clusters that are resampled, such as images.
        level: the level of the interval, in (0, 1).
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
    """Return each score's two-sided p value of no difference, which is valid even for few clusters.

    If the models are alike, a cluster's counts could as well be the other model's. So each resample swaps the two
    models' counts in about half of the clusters, at random; the p value is the share of resamples whose difference is
    at least as large as the real one, or undefined.

    Args:
        one: the first model's counts.
        other: the second model's counts, for the same clusters and scores.
        resampling: how many resamples there are, and their seed.
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
    """Return the shared scores in which enough clusters differ for `by_swapping` to reach a p below `by_chance`."""
    return [
        score
        for score in one
        if score in other
        and 2.0 ** (1 - (np.stack(one[score]) != np.stack(other[score])).any(axis=0).sum()) < by_chance
    ]


def _difference(one: Floats, other: Floats) -> Floats:
    """Return the differences of scores, from totals [..., 2 per score]: a part and a whole each."""
    found: Floats = ratio(one[..., ::2], one[..., 1::2]) - ratio(other[..., ::2], other[..., 1::2])
    return found


def holm(p: Sequence[float]) -> list[float]:
    """Correct p values for their number (Holm, 1979); undefined p values do not count.

    If the values below 0.05 are called differences, the probability that any of them is a false one is at most 0.05.

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
