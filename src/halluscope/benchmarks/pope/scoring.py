"""Scores yes/no answers about objects: a table of counts first, then ratios, then resampled tables.

Everything here is a pure function of one table, counts[..., label, answer], with label 0 (absent) or 1 (present) and
answer `NO`, `YES` or `OTHER`. Sources: POPE, section 5.1; THRONE, section 5.4.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.votes import NO, OTHER, YES
from halluscope.stats.bootstrap import AT_ONCE, Bootstrap, parts
from halluscope.stats.ratios import Floats, defined_mean, f_of_means, ratio

Counts = Floats  # Counts [..., 2 labels, 3 answers], whole numbers

ABSENT, PRESENT = 0, 1
BETAS = (1.0, 0.5)

COPIES = 4  # About how many tables are in memory per resample while it is scored


@dataclass(frozen=True)
class Conventions:
    """How unreadable responses are counted; they never count as yes."""

    # whether they are wrong in accuracy, and responses in the yes ratio; otherwise both leave them out
    unread_wrong: bool = True
    # whether a present object without a readable response is missed; otherwise recall leaves it out
    unread_missed: bool = True
    # whether the yes ratio is that of the ground truth instead of the LVLM's responses
    yes_of_labels: bool = False


def places(
    present: NDArray[np.bool_], answers: NDArray[np.int8], group: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return each row's index in a flattened table [groups, 2 labels, 3 answers]."""
    place: NDArray[np.int64] = (group * 2 + present) * 3 + answers
    return place


def count(place: NDArray[np.int64], shape: tuple[int, ...]) -> Counts:
    """Count rows by their index in a flattened table of this shape."""
    return np.bincount(place, minlength=math.prod(shape)).reshape(shape).astype(float)


def scores(counts: Counts, conventions: Conventions) -> dict[str, Floats]:
    """Return accuracy, precision, recall, F and shares, each an array [...] of fractions, NaN where undefined."""
    rows, unread = counts.sum(axis=(-2, -1)), counts[..., OTHER].sum(axis=-1)
    scored = rows if conventions.unread_wrong else rows - unread
    right = counts[..., ABSENT, NO] + counts[..., PRESENT, YES]
    predicted = counts[..., YES].sum(axis=-1)
    precision, recall = _precision_recall(counts, conventions)
    yes = counts[..., PRESENT, :].sum(axis=-1) if conventions.yes_of_labels else predicted
    return {
        "accuracy": ratio(right, scored),
        "precision": precision,
        "recall": recall,
        **{f"f{beta:g}": f_of_means(precision, recall, beta) for beta in BETAS},
        "yes_ratio": ratio(yes, scored),
        "unparsed": ratio(unread, rows),
    }


def class_means(counts: Counts, conventions: Conventions) -> dict[str, Floats]:
    """Return precision and recall averaged over the classes where they are defined, and F of the averages, from
    counts [..., classes, 2, 3].
    """
    precision, recall = (defined_mean(values) for values in _precision_recall(counts, conventions))
    return {
        "precision_cls": precision,
        "recall_cls": recall,
        **{f"f{beta:g}_cls": f_of_means(precision, recall, beta) for beta in BETAS},
    }


def undefined_classes(counts: Counts, conventions: Conventions) -> int:
    """Count the classes without a precision (no yes) or a recall (never present) in counts [classes, 2, 3]."""
    precision, recall = _precision_recall(counts, conventions)
    return int(np.count_nonzero(np.isnan(precision) | np.isnan(recall)))


def resample_rows(counts: Counts, resampling: Bootstrap) -> Iterator[Counts]:
    """Yield counts of bootstrap samples of the rows, in parts [resamples, ...]: multinomial draws of the cells."""
    rows = int(counts.sum())
    draws, shares = np.random.default_rng(resampling.seed), counts.ravel() / rows
    for part in parts(resampling.resamples, COPIES * counts.size):
        yield draws.multinomial(rows, shares, size=part).reshape(part, *counts.shape).astype(float)


def resample_images(
    place: NDArray[np.int64], image: NDArray[np.int64], shape: tuple[int, ...], resampling: Bootstrap
) -> Iterator[Counts]:
    """Yield counts of bootstrap samples of the images, in parts [resamples, ...]."""
    images, cells = int(image.max()) + 1, math.prod(shape)
    known, column = np.unique(place, return_inverse=True)
    step = max(1, AT_ONCE // images)
    for weights in resampling.weights(images, COPIES * cells):
        drawn = np.zeros((len(weights), cells))
        for first in range(0, len(known), step):
            some = known[first : first + step]
            rows = (column >= first) & (column < first + len(some))
            table = count(image[rows] * len(some) + column[rows] - first, (images, len(some)))
            drawn[:, some] = weights @ table
        yield drawn.reshape(-1, *shape)


def _precision_recall(counts: Counts, conventions: Conventions) -> tuple[Floats, Floats]:
    true = counts[..., PRESENT, YES]
    missed = counts[..., PRESENT, NO]
    if conventions.unread_missed:
        missed = missed + counts[..., PRESENT, OTHER]
    return ratio(true, counts[..., YES].sum(axis=-1)), ratio(true, true + missed)
