"""Times what is computed from tables: THRONE's scores of 5,000 images x 80 classes x 9 votes, against a plain loop over
cells; corrected scores of as many cells by 200 labelled texts, against the raw scores' bootstrap; and correlations with
intervals, against scipy called for each resample.
"""

import warnings
from collections import Counter
from statistics import fmean

import numpy as np
from scipy import stats

from halluscope.benchmarks.throne import metric as throne
from halluscope.benchmarks.throne.counting import Conventions, Hits, score
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.corrected import Sample, correct
from halluscope.stats.correlation import correlations
from halluscope.stats.text_draw import draw
from halluscope.vocabularies import load
from timing import compare, size

IMAGES = 5000
VOTES = 9
LABELLED = 200
CLASSES = load("coco").classes


def main() -> None:
    """Check that both ways give the same scores, and print the ratios."""
    rng = np.random.default_rng(0)
    present = rng.random((IMAGES, len(CLASSES))) < 0.036
    sure = rng.random((IMAGES, len(CLASSES), 1))
    yes_chances = np.where(present[..., np.newaxis], sure, sure**8)
    votes = (rng.random((IMAGES, len(CLASSES), VOTES)) < yes_chances).astype(np.int8)
    references = [[CLASSES[i] for i in np.flatnonzero(row)] for row in present]
    texts = [""] * IMAGES
    warnings.simplefilter("ignore")  # random votes look like those of broken judges
    assert ours(texts, references, votes) == plain(references, votes)
    compare(
        "THRONE's scores of given votes",
        lambda: ours(texts, references, votes),
        lambda: plain(references, votes),
        "a plain loop over cells",
    )
    labels, sample = labelled(rng)
    compare(
        "corrected scores",
        lambda: correct(labels, present, sample),
        lambda: raw(labels, present),
        "the raw scores' bootstrap of 1,000 resamples",
    )
    first, second = rng.random((2, 12))
    resampling = Bootstrap(size(5000, 500))
    compare(
        "three correlations of 12 models",
        lambda: correlations(first, second, resampling),
        lambda: by_scipy(first, second, resampling),
        "scipy called for each resample",
        2,
    )


def labelled(rng: np.random.Generator) -> tuple[np.ndarray, Sample]:
    """Return a judge's labels, and people's labels of a sample."""
    often = 0.4 / np.arange(1, len(CLASSES) + 1) ** 0.75
    implied = rng.random((IMAGES, len(CLASSES))) < 0.6 * often
    labels = (implied ^ (rng.random(implied.shape) < 0.003)).astype(np.int8)
    rows, chances = draw(labels, implied, LABELLED)
    return labels, Sample(rows, chances, implied[rows])


def raw(labels: np.ndarray, present: np.ndarray) -> None:
    """Compute the raw scores of resampled images."""
    conventions = Conventions()
    tables = Hits.of(labels, present).counts(conventions)
    for weights in Bootstrap(1000).weights(len(present)):
        resampled = {name: weights @ table.astype(float) for name, table in tables.items()}
        score(resampled, conventions)


def by_scipy(x: np.ndarray, y: np.ndarray, resampling: Bootstrap) -> list[float]:
    """Compute the three coefficients of each resample."""
    random = np.random.default_rng(resampling.seed)
    coefficients = []
    for _ in range(resampling.resamples):
        models = random.integers(len(x), size=len(x))
        for function in (stats.pearsonr, stats.spearmanr, stats.kendalltau):
            coefficients.append(function(x[models], y[models]).statistic)
    return coefficients


def ours(texts: list[str], references: list[list[str]], votes: np.ndarray) -> list[float]:
    """Return precision and recall over all cells and by class, computed by halluscope."""
    result = throne.compute(texts, references, votes=votes)
    return [round(result[name], 9) for name in ("precision_all", "recall_all", "precision_cls", "recall_cls")]


def plain(references: list[list[str]], votes: np.ndarray) -> list[float]:
    """Return the same scores, computed by a plain loop over cells."""
    true = Counter[str]()
    predicted = Counter[str]()
    present = Counter[str]()
    for names, table in zip(references, votes.tolist(), strict=True):
        for name, cell in zip(CLASSES, table, strict=True):
            yes = sum(cell)
            if yes == VOTES:
                predicted[name] += 1
                true[name] += name in names
            if yes in (0, VOTES):
                present[name] += name in names
    hits = sum(true.values())
    precision = [true[name] / predicted[name] for name in CLASSES if predicted[name]]
    recall = [true[name] / present[name] for name in CLASSES if present[name]]
    overall = [hits / sum(predicted.values()), hits / sum(present.values())]
    return [round(value, 9) for value in (*overall, fmean(precision), fmean(recall))]


if __name__ == "__main__":
    main()
