"""Times correcting scores of 5,000 texts x 80 classes by 200 labelled texts, against the raw scores' interval."""

import numpy as np

from halluscope.benchmarks.throne.metric import NUMBERS, Conventions, Hits, score
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.corrected import Sample, correct, draw
from timing import compare, seconds

TEXTS, CLASSES, LABELLED = 5000, 80, 200
BASELINE = "the raw scores' bootstrap of 1,000 resamples"


def main() -> None:
    """Print the ratio, and the time to draw texts."""
    random = np.random.default_rng(0)
    often = 0.4 / np.arange(1, CLASSES + 1) ** 0.75
    present = random.random((TEXTS, CLASSES)) < often
    implied = random.random(present.shape) < np.where(present, 0.6, 0.3 * often)
    labels = (implied ^ (random.random(present.shape) < 0.003)).astype(np.int8)
    rows, chances = draw(labels, present, LABELLED)
    sample = Sample(rows, chances, implied[rows].astype(np.int8))
    compare(
        "corrected scores", lambda: correct(labels, present, sample), lambda: raw(labels, present), BASELINE
    )
    print(f"drawing {LABELLED} texts: {seconds(lambda: draw(labels, present, LABELLED)):.3f} s")


def raw(labels: np.ndarray, present: np.ndarray) -> dict[str, float]:
    """Compute the raw scores' intervals."""
    hits, resampling = Hits.of(labels, present), Bootstrap(1000)
    weights = resampling.weights(len(present), NUMBERS * CLASSES)
    return resampling.intervals(score(hits, Conventions(), drawn) for drawn in weights)


if __name__ == "__main__":
    main()
