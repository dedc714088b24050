"""Simulates how often the interval of a corrected score contains the truth, which the simulation knows.

A large population of texts is made once. For each text it holds the labels that people would give, the judge's labels,
and what is in the image. In each run images are drawn from the population, 200 of their texts are labelled
(`halluscope.stats.corrected`), and each score is corrected. The true score is that of the population; averages over
classes use only the classes that are defined in the run. There are five patterns of errors:

- independent: each cell errs independently;
- by text: a quarter of the texts have nearly all errors;
- by class: some classes have nearly all errors;
- word matching (with UPSTREAM): the lexical judge's words compared with its rules, in real texts, with real errors;
- lexical (with UPSTREAM): the lexical judge's reading of real texts, with the error rates of earlier rules, varying by
  text: 1.6 % of yes votes are wrong (now 0.8 %, as `lexical_errors.py` prints), 0.4 % of implied objects are missed.

    python perf/coverage.py [UPSTREAM] [--runs 1000] [--texts 500 5000]

A second table is about graders (`halluscope.stats.samples`). Of 500 or 4,000 responses 100 or 300 are marked. The judge
errs more on some images; it is the judge by whose verdicts the sample was drawn, or another.

`python perf/coverage.py --intervals` prints instead how often the intervals of scores and differences hold
(interval_coverage.py).

The tables show the bias of the raw and of the corrected score, and half the width of the interval; the first, in
percentage points, also for labels alone (the same estimate without the judge).
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

import interval_coverage
from halluscope.benchmarks.throne.counting import Conventions, Hits, score
from halluscope.judging.lexical import LexicalJudge
from halluscope.reading import presence
from halluscope.responses import reading
from halluscope.stats import samples
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.corrected import Sample, correct
from halluscope.stats.intervals import total_of
from halluscope.stats.ratios import Floats, f_score
from halluscope.stats.tallies import Bools, Ints
from halluscope.stats.text_draw import draw
from halluscope.vocabularies import load

COCO = load("coco")
POPULATION = 110_000  # texts
LABELLED = 200  # texts in each run
FALSE_YES = 0.08
MISSED = 0.06
UNDECIDED = 0.05
LEXICAL_FALSE_YES = 0.016
LEXICAL_MISSED = 0.004
FIVE = ("instructblip", "llava", "minigpt-4", "mmgpt", "mplug")
BETAS = {"f1": 1.0, "f0.5": 0.5}
NAMES = [f"{score}_{over}" for over in ("all", "cls") for score in ("precision", "recall", *BETAS)]


@dataclass(frozen=True)
class Population:
    """Tables [texts, classes]: the judge's labels, the labels people would give, and what is present."""

    labels: NDArray[np.int8]
    implied: Bools
    present: Bools

    def at(self, rows: Ints) -> "Population":
        """Return the population of some of the texts."""
        return Population(self.labels[rows], self.implied[rows], self.present[rows])


@dataclass(frozen=True)
class Estimate:
    """A score in one run, or all scores in all runs [runs, scores]."""

    truth: Any
    raw: Any
    value: Any
    low: Any
    high: Any

    @property
    def is_held(self) -> Any:
        return (self.low <= self.truth) & (self.truth <= self.high)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("upstream", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=0, help="default: 1,000; 500 with --intervals")
    parser.add_argument("--texts", type=int, nargs="+", default=[500, 5000])
    parser.add_argument("--intervals", action="store_true", help="only the tables of interval_coverage.py")
    options = parser.parse_args()
    if options.intervals:
        interval_coverage.main(options.runs or 500)
        return
    runs = options.runs or 1000
    patterns = list(PATTERNS)
    if options.upstream:
        patterns += REAL
    with ProcessPoolExecutor() as workers:
        judges = []
        for pattern, texts in product(patterns, options.texts):
            judges.append(workers.submit(measure, pattern, texts, runs, options.upstream))
        graders = [workers.submit(measure_grader, case, runs) for case in grader_cases()]
        lines: list[dict[str, Any]] = []
        for judge in judges:
            lines += judge.result()
        print(tabulate(lines, headers="keys", floatfmt=("", "", "", ".1f", ".2f", ".2f", ".2f", ".2f")))
        lines = [grader.result() for grader in graders]
        print(tabulate(lines, headers="keys", floatfmt=("", "", "", "", ".1f", ".3f", ".3f", ".3f")))


# Judges of objects, corrected by labels of texts


def measure(pattern: str, texts: int, runs: int, upstream: Path | None) -> list[dict[str, Any]]:
    """Return a line of the table for each score."""
    population = populate(pattern, upstream)
    estimate, widths_of_labels = simulate(population, texts, runs)
    lines = []
    for column, name in enumerate(NAMES):
        truth = estimate.truth[:, column]
        lines.append(
            {
                "errors": pattern,
                "texts": texts,
                "score": name,
                "coverage": 100 * estimate.is_held[:, column].mean(),
                "raw bias": 100 * (estimate.raw[:, column] - truth).mean(),
                "bias": 100 * (estimate.value[:, column] - truth).mean(),
                "half width": 50 * (estimate.high - estimate.low)[:, column].mean(),
                "labels alone": 50 * widths_of_labels[:, column].mean(),
            }
        )
    return lines


def simulate(population: Population, texts: int, runs: int) -> tuple[Estimate, Floats]:
    """Return the scores of each run, and the widths of their intervals from labels alone, in every tenth run."""
    random = np.random.default_rng(0)
    estimates = []
    widths_of_labels = []
    for run in range(runs):
        drawn = population.at(random.integers(POPULATION, size=texts))
        rows, chances = draw(drawn.labels, drawn.present, LABELLED, seed=run)
        sample = Sample(rows, chances, drawn.implied[rows])
        corrected = correct(drawn.labels, drawn.present, sample).scores
        if run % 10 == 0:
            nothing = np.full_like(drawn.labels, -1)
            by_labels = correct(nothing, drawn.present, sample).scores
            widths_of_labels.append([by_labels[name]["high"] - by_labels[name]["low"] for name in NAMES])
        estimates.append(
            Estimate(
                truth=true_scores(population, drawn),
                raw=raw_scores(drawn),
                value=[corrected[name]["value"] for name in NAMES],
                low=[corrected[name]["low"] for name in NAMES],
                high=[corrected[name]["high"] for name in NAMES],
            )
        )
    return stacked(estimates), np.array(widths_of_labels)


def stacked(estimates: list[Estimate]) -> Estimate:
    return Estimate(
        truth=np.array([estimate.truth for estimate in estimates]),
        raw=np.array([estimate.raw for estimate in estimates]),
        value=np.array([estimate.value for estimate in estimates]),
        low=np.array([estimate.low for estimate in estimates]),
        high=np.array([estimate.high for estimate in estimates]),
    )


def raw_scores(drawn: Population) -> list[float]:
    """Return the scores by the judge's labels alone."""
    conventions = Conventions()
    scores = score(total_of(Hits.of(drawn.labels, drawn.present).counts(conventions)), conventions)
    return [float(scores[name][0]) for name in NAMES]


def true_scores(population: Population, drawn: Population) -> list[float]:
    """Return the population's scores, over the classes that are defined in the drawn sample."""
    true = (population.implied & population.present).sum(axis=0).astype(float)
    predicted = population.implied.sum(axis=0).astype(float)
    present = population.present.sum(axis=0).astype(float)
    scores = precision_recall_f(true.sum() / predicted.sum(), true.sum() / present.sum())
    has_precision = drawn.implied.any(axis=0)
    has_recall = drawn.present.any(axis=0)
    scores += precision_recall_f(
        (true / predicted)[has_precision].mean(), (true / present)[has_recall].mean()
    )
    return scores


def precision_recall_f(precision: float, recall: float) -> list[float]:
    """Return them in the order of `NAMES`."""
    scores = [float(precision), float(recall)]
    for beta in BETAS.values():
        scores.append(float(f_score(np.array(precision), np.array(recall), beta)))
    return scores


# Graders, corrected by marks of responses

# What is marked -> the greatest value of the score
KINDS = {"2 % wrong": 1, "20 % wrong": 1, "half wrong": 1, "0 to 6": 6, "0 to 10": 10, "nouns": 1}
WRONG_SHARES = {"2 % wrong": 0.02, "20 % wrong": 0.2, "half wrong": 0.5}


@dataclass(frozen=True)
class GraderCase:
    kind: str
    responses: int
    marked: int
    is_other_judge: bool  # whether the sample was drawn by the verdicts of another judge


@dataclass(frozen=True)
class Graded:
    """Responses [responses]: the parts of the score by people and by a judge, its whole, and the image of each."""

    by_people: Floats
    by_judge: Floats
    whole: Floats
    images: Ints


def grader_cases() -> Iterator[GraderCase]:
    for kind in KINDS:
        for responses, marked in ((500, 100), (4000, 100), (4000, 300)):
            for is_other_judge in (False, True):
                yield GraderCase(kind, responses, marked, is_other_judge)


def measure_grader(case: GraderCase, runs: int) -> dict[str, Any]:
    """Return a line of the table: how often the interval of a grader's corrected score holds the true one, in percent,
    and the biases.
    """
    random = np.random.default_rng(0)
    everything = graded(random, case.kind, 1_000_000)
    truth = everything.by_people.sum() / everything.whole.sum()
    estimate = stacked([grader_estimate(random, case, truth, run) for run in range(runs)])
    judge = "the same"
    if case.is_other_judge:
        judge = "another"
    return {
        "verdicts": case.kind,
        "responses": case.responses,
        "marked": case.marked,
        "judge": judge,
        "coverage": 100 * estimate.is_held.mean(),
        "raw bias": estimate.raw.mean() - truth,
        "bias": estimate.value.mean() - truth,
        "half width": (estimate.high - estimate.low).mean() / 2,
    }


def grader_estimate(random: np.random.Generator, case: GraderCase, truth: float, seed: int) -> Estimate:
    """Return the raw and the corrected score of one draw of responses and of a sample of them."""
    rows = graded(random, case.kind, case.responses)
    by_judge = rows.by_judge
    drawn, chances = draw_by_verdict(random, by_judge, case.marked)
    if case.is_other_judge:
        is_otherwise = random.random(case.responses) < 0.15
        by_judge = np.where(is_otherwise, random.permutation(by_judge), by_judge)
    corrected = samples.corrected_score(
        by_judge,
        samples.Marked(drawn, rows.by_people[drawn], rows.whole[drawn], chances),
        rows.images,
        KINDS[case.kind],
        Bootstrap(500, seed),
    )
    raw = by_judge.sum() / rows.whole.sum()
    return Estimate(truth=truth, raw=raw, **corrected)


def draw_by_verdict(random: np.random.Generator, by_judge: Floats, marked: int) -> tuple[Ints, Floats]:
    """Return the rows of a sample that people mark, and the chance with which each was drawn."""
    _, verdict_of_row, sizes = np.unique(by_judge, return_inverse=True, return_counts=True)
    allotted = samples.allot(sizes, marked)
    drawn_by_verdict = []
    for verdict, count in enumerate(allotted):
        rows_of_verdict = random.permutation(np.flatnonzero(verdict_of_row == verdict))
        drawn_by_verdict.append(rows_of_verdict[:count])
    drawn = np.concatenate(drawn_by_verdict)
    return drawn, (allotted / sizes)[verdict_of_row[drawn]]


def graded(random: np.random.Generator, kind: str, rows: int) -> Graded:
    """Make responses; the judge errs more on some images."""
    images = np.unique(random.integers(rows // 2, size=rows), return_inverse=True)[1]
    hard = random.random(images.max() + 1)[images]
    most = KINDS[kind]
    whole = np.ones(rows)
    if kind == "nouns":
        whole = random.integers(2, 7, size=rows).astype(float)
        by_people = random.binomial(whole.astype(int), 0.2 * hard).astype(float)
        found = random.binomial(by_people.astype(int), 0.9)
        by_judge = found + random.binomial((whole - by_people).astype(int), 0.05)
    elif kind in WRONG_SHARES:
        by_people = (random.random(rows) < 2 * WRONG_SHARES[kind] * hard).astype(float)
        is_mistaken = random.random(rows) < np.where(by_people == 1, 0.12, 0.04)
        by_judge = np.where(is_mistaken, 1 - by_people, by_people)
    else:
        by_people = np.clip(np.round(random.normal(most * (0.3 + 0.5 * hard), most / 4)), 0, most)
        errors = random.choice([-2, -1, 0, 0, 0, 0, 1, 1], size=rows)
        by_judge = np.clip(by_people + errors, 0, most)
    return Graded(by_people, by_judge.astype(float), whole, images)


# Populations


def populate(pattern: str, upstream: Path | None) -> Population:
    """Make the population of a pattern."""
    random = np.random.default_rng(1)
    if pattern in PATTERNS:
        implied, present = texts_of_nobody(random)
        return PATTERNS[pattern](implied, present, random)
    assert upstream
    rules, words, present = readings(upstream)
    return REAL[pattern](rules, words, present, random)


def texts_of_nobody(random: np.random.Generator) -> tuple[Bools, Bools]:
    """Make up what texts imply and what is present."""
    present, chances = images_of_nobody(random)
    return random.random(present.shape) < chances, present


def images_of_nobody(random: np.random.Generator) -> tuple[Bools, Floats]:
    """Make up what is present, and the chance that a text implies it; classes are about as frequent as in COCO."""
    often = 0.4 / np.arange(1, len(COCO.classes) + 1) ** 0.75
    crowded = random.gamma(3, 1 / 3, (POPULATION, 1))
    present = random.random((POPULATION, len(often))) < np.minimum(0.9, often * crowded)
    told = random.beta(4, 3, len(often))
    return present, np.where(present, told, 0.3 * often * crowded)


def judged(
    implied: Bools, present: Bools, random: np.random.Generator, text: float = 0.0, by_class: float = 0.0
) -> Population:
    """Make a judge that errs; it mostly invents objects that are in the image, or often are in images.

    Args:
        implied: what texts imply.
        present: what is in the images.
        random: the random generator.
        text: how much error rates vary between texts (the variance of their gamma distribution).
        by_class: how much error rates vary between classes (likewise).
    """
    return with_errors(implied, present, rates_of(random, implied.shape, text, by_class), random)


def rates_of(
    random: np.random.Generator, shape: tuple[int, ...], text: float = 0.0, by_class: float = 0.0
) -> Floats:
    """Return how many times as often a judge errs in each cell as on average: [texts, classes]."""
    texts, classes = shape
    rate = np.ones((texts, 1)) * np.ones(classes)
    if text:
        rate *= random.gamma(1 / text, text, (texts, 1))
    if by_class:
        rate *= random.gamma(1 / by_class, by_class, classes)
    return rate


def with_errors(implied: Bools, present: Bools, rate: Floats, random: np.random.Generator) -> Population:
    """Make a judge that errs in a cell so many times as often as on average."""
    likely = np.where(present, 0.15, implied.mean(axis=0))
    missed = np.minimum(0.9, MISSED * rate)
    invented = np.minimum(0.9, FALSE_YES * rate * likely)
    says = random.random(implied.shape) < np.where(implied, 1 - missed, invented)
    undecided = np.minimum(0.5, UNDECIDED * rate * np.where(implied, 1.0, likely))
    labels = np.where(random.random(implied.shape) < undecided, -1, says).astype(np.int8)
    return Population(labels, implied, present)


def readings(upstream: Path) -> tuple[Bools, Bools, Bools]:
    """Read real texts with the lexical judge, with its rules and by words alone; also return what is present."""
    images = presence.load([str(upstream / "chair" / "coco2014_chair_objects.json.gz")])
    objects = {image.image_id: image.objects for image in images}
    judge = LexicalJudge(COCO)
    by_rules = []
    by_words = []
    present = []
    for name in FIVE:
        (responses,) = reading.read([upstream / "responses" / f"pope_instruction1_{name}.jsonl"])
        for image, text in zip(responses.table.cells("image_id"), responses.texts, strict=True):
            mentions = judge.mentions(text)
            by_rules.append([mention.object for mention in mentions if mention.implied])
            by_words.append([mention.object for mention in mentions])
            present.append(objects[image])
    return population_table(by_rules), population_table(by_words), population_table(present)


def population_table(objects: Sequence[Sequence[str]]) -> Bools:
    """Return a table of objects, repeated until it has as many texts as the population."""
    table = COCO.presence(objects)
    return np.resize(table, (POPULATION, table.shape[1]))


def word_matching(rules: Bools, words: Bools, present: Bools, random: np.random.Generator) -> Population:
    """Compare words alone with the rules, which count as the truth."""
    return Population(words.astype(np.int8), rules, present)


def lexical(rules: Bools, words: Bools, present: Bools, random: np.random.Generator) -> Population:
    """Compare the rules with a truth that has the measured error rates."""
    text = random.gamma(0.25, 4, (len(rules), 1))
    keep = random.random(rules.shape) >= np.minimum(0.9, LEXICAL_FALSE_YES * text)
    missed = random.random(rules.shape) < LEXICAL_MISSED * text * rules.mean(axis=0)
    return Population(rules.astype(np.int8), np.where(rules, keep, missed), present)


PATTERNS: dict[str, Callable[[Bools, Bools, np.random.Generator], Population]] = {
    "independent": judged,
    "by text": partial(judged, text=4.0),
    "by class": partial(judged, by_class=2.0),
}
REAL: dict[str, Callable[[Bools, Bools, Bools, np.random.Generator], Population]] = {
    "word matching": word_matching,
    "lexical": lexical,
}

if __name__ == "__main__":
    main()
