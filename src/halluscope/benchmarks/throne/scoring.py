"""Precision, recall and F of predicted objects: counts first, then ratios, then intervals.

Everything here is a pure function of three tables [images, classes] of 0/1: what was predicted, what is present,
and both at once. Source: THRONE, section 3.1, equation 3.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from halluscope.benchmarks.throne import BENCHMARK
from halluscope.inputs import finite
from halluscope.judging.voting import IGNORED
from halluscope.stats.ratios import Floats, defined_mean, f_of_means, f_score, ratio, weighted_mean

ClassF = Literal["of_means", "mean"]
AllAverage = Literal["pooled", "image"]

# With this beta F equals recall to every digit printed; with its inverse F equals precision.
LARGEST_BETA = 1000

NUMBERS = 16  # About how many numbers `score` keeps in memory per class and resample


@dataclass(frozen=True)
class Hits:
    """The cells that count, as tables [images, classes] of bool."""

    true: NDArray[np.bool_]  # predicted and present (true positives)
    predicted: NDArray[np.bool_]  # labelled yes
    present: NDArray[np.bool_]  # in the ground truth, and not ignored

    @classmethod
    def of(cls, labels: NDArray[np.int8], present: NDArray[np.bool_]) -> "Hits":
        """Compare labels (1, 0 or `IGNORED`) with the ground truth; ignored cells do not count."""
        predicted = labels == 1
        return cls(predicted & present, predicted, present & (labels != IGNORED))


@dataclass(frozen=True)
class Conventions:
    """The choices on which papers and released code differ."""

    beta: float = 0.5  # the weight of recall against precision in F
    # "of_means" is F of the two class averages (THRONE, Table 1); "mean" averages each class's F over the
    # classes where it is defined (the released code; the supplement's Table 2)
    class_f: ClassF = "of_means"
    # "pooled" counts over all cells; "image" averages P, R and F over images (the released code): if an
    # image's predicted or true set is empty, its P and R are 0, and an image without a hit has no F
    all_average: AllAverage = "pooled"

    def __post_init__(self) -> None:
        """Check the options."""
        finite("beta", self.beta, 1 / LARGEST_BETA, LARGEST_BETA, "a number, such as 0.5,")
        BENCHMARK.check_choices(class_f=self.class_f, all_average=self.all_average)

    @property
    def betas(self) -> list[float]:
        """The betas that are reported: always 1 and 0.5, and `beta`."""
        return sorted({1.0, 0.5, float(self.beta)}, reverse=True)


def score(hits: Hits, conventions: Conventions, weights: Floats | None = None) -> dict[str, Floats]:
    """Return scores [resamples], fractions in [0, 1] and NaN where undefined; weights [resamples, images] say how
    often each image counts.
    """
    weights = np.ones((1, len(hits.true))) if weights is None else weights
    true, predicted, present = (
        weights @ table.astype(float) for table in (hits.true, hits.predicted, hits.present)
    )
    return _overall(hits, conventions, weights, true, predicted, present) | _by_class(
        conventions, true, predicted, present
    )


def per_class(hits: Hits, beta: float) -> dict[str, NDArray[np.int64] | Floats]:
    """Return one array [classes] per column of the per-class table; ratios are NaN where undefined."""
    true, predicted, present = (table.sum(axis=0) for table in (hits.true, hits.predicted, hits.present))
    precision, recall = ratio(true, predicted), ratio(true, present)
    return {
        "true": true,
        "predicted": predicted,
        "present": present,
        "precision": precision,
        "recall": recall,
        "f1": f_score(precision, recall, 1.0),
        f"f{beta:g}": f_score(precision, recall, beta),
    }


def undefined_classes(hits: Hits) -> int:
    """Count the classes that have no precision (never predicted) or no recall (never present)."""
    return int(np.count_nonzero(~hits.predicted.any(axis=0) | ~hits.present.any(axis=0)))


def _overall(
    hits: Hits, conventions: Conventions, weights: Floats, true: Floats, predicted: Floats, present: Floats
) -> dict[str, Floats]:
    if conventions.all_average == "pooled":
        precision = ratio(true.sum(axis=1), predicted.sum(axis=1))
        recall = ratio(true.sum(axis=1), present.sum(axis=1))
        fs = {b: f_of_means(precision, recall, b) for b in conventions.betas}
    else:
        true, predicted, present = (
            t.sum(axis=1).astype(float) for t in (hits.true, hits.predicted, hits.present)
        )
        empty = (predicted == 0) | (present == 0)
        of_image = tuple(np.where(empty, 0.0, ratio(true, whole)) for whole in (predicted, present))
        precision, recall = (weighted_mean(values, weights) for values in of_image)
        fs = {b: weighted_mean(f_score(of_image[0], of_image[1], b), weights) for b in conventions.betas}
    return {"precision_all": precision, "recall_all": recall} | {f"f{b:g}_all": f for b, f in fs.items()}


def _by_class(
    conventions: Conventions, true: Floats, predicted: Floats, present: Floats
) -> dict[str, Floats]:
    of_class = ratio(true, predicted), ratio(true, present)
    precision, recall = map(defined_mean, of_class)
    if conventions.class_f == "of_means":
        fs = {b: f_of_means(precision, recall, b) for b in conventions.betas}
    else:
        fs = {b: defined_mean(f_score(of_class[0], of_class[1], b)) for b in conventions.betas}
    return {"precision_cls": precision, "recall_cls": recall} | {f"f{b:g}_cls": f for b, f in fs.items()}
