"""What samples that people reviewed say of all rows: error rates by strata, a judge's errors, a grader's scores."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.intervals import Counts, blocks_of, interval, leave_out, total_of
from halluscope.stats.ratios import Floats, ratio, wilson
from halluscope.stats.tallies import Bools, Ints, counts_of, score_sums

# Error rates by strata (THRONE, supplement, section 4.1 and Table 3): two methods agree on most responses; those on
# which they disagree are reviewed more closely, and the strata's rates are weighted by their shares of all responses.


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


# How often a judge errs about yes and no, and how well calibrated it is. Each label's weight is 1 / the probability
# that it was asked for (Horvitz and Thompson, 1952). Labels of a text depend on each other.

BINS = 10
RATES = ("false_yes", "false_no", "wrong_yes")


@dataclass(frozen=True)
class Judged:
    """The labels of a judge and of people for the cells of a sample of texts, each [texts, cells]."""

    yes: Bools  # whether the judge says yes
    implied: Bools  # whether people say yes
    weights: Floats  # the labels' weights; 0 where people were not asked

    def among(self, cells: Bools) -> "Judged":
        """Return the labels of only some cells, given as bool [texts, cells], [cells], or [texts, 1]."""
        return replace(self, weights=np.where(cells, self.weights, 0.0))

    def by_text(self, cells: Bools) -> Floats:
        """Return the weights of some cells, summed over each text: [texts]."""
        sums: Floats = (self.weights * cells).sum(axis=1)
        return sums


def error_rates(judged: Mapping[str, Judged], level: float) -> dict[str, dict[str, Any]]:
    """Estimate a judge's error rates by name: `RATES`, fractions with an interval (NaN without such cells), and
    counts.

    Intervals leave out texts, because labels of a text depend on each other (`halluscope.stats.intervals`).
    """
    tally = {}
    for name, cells in judged.items():
        false_yes = cells.by_text(cells.yes & ~cells.implied)
        false_no = cells.by_text(~cells.yes & cells.implied)
        tally[f"{name}/false_yes"] = (false_yes, cells.by_text(~cells.implied))
        tally[f"{name}/false_no"] = (false_no, cells.by_text(cells.implied))
        tally[f"{name}/wrong_yes"] = (false_yes, cells.by_text(cells.yes))
    scores = list(tally)
    counts = counts_of(tally)
    left_out = leave_out(lambda sums: score_sums(sums, scores), total_of(counts), blocks_of(counts))
    rates: dict[str, dict[str, Any]] = {}
    for name, cells in judged.items():
        is_known = cells.weights > 0
        rates[name] = {
            "labels": int(is_known.sum()),
            "texts": int(is_known.any(axis=1).sum()),
            "implied": int((is_known & cells.implied).sum()),
        }
        for rate in RATES:
            score = left_out[f"{name}/{rate}"]
            low, high = interval(score, level)
            rates[name][rate] = {"value": score.value, "low": low, "high": high}
    return rates


def calibration(
    chances: Floats,
    implied: Bools,
    weights: Floats,
    level: float,
) -> dict[str, Any]:
    """Measure how far a judge's probabilities of yes [texts, votes] are from how often people say yes; NaN without
    votes.

    Source: Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks" (ICML 2017), equation 3, with
    `BINS` bins of equal width over the probability of yes. Votes of weight 0 do not count.
    """
    bins = np.minimum((chances * BINS).astype(np.int64), BINS - 1)
    by_text = {
        "total": _by_bin(weights, bins),
        "predicted": _by_bin(weights * chances, bins),
        "yes": _by_bin(weights * implied, bins),
    }
    error = leave_out(_calibration_error, total_of(by_text), blocks_of(by_text))["ece"]
    low, high = interval(error, level)

    votes = np.bincount(bins[weights > 0], minlength=BINS)
    total = by_text["total"].sum(axis=0)
    predicted = ratio(by_text["predicted"].sum(axis=0), total)
    by_people = ratio(by_text["yes"].sum(axis=0), total)
    table = []
    for number in range(BINS):
        if votes[number]:
            table.append(
                {
                    "from": number / BINS,
                    "to": (number + 1) / BINS,
                    "votes": int(votes[number]),
                    "said": float(predicted[number]),
                    "implied": float(by_people[number]),
                }
            )
    return {"ece": {"value": error.value, "low": low, "high": high}, "bins": table}


def _by_bin(amounts: Floats, bins: Ints) -> Floats:
    """Return the sums of amounts [texts, votes] by text and bin: [texts, bins]."""
    sums = np.empty((len(amounts), BINS))
    for number in range(BINS):
        sums[:, number] = np.where(bins == number, amounts, 0.0).sum(axis=1)
    return sums


def _calibration_error(sums: Counts) -> dict[str, Floats]:
    """Return the expected calibration error [sums] from sums [sums, bins]."""
    away = np.abs(sums["predicted"] - sums["yes"]).sum(axis=1)
    return {"ece": ratio(away, sums["total"].sum(axis=1))}


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
    shares = sizes / sizes.sum()
    even_shares = 1 / len(sizes)
    numbers = np.ceil(sample * (shares + even_shares) / 2)
    numbers = np.minimum(sizes, numbers).astype(np.int64)
    while numbers.sum() > sample:
        numbers[np.argmax(numbers)] -= 1
    while numbers.sum() < min(sample, sizes.sum()):
        numbers[np.argmax(sizes - numbers)] += 1
    return np.asarray(numbers)


@dataclass(frozen=True)
class Marked:
    """The rows that people marked: [marked] each."""

    rows: Ints  # their numbers among all rows
    part: Floats  # what each adds to the score's numerator, by people
    whole: Floats  # what it adds to the denominator
    chances: Floats  # the chance with which it was drawn, in (0, 1]


def corrected_score(
    judged: Floats,
    marked: Marked,
    clusters: Ints,
    most: float,
    resampling: Bootstrap,
) -> dict[str, float]:
    """Return a score, the sum of parts over the sum of wholes, as people would give it for all rows: `value`, `low` and
    `high`, NaN with fewer than `FEWEST_MARKED` marked rows.

    Args:
        judged: the judge's value of each row: [rows].
        marked: the rows that people marked.
        clusters: the image of each row, from 0: [rows].
        most: the greatest value of the score; the least is 0.
        resampling: how often is resampled; also the level.
    """
    if len(marked.rows) < FEWEST_MARKED:
        return dict.fromkeys(("value", "low", "high"), np.nan)
    edges = strata_edges(judged[marked.rows])
    stratum_of = stratum_of_values(judged, edges)
    strata = len(edges) + 1
    sizes = np.zeros((int(clusters.max()) + 1, strata))
    np.add.at(sizes, (clusters, stratum_of), 1)
    resampled_sizes = resampling.sums(sizes)

    random = np.random.default_rng(resampling.seed)
    sums = np.zeros(2)  # of parts and wholes
    resampled_sums = np.zeros((2, len(resampled_sizes)))
    for stratum in range(strata):
        is_here = stratum_of[marked.rows] == stratum
        rows = MarkedStratum(marked.part[is_here], marked.whole[is_here], marked.chances[is_here], most)
        sums += sizes[:, stratum].sum() * rows.means()
        resampled_sums += rows.resampled_sums(resampled_sizes[:, stratum], random)
    low, high = resampling.interval(resampled_sums[0] / resampled_sums[1])
    return {"value": float(sums[0] / sums[1]), "low": low, "high": high}


def strata_edges(judged: Floats) -> Floats:
    """Return the greatest judge's value of each stratum but the last, by those of the marked rows [marked].

    Neighbouring values are joined until each stratum has enough marked rows.
    """
    values, marked_rows = np.unique(judged, return_counts=True)
    edges = []
    rows_here = 0
    for number, rows in enumerate(marked_rows):
        rows_here += rows
        rows_left = marked_rows[number + 1 :].sum()
        if rows_here >= IN_STRATUM and rows_left >= IN_STRATUM:
            edges.append(values[number])
            rows_here = 0
    return np.array(edges, dtype=np.float64)


def stratum_of_values(judged: Floats, edges: Floats) -> Ints:
    """Return the stratum of each of the judge's values."""
    return np.searchsorted(edges, judged, side="left")


class MarkedStratum:
    """The marked rows of a stratum, and two rows that stand for what was not seen."""

    def __init__(self, part: Floats, whole: Floats, chances: Floats, most: float) -> None:
        self.part = part
        self.whole = whole
        weights = 1 / chances
        self.weights = weights / weights.mean()
        self.middle = float(np.average(whole, weights=self.weights))  # the mean whole
        self.most = most

    def means(self) -> Floats:
        """Return the mean part and the mean whole: [2]."""
        return np.asarray(np.average([self.part, self.whole], axis=1, weights=self.weights))

    def resampled_sums(self, sizes: Floats, random: np.random.Generator) -> Floats:
        """Return the sums of parts and of wholes of a stratum of these sizes [resamples]: [2, resamples]."""
        weights = self.resampled_weights(len(sizes), random)
        parts = np.append(self.part, self.ends())
        wholes = np.append(self.whole, [self.middle, self.middle])
        sums: Floats = sizes * (np.stack([parts, wholes]) @ weights.T)
        return sums

    def resampled_weights(self, resamples: int, random: np.random.Generator) -> Floats:
        """Return the weights of the marked rows and of the two others, which sum to 1: [resamples, marked + 2]."""
        # the variance of a mean is then that of a sample, which divides by count - 1
        count = self.weights.sum() ** 2 / (self.weights**2).sum()
        shape = max(0.5, 1 - 2 / count)
        shapes = np.append(np.full(len(self.weights), shape), [AT_ENDS, AT_ENDS])
        gammas = random.gamma(shapes, size=(resamples, len(shapes)))
        weights = gammas * np.append(self.weights, [1, 1])
        shares: Floats = weights / weights.sum(axis=1, keepdims=True)
        return shares

    def ends(self) -> tuple[float, float]:
        """Return the least and the greatest part, or a step beyond where all are alike."""
        low = self.part.min()
        high = self.part.max()
        if low < high:
            return low, high
        return max(0.0, low - 1), min(self.most * self.middle, high + 1)
