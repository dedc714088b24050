"""Compares two models on the same rows: a score's difference, its interval and p value, and Holm's correction.

Both models are scored on the same resamples, so rows that are hard for both change the difference little. A class may
be too rare for that; its scores are ratios of counts, and `ratio_difference` tests them without resamples.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Bools, Tally

NORMAL = NormalDist()

# In how many clusters, such as images, a score of a class must be defined for each of two models to be compared.
FEWEST = 5

# With fewer errors or right answers than about this, a score's resamples are too narrow.
RARE = 5

HALVINGS = 40  # How often the range in which an interval ends is halved


@dataclass(frozen=True)
class Difference:
    value: float  # the first score minus the second; NaN if either is undefined
    low: float = np.nan  # the lower end of the interval; NaN where it is not tested, as for a single cluster
    high: float = np.nan  # the upper end; NaN likewise
    p: float = np.nan  # the two-sided p value of no difference; below 1 - level if the interval excludes 0


def difference(
    one: float, other: float, ones: Floats, others: Floats, clusters: int, level: float = 0.95
) -> Difference:
    """Compare a score of two models by their scores `ones` and `others` on the same resamples of clusters.

    Percentiles, too narrow for few clusters, are taken at the level at which they are as wide as an interval by
    Student's t (Hesterberg, The American Statistician 69, 2015, section 4.2). p is the share of resamples outside the
    narrowest interval that holds 0, raised likewise; never below 2 / 2^clusters, the probability that all clusters
    favour the same of two equal models. With fewer than `RARE` errors, or right answers, the differences are spread as
    a score test spreads them, which gives both models the pooled share. Undefined resamples are left out.
    """
    known = ~np.isnan(ones - others)
    moved = (ones - others)[known]
    value = float(one - other)
    if np.isnan(value) or not len(moved):
        return Difference(np.nan)
    if clusters < 2:
        return Difference(value, p=1.0)
    moved = value + _widening(one, other, ones[known], others[known], clusters) * (moved - value)
    few = clusters - 1
    wide = math.sqrt(clusters / few)
    # Student's t as a normal deviate, and back: Wallace (1959).
    near = NORMAL.inv_cdf((1 + level) / 2) * (8 * few + 3) / (8 * few + 1)
    outside = math.erfc(math.sqrt(few * math.expm1(near**2 / few) / 2) * wide) / 2
    low, high = np.quantile(moved, [outside, 1 - outside]).tolist()
    least = min(int((moved <= 0).sum()), int((moved >= 0).sum()))
    t = NORMAL.inv_cdf(max(0.5, 1 - (least + 1) / (len(moved) + 1))) / wide
    p = math.erfc(math.sqrt(few * math.log1p(t**2 / few) / 2) * (8 * few + 1) / (8 * few + 3))
    return Difference(value, low, high, max(p, 2.0 ** (1 - clusters)))


def _widening(one: float, other: float, ones: Floats, others: Floats, clusters: int) -> float:
    """Return by how much the resampled differences of two shares must be spread, at least 1."""
    spread = (ones - others).var()
    if not spread or min(ones.min(), others.min()) < 0 or max(ones.max(), others.max()) > 1:
        return 1.0
    widest = spread
    for (share, draws), (reference, reference_draws) in (
        ((one, ones), (other, others)),
        ((other, others), (one, ones)),
    ):
        at = [float((draws == bound).mean()) for bound in (0, 1)]
        if max(at) < math.exp(-RARE):
            continue
        bound = at.index(max(at))
        events = -math.log(max(at))  # a Poisson number is 0 with the probability exp(-events)
        off, reference_off, variance = abs(share - bound), abs(reference - bound), reference_draws.var()
        trials = events / off if off and events else clusters
        reference_trials = reference_off * (1 - reference_off) / variance if variance else clusters
        pooled = (off * trials + reference_off * reference_trials) / (trials + reference_trials)
        widest = max(widest, variance + pooled * (1 - pooled) / trials)
    return math.sqrt(widest / spread)


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
