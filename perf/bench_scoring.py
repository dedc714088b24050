"""Times scoring 5,000 images x 80 classes x 9 votes, against a plain loop over cells, and importing halluscope."""

import subprocess
import sys
from collections import Counter
from functools import partial
from statistics import fmean

import numpy as np

from halluscope.benchmarks.throne import metric as throne
from halluscope.vocabularies import load
from timing import compare, seconds

IMAGES, VOTES = 5000, 9
BASELINE = "a plain loop over cells"
CLASSES = load("coco").classes


def main() -> None:
    """Check that both ways give the same scores, and print the times."""
    rng = np.random.default_rng(0)
    present = rng.random((IMAGES, len(CLASSES))) < 0.036
    sure = rng.random((IMAGES, len(CLASSES), 1))
    votes = (rng.random((IMAGES, len(CLASSES), VOTES)) < np.where(present[..., None], sure, sure**8)).astype(
        np.int8
    )
    references = [[CLASSES[i] for i in np.flatnonzero(row)] for row in present]
    texts = [""] * IMAGES
    assert ours(texts, references, votes) == plain(references, votes)
    compare(
        "halluscope",
        lambda: ours(texts, references, votes),
        lambda: plain(references, votes),
        "a plain loop over cells",
    )
    interval = seconds(lambda: throne.compute(texts, references, votes=votes, bootstrap=1000))
    print(f"with a bootstrap interval of 1,000 resamples: {interval:.3f} s")
    for module in ("halluscope", "halluscope.benchmarks.throne.metric"):
        took, bare = (min(map(started, [code] * 3)) for code in (f"import {module}", ""))
        print(f"import {module}: {took - bare:.3f} s more than starting Python ({bare:.3f} s)")


def started(code: str) -> float:
    """Return the seconds that Python takes to start and run this code."""
    return seconds(partial(subprocess.run, [sys.executable, "-c", code], check=True))


def ours(texts: list[str], references: list[list[str]], votes: np.ndarray) -> list[float]:
    """Return precision and recall over all cells and by class, computed by halluscope."""
    result = throne.compute(texts, references, votes=votes)
    return [round(result[name], 9) for name in ("precision_all", "recall_all", "precision_cls", "recall_cls")]


def plain(references: list[list[str]], votes: np.ndarray) -> list[float]:
    """Return the same scores, computed by a plain loop over cells."""
    true, predicted, present = Counter[str](), Counter[str](), Counter[str]()
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
