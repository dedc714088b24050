"""Makes the intervals of scores from the counts of clusters of rows, such as images: no draws, and no seed.

A score is a function of summed counts. It is computed again without each cluster in turn, and its standard error is
that of the jackknife (Efron and Stein, Annals of Statistics 9, 1981). A share t with the standard error s tells as much
as t (1 - t) / s^2 independent rows: its effective number of rows (Korn and Graubard, Survey Methodology 24, 1998). Its
interval is Clopper's and Pearson's (Biometrika 26, 1934) of so many rows, which holds near 0 and 1 too and always has a
width. For k right of n independent rows, it is theirs exactly. Where few clusters are right or few are wrong, the
standard error itself is uncertain, and no more rows are assumed than there are clusters.

A score with another range is put into [0, 1] first. A mean number of things, such as words, has the interval of a
Poisson number by Byar's approximation (Breslow and Day, Statistical Methods in Cancer Research 2, 1987, section 2.3),
with as many events as fit the standard error.

`python perf/coverage.py --intervals` shows how often the intervals hold.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.stats.beta import beta_quantile, student_quantile
from halluscope.stats.ratios import Floats

# Counts by name. Their first axis is what they are about: clusters, or sums of which each leaves out one cluster.
Counts = Mapping[str, NDArray[Any]]

# Takes sums of counts [sums, ...] and returns scores [sums] by name.
Score = Callable[[Counts], Mapping[str, Floats]]

NUMBERS_AT_ONCE = 2**21  # how many counts are in memory at a time (16 MiB), several times over

# With fewer clusters that raise a score, or fewer that lower it, the effective number of rows is at most the clusters.
ENOUGH = 10

# What leaving a cluster out moves by less, in ranges, comes from rounding.
ROUNDING = 1e-12

# A mean over classes has no interval if more than this share of the classes has no value.
MOST_UNDEFINED = 0.2

UNDEFINED = "The score is undefined."


@dataclass(frozen=True)
class Range:
    """The values that a score can have. Without a limit above it is a mean number of things, from 0."""

    low: float = 0.0
    high: float = 1.0
    event: float = 1.0  # what one event, such as a word, adds to an amount of a single cluster

    @property
    def is_amount(self) -> bool:
        return math.isinf(self.high)

    @property
    def width(self) -> float:
        return self.high - self.low


SHARE = Range()
AMOUNT = Range(0.0, math.inf)


@dataclass(frozen=True)
class LeftOut:
    """A score, and what it is without each cluster."""

    value: float
    without: Floats  # [clusters]; NaN where the score is then undefined
    counting: int  # how many clusters count for the score
    range: Range = SHARE
    refused: str = ""  # why the score has no interval; "" if it has one

    @property
    def moved(self) -> Floats:
        """By how much the score falls if a cluster is left out, in the score's unit: [clusters]."""
        without = np.where(np.isnan(self.without), self.value, self.without)
        away = self.value - without
        width = self.range.width
        if self.range.is_amount:
            width = max(1.0, self.value)
        return np.where(np.abs(away) > ROUNDING * width, away, 0.0)

    @property
    def variance(self) -> float:
        """The squared standard error. For the mean of n rows it is their variance, divided by n, not n - 1."""
        return covariance(self, self)


def covariance(first: LeftOut, second: LeftOut) -> float:
    """Return the covariance of two scores of the same clusters."""
    clusters = len(first.without)
    first_away = first.moved - first.moved.mean()
    second_away = second.moved - second.moved.mean()
    return float(first_away @ second_away) * ((clusters - 1) / clusters) ** 2


# From counts to scores without each cluster


def blocks_of(counts: Counts) -> Iterator[Counts]:
    """Yield counts [clusters, ...] in blocks of clusters that fit into memory."""
    clusters = len(next(iter(counts.values())))
    numbers = sum(table[:1].size for table in counts.values())
    step = max(1, NUMBERS_AT_ONCE // max(1, numbers))
    for first in range(0, clusters, step):
        block = slice(first, first + step)
        yield {name: table[block].astype(float) for name, table in counts.items()}


def total_of(counts: Counts) -> Counts:
    """Return the sums [1, ...] of counts [clusters, ...]."""
    sums = {}
    for name, table in counts.items():
        sums[name] = table.sum(axis=0, keepdims=True, dtype=float)
    return sums


def leave_out(
    score: Score,
    total: Counts,
    blocks: Iterable[Counts],
    ranges: Mapping[str, Range] | None = None,
    refused: Mapping[str, str] | None = None,
    kinds: NDArray[np.int64] | None = None,
) -> dict[str, LeftOut]:
    """Compute scores without each cluster.

    Args:
        score: returns the scores of sums of counts.
        total: the sums of all clusters' counts: [1, ...].
        blocks: the counts of the clusters, some clusters at a time: [some, ...].
        ranges: the ranges of the scores that are not shares, by their names, or by the names before a "/".
        refused: why a score has no interval, by its name.
        kinds: if many clusters have the same counts, `blocks` has these once; which of them each cluster has:
            [clusters].
    """
    values = score(total)
    without: dict[str, list[Floats]] = {}
    counting: dict[str, list[NDArray[np.bool_]]] = {}
    for name in values:
        without[name] = []
        counting[name] = []
    for block in blocks:
        rest = {name: total[name] - counts for name, counts in block.items()}
        scores_without = score(rest)
        scores_alone = score(block)
        for name, value in values.items():
            without[name].append(scores_without[name])
            # A cluster counts if it has a score by itself, or if its absence is felt.
            is_felt = ~(np.abs(scores_without[name] - value) <= ROUNDING)
            counting[name].append(~np.isnan(scores_alone[name]) | is_felt)
    scores = {}
    for name, value in values.items():
        without_each = np.concatenate(without[name])
        counts_for_score = np.concatenate(counting[name])
        if kinds is not None:
            without_each = without_each[kinds]
            counts_for_score = counts_for_score[kinds]
        scores[name] = LeftOut(
            value=float(value[0]),
            without=without_each,
            counting=int(counts_for_score.sum()),
            range=range_of(name, ranges or {}),
            refused=(refused or {}).get(name, ""),
        )
    return scores


def shifted(score: LeftOut, value: float) -> LeftOut:
    """Return a score with another value, such as a rounded one, which the same clusters move as far."""
    return replace(score, value=value, without=score.without + (value - score.value))


def range_of(name: str, ranges: Mapping[str, Range]) -> Range:
    """Return the range of a score, such as "rating/counting"; by default that of a share."""
    whole = name.partition("/")[0]
    return ranges.get(name, ranges.get(whole, SHARE))


def refusal(undefined: int, classes: int, what: str) -> str:
    """Say why a mean over classes has no interval; "" if it has one.

    >>> refusal(30, 80, "a precision")
    '30 of 80 classes are without a precision, more than a fifth.'
    """
    if undefined <= MOST_UNDEFINED * classes:
        return ""
    return f"{undefined} of {classes} classes are without {what}, more than a fifth."


# From scores without each cluster to intervals


def why_none(score: LeftOut) -> str:
    """Say why a score has no interval; "" if it has one."""
    if math.isnan(score.value):
        return UNDEFINED
    if score.refused:
        return score.refused
    if score.range.is_amount and len(score.without) < 2:
        return "There is only one cluster of rows."
    return ""


def interval(score: LeftOut, level: float) -> tuple[float, float]:
    """Return both ends of a score's interval, which contains the score; NaN where `why_none` says why."""
    if why_none(score):
        return math.nan, math.nan
    if score.range.is_amount:
        return amount_ends(score, student_quantile(level, len(score.without) - 1))
    share, rows = effective(score)
    outside = (1 - level) / 2
    right = share * rows
    low = score.range.low + score.range.width * _clopper_pearson(right, rows, outside)
    high = score.range.high - score.range.width * _clopper_pearson(rows - right, rows, outside)
    return min(low, score.value), max(high, score.value)


def effective(score: LeftOut) -> tuple[float, float]:
    """Return a score as a share of its range, and the number of independent rows that tell as much."""
    share = (score.value - score.range.low) / score.range.width
    share = min(1.0, max(0.0, share))
    most = score.counting or len(score.without)
    if share in (0.0, 1.0):
        return share, most
    rows = math.inf
    variance = score.variance / score.range.width**2
    if variance > 0:
        rows = share * (1 - share) / variance
    moved = score.moved
    raising = int((moved > 0).sum())
    lowering = int((moved < 0).sum())
    if min(raising, lowering) < ENOUGH:
        rows = min(rows, most)
    return share, rows


def _clopper_pearson(right: float, rows: float, outside: float) -> float:
    """Return the share of which `right` or more of the rows are right with the probability `outside`."""
    if right <= ROUNDING * rows:
        return 0.0
    return beta_quantile(outside, right, rows - right + 1)


def amount_ends(score: LeftOut, t: float) -> tuple[float, float]:
    """Return both ends of the interval of a mean number of things, t standard errors from it.

    Where no cluster differs from the others, one event might have been more or less in some cluster.
    """
    if score.variance == 0:
        event = score.range.event / (score.counting or len(score.without))
        unseen = event * _byar(1.0, t)
        return max(0.0, score.value - unseen), score.value + unseen
    event = score.variance / score.value
    events = score.value / event
    return event * _byar(events, -t), event * _byar(events + 1, t)


def _byar(events: float, t: float) -> float:
    """Return the expected number of events that is t standard errors away from a number of events."""
    root = 1 - 1 / (9 * events) + t / (3 * math.sqrt(events))
    return events * max(0.0, root) ** 3
