"""A score corrected from the rows of a sample that people marked, given what a judge says of all rows.

Rows are put into strata by the judge's value (Cochran 1977, 5A.9, poststratification). Within a stratum the marked rows
stand for the others: each weighs 1 / its chance to be drawn. The interval draws the images again, which gives the
strata's sizes, and weighs the marked rows by the Bayesian bootstrap (Rubin 1981) with half a row at each end of what
was seen, or a step beyond where all are alike; for a share this is Jeffreys' interval.
"""

from dataclasses import dataclass

import numpy as np

from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Ints

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
        # how many rows of one weight tell as much
        count = self.weights.sum() ** 2 / (self.weights**2).sum()
        # the variance of a mean is then that of a sample, which divides by count - 1
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
