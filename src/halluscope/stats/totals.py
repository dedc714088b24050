"""Computes precision, recall and F from totals per class, with their slopes: the effect of one cell more or less.

Each score is a ratio `true / (alpha predicted + (1 - alpha) present)`: precision with alpha 1, recall with 0, and F
with `1 / (1 + beta^2)` (THRONE, equation 3, in counts). So one formula and one derivative suffice for all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Bools

HALF = 0.5  # A class has a precision if its expected number of predictions is at least this


@dataclass(frozen=True)
class Totals:
    """Numbers of cells per class [classes], which may be expected numbers."""

    true: Floats  # cells that are predicted and present
    predicted: Floats  # cells whose text implies the class
    present: Floats  # cells whose class is in the ground truth


@dataclass(frozen=True)
class Linear:
    """A score near some totals."""

    value: Floats  # the score at these totals
    slopes: Floats  # [3, classes], the change per true, predicted and present cell of each class
    # [2, classes], for class averages, how the slopes change in each class: t more true and p more predicted
    # cells change the score by slopes x (t, p) + curves x (t p, p^2). Pooled scores have curves of 0.
    curves: Floats


def linear(
    totals: Totals, betas: Sequence[float], class_f: str = "of_means", spread: bool = False
) -> dict[str, Linear]:
    """Return each score at these totals: `precision recall f1 ...`, pooled (`_all`) and averaged over classes
    (`_cls`).

    `class_f` is as in `correct`; `spread` scales the slopes of class averages so that their squares add up to a
    variance.
    """
    defined = totals.predicted >= HALF, totals.present > 0
    both = (totals.true >= HALF) & defined[1]
    precision, recall = (_mean(totals, *of, spread) for of in zip((1.0, 0.0), defined, strict=True))
    alphas = {f"f{beta:g}": 1 / (1 + beta**2) for beta in betas}
    scores = {
        f"{name}_all": _pooled(totals, alpha)
        for name, alpha in ({"precision": 1.0, "recall": 0.0} | alphas).items()
    }
    scores |= {"precision_cls": precision, "recall_cls": recall}
    for name, alpha in alphas.items():
        of_classes = _mean(totals, alpha, both, spread)
        scores[f"{name}_cls"] = of_classes if class_f == "mean" else _f(precision, recall, alpha)
    return scores


def _pooled(totals: Totals, alpha: float) -> Linear:
    whole = (alpha * totals.predicted + (1 - alpha) * totals.present).sum()
    value = ratio(totals.true.sum(), whole)
    return Linear(
        value,
        np.outer(
            [1, -alpha * value, (alpha - 1) * value], np.full(len(totals.true), ratio(np.ones(()), whole))
        ),
        np.zeros((2, len(totals.true))),
    )


def _mean(totals: Totals, alpha: float, defined: Bools, spread: bool) -> Linear:
    """Return the mean over the defined classes.

    A class seen once has the rate 0 or 1, and no deviation from it, so squared deviations would call it certain. With
    `spread`, a class's rate is drawn towards the mean of all by one cell, `(true + mean) / (n + 1)`, and the slopes are
    scaled by `(n + 1) / sqrt(n^2 + n - 1)`: the sum of n squares is then expected to be n times the variance of a cell.
    """
    whole = np.where(defined, alpha * totals.predicted + (1 - alpha) * totals.present, 1.0)
    rate = np.where(defined, totals.true / whole, 0.0)
    value = ratio(rate.sum(), defined.sum())
    scale = defined / whole * ratio(np.ones(()), defined.sum())
    if spread:
        seen = np.maximum(whole, 1.0)
        rate, scale = (rate * seen + value) / (seen + 1), scale * (seen + 1) / np.sqrt(seen**2 + seen - 1)
    bend = alpha * scale / whole
    return Linear(
        value,
        np.stack([scale, -alpha * rate * scale, (alpha - 1) * rate * scale]),
        np.stack([-bend, alpha * rate * bend]),
    )


def _f(precision: Linear, recall: Linear, alpha: float) -> Linear:
    """Return F of two averages, their weighted harmonic mean, as a linear function near them."""
    whole = (1 - alpha) * precision.value + alpha * recall.value
    one = ratio(np.ones(()), whole**2)
    by_precision, by_recall = alpha * recall.value**2 * one, (1 - alpha) * precision.value**2 * one
    return Linear(
        ratio(precision.value * recall.value, whole),
        by_precision * precision.slopes + by_recall * recall.slopes,
        by_precision * precision.curves + by_recall * recall.curves,
    )
