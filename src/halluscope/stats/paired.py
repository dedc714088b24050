"""Compares two models on the same rows: a score's difference, its interval and p value, and Holm's correction.

Both models are scored without the same clusters, so rows that are hard for both change the difference little. A class
may be too rare for that: `halluscope.stats.ratio_pairs` tests its scores by their counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halluscope.stats.beta import student_quantile, student_tail
from halluscope.stats.intervals import LeftOut, amount_ends, covariance, effective, why_none
from halluscope.stats.ratios import wilson_of

HALVINGS = 40  # How often the range in which an interval ends is halved

MOST_ERRORS = 100.0  # no p value is of more standard errors

HALF_A_ROW = 0.5  # of what two models have in common, by which it is taken for less


@dataclass(frozen=True)
class Difference:
    value: float  # the first score minus the second; NaN if either is undefined
    low: float = np.nan  # the lower end of the interval; NaN where it is not tested, as for a single cluster
    high: float = np.nan  # the upper end; NaN likewise
    p: float = np.nan  # the two-sided p value of no difference; below 1 - level if the interval excludes 0


def difference(first: LeftOut, second: LeftOut, level: float = 0.95) -> Difference:
    """Compare a score of two models by what it is for each without each cluster.

    The interval is that of Zou and Donner (Statistics in Medicine 27, 2008), which puts two intervals together; with
    Wilson's it is Newcombe's for paired shares (Statistics in Medicine 17, 1998, method 10). Wilson's are of each
    score's effective number of rows, with Student's t for the number of clusters; the scores' correlation is that of
    what leaving a cluster out does to both. As in Newcombe's method, half a row less goes the same way in both, so two
    models never seem to differ by exactly nothing.

    p is the level at which the interval ends at 0, and never below 2 / 2^clusters, the probability that all clusters
    favour the same of two equal models; the interval contains 0 unless p is below 1 - level.
    """
    value = first.value - second.value
    if why_none(first) or why_none(second):
        return Difference(value)
    clusters = min(len(first.without), len(second.without))
    if clusters < 2:
        return Difference(value, p=1.0)
    pair = Pair(first, second)
    low, high = pair.ends(student_quantile(level, clusters - 1))
    p = max(pair.p(), 2.0 ** (1 - clusters))
    if p >= 1 - level:
        low = min(low, 0.0)
        high = max(high, 0.0)
    return Difference(value, low, high, p)


class Pair:
    """A score of two models."""

    def __init__(self, first: LeftOut, second: LeftOut) -> None:
        self.value = first.value - second.value
        self.widest = first.range.width
        self.degrees = min(len(first.without), len(second.without)) - 1
        self.correlation = correlation(first, second)
        self.first_reach = Reach(first)
        self.second_reach = Reach(second)

    def ends(self, t: float) -> tuple[float, float]:
        """Return both ends of the interval, t standard errors from the difference."""
        first_below, first_above = self.first_reach.at(t)
        second_below, second_above = self.second_reach.at(t)
        low = self.value - self._together(first_below, second_above)
        high = self.value + self._together(first_above, second_below)
        return max(low, -self.widest), min(high, self.widest)

    def _together(self, first_reach: float, second_reach: float) -> float:
        """Return how far the interval of the difference reaches on one side."""
        squared = first_reach**2 + second_reach**2 - 2 * self.correlation * first_reach * second_reach
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


def correlation(first: LeftOut, second: LeftOut) -> float:
    """Return the correlation of a score of two models on the same clusters; 0 if a score never moves, or if they were
    not scored on the same clusters.
    """
    if len(first.without) != len(second.without):
        return 0.0
    together = covariance(first, second)
    apart = math.sqrt(first.variance * second.variance)
    if apart == 0:
        return 0.0
    if together > 0 and not first.range.is_amount:
        _, first_rows = effective(first)
        _, second_rows = effective(second)
        together = max(0.0, together - HALF_A_ROW * first.range.width**2 / (first_rows * second_rows))
    return min(1.0, max(-1.0, together / apart))


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
    multiplied = np.minimum(1.0, values[order] * times)
    corrected[order] = np.maximum.accumulate(multiplied)
    as_list: list[float] = corrected.tolist()
    return as_list
