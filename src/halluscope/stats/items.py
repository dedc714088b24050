"""How hard each row of a benchmark is, and how well it tells good models from bad ones.

Sources: the corrected point-biserial correlation (Lord and Novick, 1968, chapter 15); the two-parameter logistic model
of item response theory (Birnbaum, 1968), fitted by `girth`.
"""

from typing import NamedTuple

import numpy as np

from halluscope.errors import needs
from halluscope.stats.ratios import Floats, ratio

# The fewest models for the share that is wrong, for a correlation over models, and for a model with two parameters
FEWEST, FEWEST_TO_CORRELATE, FEWEST_TO_FIT = 3, 8, 20

# How many random subsets of a size are drawn, and in what share of them the models must keep their order
DRAWS, KEPT = 200, 0.95


class Subset(NamedTuple):
    """Rows whose scores give the models' full ranking."""

    rows: list[int]  # the indices of the rows
    kept: float  # the share of random subsets of this size that give the full ranking
    error: float  # the root mean square difference between a model's score in such a subset and in all rows


def difficulty(right: Floats) -> Floats:
    """Return the share of models that are wrong in each row, in [0, 1], from their scores [models, rows] in [0, 1]."""
    if len(right) < FEWEST:
        raise ValueError(f"There are {len(right)} models; expected at least {FEWEST}: score more responses.")
    return np.asarray(1 - right.mean(axis=0), dtype=np.float64)


def discrimination(right: Floats) -> Floats:
    """Return the correlation over models between each row's score and the mean of all other rows, in [-1, 1].

    It is NaN where all models score the same, and everywhere for fewer than `FEWEST_TO_CORRELATE` models. Below 0, good
    models are wrong and bad ones right: the row's label may be wrong.
    """
    models, rows = right.shape
    if models < FEWEST_TO_CORRELATE or rows < 2:
        return np.full(rows, np.nan)
    others = (right.sum(axis=1, keepdims=True) - right) / (rows - 1)
    ours, theirs = right - right.mean(axis=0), others - others.mean(axis=0)
    spread = np.sqrt((ours**2).sum(axis=0) * (theirs**2).sum(axis=0))
    return ratio((ours * theirs).sum(axis=0), np.where(spread > 1e-12, spread, 0))


def fitted(right: Floats) -> tuple[Floats, Floats] | None:
    """Return each row's difficulty and discrimination by the two-parameter logistic model; None for too few models.

    Both are on the scale of the models' ability, whose mean is 0 and standard deviation 1. They are NaN where all
    models are right, or all wrong; a score of at least a half counts as right.
    """
    if len(right) < FEWEST_TO_FIT:
        return None
    with needs("Item response theory", "stats"):
        from girth import twopl_jml
    answers = (right >= 0.5).T.astype(int)
    tells = (answers.min(axis=1) == 0) & (answers.max(axis=1) == 1)
    hard, telling = np.full((2, len(answers)), np.nan)
    if tells.any():
        found = twopl_jml(answers[tells])
        hard[tells], telling[tells] = found["Difficulty"], found["Discrimination"]
    return hard, telling


def smallest(right: Floats, seed: int) -> Subset | None:
    """Return the smallest random subset of rows that gives the models' full ranking; None if none under all does.

    Sizes grow by half. A size is taken if in `KEPT` of `DRAWS` random subsets the models are in the same order; the
    rows are those of the first subset that keeps it.
    """
    rows, draws = right.shape[1], np.random.default_rng(seed)
    whole = right.mean(axis=1)
    order = np.argsort(-whole, kind="stable")
    size = 10
    while size < rows:
        drawn = [np.sort(draws.permutation(rows)[:size]) for _ in range(DRAWS)]
        scores = np.array([right[:, one].mean(axis=1) for one in drawn])
        same = (np.diff(scores[:, order], axis=1) < 0).all(axis=1)
        if same.mean() >= KEPT:
            error = float(np.sqrt(((scores - whole) ** 2).mean()))
            return Subset(drawn[int(same.argmax())].tolist(), float(same.mean()), error)
        size = size * 3 // 2
    return None
