"""What samples that people reviewed say of all rows: error rates by strata, a judge's errors, a grader's scores."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.intervals import Counts, blocks_of, interval, leave_out, total_of
from halluscope.stats.ratios import Floats, ratio, wilson
from halluscope.stats.tallies import Bools, Ints, counts_of, score_sums
from halluscope.validation import LARGEST_SEED

# Error rates by strata (THRONE, supplement, section 4.1 and Table 3): two methods agree on most responses; those on
# which they disagree are reviewed more closely, and the strata's rates are weighted by their shares of all responses.


class Stratum(NamedTuple):
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
    value = below = above = 0.0
    for rows, judgements, errors in strata:
        low, high = wilson(errors, judgements, level)
        weight, rate = rows / total, errors / judgements
        value += weight * rate
        below += (weight * (rate - low)) ** 2
        above += (weight * (high - rate)) ** 2
    return {"value": value, "low": value - math.sqrt(below), "high": value + math.sqrt(above)}


def share_of_ones(
    marks: Sequence[float], strata: Mapping[str, Stratum], level: float = 0.95
) -> dict[str, float]:
    """Return the share of ones among the marks, or, if the sample was drawn by strata, its estimate for all rows."""
    if not strata:
        low, high = wilson(int(sum(marks)), len(marks), level)
        return {"value": sum(marks) / len(marks), "low": low, "high": high}
    rate = error_rate(list(strata.values()), level)
    return {"value": 1 - rate["value"], "low": 1 - rate["high"], "high": 1 - rate["low"]}


class Clustered(NamedTuple):
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
    value, drawn = 0.0, np.zeros(resampling.resamples)
    for index, (rows, judgements, errors) in enumerate(strata):
        own = replace(resampling, seed=(resampling.seed + index) % LARGEST_SEED)
        rates = [ratio(one @ errors, one @ judgements) for one in own.weights(len(judgements))]
        value += rows / total * float(ratio(errors.sum(), judgements.sum()))
        drawn += rows / total * np.concatenate([[], *rates])
    low, high = resampling.interval(drawn)
    return {"value": value, "low": low, "high": high}


# How often a judge errs about yes and no, and how well calibrated it is. Each label's weight is 1 / the probability
# that it was asked for (Horvitz and Thompson, 1952). Labels of a text depend on each other.

BINS = 10
RATES = ("false_yes", "false_no", "wrong_yes")


class Judged(NamedTuple):
    """The labels of a judge and of people for the cells of a sample of texts, each [texts, cells]."""

    yes: Bools  # whether the judge says yes
    implied: Bools  # whether people say yes
    weights: Floats  # the labels' weights; 0 where people were not asked

    def among(self, cells: Bools) -> "Judged":
        """Return the labels of only some cells, given as bool [texts, cells], [cells], or [texts, 1]."""
        return self._replace(weights=np.where(cells, self.weights, 0.0))


def error_rates(judged: Mapping[str, Judged], level: float) -> dict[str, dict[str, Any]]:
    """Estimate a judge's error rates by name: `RATES`, fractions with an interval (NaN without such cells), and
    counts.

    Intervals leave out texts, because labels of a text depend on each other (`halluscope.stats.intervals`).
    """
    found: dict[str, dict[str, Any]] = {}
    tally: dict[str, tuple[Floats, Floats]] = {}
    for name, (yes, implied, weights) in judged.items():
        known = weights > 0
        found[name] = {
            "labels": int(known.sum()),
            "texts": int(known.any(axis=1).sum()),
            "implied": int((known & implied).sum()),
        }
        wrong, missed = yes & ~implied, ~yes & implied
        for rate, part, whole in zip(RATES, (wrong, missed, wrong), (~implied, implied, yes), strict=True):
            tally[f"{name}/{rate}"] = (weights * part).sum(axis=1), (weights * whole).sum(axis=1)
    counts = counts_of(tally)
    rates = leave_out(partial(score_sums, names=[*tally]), total_of(counts), blocks_of(counts))
    for key, left_out in rates.items():
        name, _, rate = key.rpartition("/")
        low, high = interval(left_out, level)
        found[name][rate] = {"value": left_out.value, "low": low, "high": high}
    return found


def calibration(chances: Floats, implied: Bools, weights: Floats, level: float) -> dict[str, Any]:
    """Measure how far a judge's probabilities of yes [texts, votes] are from how often people say yes; NaN without
    votes.

    Source: Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks" (ICML 2017), equation 3, with
    `BINS` bins of equal width over the probability of yes. Votes of weight 0 do not count.
    """

    def error(sums: Counts) -> dict[str, Floats]:
        """Return the expected calibration error [sums] from sums [sums, bins]."""
        off = np.abs(sums["predicted"] - sums["yes"]).sum(axis=1)
        return {"ece": ratio(off, sums["total"].sum(axis=1))}

    bins = np.minimum((chances * BINS).astype(np.int64), BINS - 1)
    by_text = {}
    for name, amounts in (("total", np.ones_like(chances)), ("predicted", chances), ("yes", implied)):
        of_bins = [np.where(bins == b, weights * amounts, 0.0).sum(axis=1) for b in range(BINS)]
        by_text[name] = np.stack(of_bins, axis=1)
    ece = leave_out(error, total_of(by_text), blocks_of(by_text))["ece"]
    low, high = interval(ece, level)
    total, predicted, yes = (table.sum(axis=0) for table in by_text.values())
    counts = np.bincount(bins[weights > 0], minlength=BINS)
    means = zip(ratio(predicted, total).tolist(), ratio(yes, total).tolist(), strict=True)
    return {
        "ece": {"value": ece.value, "low": low, "high": high},
        "bins": [
            {"from": b / BINS, "to": (b + 1) / BINS, "votes": int(counts[b]), "said": mean, "implied": people}
            for b, (mean, people) in enumerate(means)
            if counts[b]
        ],
    }


# A score corrected from the rows of a sample that people marked, given what a judge says of all rows. Rows are put into
# strata by the judge's value (Cochran 1977, 5A.9, poststratification). Within a stratum the marked rows stand for the
# others: each weighs 1 / its chance to be drawn. The interval draws the images again, which gives the strata's sizes,
# and weighs the marked rows by the Bayesian bootstrap (Rubin 1981) with half a row at each end of what was seen, or a
# step beyond where all are alike; for a share this is Jeffreys' interval.

FEWEST_MARKED = 50  # marked rows, below which a score is not corrected
IN_STRATUM = 10  # the fewest marked rows of a stratum; strata of neighbouring values are joined until they have as many
AT_ENDS = 0.5


def allot(sizes: Ints, sample: int) -> Ints:
    """Return how many rows of each verdict to mark: half evenly over the verdicts, half by their sizes."""
    wanted = np.minimum(sizes, np.ceil(sample * (sizes / sizes.sum() + 1 / len(sizes)) / 2)).astype(np.int64)
    while wanted.sum() > sample:
        wanted[np.argmax(wanted)] -= 1
    while wanted.sum() < min(sample, sizes.sum()):
        wanted[np.argmax(sizes - wanted)] += 1
    return np.asarray(wanted)


def corrected_score(
    judged: Floats,
    marked: Ints,
    part: Floats,
    whole: Floats,
    chances: Floats,
    clusters: Ints,
    most: float,
    resampling: Bootstrap,
) -> dict[str, float]:
    """Return a score, the sum of parts over the sum of wholes, as people would give it for all rows: `value`, `low` and
    `high`, NaN with fewer than `FEWEST_MARKED` marked rows.

    Args:
        judged: the judge's value of each row: [rows].
        marked: the rows that people marked: [marked].
        part: what each marked row adds to the score's numerator, by people: [marked].
        whole: what it adds to the denominator: [marked].
        chances: the chance with which each marked row was drawn, in (0, 1]: [marked].
        clusters: the image of each row, from 0: [rows].
        most: the greatest value of the score; the least is 0.
        resampling: how often is resampled; also the level.
    """
    if len(marked) < FEWEST_MARKED:
        return dict.fromkeys(("value", "low", "high"), np.nan)
    # each row's stratum, by the judge's value; neighbours are joined until each has enough marked rows
    values, index_of = np.unique(judged, return_inverse=True)
    counts = np.bincount(index_of[marked], minlength=len(values))
    of_value, stratum, here = np.zeros(len(values), dtype=np.int64), 0, 0
    for index, count in enumerate(counts):
        of_value[index] = stratum
        here += count
        if here >= IN_STRATUM and counts[index + 1 :].sum() >= IN_STRATUM:
            stratum, here = stratum + 1, 0
    strata = of_value[index_of]
    sizes = np.zeros((int(clusters.max()) + 1, int(strata.max()) + 1))
    np.add.at(sizes, (clusters, strata), 1)
    drawn = np.concatenate([weights @ sizes for weights in resampling.weights(len(sizes))])
    random = np.random.default_rng(resampling.seed)
    value, redrawn = np.zeros(2), np.zeros((2, len(drawn)))
    for stratum, size in enumerate(sizes.sum(axis=0)):
        of: Bools = strata[marked] == stratum
        weights = 1 / chances[of]
        weights /= weights.mean()
        middle = np.average(whole[of], weights=weights)
        low, high = part[of].min(), part[of].max()
        ends = (low, high) if low < high else (max(0.0, low - 1), min(most * middle, high + 1))
        rows = np.stack([np.append(part[of], ends), np.append(whole[of], [middle] * 2)])
        value += size * np.average(rows[:, :-2], axis=1, weights=weights)
        count = weights.sum() ** 2 / (weights**2).sum()
        # the variance of a mean is then that of a sample, which divides by count - 1
        shapes = np.append(np.full(len(weights), max(0.5, 1 - 2 / count)), [AT_ENDS] * 2)
        each = random.gamma(shapes, size=(len(drawn), len(shapes))) * np.append(weights, [1, 1])
        redrawn += drawn[:, stratum] * (rows @ each.T) / each.sum(axis=1)
    low, high = resampling.interval(redrawn[0] / redrawn[1])
    return {"value": float(value[0] / value[1]), "low": low, "high": high}
