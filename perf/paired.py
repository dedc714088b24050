"""Simulates pairs of models to check that `halluscope compare` distinguishes a real difference from chance.

    python perf/paired.py [--times 1000]

Two models err on the same images, some hard and some easy, and one of them names objects oftener than the other. For
each kind of score, the script prints how often p is below 0.05 and 0.005 if the models are equal, and how often the
95 % interval contains the true difference, if there is none and if there is one.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from halluscope.stats import tallies
from halluscope.stats.intervals import Counts, LeftOut, blocks_of, leave_out, total_of
from halluscope.stats.paired import Difference, difference, ratio_differences
from halluscope.stats.ratios import Floats, defined_mean, ratio
from halluscope.stats.tallies import Ints, Tally

GAP = 0.1  # how much oftener the second model errs, where there is a difference
CLASSES = 20

Pair = tuple[Tally, Tally]  # the two models' parts and wholes of a score, by image
Simulate = Callable[[float], Pair]  # makes a pair of models with a gap between them


@dataclass(frozen=True)
class Case:
    """A kind of score of two models."""

    name: str
    compare: Callable[[float], Difference]  # compares two models with a gap between them
    difference: float = np.nan  # the true difference where the gap is `GAP`; NaN if there is no such case


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=1000)
    times = parser.parse_args().times
    print(f"{times} pairs each")
    print(f"{'':75} p<0.05  <0.005  covered  with a difference")
    for case in cases(np.random.default_rng(0)):
        equal = tested([case.compare(0.0) for _ in range(times)])
        p_values = np.array([pair.p for pair in equal])
        figures = [np.mean(p_values < 0.05), np.mean(p_values < 0.005), covered(equal, 0.0)]
        if not np.isnan(case.difference):
            different = tested([case.compare(GAP) for _ in range(times)])
            figures.append(covered(different, case.difference))
        shown = [f"{figure:6.3f}" for figure in figures]
        print(f"{case.name:75} {'  '.join(shown)}", flush=True)


def tested(pairs: list[Difference]) -> list[Difference]:
    return [pair for pair in pairs if not np.isnan(pair.p)]


def covered(pairs: list[Difference], difference: float) -> float:
    """Return how often the interval holds the true difference."""
    return float(np.mean([pair.low <= difference <= pair.high for pair in pairs]))


# The cases


def cases(rng: np.random.Generator) -> Iterator[Case]:
    for images in (10, 20, 50, 200, 500):
        yield from cases_of_images(rng, images)
    for images in (200, 500):
        name = f"mean precision of {CLASSES} classes, named in 40 % and 10 % of {images} images"
        yield Case(name, partial(class_average, rng, images, (0.4, 0.1)))
    for error in (0.02, 0.05):
        wrong = f"{100 * error:.0f} % wrong"
        yield of_score(
            f"errors of 4 and 1 mentions in each of 50 images, {wrong}",
            partial(mentions, rng, 50, (4, 1), error),
        )
        yield of_score(f"share of 200 images, {wrong}", partial(answers, rng, 200, 1, 1.0, error))
    for right in (0.6, 0.8, 0.95):
        for often in ((40, 6), (40, 10), (33, 10), (200, 30), (2000, 40), (500, 500)):
            for shared in (0, 0.6):
                yield Case(
                    f"class precision {right}: {often[0]} and {often[1]} mentions, {100 * shared:.0f} % shared",
                    partial(compare_class, partial(precision_of_class, rng, often, shared, right)),
                    GAP,
                )
    for present in (10, 40, 500):
        yield of_class(f"class recall in {present} images", partial(answers, rng, present, 1, 1.0, 1 - 0.7))
    for images in (10, 40, 200):
        yield of_class(
            f"class accuracy of 3 questions about each of {images} images, 2 of them readable",
            partial(answers, rng, images, 3, 2 / 3, 0.25),
        )


def cases_of_images(rng: np.random.Generator, images: int) -> Iterator[Case]:
    for often in ((4, 4), (8, 2)):
        yield of_score(
            f"errors of {often[0]} and {often[1]} mentions in each of {images} images",
            partial(mentions, rng, images, often, 0.25),
        )
    yield of_score(f"share of {images} images", partial(answers, rng, images, 1, 1.0, 0.25))
    yield of_score(
        f"accuracy of 6 questions about each of {images} images, 4 of them readable",
        partial(answers, rng, images, 6, 2 / 3, 0.25),
    )


def of_score(name: str, simulate: Simulate) -> Case:
    return Case(name, partial(compare_score, simulate), -GAP)


def of_class(name: str, simulate: Simulate) -> Case:
    return Case(name, partial(compare_class, simulate), -GAP)


# How `halluscope compare` compares two models


def compare_score(simulate: Simulate, gap: float) -> Difference:
    """Return the difference as `halluscope compare` computes it for scores and groups."""
    first, second = simulate(gap)
    return difference(score_of(first), score_of(second))


def score_of(tally: Tally) -> LeftOut:
    def score(sums: Counts) -> dict[str, Floats]:
        return tallies.score_sums(sums, ["score"])

    return without_each(score, tallies.counts_of(tally))


def compare_class(simulate: Simulate, gap: float) -> Difference:
    """Return the difference as `halluscope compare` computes it for classes."""
    first, second = simulate(gap)
    return ratio_differences(first, second)["score"]


def without_each(score: Callable[[Counts], dict[str, Floats]], counts: Counts) -> LeftOut:
    return leave_out(score, total_of(counts), blocks_of(counts))["score"]


# Two models


def mentions(
    rng: np.random.Generator,
    images: int,
    often: tuple[float, float],
    error: float,
    gap: float,
) -> Pair:
    """Return the errors among each model's mentions per image, as for `chair_i` and THRONE's pooled precision."""
    hard = rng.beta(4 * error, 4 * (1 - error), images)
    counts = [rng.poisson(mean, images) for mean in often]
    return with_errors(rng, counts[0], counts[1], hard, error, gap)


def answers(
    rng: np.random.Generator,
    images: int,
    asked: int,
    readable: float,
    error: float,
    gap: float,
) -> Pair:
    """Return the errors among each model's answers per image; the second's are not all readable."""
    hard = rng.beta(4 * error, 4 * (1 - error), images)
    second = rng.binomial(asked, readable, images)
    return with_errors(rng, np.full(images, asked), second, hard, error, gap)


def with_errors(
    rng: np.random.Generator, first: Ints, second: Ints, hard: Floats, error: float, gap: float
) -> Pair:
    """Return each model's errors among its counts by image; the second errs always on a few images more."""
    harder = np.where(rng.random(len(hard)) < gap / (1 - error), 1, hard)
    return {"score": (rng.binomial(first, hard), first)}, {"score": (rng.binomial(second, harder), second)}


def precision_of_class(
    rng: np.random.Generator,
    often: tuple[int, int],
    shared: float,
    right: float,
    gap: float,
) -> Pair:
    """Return a class's precision: an image that both name is right or wrong for both."""
    both = shared * min(often)
    only_first = max(0.0, often[0] - both)
    only_second = max(0.0, often[1] - both)
    images = rng.poisson([only_first, only_second, both])
    right_of_second = max(0, right - gap * often[1] / max(only_second, 1))
    rights = rng.binomial(images, [right, right_of_second, right])
    hits = []
    for right_images, all_images in zip(rights, images, strict=True):
        hits.append(np.repeat([1, 0], [right_images, all_images - right_images]))
    is_right = np.concatenate(hits)
    first = np.repeat([1, 0, 1], images)
    second = np.repeat([0, 1, 1], images)
    return {"score": (is_right * first, first)}, {"score": (is_right * second, second)}


def class_average(
    rng: np.random.Generator, images: int, often: tuple[float, float], gap: float
) -> Difference:
    """Return the difference in the mean of the classes' precisions, as for THRONE's `precision_cls`."""
    present = rng.random((images, CLASSES)) < 0.5
    left_out = []
    for share in often:
        named = rng.random((images, CLASSES)) < np.where(present, share, share / 4)
        left_out.append(without_each(mean_precision, {"hits": named & present, "named": named}))
    return difference(left_out[0], left_out[1])


def mean_precision(sums: Counts) -> dict[str, Floats]:
    return {"score": defined_mean(ratio(sums["hits"], sums["named"]))}


if __name__ == "__main__":
    main()
