"""Simulates how often the interval of two models' corrected difference contains the true one (stats/certified.py).

Two models answer the same questions about the same images, some of which are hard for both. A judge errs alike on both,
given what people would say. People mark 100 of 500, or 300 of 4,000 responses: of both models, of the first alone, or
of a third one that is not compared. The second model is as good as the first, or worse.

    python perf/certified.py [--runs 400]

The table shows how often the intervals of the difference and of the second model's score hold the truth, in percent;
the bias of the judge's difference and of the corrected one; and half the width of the interval.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from halluscope.stats import samples
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.certified import Judged, Marks, corrected_scores

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# What is marked -> the greatest value of the score
KINDS = {"5 % wrong": 1, "20 % wrong": 1, "0 to 6": 6, "nouns": 1}
RATES = {"5 % wrong": 0.05, "20 % wrong": 0.2}
WORSE = {"equal": 1.0, "different": 1.5}
MARKED = ("both", "the first", "a third")
SIZES = ((500, 100), (4000, 300))
HEADER = (
    "verdicts",
    "models",
    "marks of",
    "responses",
    "marked",
    "difference held",
    "score held",
    "raw bias",
    "bias",
    "half width",
)
TRUTH_OF = 1_000_000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    cases = list(product(KINDS, WORSE, MARKED, SIZES))
    with ProcessPoolExecutor(options.workers) as workers:
        rows = workers.map(partial(measure, runs=options.runs), *zip(*cases, strict=True))
        print(tabulate(rows, HEADER, floatfmt=(*[""] * 5, ".1f", ".1f", ".3f", ".3f", ".3f")))


def measure(
    kind: str, models: str, marked: str, sizes: tuple[int, int], runs: int
) -> tuple[str | int | float, ...]:
    """Return a row of the table."""
    random = np.random.default_rng(0)
    rows, sample = sizes
    worse = WORSE[models]
    images = Images(random, TRUTH_OF)
    true = []
    for times in (1.0, worse):
        part, _, whole = images.graded(random, kind, times)
        true.append(part.sum() / whole.sum())
    found = []
    for run in range(runs):
        found.append(one_pair(random, kind, worse, marked, rows, sample, run))
    raw, value, low, high, low_of_second, high_of_second = np.array(found).T
    truth = true[0] - true[1]
    held = 100 * ((low <= truth) & (truth <= high)).mean()
    score_held = 100 * ((low_of_second <= true[1]) & (true[1] <= high_of_second)).mean()
    width = (high - low).mean() / 2
    biases = (raw.mean() - truth, value.mean() - truth)
    return (kind, models, marked, rows, sample, held, score_held, *biases, width)


def one_pair(
    random: np.random.Generator, kind: str, worse: float, marked: str, rows: int, sample: int, seed: int
) -> Sequence[float]:
    """Return the judge's and the corrected difference of one draw, and the ends of two intervals."""
    images = Images(random, rows)
    first = images.graded(random, kind, 1.0)
    second = images.graded(random, kind, worse)
    of_sheets = [first]
    is_own = [True, False]
    sheet_of = [0, 0]
    if marked == "both":
        of_sheets = [first, second]
        is_own = [True, True]
        sheet_of = [0, 1]
    elif marked == "a third":
        of_sheets = [Images(random, rows).graded(random, kind, 1.0)]
        is_own = [False, False]
    sheets = [mark(random, *graded, sample) for graded in of_sheets]
    judged = []
    raw = []
    for (_, said, whole), sheet, own in zip((first, second), sheet_of, is_own, strict=True):
        judged.append(Judged(said, whole, images.clusters, sheet, own))
        raw.append(said.sum() / whole.sum())
    corrected = corrected_scores(judged, sheets, KINDS[kind], Bootstrap(400, seed))
    ends = np.quantile(corrected.both[:, 0] - corrected.both[:, 1], [0.025, 0.975])
    ends_of_second = np.quantile(corrected.both[:, 1], [0.025, 0.975])
    value = corrected.values[0, 0] - corrected.values[0, 1]
    return (raw[0] - raw[1], value, *ends, *ends_of_second)


def mark(random: np.random.Generator, part: Floats, said: Floats, whole: Floats, sample: int) -> Marks:
    """Let people mark a sample that was drawn by the judge's verdicts."""
    _, value_of, sizes = np.unique(said, return_inverse=True, return_counts=True)
    wanted = samples.allot(sizes, sample)
    drawn = []
    for value, count in enumerate(wanted):
        drawn.append(random.permutation(np.flatnonzero(value_of == value))[:count])
    rows = np.concatenate(drawn)
    chances = (wanted / sizes)[value_of[rows]]
    return Marks(said[rows], part[rows], whole[rows], chances)


class Images:
    """Images, some of them hard, and the questions about them."""

    def __init__(self, random: np.random.Generator, rows: int) -> None:
        self.clusters: Ints = np.unique(random.integers(rows // 2, size=rows), return_inverse=True)[1]
        self.hard = random.random(self.clusters.max() + 1)[self.clusters]
        self.nouns = random.integers(2, 7, size=rows)

    def graded(self, random: np.random.Generator, kind: str, times: float) -> tuple[Floats, Floats, Floats]:
        """Return what people say of a model's responses, what the judge says, and each response's weight.

        The model is so many `times` as often wrong as the first.
        """
        rows = len(self.hard)
        most = KINDS[kind]
        if kind == "nouns":
            true = random.binomial(self.nouns, 0.2 * times * self.hard)
            said = random.binomial(true, 0.9) + random.binomial(self.nouns - true, 0.05)
            return true.astype(float), said.astype(float), self.nouns.astype(float)
        whole = np.ones(rows)
        if most == 1:
            rate = np.minimum(1.0, 2 * RATES[kind] * times * self.hard)
            is_wrong = random.random(rows) < rate
            errs = random.random(rows) < np.where(is_wrong, 0.12, 0.04)
            return is_wrong.astype(float), (is_wrong ^ errs).astype(float), whole
        middle = most * (0.8 - 0.5 * times * self.hard)
        true = np.clip(np.round(random.normal(middle, most / 4)), 0, most)
        said = np.clip(true + random.choice([-2, -1, 0, 0, 0, 0, 1, 1], size=rows), 0, most)
        return true, said, whole


if __name__ == "__main__":
    main()
