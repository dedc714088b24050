"""Simulates how often the intervals of scores, and of differences between two models, hold the truth.

    python perf/coverage.py --intervals [--runs 500]

In the first table, `held` is how often the interval of `halluscope.stats.intervals` contains the true score, beside the
percentile interval of 500 resamples of the clusters, and Clopper's and Pearson's interval of the rows as if they were
independent. `/ percentile` and `/ Clopper` are the mean widths over those of these two.

The second table is about two models: `held` is how often the interval of the difference contains the true one, and
`p < 0.05` how often the models are told apart. Without a difference, that is the type I error.

Both tables end with what fails: a coverage below 93 % of a nominal 95 %, a type I error above what chance makes of 5 %,
independent rows with more than 1.2 times the width of Clopper's and Pearson's interval, or a width that is not within a
tenth of the percentile interval's where at least a hundred clusters are many enough for it.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from tabulate import tabulate

from halluscope.benchmarks.throne.counting import Conventions
from halluscope.benchmarks.throne.counting import score as throne_score
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.intervals import (
    MOST_UNDEFINED,
    SHARE,
    Counts,
    LeftOut,
    Range,
    blocks_of,
    interval,
    leave_out,
    total_of,
)
from halluscope.stats.paired import difference
from halluscope.stats.ratios import Floats, f_of_means, ratio

Score = Callable[[Counts], Floats]

RESAMPLES = 500
LEAST_HELD = 0.93
WIDEST = 1.2
WITHIN = 0.1
CLASSES = 80
POPULATION = 20_000


@dataclass(frozen=True)
class Case:
    """A model and a benchmark of which samples are drawn."""

    name: str
    clusters: int
    truth: float
    draw: Callable[[np.random.Generator], Counts]  # returns the counts of a sample's clusters
    score: Score
    rows: int = 0  # how many rows the score is about; 0 if it is no share of rows
    range: Range = SHARE
    slow: int = 1  # it has so many times fewer runs
    is_independent: bool = False  # whether each cluster is a row, right or wrong
    is_easy: bool = False  # whether the percentile interval is good enough to compare widths


def share(sums: Counts) -> Floats:
    return ratio(sums["part"], sums["whole"])


def f1(sums: Counts) -> Floats:
    precision = ratio(sums["found"], sums["said"])
    recall = ratio(sums["found"], sums["present"])
    return f_of_means(precision, recall, 1.0)


def class_f(sums: Counts) -> Floats:
    scores = throne_score(sums, Conventions())
    return scores["f0.5_cls"]


# Samples


def rows(random: np.random.Generator, count: int, right: float) -> Counts:
    """Return independent rows, each a cluster."""
    return {"part": (random.random(count) < right).astype(float), "whole": np.ones(count)}


def rates(random: np.random.Generator, count: int, mean: float, alike: float) -> Floats:
    """Return the rates of clusters, such that two rows of a cluster have the correlation `alike`."""
    total = (1 - alike) / alike
    return random.beta(mean * total, (1 - mean) * total, count)


def questions(random: np.random.Generator, images: int, right: float, alike: float) -> Counts:
    """Return POPE's answers: six questions about each image, three about what is there."""
    rate = rates(random, images, right, alike)
    found_objects = random.binomial(3, rate)
    denied_objects = random.binomial(3, rate)
    return {
        "part": found_objects + denied_objects,
        "whole": np.full(images, 6),
        "found": found_objects,
        "said": found_objects + 3 - denied_objects,
        "present": np.full(images, 3),
    }


def pairs(random: np.random.Generator, sets: int, right: float) -> Counts:
    """Return HallusionBench's pairs: up to twelve in a set, of which all questions are right."""
    sizes = random.integers(1, 13, sets)
    return {"part": random.binomial(sizes, rates(random, sets, right, 0.2)), "whole": sizes}


def mentions(random: np.random.Generator, captions: int, wrong: float) -> Counts:
    """Return CHAIR's mentions in captions."""
    objects_named = random.poisson(5, captions)
    invented = random.binomial(objects_named, rates(random, captions, wrong, 0.3))
    return {"part": invented, "whole": objects_named}


RATED = (0.1, 0.2, 0.1, 0.1, 0.2, 0.2, 0.1)
RATED_WELL = (0.0, 0.01, 0.0, 0.01, 0.02, 0.06, 0.9)


def ratings(random: np.random.Generator, count: int, often: tuple[float, ...]) -> Counts:
    return {"part": random.choice(7, count, p=often).astype(float), "whole": np.ones(count)}


def objects(random: np.random.Generator, images: int) -> Counts:
    """Return what is there, what is named, and both, by class; classes are about as frequent as in COCO."""
    often = 0.4 / np.arange(1, CLASSES + 1) ** 0.75
    crowded = random.gamma(3, 1 / 3, (images, 1))
    present = random.random((images, CLASSES)) < np.minimum(0.9, often * crowded)
    recall = np.random.default_rng(1).beta(4, 3, CLASSES)
    named = random.random((images, CLASSES)) < np.where(present, recall, 0.3 * often * crowded)
    return {"true": named & present, "predicted": named, "present": present}


def cases() -> Iterator[Case]:
    for count, right in (
        (30, 0.9),
        (50, 0.99),
        (100, 0.99),
        (300, 0.995),
        (30, 0.8),
        (100, 0.85),
        (300, 0.8),
    ):
        yield Case(
            f"accuracy {right:g} of {count} rows",
            count,
            right,
            partial(rows, count=count, right=right),
            share,
            rows=count,
            is_independent=True,
            is_easy=count >= 100 and right < 0.9,
        )
    for images, right in ((30, 0.95), (100, 0.99), (500, 0.99), (500, 0.8)):
        answers = partial(questions, images=images, right=right, alike=0.2)
        easy = images == 500
        about = f"{right:g} of {images} images x 6"
        yield Case(f"accuracy {about}", images, right, answers, share, rows=6 * images, is_easy=easy)
        # half of the rows are there, so precision, recall and F1 are the accuracy
        yield Case(f"F1 {about}", images, right, answers, f1, is_easy=easy)
    for sets in (15, 30, 60):
        yield Case(f"qAcc 0.4 of {sets} sets", sets, 0.4, partial(pairs, sets=sets, right=0.4), share)
        yield Case(f"qAcc 0.9 of {sets} sets", sets, 0.9, partial(pairs, sets=sets, right=0.9), share)
    for captions, wrong in ((30, 0.1), (100, 0.02), (500, 0.02), (500, 0.1)):
        mentioned = partial(mentions, captions=captions, wrong=wrong)
        easy = captions == 500
        name = f"chair_i {wrong:g} of {captions} captions"
        yield Case(name, captions, wrong, mentioned, share, is_easy=easy)
    for count, often in ((96, RATED), (96, RATED_WELL), (30, RATED_WELL)):
        mean = float(np.dot(np.arange(7), often))
        rated = partial(ratings, count=count, often=often)
        yield Case(f"rating {mean:.2f} of {count} rows", count, mean, rated, share, range=Range(0.0, 6.0))
    whole = total_of(objects(np.random.default_rng(2), POPULATION))
    truth = float(class_f(whole)[0])
    for images in (100, 200, 400):
        drawn = partial(objects, images=images)
        yield Case(f"f0.5_cls of {images} images", images, truth, drawn, class_f, slow=3)


# Scores


def without_each(counts: Counts, score: Score, known: Range) -> LeftOut:
    def scores(sums: Counts) -> dict[str, Floats]:
        return {"score": score(sums)}

    return leave_out(scores, total_of(counts), blocks_of(counts), {"score": known})["score"]


def percentile(counts: Counts, score: Score, seed: int) -> tuple[float, float]:
    clusters = len(next(iter(counts.values())))
    resampling = Bootstrap(RESAMPLES, seed)
    (weights,) = resampling.weights(clusters)
    resampled = {name: weights @ table.astype(float) for name, table in counts.items()}
    return resampling.interval(score(resampled))


def clopper(value: float, count: int) -> tuple[float, float]:
    right = round(value * count)
    interval = stats.binomtest(right, count).proportion_ci(0.95, method="exact")
    return float(interval.low), float(interval.high)


def undefined(counts: Counts) -> float:
    """Return the share of classes without a precision or a recall."""
    if "predicted" not in counts:
        return 0.0
    return float(1 - (counts["predicted"].any(axis=0) & counts["present"].any(axis=0)).mean())


@dataclass(frozen=True)
class Measured:
    line: dict[str, Any]  # of the table
    failures: list[str]


def measure(case: Case, runs: int) -> Measured:
    random = np.random.default_rng(0)
    ours = []
    by_percentile = []
    by_clopper = []
    refused = 0
    for run in range(max(1, runs // case.slow)):
        counts = case.draw(random)
        if undefined(counts) > MOST_UNDEFINED:
            refused += 1
            continue
        left_out = without_each(counts, case.score, case.range)
        ours.append(interval(left_out, 0.95))
        by_percentile.append(percentile(counts, case.score, run))
        if case.rows:
            by_clopper.append(clopper(left_out.value, case.rows))
    width = mean_width(ours)
    line: dict[str, Any] = {
        "score": case.name,
        "held": held(ours, case.truth),
        "percentile": held(by_percentile, case.truth),
        "Clopper": None,
        "width": width,
        "/ percentile": width / mean_width(by_percentile),
        "/ Clopper": None,
        "refused": refused,
    }
    if by_clopper:
        line["Clopper"] = held(by_clopper, case.truth)
        line["/ Clopper"] = width / mean_width(by_clopper)
    return Measured(line, list(failures(case, line)))


def held(ends: list[tuple[float, float]], truth: float) -> float:
    return float(np.mean([low <= truth <= high for low, high in ends]))


def mean_width(ends: list[tuple[float, float]]) -> float:
    return float(np.mean([high - low for low, high in ends]))


def failures(case: Case, line: Mapping[str, Any]) -> Iterator[str]:
    if line["held"] < LEAST_HELD and case.clusters >= 30:
        yield f"{case.name}: held {line['held']:.3f}, at least {LEAST_HELD} expected"
    if case.is_independent and line["/ Clopper"] > WIDEST:
        yield f"{case.name}: {line['/ Clopper']:.2f} times as wide as Clopper's and Pearson's"
    if case.is_easy and abs(line["/ percentile"] - 1) > WITHIN:
        yield f"{case.name}: {line['/ percentile']:.2f} times as wide as the percentile interval"


# Two models


@dataclass(frozen=True)
class Two:
    """Two models and the rows that both answer."""

    name: str
    first: float
    second: float
    draw: Callable[[np.random.Generator, float, float], tuple[Counts, Counts]]
    score: Score = share
    slow: int = 1


def both(
    random: np.random.Generator, first: float, second: float, clusters: int, each: int, alike: float
) -> tuple[Counts, Counts]:
    """Return two models' right rows; a share `alike` of the rows is as hard for one as for the other."""
    hard = random.random((clusters, each))
    for_second = np.where(random.random(hard.shape) < alike, hard, random.random(hard.shape))
    whole = np.full(clusters, each)
    ours = {"part": (hard < first).sum(axis=1), "whole": whole}
    theirs = {"part": (for_second < second).sum(axis=1), "whole": whole}
    return ours, theirs


def both_mention(
    random: np.random.Generator, first: float, second: float, captions: int
) -> tuple[Counts, Counts]:
    """Return two models' mentions, of which one makes twice as many."""
    hard = random.beta(0.5, 2, captions)
    models: list[Counts] = []
    for rate, often in ((first, 6), (second, 3)):
        named = random.poisson(often, captions)
        invented = random.binomial(named, np.minimum(1, hard * rate / 0.2))
        models.append({"part": invented, "whole": named})
    return models[0], models[1]


def both_name(random: np.random.Generator, first: float, second: float, images: int) -> tuple[Counts, Counts]:
    """Return two models' objects in the same images."""
    counts = objects(random, images)
    present = counts["present"]
    often = present.mean(axis=0)
    models: list[Counts] = []
    for recall in (first, second):
        named = random.random(present.shape) < np.where(present, recall, 0.3 * often)
        models.append({"true": named & present, "predicted": named, "present": present})
    return models[0], models[1]


def twos() -> Iterator[Two]:
    for clusters, first, second, alike in (
        (100, 0.99, 0.97, 0.0),
        (100, 0.99, 0.97, 0.8),
        (100, 0.99, 0.99, 0.0),
        (50, 0.98, 0.9, 0.5),
        (30, 0.9, 0.9, 0.5),
        (30, 0.8, 0.6, 0.5),
        (30, 0.5, 0.5, 0.0),
        (300, 0.8, 0.8, 0.9),
        (300, 0.85, 0.8, 0.5),
        (1000, 0.995, 0.99, 0.5),
    ):
        draw = partial(both, clusters=clusters, each=1, alike=alike)
        yield Two(
            f"accuracy {first:g} and {second:g} of {clusters} rows, {alike:.0%} alike", first, second, draw
        )
    for clusters, first, second in ((30, 0.8, 0.8), (100, 0.9, 0.85), (500, 0.99, 0.99)):
        draw = partial(both, clusters=clusters, each=6, alike=0.5)
        yield Two(f"accuracy {first:g} and {second:g} of {clusters} images x 6", first, second, draw)
    for captions in (30, 100):
        mention = partial(both_mention, captions=captions)
        yield Two(f"chair_i 0.1 of 6 and 3 mentions in {captions} captions", 0.1, 0.1, mention)
    name = partial(both_name, images=200)
    yield Two("f0.5_cls of 200 images, equal models", 0.6, 0.6, name, class_f, slow=3)


def measure_two(case: Two, runs: int) -> Measured:
    random = np.random.default_rng(0)
    truth = case.first - case.second
    differences = []
    for _ in range(max(1, runs // case.slow)):
        first, second = case.draw(random, case.first, case.second)
        of_first = without_each(first, case.score, SHARE)
        of_second = without_each(second, case.score, SHARE)
        differences.append(difference(of_first, of_second))
    ends = [(measured.low, measured.high) for measured in differences]
    told_apart = float(np.mean([measured.p < 0.05 for measured in differences]))
    line: dict[str, Any] = {
        "scores": case.name,
        "held": held(ends, truth),
        "p < 0.05": told_apart,
        "width": mean_width(ends),
    }
    failed = []
    if line["held"] < LEAST_HELD:
        failed.append(f"{case.name}: held {line['held']:.3f}, at least {LEAST_HELD} expected")
    if truth == 0 and told_apart > 0.05 + 2 * math.sqrt(0.05 * 0.95 / len(differences)):
        failed.append(f"{case.name}: p < 0.05 in {told_apart:.3f}, at most 0.05 expected")
    return Measured(line, failed)


def main(runs: int) -> None:
    """Print both tables, and fail below a floor."""
    scores = [measure(case, runs) for case in cases()]
    print(tabulate([measured.line for measured in scores], headers="keys", floatfmt=".3f"))
    print()
    differences = [measure_two(case, runs) for case in twos()]
    print(tabulate([measured.line for measured in differences], headers="keys", floatfmt=".3f"))
    failed: list[str] = []
    for measured in scores + differences:
        failed += measured.failures
    if failed:
        raise SystemExit("\n" + "\n".join(failed))
