"""Notices predictions and references in different orders, which no metric could tell from a bad model."""

import warnings

import numpy as np
from numpy.typing import ArrayLike

from halluscope.stats.ratios import Floats

FEWEST, MOST = 100, 2000  # from how many rows on, and at how many at most, is looked

# In standard errors: below `BY_CHANCE` pairs fit no better than shuffled ones, above `CLEAR` something does
BY_CHANCE, CLEAR = 3, 6


def warn_if_shuffled(said: ArrayLike, present: ArrayLike) -> None:
    """Warn if rows fit no better than shuffled ones, and in another order clearly would.

    Args:
        said: what each prediction says, 0 or 1 [rows, classes].
        present: what is in the image of each reference [rows, classes].
    """
    ours, theirs = _centred(said), _centred(present)
    fit = (ours * theirs).sum(axis=1)
    if len(fit) < FEWEST or not _errors(fit) < BY_CHANCE:
        return
    if ours.shape[1] > 1:
        columns = np.random.default_rng(0).permuted(ours, axis=0)  # says as much, about nothing
        best, chance = ((rows @ theirs.T).max(axis=1) for rows in (ours, columns))
        clear = _errors(best - chance) > CLEAR
    else:  # of yes and no every order has many; those from another beginning or end are likely mistakes
        there = np.fft.rfft(theirs[:, 0]).conj()
        shifted = [np.fft.irfft(np.fft.rfft(row) * there, len(row)) for row in (ours[:, 0], ours[::-1, 0])]
        clear = np.max(shifted) > CLEAR * np.sqrt((ours**2).sum() * (theirs**2).sum() / len(ours))
    if clear:
        warnings.warn(
            "The predictions fit their references no better than shuffled ones would, but fit them clearly better in "
            "another order. Are both in the same order? With ids=(ids of the predictions, ids of the references) they "
            "are matched by id.",
            stacklevel=3,
        )


def _centred(table: ArrayLike) -> Floats:
    rows = np.asarray(table)[:MOST].astype(np.float32)
    centred: Floats = rows - rows.mean(axis=0)
    return centred


def _errors(values: Floats) -> float:
    """Return how many standard errors the mean lies above 0; NaN if all values are equal."""
    spread = values.std() / np.sqrt(len(values))
    return float(values.mean() / spread) if spread else float("nan")
