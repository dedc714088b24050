"""Notices predictions and references in different orders, which no metric could tell from a bad model."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halluscope.naming import named

# From how many rows on, and at how many at most, the order is looked at
FEWEST_ROWS = 100
MOST_ROWS = 2000

BY_CHANCE = 3  # standard errors, below which pairs fit no better than shuffled ones
CLEAR = 6  # standard errors, above which something does


def with_words(texts: Sequence[Iterable[str]], known: Sequence[Iterable[str]]) -> NDArray[np.bool_]:
    """Return which words each text has, of those that stand in any of `known`: a table for `warn_if_shuffled`.

    >>> with_words([["dog", "sky"], []], known=[["dog"], ["cat"]]).tolist()
    [[True, False], [False, False]]
    """
    column_of: dict[str, int] = {}
    for words in known:
        for word in words:
            column_of.setdefault(word, len(column_of))
    table = np.zeros((len(texts), len(column_of)), dtype=bool)
    for row, words in enumerate(texts):
        for word in words:
            if word in column_of:
                table[row, column_of[word]] = True
    return table


def warn_if_shuffled(predicted: ArrayLike, present: ArrayLike) -> None:
    """Warn if rows fit no better than shuffled ones, and in another order clearly would.

    Args:
        predicted: what each prediction says, 0 or 1 [rows, classes].
        present: what is in the image of each reference [rows, classes].
    """
    predicted_away = _away_from_mean(predicted)
    present_away = _away_from_mean(present)
    if len(predicted_away) < FEWEST_ROWS:
        return
    has_classes = predicted_away.shape[1] > 1
    most_by_chance = BY_CHANCE
    if has_classes:  # the next row of a dataset is often alike, and fits a little
        most_by_chance = CLEAR
    errors = _errors((predicted_away * present_away).sum(axis=1))
    if np.isnan(errors) or errors >= most_by_chance:
        return
    if has_classes:
        fits_otherwise = _fit_other_rows(predicted_away, present_away)
    else:
        fits_otherwise = _fits_from_another_row(predicted_away[:, 0], present_away[:, 0])
    if fits_otherwise:
        message = (
            "The predictions fit their references no better than shuffled ones would, but fit them clearly better in "
            "another order. Are both in the same order? A file with the dataset's ids is matched by them; in Python, "
            "compute(..., ids=(ids of the predictions, ids of the references)) does it."
        )
        warnings.warn(named(message), stacklevel=3)


def _away_from_mean(table: ArrayLike) -> NDArray[np.float32]:
    numbers = np.asarray(table)[:MOST_ROWS].astype(np.float32)
    away: NDArray[np.float32] = numbers - numbers.mean(axis=0)
    return away


def _fit_other_rows(predicted: NDArray[np.float32], present: NDArray[np.float32]) -> bool:
    """Whether each prediction fits some row, clearly better than mixtures of what all predictions say."""
    mixtures = np.random.default_rng(0).permuted(predicted, axis=0)  # each class by itself
    best = (predicted @ present.T).max(axis=1)
    best_of_mixtures = (mixtures @ present.T).max(axis=1)
    return _errors(best - best_of_mixtures) > CLEAR


def _fits_from_another_row(predicted: NDArray[np.float32], present: NDArray[np.float32]) -> bool:
    """Whether yes and no clearly fit if they begin at another row, or run backwards.

    They fit in many orders; those from another beginning or end are likely mistakes.
    """
    transformed = np.fft.rfft(present).conj()
    rows = len(present)
    forwards = np.fft.irfft(np.fft.rfft(predicted) * transformed, rows)
    reversed_rows = predicted[::-1]
    backwards = np.fft.irfft(np.fft.rfft(reversed_rows) * transformed, rows)
    by_chance = np.sqrt((predicted**2).sum() * (present**2).sum() / rows)
    return bool(max(forwards.max(), backwards.max()) > CLEAR * by_chance)


def _errors(values: NDArray[Any]) -> float:
    """Return how many standard errors the mean lies above 0; NaN if all values are equal."""
    spread = values.std() / np.sqrt(len(values))
    if not spread:
        return float("nan")
    return float(values.mean() / spread)
