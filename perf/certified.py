"""Simulates how often the interval of two models' corrected difference contains the true one.

Graders (stats/certified.py). Two models answer the same questions about the same images, some of which are hard for
both. A judge errs alike on both, given what people would say. People mark 100 of 500, or 300 of 4,000 responses: of
both models, of the first alone, or of a third one that is not compared. The second model is as good as the first, or
worse.

Judges of objects (stats/corrected_difference.py). Two models describe the same images, of which coverage.py makes up
what they show. Half of what the second model implies is by chance what the first one does; it is as good, or it names
present objects less often and others 1.5 times as often. The judge errs independently (also a quarter or three times as
often), or with nearly all errors in some images or in some classes, which are the same for both models, or in the same
cells of both. People label 100 or 200 texts of each model, in two draws with the same seed, or 100 images for both.

    python perf/certified.py [--runs 400]

The tables show how often the interval of the difference holds the true one, in percent (for graders also that of the
second model's score); the bias of the judge's difference and of the corrected one; and half the width of the interval.
Those of judges of objects are in percentage points, and leave out runs whose labels do not suffice (refused).
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from tabulate import tabulate

from coverage import (
    NAMES,
    Population,
    draw_by_verdict,
    images_of_nobody,
    rates_of,
    raw_scores,
    true_scores,
    with_errors,
)
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.certified import Judged, Marks, corrected_scores
from halluscope.stats.corrected import Estimate, Sample, estimate
from halluscope.stats.corrected_difference import Difference, differences
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Ints
from halluscope.stats.text_draw import draw

# What is marked -> the greatest value of the score
KINDS = {"5 % wrong": 1, "20 % wrong": 1, "0 to 6": 6, "nouns": 1}
RATES = {"5 % wrong": 0.05, "20 % wrong": 0.2}
WORSE = {"equal": 1.0, "different": 1.5}
MARKED = ("both", "the first", "a third")
SIZES = ((500, 100), (4000, 300))
TRUTH_OF = 1_000_000  # responses, of which the true scores are


@dataclass(frozen=True)
class Case:
    kind: str
    models: str
    marked: str
    responses: int
    sample: int


@dataclass(frozen=True)
class Graded:
    """Responses [responses]: the parts of the score by people and by the judge, and its whole."""

    by_people: Floats
    by_judge: Floats
    whole: Floats

    @property
    def true_score(self) -> float:
        return float(self.by_people.sum() / self.whole.sum())

    @property
    def raw_score(self) -> float:
        return float(self.by_judge.sum() / self.whole.sum())


@dataclass(frozen=True)
class Draw:
    """The differences of two models in one draw of responses, and the ends of two intervals."""

    raw: float
    value: float
    low: float
    high: float
    low_of_second: float
    high_of_second: float


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as workers:
        graders = [workers.submit(measure, case, options.runs) for case in cases()]
        judges = [workers.submit(measure_texts, case, options.runs) for case in text_cases()]
        lines = [line.result() for line in graders]
        floats = [""] * 5 + [".1f", ".1f", ".3f", ".3f", ".3f"]
        print(tabulate(lines, headers="keys", floatfmt=floats))
        print(summary(lines))
        lines = []
        for judge in judges:
            lines += judge.result()
        floats = [""] * 6 + [".1f", ".1f", ".2f", ".2f", ".2f"]
        print(tabulate(lines, headers="keys", floatfmt=floats))
        print(summary(lines))
        for errors in ERRORS:
            print(f"{errors}: {summary([line for line in lines if line['errors'] == errors])}")


def summary(lines: Sequence[Mapping[str, Any]]) -> str:
    """Sum up how often the intervals of some lines hold the true difference."""
    shares = [line["difference held"] for line in lines]
    average = np.mean(shares)
    return (
        f"{len(shares)} lines: held in {min(shares):.1f} to {max(shares):.1f} %, on average in {average:.1f}"
    )


def cases() -> Iterator[Case]:
    for kind in KINDS:
        for models in WORSE:
            for marked in MARKED:
                for responses, sample in SIZES:
                    yield Case(kind, models, marked, responses, sample)


def measure(case: Case, runs: int) -> dict[str, Any]:
    """Return a line of the table."""
    random = np.random.default_rng(0)
    worse = WORSE[case.models]
    images = Images(random, TRUTH_OF)
    true_first = images.graded(random, case.kind, 1.0).true_score
    true_second = images.graded(random, case.kind, worse).true_score
    truth = true_first - true_second
    draws = [draw_pair(random, case, run) for run in range(runs)]
    return {
        "verdicts": case.kind,
        "models": case.models,
        "marks of": case.marked,
        "responses": case.responses,
        "marked": case.sample,
        "difference held": 100 * np.mean([draw.low <= truth <= draw.high for draw in draws]),
        "score held": 100
        * np.mean([draw.low_of_second <= true_second <= draw.high_of_second for draw in draws]),
        "raw bias": np.mean([draw.raw for draw in draws]) - truth,
        "bias": np.mean([draw.value for draw in draws]) - truth,
        "half width": np.mean([draw.high - draw.low for draw in draws]) / 2,
    }


def draw_pair(random: np.random.Generator, case: Case, seed: int) -> Draw:
    """Draw responses of two models, and marks, and correct the difference."""
    images = Images(random, case.responses)
    first = images.graded(random, case.kind, 1.0)
    second = images.graded(random, case.kind, WORSE[case.models])
    marked = [first]
    sheet_of_second = 0
    if case.marked == "both":
        marked = [first, second]
        sheet_of_second = 1
    elif case.marked == "a third":
        marked = [Images(random, case.responses).graded(random, case.kind, 1.0)]
    sheets = [mark(random, graded, case.sample) for graded in marked]
    judged = [
        Judged(first.by_judge, first.whole, images.clusters, 0, case.marked != "a third"),
        Judged(second.by_judge, second.whole, images.clusters, sheet_of_second, case.marked == "both"),
    ]
    corrected = corrected_scores(judged, sheets, KINDS[case.kind], Bootstrap(400, seed))
    low, high = np.quantile(corrected.both[:, 0] - corrected.both[:, 1], [0.025, 0.975])
    low_of_second, high_of_second = np.quantile(corrected.both[:, 1], [0.025, 0.975])
    return Draw(
        raw=first.raw_score - second.raw_score,
        value=corrected.values[0, 0] - corrected.values[0, 1],
        low=low,
        high=high,
        low_of_second=low_of_second,
        high_of_second=high_of_second,
    )


def mark(random: np.random.Generator, graded: Graded, sample: int) -> Marks:
    """Let people mark a sample that was drawn by the judge's verdicts."""
    rows, chances = draw_by_verdict(random, graded.by_judge, sample)
    return Marks(graded.by_judge[rows], graded.by_people[rows], graded.whole[rows], chances)


class Images:
    """Images, some of them hard, and the questions about them."""

    def __init__(self, random: np.random.Generator, rows: int) -> None:
        self.clusters: Ints = np.unique(random.integers(rows // 2, size=rows), return_inverse=True)[1]
        self.hard = random.random(self.clusters.max() + 1)[self.clusters]
        self.nouns = random.integers(2, 7, size=rows)

    def graded(self, random: np.random.Generator, kind: str, times: float) -> Graded:
        """Return a model's responses; it is so many `times` as often wrong as the first."""
        rows = len(self.hard)
        most = KINDS[kind]
        if kind == "nouns":
            true = random.binomial(self.nouns, 0.2 * times * self.hard)
            said = random.binomial(true, 0.9) + random.binomial(self.nouns - true, 0.05)
            return Graded(true.astype(float), said.astype(float), self.nouns.astype(float))
        whole = np.ones(rows)
        if most == 1:
            rate = np.minimum(1.0, 2 * RATES[kind] * times * self.hard)
            is_wrong = random.random(rows) < rate
            errs = random.random(rows) < np.where(is_wrong, 0.12, 0.04)
            return Graded(is_wrong.astype(float), (is_wrong ^ errs).astype(float), whole)
        middle = most * (0.8 - 0.5 * times * self.hard)
        true = np.clip(np.round(random.normal(middle, most / 4)), 0, most)
        said = np.clip(true + random.choice([-2, -1, 0, 0, 0, 0, 1, 1], size=rows), 0, most)
        return Graded(true, said, whole)


# Judges of objects, and people's labels of texts


@dataclass(frozen=True)
class Errors:
    """How the judge errs in both models' texts."""

    times: float = 1.0  # how many times as often as coverage.py has it
    by_image: float = 0.0  # how much error rates differ between images
    by_class: float = 0.0  # and between classes
    seed_of_second: int = 3  # of the errors in the second model's texts; in the first's it is 2


ERRORS = {
    "independent": Errors(),
    "rare": Errors(times=0.25),
    "frequent": Errors(times=3.0),
    "by image": Errors(by_image=4.0),
    "by class": Errors(by_class=2.0),
    "same cells": Errors(seed_of_second=2),
}
TEXTS = ((500, 100), (500, 200), (5000, 200))
SCORES = ("precision_all", "recall_all", "f0.5_all", "precision_cls", "recall_cls", "f0.5_cls")


@dataclass(frozen=True)
class TextCase:
    errors: str
    models: str
    texts: int
    labelled: int
    is_same_draw: bool  # whether people label the same images for both models


def text_cases() -> Iterator[TextCase]:
    for errors in ERRORS:
        for models in WORSE:
            for texts, labelled in TEXTS:
                yield TextCase(errors, models, texts, labelled, False)
            yield TextCase(errors, models, 500, 100, True)


def measure_texts(case: TextCase, runs: int) -> list[dict[str, Any]]:
    """Return a line of the table for each score."""
    random = np.random.default_rng(0)
    first, second = models_of(case)
    truths = []
    raws = []
    corrected = []
    for run in range(runs):
        rows = random.integers(len(first.labels), size=case.texts)
        first_drawn = first.at(rows)
        second_drawn = second.at(rows)
        truths.append(np.array(true_scores(first, first_drawn)) - true_scores(second, second_drawn))
        raws.append(np.array(raw_scores(first_drawn)) - raw_scores(second_drawn))
        corrected.append(corrected_differences(case, first_drawn, second_drawn, run))
    lines = []
    for name in SCORES:
        column = NAMES.index(name)
        value = np.array([differences[name].value for differences in corrected])
        is_given = ~np.isnan(value)
        value = value[is_given]
        low = np.array([differences[name].low for differences in corrected])[is_given]
        high = np.array([differences[name].high for differences in corrected])[is_given]
        truth = np.array(truths)[is_given, column]
        raw = np.array(raws)[is_given, column]
        lines.append(
            {
                "errors": case.errors,
                "models": case.models,
                "texts": case.texts,
                "labelled": case.labelled,
                "same images": "yes" if case.is_same_draw else "no",
                "score": name,
                "refused": 100 * (1 - is_given.mean()),
                "difference held": 100 * ((low <= truth) & (truth <= high)).mean(),
                "raw bias": 100 * (raw - truth).mean(),
                "bias": 100 * (value - truth).mean(),
                "half width": 50 * (high - low).mean(),
            }
        )
    return lines


def models_of(case: TextCase) -> tuple[Population, Population]:
    """Make the populations of two models' texts about the same images."""
    random = np.random.default_rng(1)
    present, chances = images_of_nobody(random)
    place = random.random(present.shape)
    first = place < chances
    is_shared = random.random(present.shape) < 0.5
    other_place = np.where(is_shared, place, random.random(present.shape))
    if case.models == "different":
        chances = np.where(present, 0.9, WORSE[case.models]) * chances
    second = other_place < chances
    errors = ERRORS[case.errors]
    rates = errors.times * rates_of(random, present.shape, errors.by_image, errors.by_class)
    return (
        with_errors(first, present, rates, np.random.default_rng(2)),
        with_errors(second, present, rates, np.random.default_rng(errors.seed_of_second)),
    )


def corrected_differences(
    case: TextCase, first: Population, second: Population, seed: int
) -> dict[str, Difference]:
    """Let people label texts of both models, and correct the differences."""
    drawn = draw(first.labels, first.present, case.labelled, seed)
    estimate_of_first = estimated(first, *drawn)
    if not case.is_same_draw:
        drawn = draw(second.labels, second.present, case.labelled, seed)
    return differences(estimate_of_first, estimated(second, *drawn), level=0.95)


def estimated(model: Population, rows: Ints, chances: Floats) -> Estimate:
    return estimate(model.labels, model.present, Sample(rows, chances, model.implied[rows]))


if __name__ == "__main__":
    main()
