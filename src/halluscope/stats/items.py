"""How hard each row of a benchmark is, and how well it tells good models from bad ones.

Source: the corrected point-biserial correlation (Lord and Novick, 1968, chapter 15).
"""

from dataclasses import dataclass

import numpy as np

from halluscope.stats.ratios import Floats, ratio

FEWEST = 3  # models, for the share that is wrong
FEWEST_TO_CORRELATE = 8  # models, for a correlation over models

SMALLEST_SUBSET = 10  # rows
DRAWS = 200  # how many random subsets of a size are drawn
KEPT = 0.95  # in what share of them the models must keep their order

# A spread of less than this comes from rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Subset:
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
    mean_of_others = (right.sum(axis=1, keepdims=True) - right) / (rows - 1)
    away = right - right.mean(axis=0)
    others_away = mean_of_others - mean_of_others.mean(axis=0)
    squares = (away**2).sum(axis=0)
    others_squares = (others_away**2).sum(axis=0)
    spread = np.sqrt(squares * others_squares)
    spread = np.where(spread > ROUNDING, spread, 0)
    return ratio((away * others_away).sum(axis=0), spread)


def smallest(right: Floats, seed: int) -> Subset | None:
    """Return the smallest random subset of rows that gives the models' full ranking; None if none under all does.

    Sizes grow by half. A size is taken if in `KEPT` of `DRAWS` random subsets the models are in the same order; the
    rows are those of the first subset that keeps it.
    """
    rows = right.shape[1]
    random = np.random.default_rng(seed)
    whole_scores = right.mean(axis=1)
    order = np.argsort(-whole_scores, kind="stable")
    size = SMALLEST_SUBSET
    while size < rows:
        subsets = [np.sort(random.permutation(rows)[:size]) for _ in range(DRAWS)]
        scores = np.array([right[:, subset].mean(axis=1) for subset in subsets])
        is_kept = (np.diff(scores[:, order], axis=1) < 0).all(axis=1)
        if is_kept.mean() >= KEPT:
            first = subsets[int(is_kept.argmax())]
            error = np.sqrt(((scores - whole_scores) ** 2).mean())
            return Subset(first.tolist(), float(is_kept.mean()), float(error))
        size = size * 3 // 2
    return None
