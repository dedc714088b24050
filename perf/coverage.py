"""Simulates how often the interval of a corrected score contains the truth, which the simulation knows.

A large population of texts is made once. For each text it holds the labels that people would give, the judge's labels,
and what is in the image. In each run images are drawn from the population, 200 of their texts are labelled
(`halluscope.stats.corrected`), and each score is corrected. The true score is that of the population; averages over
classes use only the classes that are defined in the run. There are five patterns of errors:

- independent: each cell errs independently;
- by text: a quarter of the texts have nearly all errors;
- by class: some classes have nearly all errors;
- word matching (with UPSTREAM): the lexical judge's words compared with its rules, in real texts, with real errors;
- lexical (with UPSTREAM): the lexical judge's reading of real texts, with the error rates that `lexical_errors.py`
  prints (1.6 % of yes votes are wrong, 0.4 % of implied objects are missed), varying by text.

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
from halluscope.stats.corrected import Sample, correct, draw
from halluscope.stats.intervals import total_of
from halluscope.stats.ratios import f_score
from halluscope.vocabularies import load

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

COCO = load("coco")
POPULATION, LABELLED = 110_000, 200
FALSE_YES, MISSED, UNDECIDED = 0.08, 0.06, 0.05
LEXICAL_FALSE_YES, LEXICAL_MISSED = 0.016, 0.004
FIVE = ("instructblip", "llava", "minigpt-4", "mmgpt", "mplug")


@dataclass(frozen=True)
class Population:
    """Tables [texts, classes]: the judge's labels, the labels people would give, and what is present."""

    labels: NDArray[np.int8]
    implied: Bools
    present: Bools

    def at(self, rows: NDArray[np.int64]) -> "Population":
        """Return the population of some of the texts."""
        return Population(self.labels[rows], self.implied[rows], self.present[rows])


def main() -> None:
    """Print the table."""
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
    patterns = [*PATTERNS, *(REAL if options.upstream else ())]
    tasks = [*product(patterns, options.texts)]
    with ProcessPoolExecutor() as workers:
        rows = workers.map(partial(measure, runs=runs, upstream=options.upstream), *zip(*tasks, strict=True))
        print(
            tabulate(
                [row for part in rows for row in part], HEADER, floatfmt=("", "", "", ".1f", *[".2f"] * 4)
            )
        )
        of_graders = workers.map(partial(measure_grader, runs=runs), *zip(*GRADERS, strict=True))
        print(tabulate(of_graders, HEADER_OF_GRADERS, floatfmt=("", "", "", "", ".1f", *[".3f"] * 3)))


HEADER_OF_GRADERS = ("verdicts", "responses", "marked", "judge", "coverage", "raw bias", "bias", "half width")

# What is marked -> the greatest value of the score
KINDS = {"2 % wrong": 1, "20 % wrong": 1, "half wrong": 1, "0 to 6": 6, "0 to 10": 10, "nouns": 1}
GRADERS = [*product(KINDS, ((500, 100), (4000, 100), (4000, 300)), ("the same", "another"))]


def measure_grader(kind: str, sizes: tuple[int, int], judge: str, runs: int) -> tuple[str | int | float, ...]:
    """Return how often the interval of a grader's corrected score holds the true one, in percent, and the biases."""
    rows, sample = sizes
    random = np.random.default_rng(0)
    part, _, whole, _ = graded(random, kind, 1_000_000)
    truth = part.sum() / whole.sum()
    found = np.array([one_grader(random, kind, rows, sample, judge, run) for run in range(runs)])
    raw, value, low, high = found.T
    held = 100 * ((low <= truth) & (truth <= high)).mean()
    biases = (of.mean() - truth for of in (raw, value))
    return (kind, rows, sample, judge, held, *biases, (high - low).mean() / 2)


def one_grader(
    random: np.random.Generator, kind: str, rows: int, sample: int, judge: str, seed: int
) -> tuple[float, ...]:
    """Return the raw and the corrected score and both ends, of one draw of responses and of a sample of them."""
    part, said, whole, clusters = graded(random, kind, rows)
    _, place, sizes = np.unique(said, return_inverse=True, return_counts=True)
    wanted = samples.allot(sizes, sample)
    drawn = np.concatenate(
        [random.permutation(np.flatnonzero(place == of))[:count] for of, count in enumerate(wanted)]
    )
    chances = (wanted / sizes)[place[drawn]]
    if judge == "another":
        said = np.where(random.random(rows) < 0.15, random.permutation(said), said)
    found = samples.corrected_score(
        said,
        samples.Marked(drawn, part[drawn], whole[drawn], chances),
        clusters,
        KINDS[kind],
        Bootstrap(500, seed),
    )
    return (said.sum() / whole.sum(), *found.values())


def graded(
    random: np.random.Generator, kind: str, rows: int
) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
    """Return what people say of responses and what a judge says, each response's weight, and its image."""
    clusters = np.unique(random.integers(rows // 2, size=rows), return_inverse=True)[1]
    hard = random.random(clusters.max() + 1)[clusters]
    most, whole = KINDS[kind], np.ones(rows)
    if kind == "nouns":
        whole = random.integers(2, 7, size=rows).astype(float)
        true = random.binomial(whole.astype(int), 0.2 * hard).astype(float)
        said = random.binomial(true.astype(int), 0.9) + random.binomial((whole - true).astype(int), 0.05)
    elif most == 1:
        rate = {"2 % wrong": 0.02, "20 % wrong": 0.2, "half wrong": 0.5}[kind]
        true = (random.random(rows) < 2 * rate * hard).astype(float)
        said = np.where(random.random(rows) < np.where(true == 1, 0.12, 0.04), 1 - true, true)
    else:
        true = np.clip(np.round(random.normal(most * (0.3 + 0.5 * hard), most / 4)), 0, most)
        said = np.clip(true + random.choice([-2, -1, 0, 0, 0, 0, 1, 1], size=rows), 0, most)
    return true, said.astype(float), whole, clusters


HEADER = ("errors", "texts", "score", "coverage", "raw bias", "bias", "half width", "labels alone")


def measure(pattern: str, texts: int, runs: int, upstream: Path | None) -> list[tuple[object, ...]]:
    """Return one row for each score."""
    population = populate(pattern, upstream)
    found = np.array([*simulate(population, texts, runs)])
    truth, raw, value, low, high, alone = np.moveaxis(found, 1, 0)
    columns = (
        100 * ((low <= truth) & (truth <= high)).mean(axis=0),
        100 * (raw - truth).mean(axis=0),
        100 * (value - truth).mean(axis=0),
        50 * (high - low).mean(axis=0),
        50 * alone.mean(axis=0),
    )
    return [(pattern, texts, name, *row) for name, row in zip(NAMES, zip(*columns, strict=True), strict=True)]


NAMES = tuple(f"{score}_{over}" for over in ("all", "cls") for score in ("precision", "recall", "f1", "f0.5"))


def simulate(population: Population, texts: int, runs: int) -> Iterator[Sequence[Sequence[float]]]:
    """Yield for each run, by score: true, raw and corrected value, both ends, and the width from labels alone."""
    random = np.random.default_rng(0)
    for run in range(runs):
        drawn = population.at(random.integers(POPULATION, size=texts))
        rows, chances = draw(drawn.labels, drawn.present, LABELLED, seed=run)
        sample = Sample(rows, chances, drawn.implied[rows])
        scores = correct(drawn.labels, drawn.present, sample).scores
        if run % 10 == 0:
            alone = correct(np.full_like(drawn.labels, -1), drawn.present, sample).scores
        conventions = Conventions()
        raw = score(total_of(Hits.of(drawn.labels, drawn.present).counts(conventions)), conventions)
        ends = ([scores[name][end] for name in NAMES] for end in ("value", "low", "high"))
        yield (
            truth(population, drawn),
            [float(raw[name][0]) for name in NAMES],
            *ends,
            [alone[name]["high"] - alone[name]["low"] for name in NAMES],
        )


def truth(population: Population, drawn: Population) -> list[float]:
    """Return the population's scores, over the classes that are defined in the drawn sample."""
    true, predicted, present = counts(population)
    defined = [drawn.implied.any(axis=0), drawn.present.any(axis=0)]
    pooled = true.sum() / predicted.sum(), true.sum() / present.sum()
    means = (true / predicted)[defined[0]].mean(), (true / present)[defined[1]].mean()
    return [
        float(value)
        for precision, recall in (pooled, means)
        for value in (precision, recall, *(f_score(precision, recall, beta) for beta in (1.0, 0.5)))
    ]


def counts(population: Population) -> tuple[Floats, Floats, Floats]:
    """Count true, predicted and present cells of each class, by people's labels."""
    true = population.implied & population.present
    return tuple(table.sum(axis=0).astype(float) for table in (true, population.implied, population.present))  # type: ignore[return-value]


def populate(pattern: str, upstream: Path | None) -> Population:
    """Make the population of a pattern."""
    random = np.random.default_rng(1)
    if pattern in PATTERNS:
        return PATTERNS[pattern](*texts_of_nobody(random), random)
    assert upstream
    return REAL[pattern](*readings(upstream), random)


def texts_of_nobody(random: np.random.Generator) -> tuple[Bools, Bools]:
    """Make up what texts imply and what is present; classes are about as frequent as in COCO."""
    often = 0.4 / np.arange(1, len(COCO.classes) + 1) ** 0.75
    crowded = random.gamma(3, 1 / 3, (POPULATION, 1))
    present = random.random((POPULATION, len(often))) < np.minimum(0.9, often * crowded)
    told = random.beta(4, 3, len(often))
    implied = random.random(present.shape) < np.where(present, told, 0.3 * often * crowded)
    return implied, present


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
    rate = np.ones((len(implied), 1)) * np.ones(implied.shape[1])
    if text:
        rate *= random.gamma(1 / text, text, (len(implied), 1))
    if by_class:
        rate *= random.gamma(1 / by_class, by_class, implied.shape[1])
    likely = np.where(present, 0.15, implied.mean(axis=0))
    says = random.random(implied.shape) < np.where(
        implied, 1 - np.minimum(0.9, MISSED * rate), np.minimum(0.9, FALSE_YES * rate * likely)
    )
    undecided = np.minimum(0.5, UNDECIDED * rate * np.where(implied, 1.0, likely))
    return Population(
        np.where(random.random(implied.shape) < undecided, -1, says).astype(np.int8), implied, present
    )


def readings(upstream: Path) -> tuple[Bools, Bools, Bools]:
    """Read real texts with the lexical judge, with its rules and by words alone; also return what is present."""
    labels = presence.load([str(upstream / "chair" / "coco2014_chair_objects.json.gz")])
    objects = {image.image_id: image.objects for image in labels}
    judge = LexicalJudge(COCO)
    names = [upstream / "responses" / f"pope_instruction1_{name}.jsonl" for name in FIVE]
    rules, words, there = [], [], []
    for path in names:
        (responses,) = reading.read([path])
        images = responses.table.cells("image_id")
        for image, text in zip(images, responses.texts, strict=True):
            mentions = judge.mentions(text)
            rules.append([mention.object for mention in mentions if mention.implied])
            words.append([mention.object for mention in mentions])
            there.append(objects[image])
    tables = (COCO.presence(table) for table in (rules, words, there))
    return tuple(np.resize(table, (POPULATION, table.shape[1])) for table in tables)  # type: ignore[return-value]


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
