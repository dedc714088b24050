"""Compares two models by ratios of counts, such as the scores of a class, which few rows are about."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from halluscope.stats.paired import HALVINGS, Difference
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Bools, Tally

NORMAL = NormalDist()

# In how many clusters, such as images, a score of a class must be defined for each of two models to be compared.
FEWEST = 5


def ratio_differences(first: Tally, second: Tally, level: float = 0.95) -> dict[str, Difference]:
    """Compare ratios of counts of two models that may have unequal wholes: one names a class oftener than the other.

    Of each score of the first model, the difference; the interval holds those that `RatioPairs` does not reject at the
    level, as Wilson's does, so it contains 0 unless p is small. A score that is defined in fewer than `FEWEST` clusters
    for one of the models is not tested.
    """
    differences = {}
    tested = {}
    for name in first:
        counts = np.stack(first[name] + second[name]).astype(float)
        part1, whole1, part2, whole2 = counts.sum(axis=1)
        differences[name] = Difference(float(ratio(part1, whole1) - ratio(part2, whole2)))
        defined = (counts[[WHOLE1, WHOLE2]] > 0).sum(axis=1)
        if min(defined) >= FEWEST:
            tested[name] = counts
    if not tested:
        return differences
    pairs = RatioPairs(list(tested.values()))
    errors = NORMAL.inv_cdf((1 + level) / 2)
    low = pairs.end(-1, errors)
    high = pairs.end(1, errors)
    p = pairs.p()
    for number, name in enumerate(tested):
        differences[name] = Difference(
            differences[name].value, float(low[number]), float(high[number]), p[number]
        )
    return differences


# The rows of a score's counts [4, clusters]: a part and a whole of each model
PART1 = 0
WHOLE1 = 1
PART2 = 2
WHOLE2 = 3


class RatioPairs:
    """Ratios of counts of two models, for several scores at once; a difference is tested by a normal deviate.

    T = difference / standard error is normal if the models have the same ratio p. Of each cluster's residuals
    e = part - p x whole, with p pooled over both models, the squared standard error is the larger of

    - sum over clusters of (e1 / whole1 - e2 / whole2)^2 (Leisenring, Alonzo and Pepe, Biometrics 56, 2000), and
    - sum over clusters of (e1 - e2)^2 / (whole1 x whole2) (Kosinski, Statistics in Medicine 32, 2013),

    with sums over all clusters as wholes. The first is too small if the model with few mentions has no error, the
    second if the models share their errors. It is also at least as large as if errors were as frequent where only one
    model counts as where both do. For models with the same wholes, this is McNemar's test.
    """

    def __init__(self, counts: Sequence[Floats]) -> None:
        """Sum up the counts of each score: [4, clusters]."""
        sums = np.stack([of_score.sum(axis=1) for of_score in counts])
        self.part1 = sums[:, PART1]
        self.whole1 = sums[:, WHOLE1]
        self.part2 = sums[:, PART2]
        self.whole2 = sums[:, WHOLE2]
        self.products = np.stack([of_score @ of_score.T for of_score in counts])  # [scores, 4, 4]
        self.value: Floats = self.part1 / self.whole1 - self.part2 / self.whole2
        self.scale = self._scale()

    def _scale(self) -> Floats:
        """Return how many times as large the variance is as that of independent rows: [scores]."""
        zero = np.zeros(len(self.value))
        unit = np.ones(len(self.value))
        pooled: Floats = (self.part1 + self.part2) / (self.whole1 + self.whole2)
        # the factors of the counts in (e1 / whole1 - e2 / whole2)^2, and in (e1 - e2)^2
        leisenring = self._squares(
            1 / self.whole1, -pooled / self.whole1, -1 / self.whole2, pooled / self.whole2
        )
        kosinski = self._squares(unit, -pooled, -unit, pooled) / (self.whole1 * self.whole2)
        variance = np.maximum(leisenring, kosinski)
        independent = self._binomial(pooled, pooled)
        scale = np.divide(variance, independent, out=unit.copy(), where=independent > 0)
        # at least that of models that err as often where only one of them counts as where both do
        unshared = self._squares(zero, unit, zero, -unit)
        squared_wholes = self.products[:, WHOLE1, WHOLE1] + self.products[:, WHOLE2, WHOLE2]
        return np.asarray(np.maximum(scale, unshared / squared_wholes))

    def _squares(self, part1: Floats, whole1: Floats, part2: Floats, whole2: Floats) -> Floats:
        """Return the sum over clusters of the square of the counts' sum, each times its factor [scores]."""
        factors = np.stack([part1, whole1, part2, whole2], axis=1)
        sums = np.einsum("si,sij,sj->s", factors, self.products, factors)
        return np.asarray(np.maximum(sums, 0.0))

    def _binomial(self, first: Floats, second: Floats) -> Floats:
        """Return the variance of the difference of two shares, if rows were independent: [scores]."""
        variance: Floats = first * (1 - first) / self.whole1 + second * (1 - second) / self.whole2
        return variance

    def variance(self, apart: Floats) -> Floats:
        """Return the variance of the difference if the true one is `apart`: [scores]."""
        second = (self.part1 + self.part2 - self.whole1 * apart) / (self.whole1 + self.whole2)
        least = np.maximum(0, -apart)
        most = np.minimum(1, 1 - apart)
        second = np.clip(second, least, most)
        variance: Floats = self.scale * self._binomial(second + apart, second)
        return variance

    def is_rejected(self, apart: Floats, errors: float) -> Bools:
        """Whether the difference is more than so many standard errors from one that is `apart`: [scores]."""
        return np.greater((self.value - apart) ** 2, errors**2 * self.variance(apart))

    def end(self, side: int, errors: float) -> Floats:
        """Return the farthest difference on one side, -1 or 1, that is not rejected: [scores]."""
        zero = np.zeros(len(self.value))
        inside = self.value
        beyond = np.full(len(self.value), float(side))
        # 0 lies on this side: the interval ends before it or beyond it
        is_towards_zero = side * self.value < 0
        is_zero_rejected = self.is_rejected(zero, errors)
        inside = np.where(is_towards_zero & ~is_zero_rejected, zero, inside)
        beyond = np.where(is_towards_zero & is_zero_rejected, zero, beyond)
        for _ in range(HALVINGS):
            middle = (inside + beyond) / 2
            is_out = self.is_rejected(middle, errors)
            inside = np.where(is_out, inside, middle)
            beyond = np.where(is_out, middle, beyond)
        return inside

    def p(self) -> list[float]:
        """Return the two-sided p value of no difference: [scores]."""
        zero = np.zeros(len(self.value))
        if_equal = self.variance(zero)
        is_apart = self.value != 0
        squared_errors = np.divide(self.value**2, if_equal, out=zero.copy(), where=is_apart)
        return [math.erfc(math.sqrt(squared / 2)) for squared in squared_errors.tolist()]


def can_differ(first: Tally, second: Tally, by_chance: float) -> list[str]:
    """Return the shared scores in which so many clusters differ that all seldom favour one of two equal models."""
    scores = []
    for score in first:
        if score not in second:
            continue
        is_different = (np.stack(first[score]) != np.stack(second[score])).any(axis=0)
        all_favour_one = 2.0 ** (1 - is_different.sum())
        if all_favour_one < by_chance:
            scores.append(score)
    return scores
