"""Scores near some numbers of cells, as linear functions of these numbers.

Each score is a ratio `true / (alpha predicted + (1 - alpha) present)`: precision with alpha 1, recall with 0, and F
with `1 / (1 + beta^2)` (THRONE, equation 3, in counts). So one formula and one derivative suffice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Bools

# The rows of slopes [3, classes], and of numbers of cells [2, classes]
TRUE = 0
PREDICTED = 1
PRESENT = 2

HALF = 0.5  # a class has a precision if its expected number of predictions is at least this

# How F is averaged over classes: F of the mean precision and recall, or the mean of each class's F
OF_MEANS = "of_means"
MEAN = "mean"


@dataclass(frozen=True)
class Totals:
    """Numbers of cells per class, which may be expected numbers: [classes] each."""

    true: Floats  # predicted and present
    predicted: Floats
    present: Floats

    def whole(self, alpha: float) -> Floats:
        """Return what true cells are divided by: [classes]."""
        return alpha * self.predicted + (1 - alpha) * self.present


@dataclass(frozen=True)
class Linear:
    """A score near some totals."""

    value: Floats  # the score at these totals: []
    slopes: Floats  # [3, classes], the change per true, predicted and present cell of each class
    # [2, classes], for class averages, how the slopes change in each class: t more true and p more predicted
    # cells change the score by slopes x (t, p) + curves x (t p, p^2). Pooled scores have curves of 0.
    curves: Floats


@dataclass(frozen=True)
class LinearScores:
    """Several scores near some totals, as the first axis of each array."""

    names: list[str]
    values: Floats  # [scores]
    slopes: Floats  # [scores, 3, classes]
    curves: Floats  # [scores, 2, classes]


def linear(
    totals: Totals,
    betas: Sequence[float],
    class_f: str = OF_MEANS,
    spread: bool = False,
) -> LinearScores:
    """Return the scores near these totals: `precision recall f1 ...`, pooled (`_all`) and averaged over the classes
    where they are defined (`_cls`).

    With `spread`, the slopes of class averages are scaled so that their squares add up to a variance.
    """
    f_alphas = {}
    for beta in betas:
        f_alphas[f"f{beta:g}"] = 1 / (1 + beta**2)
    scores: dict[str, Linear] = {}
    scores["precision_all"] = _pooled(totals, 1.0)
    scores["recall_all"] = _pooled(totals, 0.0)
    for name, alpha in f_alphas.items():
        scores[f"{name}_all"] = _pooled(totals, alpha)

    is_predicted = totals.predicted >= HALF
    is_present = totals.present > 0
    has_f = (totals.true >= HALF) & is_present
    precision = _mean(totals.true, totals.predicted, 1.0, is_predicted, spread)
    recall = _mean(totals.true, totals.present, 0.0, is_present, spread)
    scores["precision_cls"] = precision
    scores["recall_cls"] = recall
    for name, alpha in f_alphas.items():
        if class_f == MEAN:
            scores[f"{name}_cls"] = _mean(totals.true, totals.whole(alpha), alpha, has_f, spread)
        else:
            scores[f"{name}_cls"] = _f_of_means(precision, recall, alpha)
    return _together(scores)


def _pooled(totals: Totals, alpha: float) -> Linear:
    """Return the ratio of all cells, as if they were of one class."""
    true = totals.true.sum(keepdims=True)
    whole = totals.whole(alpha).sum(keepdims=True)
    pooled = _mean(true, whole, alpha, whole != 0)
    classes = len(totals.true)
    slopes = np.repeat(pooled.slopes, classes, axis=1)
    return Linear(pooled.value, slopes, curves=np.zeros((2, classes)))


def _mean(
    true: Floats,
    whole: Floats,
    alpha: float,
    is_defined: Bools,
    spread: bool = False,
) -> Linear:
    """Return the mean of true / whole over the classes where it is defined.

    A class seen once has the rate 0 or 1, and no deviation from it, so squared deviations would call it certain. With
    `spread`, a class's rate is drawn towards the mean of all by one cell, `(true + mean) / (n + 1)`, and the slopes are
    scaled by `(n + 1) / sqrt(n^2 + n - 1)`: the sum of n squares is then expected to be n times the variance of a cell.
    """
    whole = np.where(is_defined, whole, 1.0)
    rate = np.where(is_defined, true / whole, 0.0)
    classes = is_defined.sum()
    value = ratio(rate.sum(), classes)
    scale = is_defined / whole * ratio(np.ones(()), classes)
    if spread:
        seen = np.maximum(whole, 1.0)
        rate = (rate * seen + value) / (seen + 1)
        scale = scale * (seen + 1) / np.sqrt(seen**2 + seen - 1)
    by_true = scale
    by_predicted = -alpha * rate * scale
    by_present = (alpha - 1) * rate * scale
    bend = alpha * scale / whole
    return Linear(
        value,
        slopes=np.stack([by_true, by_predicted, by_present]),
        curves=np.stack([-bend, alpha * rate * bend]),
    )


def _f_of_means(precision: Linear, recall: Linear, alpha: float) -> Linear:
    """Return F of two averages, their weighted harmonic mean, as a linear function near them."""
    whole = (1 - alpha) * precision.value + alpha * recall.value
    inverse_square = ratio(np.ones(()), whole**2)
    by_precision = alpha * recall.value**2 * inverse_square
    by_recall = (1 - alpha) * precision.value**2 * inverse_square
    return Linear(
        value=ratio(precision.value * recall.value, whole),
        slopes=by_precision * precision.slopes + by_recall * recall.slopes,
        curves=by_precision * precision.curves + by_recall * recall.curves,
    )


def _together(scores: dict[str, Linear]) -> LinearScores:
    return LinearScores(
        names=list(scores),
        values=np.stack([score.value for score in scores.values()]),
        slopes=np.stack([score.slopes for score in scores.values()]),
        curves=np.stack([score.curves for score in scores.values()]),
    )
