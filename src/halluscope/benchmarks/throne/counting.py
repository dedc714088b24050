"""From labels to THRONE's scores: counts by image and class, and precision, recall and F of their sums."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.votes import IGNORED
from halluscope.stats.intervals import Counts, refusal
from halluscope.stats.ratios import Floats, defined_mean, f_of_means, f_score, ratio

ClassF = Literal["of_means", "mean"]
AllAverage = Literal["pooled", "image"]
Cells = NDArray[np.bool_]  # [images, classes]

CLASS_F = ("of_means", "mean")
ALL_AVERAGE = ("pooled", "image")

# With this beta F equals recall to every digit printed; with its inverse F equals precision.
LARGEST_BETA = 1000

# Names of counts: the cells that are right, labelled yes, and present
TRUE = "true"
PREDICTED = "predicted"
PRESENT = "present"
# and the sums of images' own scores, and how many images have one
OF_IMAGES = "of_images"
DEFINED = "defined"


@dataclass(frozen=True)
class Conventions:
    """The choices on which papers and released code differ."""

    beta: float = 0.5
    class_f: ClassF = "of_means"
    all_average: AllAverage = "pooled"

    @property
    def betas(self) -> list[float]:
        """The betas whose F is reported."""
        return sorted({1.0, 0.5, float(self.beta)}, reverse=True)

    @property
    def names(self) -> list[str]:
        """The scores, without what they are averaged over."""
        names = ["precision", "recall"]
        for beta in self.betas:
            names.append(f"f{beta:g}")
        return names


@dataclass(frozen=True)
class Hits:
    """The cells that count."""

    true: Cells  # predicted and present (true positives)
    predicted: Cells  # labelled yes
    present: Cells  # in the ground truth, and not ignored

    @classmethod
    def of(cls, labels: NDArray[np.int8], present: Cells) -> "Hits":
        """Compare labels (1, 0 or `IGNORED`) with the ground truth; ignored cells do not count."""
        predicted = labels == 1
        return cls(
            true=predicted & present,
            predicted=predicted,
            present=present & (labels != IGNORED),
        )

    def counts(self, conventions: Conventions) -> dict[str, NDArray[Any]]:
        """Return what scores are made from, by image.

        These are the cells, and where images' own scores are averaged, these scores [images, scores], 0 where they are
        undefined, and whether they are defined.
        """
        counts: dict[str, NDArray[Any]] = {
            TRUE: self.true,
            PREDICTED: self.predicted,
            PRESENT: self.present,
        }
        if conventions.all_average == "image":
            scores = self._of_images(conventions)
            counts[OF_IMAGES] = np.nan_to_num(scores)
            counts[DEFINED] = ~np.isnan(scores)
        return counts

    def _of_images(self, conventions: Conventions) -> Floats:
        """Return the scores of each image: [images, scores].

        P and R of an image whose predicted or true set is empty are 0, and an image without a hit has no F.
        """
        true = self.true.sum(axis=1)
        predicted = self.predicted.sum(axis=1)
        present = self.present.sum(axis=1)
        is_empty = (predicted == 0) | (present == 0)
        precision = np.where(is_empty, 0.0, ratio(true, predicted))
        recall = np.where(is_empty, 0.0, ratio(true, present))
        scores = [precision, recall]
        for beta in conventions.betas:
            scores.append(f_score(precision, recall, beta))
        return np.stack(scores, axis=1)


def score(sums: Counts, conventions: Conventions) -> dict[str, Floats]:
    """Return scores [sums], fractions in [0, 1] and NaN where undefined (section 3.1, equation 3), of sums."""
    scores = {}
    over_all = _over_all(sums, conventions)
    for name, values in zip(conventions.names, over_all, strict=True):
        scores[f"{name}_all"] = values
    over_classes = _over_classes(sums, conventions)
    for name, values in zip(conventions.names, over_classes, strict=True):
        scores[f"{name}_cls"] = values
    return scores


def _over_all(sums: Counts, conventions: Conventions) -> list[Floats]:
    if conventions.all_average == "image":
        return list(ratio(sums[OF_IMAGES], sums[DEFINED]).T)
    true = sums[TRUE].sum(axis=1)
    precision = ratio(true, sums[PREDICTED].sum(axis=1))
    recall = ratio(true, sums[PRESENT].sum(axis=1))
    return with_f(precision, recall, conventions, f_of_means)


def _over_classes(sums: Counts, conventions: Conventions) -> list[Floats]:
    precision = ratio(sums[TRUE], sums[PREDICTED])
    recall = ratio(sums[TRUE], sums[PRESENT])
    if conventions.class_f == "of_means":
        mean_precision = defined_mean(precision)
        mean_recall = defined_mean(recall)
        return with_f(mean_precision, mean_recall, conventions, f_of_means)
    of_classes = with_f(precision, recall, conventions, f_score)
    return [defined_mean(values) for values in of_classes]


def with_f(
    precision: Floats, recall: Floats, conventions: Conventions, f: Callable[[Floats, Floats, float], Floats]
) -> list[Floats]:
    """Return precision, recall, and F for each beta."""
    scores = [precision, recall]
    for beta in conventions.betas:
        scores.append(f(precision, recall, beta))
    return scores


def class_refusals(total: Counts, conventions: Conventions) -> dict[str, str]:
    """Say which means over classes have no interval, since too many classes have no value: score -> reason.

    `total` are the sums over all images: [1, classes].
    """
    predicted = total[PREDICTED][0] > 0
    present = total[PRESENT][0] > 0
    has_f = total[TRUE][0] > 0
    without_f = "an F"
    if conventions.class_f == "of_means":
        has_f = predicted & present
        without_f = "a precision or a recall"
    reasons = {}
    for name in conventions.names:
        reasons[f"{name}_cls"] = _refusal(has_f, without_f)
    reasons["precision_cls"] = _refusal(predicted, "a precision")
    reasons["recall_cls"] = _refusal(present, "a recall")
    return reasons


def _refusal(is_defined: NDArray[np.bool_], missing: str) -> str:
    undefined = int((~is_defined).sum())
    return refusal(undefined, len(is_defined), missing)


def of_each_class(hits: Hits, beta: float) -> dict[str, NDArray[Any]]:
    """Return one array [classes] per column of the table of classes; ratios are NaN where undefined."""
    true = hits.true.sum(axis=0)
    predicted = hits.predicted.sum(axis=0)
    present = hits.present.sum(axis=0)
    precision = ratio(true, predicted)
    recall = ratio(true, present)
    table: dict[str, NDArray[Any]] = {
        TRUE: true,
        PREDICTED: predicted,
        PRESENT: present,
        "precision": precision,
        "recall": recall,
    }
    table["f1"] = f_score(precision, recall, 1.0)
    table[f"f{beta:g}"] = f_score(precision, recall, beta)
    return table
