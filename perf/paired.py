"""Simulates pairs of models to check that `halluscope compare` distinguishes a real difference from chance.

    python perf/paired.py [--times 1000]

Two models err on the same images, some hard and some easy, and one of them names objects oftener than the other. For
each kind of score, the script prints how often p is below 0.05 and 0.005 if the models are equal, and how often the
95 % interval contains the true difference, if there is none and if there is one.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from halluscope.stats import tallies
from halluscope.stats.intervals import Counts, LeftOut, blocks_of, leave_out, total_of
from halluscope.stats.paired import Difference, difference, ratio_differences
from halluscope.stats.ratios import Floats, defined_mean, ratio
from halluscope.stats.tallies import Tally

GAP = 0.1

Pair = tuple[Tally, Tally]


def mentions(
    rng: np.random.Generator, images: int, often: tuple[float, float], error: float, gap: float
) -> Pair:
    """Return the errors among each model's mentions per image, as for `chair_i` and THRONE's pooled precision."""
    hard = rng.beta(4 * error, 4 * (1 - error), images)
    counts = [rng.poisson(mean, images) for mean in often]
    rates = hard, np.where(rng.random(images) < gap / (1 - error), 1, hard)
    one, other = ({"score": (rng.binomial(n, rate), n)} for n, rate in zip(counts, rates, strict=True))
    return one, other


def answers(
    rng: np.random.Generator, images: int, asked: int, readable: float, error: float, gap: float
) -> Pair:
    """Return the errors among each model's answers per image; the second's are not all readable."""
    hard = rng.beta(4 * error, 4 * (1 - error), images)
    counts = np.full(images, asked), rng.binomial(asked, readable, images)
    rates = hard, np.where(rng.random(images) < gap / (1 - error), 1, hard)
    one, other = ({"score": (rng.binomial(n, rate), n)} for n, rate in zip(counts, rates, strict=True))
    return one, other


def named(rng: np.random.Generator, often: tuple[int, int], shared: float, right: float, gap: float) -> Pair:
    """Return a class's precision: an image that both name is right or wrong for both."""
    both = shared * min(often)
    least = [max(0.0, of - both) for of in often]
    counts = rng.poisson([*least, both])
    rights = rng.binomial(counts, [right, max(0, right - gap * often[1] / max(least[1], 1)), right])
    hits = [np.repeat([1, 0], [hit, of - hit]) for hit, of in zip(rights, counts, strict=True)]
    sides = np.repeat([[1, 0], [0, 1], [1, 1]], counts, axis=0).T
    one, other = ({"score": (np.concatenate(hits) * side, side)} for side in sides)
    return one, other


def found(rng: np.random.Generator, present: int, right: float, gap: float) -> Pair:
    """Return a class's recall: the same images count for both."""
    return answers(rng, present, 1, 1.0, 1 - right, gap)


def class_average(rng: np.random.Generator, images: int, often: tuple[float, float], _: float) -> Difference:
    """Return the difference in the mean of the classes' precisions, as for THRONE's `precision_cls`."""
    classes = 20
    there = rng.random((images, classes)) < 0.5
    sides = [rng.random((images, classes)) < np.where(there, of, of / 4) for of in often]

    def average(sums: Counts) -> dict[str, Floats]:
        return {"score": defined_mean(ratio(sums["hits"], sums["named"]))}

    one, other = (without_each(average, {"hits": side & there, "named": side}) for side in sides)
    return difference(one, other)


def without_each(score: Callable[[Counts], dict[str, Floats]], counts: Counts) -> LeftOut:
    return leave_out(score, total_of(counts), blocks_of(counts))["score"]


def left_out(pair: Pair) -> Difference:
    """Return the difference as `halluscope compare` computes it for scores and groups."""
    score = partial(tallies.score_sums, names=["score"])
    one, other = (without_each(score, tallies.counts_of(tally)) for tally in pair)
    return difference(one, other)


def counted(pair: Pair) -> Difference:
    """Return the difference as `halluscope compare` computes it for classes."""
    return ratio_differences(*pair)["score"]


Compared = Callable[[float], Difference]


def cases(rng: np.random.Generator) -> Iterator[tuple[str, Compared, float]]:
    """Yield kinds of scores: a name, what compares a pair by a gap, and the true difference for a gap."""

    def case(
        name: str,
        test: Callable[[Pair], Difference],
        apart: float,
        simulate: Callable[..., Pair],
        *sizes: Any,
    ) -> tuple[str, Compared, float]:
        return name, lambda gap: test(simulate(rng, *sizes, gap)), apart

    for images in (10, 20, 50, 200, 500):
        for often in ((4, 4), (8, 2)):
            name = f"errors of {often[0]} and {often[1]} mentions in each of {images} images"
            yield case(name, left_out, -GAP, mentions, images, often, 0.25)
        yield case(f"share of {images} images", left_out, -GAP, answers, images, 1, 1.0, 0.25)
        name = f"accuracy of 6 questions about each of {images} images, 4 of them readable"
        yield case(name, left_out, -GAP, answers, images, 6, 2 / 3, 0.25)
    for images in (200, 500):
        name = f"mean precision of 20 classes, named in 40 % and 10 % of {images} images"
        yield name, partial(class_average, rng, images, (0.4, 0.1)), np.nan
    for few in (0.02, 0.05):
        name = f"errors of 4 and 1 mentions in each of 50 images, {100 * few:.0f} % wrong"
        yield case(name, left_out, -GAP, mentions, 50, (4, 1), few)
        yield case(f"share of 200 images, {100 * few:.0f} % wrong", left_out, -GAP, answers, 200, 1, 1.0, few)
    for right in (0.6, 0.8, 0.95):
        for one, other in ((40, 6), (40, 10), (33, 10), (200, 30), (2000, 40), (500, 500)):
            for shared in (0, 0.6):
                name = f"class precision {right}: {one} and {other} mentions, {100 * shared:.0f} % shared"
                yield case(name, counted, GAP, named, (one, other), shared, right)
    for present in (10, 40, 500):
        yield case(f"class recall in {present} images", counted, -GAP, found, present, 0.7)
    for images in (10, 40, 200):
        name = f"class accuracy of 3 questions about each of {images} images, 2 of them readable"
        yield case(name, counted, -GAP, answers, images, 3, 2 / 3, 0.25)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=1000)
    times = parser.parse_args().times
    print(f"{times} pairs each")
    print(f"{'':75} p<0.05  <0.005  covered  with a difference")
    for name, compared, apart in cases(np.random.default_rng(0)):
        shown = []
        for gap in (0.0, GAP):
            if gap and np.isnan(apart):
                continue
            pairs = [compared(gap) for _ in range(times)]
            tested = [one for one in pairs if not np.isnan(one.p)]
            expected = apart if gap else 0.0
            if not gap:
                shown += [f"{np.mean([one.p < below for one in tested]):6.3f}" for below in (0.05, 0.005)]
            shown.append(f"{np.mean([one.low <= expected <= one.high for one in tested]):6.3f}")
        print(f"{name:75} {'  '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
