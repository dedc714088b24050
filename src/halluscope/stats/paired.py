"""Compares two models on the same rows: a score's difference, its interval and p value, and Holm's correction.

Both models are scored without the same clusters, so rows that are hard for both change the difference little. A class
may be too rare for that; its scores are ratios of counts, and `ratio_differences` tests them by their counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from halluscope.stats.beta import student_quantile, student_tail
from halluscope.stats.intervals import LeftOut, amount_ends, covariance, effective, why_none
from halluscope.stats.ratios import Floats, ratio, wilson_of
from halluscope.stats.tallies import Bools, Tally

NORMAL = NormalDist()

# In how many clusters, such as images, a score of a class must be defined for each of two models to be compared.
FEWEST = 5

HALVINGS = 40  # How often the range in which an interval ends is halved

MOST_ERRORS = 100.0  # no p value is of more standard errors

HALF_A_ROW = 0.5  # of what two models have in common, by which it is taken for less


@dataclass(frozen=True)
class Difference:
    value: float  # the first score minus the second; NaN if either is undefined
    low: float = np.nan  # the lower end of the interval; NaN where it is not tested, as for a single cluster
    high: float = np.nan  # the upper end; NaN likewise
    p: float = np.nan  # the two-sided p value of no difference; below 1 - level if the interval excludes 0


def difference(one: LeftOut, other: LeftOut, level: float = 0.95) -> Difference:
    """Compare a score of two models by what it is for each without each cluster.

    The interval is that of Zou and Donner (Statistics in Medicine 27, 2008), which puts two intervals together; with
    Wilson's it is Newcombe's for paired shares (Statistics in Medicine 17, 1998, method 10). Wilson's are of each
    score's effective number of rows, with Student's t for the number of clusters; the scores' correlation is that of
    what leaving a cluster out does to both. As in Newcombe's method, half a row less goes the same way in both, so two
    models never seem to differ by exactly nothing.

    p is the level at which the interval ends at 0, and never below 2 / 2^clusters, the probability that all clusters
    favour the same of two equal models; the interval contains 0 unless p is below 1 - level.
    """
    value = one.value - other.value
    if math.isnan(value):
        return Difference(math.nan)
    if why_none(one) or why_none(other):
        return Difference(value)
    clusters = min(len(one.without), len(other.without))
    if clusters < 2:
        return Difference(value, p=1.0)
    pair = Pair(one, other)
    low, high = pair.ends(student_quantile(level, clusters - 1))
    p = max(pair.p(), 2.0 ** (1 - clusters))
    if p >= 1 - level:
        low, high = min(low, 0.0), max(high, 0.0)
    return Difference(value, low, high, p)


class Pair:
    """A score of two models."""

    def __init__(self, one: LeftOut, other: LeftOut) -> None:
        self.value = one.value - other.value
        self.widest = one.range.width
        self.degrees = min(len(one.without), len(other.without)) - 1
        self.likeness = correlation(one, other)
        self.reach = Reach(one)
        self.others_reach = Reach(other)

    def ends(self, t: float) -> tuple[float, float]:
        """Return both ends of the interval, t standard errors from the difference."""
        below, above = self.reach.at(t)
        others_below, others_above = self.others_reach.at(t)
        low = self.value - self._together(below, others_above)
        high = self.value + self._together(above, others_below)
        return max(low, -self.widest), min(high, self.widest)

    def _together(self, reach: float, others_reach: float) -> float:
        """Return how far the interval of the difference reaches on one side."""
        squared = reach**2 + others_reach**2 - 2 * self.likeness * reach * others_reach
        return math.sqrt(max(0.0, squared))

    def p(self) -> float:
        """Return the two-sided p value of no difference: by how many standard errors the interval ends at 0."""
        if self.value == 0:
            return 1.0
        inside = 0.0
        outside = MOST_ERRORS
        for _ in range(HALVINGS):
            t = (inside + outside) / 2
            low, high = self.ends(t)
            if low <= 0 <= high:
                outside = t
            else:
                inside = t
        return student_tail(inside, self.degrees)


class Reach:
    """How far a score's interval reaches."""

    def __init__(self, score: LeftOut) -> None:
        self.score = score
        if not score.range.is_amount:
            self.share, self.rows = effective(score)

    def at(self, t: float) -> tuple[float, float]:
        """Return how far it reaches below and above the score, t standard errors from it."""
        if self.score.range.is_amount:
            low, high = amount_ends(self.score, t)
            return self.score.value - low, high - self.score.value
        low, high = wilson_of(self.share, self.rows, t)
        width = self.score.range.width
        return width * (self.share - low), width * (high - self.share)


def correlation(one: LeftOut, other: LeftOut) -> float:
    """Return the correlation of a score of two models on the same clusters; 0 if a score never moves, or if they were
    not scored on the same clusters.
    """
    if len(one.without) != len(other.without):
        return 0.0
    together = covariance(one, other)
    apart = math.sqrt(one.variance * other.variance)
    if apart == 0:
        return 0.0
    if together > 0 and not one.range.is_amount:
        _, rows = effective(one)
        _, others_rows = effective(other)
        together = max(0.0, together - HALF_A_ROW * one.range.width**2 / (rows * others_rows))
    return min(1.0, max(-1.0, together / apart))


def ratio_differences(one: Tally, other: Tally, level: float = 0.95) -> dict[str, Difference]:
    """Compare ratios of counts of two models that may have unequal wholes: one names a class oftener than the other.

    T = difference / standard error is normal if the models have the same ratio p. Of each cluster's residuals
    e = part - p x whole, with p pooled over both models, the squared standard error is the larger of

    - sum over clusters of (e1 / whole1 - e2 / whole2)^2 (Leisenring, Alonzo and Pepe, Biometrics 56, 2000), and
    - sum over clusters of (e1 - e2)^2 / (whole1 x whole2) (Kosinski, Statistics in Medicine 32, 2013),

    with sums over all clusters as wholes. The first is too small if the model with few mentions has no error, the
    second if the models share their errors. It is also at least as large as if errors were as frequent where only one
    model counts as where both do. For models with the same wholes, this is McNemar's test. The interval holds the
    differences that are not rejected at the same level, as Wilson's does, so it contains 0 unless p is small.
    """
    counts = {name: np.stack([*one[name], *other[name]]).astype(float) for name in one}
    found = {}
    for name, rows in counts.items():
        found[name] = Difference(float(ratio(*rows[:2].sum(axis=1)) - ratio(*rows[2:].sum(axis=1))))
    known = {name: rows for name, rows in counts.items() if min((rows[[1, 3]] > 0).sum(axis=1)) >= FEWEST}
    if not known:
        return found
    # [scores]: part and whole of each model
    part1, whole1, part2, whole2 = np.stack([rows.sum(axis=1) for rows in known.values()], axis=1)
    products = np.stack([rows @ rows.T for rows in known.values()])
    value: Floats = part1 / whole1 - part2 / whole2
    pooled: Floats = (part1 + part2) / (whole1 + whole2)

    def squares(*factors: Floats) -> Floats:
        """Return the sum over clusters of the square of (factors x counts)."""
        row = np.stack(factors, axis=1)
        summed: Floats = np.einsum("si,sij,sj->s", row, products, row)
        return np.maximum(summed, 0.0)

    def binomial(first: Floats, second: Floats) -> Floats:
        both: Floats = first * (1 - first) / whole1 + second * (1 - second) / whole2
        return both

    zero, unit = np.zeros(len(known)), np.ones(len(known))
    own = squares(1 / whole1, -pooled / whole1, -1 / whole2, pooled / whole2)
    paired = squares(unit, -pooled, -unit, pooled) / (whole1 * whole2)
    independent = binomial(pooled, pooled)
    scale = np.divide(np.maximum(own, paired), independent, out=unit.copy(), where=independent > 0)
    # At least that of models that err as often where only one of them counts as where both do.
    scale = np.maximum(
        scale, squares(zero, unit, zero, -unit) / np.trace(products[:, 1::2, 1::2], axis1=1, axis2=2)
    )

    def variance(apart: Floats) -> Floats:
        """Return the variance of the difference if the true one is `apart`."""
        second = (part1 + part2 - whole1 * apart) / (whole1 + whole2)
        second = np.clip(second, np.maximum(0, -apart), np.minimum(1, 1 - apart))
        scaled: Floats = scale * binomial(second + apart, second)
        return scaled

    far = NORMAL.inv_cdf((1 + level) / 2) ** 2

    def rejected(apart: Floats) -> Bools:
        return np.greater((value - apart) ** 2, far * variance(apart))

    def end(side: int) -> Floats:
        """Return the farthest difference on one side that is not rejected."""
        beyond, towards = np.full(len(value), float(side)), side * value < 0
        inside = np.where(towards & ~rejected(zero), zero, value)
        beyond = np.where(towards & rejected(zero), zero, beyond)
        for _ in range(HALVINGS):
            middle = (inside + beyond) / 2
            out = rejected(middle)
            inside, beyond = np.where(out, inside, middle), np.where(out, middle, beyond)
        return inside

    squared = np.divide(value**2, variance(zero), out=zero.copy(), where=value != 0)
    p = [math.erfc(math.sqrt(one / 2)) for one in squared.tolist()]
    for name, *three in zip(known, end(-1).tolist(), end(1).tolist(), p, strict=True):
        found[name] = Difference(found[name].value, *three)
    return found


def can_differ(one: Tally, other: Tally, by_chance: float) -> list[str]:
    """Return the shared scores in which so many clusters differ that all seldom favour one of two equal models."""
    return [
        score
        for score in one
        if score in other
        and 2.0 ** (1 - (np.stack(one[score]) != np.stack(other[score])).any(axis=0).sum()) < by_chance
    ]


def holm(p: Sequence[float]) -> list[float]:
    """Correct p values for their number (Holm, 1979); undefined p values do not count.

    If the values below 0.05 are called differences, the probability that any of them is a false one is at most 0.05.

    >>> holm([0.01, 0.04, float("nan"), 0.03])
    [0.03, 0.06, nan, 0.06]
    """
    values = np.asarray(p, dtype=float)
    corrected = np.full(len(values), np.nan)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    times = np.arange(len(order), 0, -1)
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, values[order] * times))
    found: list[float] = corrected.tolist()
    return found
