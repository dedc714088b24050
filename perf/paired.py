"""Simulates pairs of models to check that `halluscope compare` distinguishes a real difference from chance.

    python perf/paired.py [--times 1000]

Two models err on the same images, some hard and some easy, and one of them names objects oftener than the other. For
each kind of score, the script prints how often p is below 0.05 and 0.005 if the models are equal, and how often the
95 % interval contains the true difference, if there is none and if there is one.
"""

import argparse
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.stats import tallies
from halluscope.stats.intervals import Counts, LeftOut, blocks_of, leave_out, total_of
from halluscope.stats.paired import Difference, difference
from halluscope.stats.ratio_pairs import ratio_differences
from halluscope.stats.ratios import Floats, defined_mean, ratio
from halluscope.stats.tallies import Ints, Tally

GAP = 0.1  # how much oftener the second model errs, where there is a difference
CLASSES = 20

Pair = tuple[Any, Any]  # the two models' counts by image


class Simulation(ABC):
    """Makes pairs of models."""

    @abstractmethod
    def pair(self, rng: np.random.Generator, gap: float) -> Pair:
        """Return a pair of models with a gap between them."""


@dataclass(frozen=True)
class Case:
    """A kind of score of two models."""

    name: str
    simulation: Simulation
    compare: Callable[[Pair], Difference]
    difference: float = np.nan  # the true difference where the gap is `GAP`; NaN if there is no such case

    def differences(self, rng: np.random.Generator, gap: float, times: int) -> list[Difference]:
        """Return the differences of so many pairs, without those that could not be tested."""
        tested = []
        for _ in range(times):
            difference = self.compare(self.simulation.pair(rng, gap))
            if not np.isnan(difference.p):
                tested.append(difference)
        return tested


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=1000)
    times = parser.parse_args().times
    print(f"{times} pairs each")
    print(f"{'':75} p<0.05  <0.005  covered  with a difference")
    rng = np.random.default_rng(0)
    for case in cases():
        equal = case.differences(rng, 0.0, times)
        p_values = np.array([difference.p for difference in equal])
        figures = [np.mean(p_values < 0.05), np.mean(p_values < 0.005), covered(equal, 0.0)]
        if not np.isnan(case.difference):
            figures.append(covered(case.differences(rng, GAP, times), case.difference))
        cells = [f"{figure:6.3f}" for figure in figures]
        print(f"{case.name:75} {'  '.join(cells)}", flush=True)


def covered(pairs: list[Difference], difference: float) -> float:
    """Return how often the interval holds the true difference."""
    return float(np.mean([pair.low <= difference <= pair.high for pair in pairs]))


# The cases


def cases() -> Iterator[Case]:
    for images in (10, 20, 50, 200, 500):
        yield from cases_of_images(images)
    for images in (200, 500):
        name = f"mean precision of {CLASSES} classes, named in 40 % and 10 % of {images} images"
        yield Case(name, ClassPrecisions(images, often=(0.4, 0.1)), compare_averages)
    for error in (0.02, 0.05):
        wrong = f"{100 * error:.0f} % wrong"
        mentions = Mentions(images=50, often=(4, 1), error=error)
        yield of_score(f"errors of 4 and 1 mentions in each of 50 images, {wrong}", mentions)
        yield of_score(f"share of 200 images, {wrong}", Answers(images=200, error=error))
    for right in (0.6, 0.8, 0.95):
        for often in ((40, 6), (40, 10), (33, 10), (200, 30), (2000, 40), (500, 500)):
            for shared in (0, 0.6):
                yield Case(
                    f"class precision {right}: {often[0]} and {often[1]} mentions, {100 * shared:.0f} % shared",
                    PrecisionOfClass(often, shared, right),
                    compare_class,
                    difference=GAP,
                )
    for present in (10, 40, 500):
        yield of_class(f"class recall in {present} images", Answers(images=present, error=1 - 0.7))
    for images in (10, 40, 200):
        yield of_class(
            f"class accuracy of 3 questions about each of {images} images, 2 of them readable",
            Answers(images=images, error=0.25, questions=3, readable=2 / 3),
        )


def cases_of_images(images: int) -> Iterator[Case]:
    for often in ((4, 4), (8, 2)):
        yield of_score(
            f"errors of {often[0]} and {often[1]} mentions in each of {images} images",
            Mentions(images, often, error=0.25),
        )
    yield of_score(f"share of {images} images", Answers(images, error=0.25))
    yield of_score(
        f"accuracy of 6 questions about each of {images} images, 4 of them readable",
        Answers(images, error=0.25, questions=6, readable=2 / 3),
    )


def of_score(name: str, simulation: Simulation) -> Case:
    return Case(name, simulation, compare_score, difference=-GAP)


def of_class(name: str, simulation: Simulation) -> Case:
    return Case(name, simulation, compare_class, difference=-GAP)


# How `halluscope compare` compares two models


def compare_score(pair: Pair) -> Difference:
    """Return the difference as `halluscope compare` computes it for scores and groups."""
    first, second = pair
    return difference(score_of(first), score_of(second))


def compare_class(pair: Pair) -> Difference:
    """Return the difference as `halluscope compare` computes it for classes."""
    first, second = pair
    return ratio_differences(first, second)["score"]


def compare_averages(pair: Pair) -> Difference:
    """Return the difference in the mean of the classes' precisions, as for THRONE's `precision_cls`."""
    first, second = pair
    return difference(without_each(mean_precision, first), without_each(mean_precision, second))


def mean_precision(sums: Counts) -> dict[str, Floats]:
    return {"score": defined_mean(ratio(sums["hits"], sums["named"]))}


def score_of(tally: Tally) -> LeftOut:
    def score(sums: Counts) -> dict[str, Floats]:
        return tallies.score_sums(sums, ["score"])

    return without_each(score, tallies.counts_of(tally))


def without_each(score: Callable[[Counts], dict[str, Floats]], counts: Counts) -> LeftOut:
    return leave_out(score, total_of(counts), blocks_of(counts))["score"]


# Two models


@dataclass(frozen=True)
class Mentions(Simulation):
    """The errors among each model's mentions per image, as for `chair_i` and THRONE's pooled precision."""

    images: int
    often: tuple[float, float]  # each model's mentions per image
    error: float

    def pair(self, rng: np.random.Generator, gap: float) -> Pair:
        error_rates = rates(rng, self.error, self.images)
        first = rng.poisson(self.often[0], self.images)
        second = rng.poisson(self.often[1], self.images)
        return with_errors(rng, first, second, error_rates, gap / (1 - self.error))


@dataclass(frozen=True)
class Answers(Simulation):
    """The errors among each model's answers per image; the second's are not all readable."""

    images: int
    error: float
    questions: int = 1
    readable: float = 1.0

    def pair(self, rng: np.random.Generator, gap: float) -> Pair:
        error_rates = rates(rng, self.error, self.images)
        first = np.full(self.images, self.questions)
        second = rng.binomial(self.questions, self.readable, self.images)
        return with_errors(rng, first, second, error_rates, gap / (1 - self.error))


def rates(rng: np.random.Generator, error: float, images: int) -> Floats:
    """Return how often both models err on each image; on average they err this often."""
    return rng.beta(4 * error, 4 * (1 - error), images)


def with_errors(
    rng: np.random.Generator, first: Ints, second: Ints, error_rates: Floats, more: float
) -> Pair:
    """Return each model's errors among its counts by image; the second errs always on this share of the images."""
    second_rates = np.where(rng.random(len(error_rates)) < more, 1, error_rates)
    first_errors = rng.binomial(first, error_rates)
    second_errors = rng.binomial(second, second_rates)
    return {"score": (first_errors, first)}, {"score": (second_errors, second)}


@dataclass(frozen=True)
class PrecisionOfClass(Simulation):
    """A class's precision: an image that both name is right or wrong for both."""

    often: tuple[int, int]  # how many images each model names
    shared: float
    right: float

    def pair(self, rng: np.random.Generator, gap: float) -> Pair:
        both = self.shared * min(self.often)
        only_first = max(0.0, self.often[0] - both)
        only_second = max(0.0, self.often[1] - both)
        images = rng.poisson([only_first, only_second, both])
        right_of_second = max(0, self.right - gap * self.often[1] / max(only_second, 1))
        rights = rng.binomial(images, [self.right, right_of_second, self.right])
        hits = []
        for right_images, all_images in zip(rights, images, strict=True):
            hits.append(np.repeat([1, 0], [right_images, all_images - right_images]))
        is_right = np.concatenate(hits)
        first = np.repeat([1, 0, 1], images)
        second = np.repeat([0, 1, 1], images)
        return {"score": (is_right * first, first)}, {"score": (is_right * second, second)}


@dataclass(frozen=True)
class ClassPrecisions(Simulation):
    """What each model names, and what of it is right, by image and class; the models have no gap."""

    images: int
    often: tuple[float, float]  # how often each model names a class that is there

    def pair(self, rng: np.random.Generator, gap: float) -> Pair:
        present = rng.random((self.images, CLASSES)) < 0.5
        models = []
        for share in self.often:
            named = rng.random((self.images, CLASSES)) < np.where(present, share, share / 4)
            models.append({"hits": named & present, "named": named})
        return models[0], models[1]


if __name__ == "__main__":
    main()
