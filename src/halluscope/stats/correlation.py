"""Measures how similarly two benchmarks order the same models: Pearson, Spearman and Kendall, with intervals.

Sources: THRONE, section 5.2 and Figure 6 (Spearman); HQM, equations 1, 2 and 4 (Pearson). scipy computes the
coefficients (Kendall's is tau-b). An interval resamples the models. With few models it says little: three models that
lie on a line do so in every resample. So `by_chance` is reported too, which is never small for few models.

Also notices predictions and references in different orders, which no metric could tell from a bad model.
"""

import warnings
from collections.abc import Sequence
from itertools import chain, permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halluscope.errors import needs
from halluscope.stats.bootstrap import AT_ONCE, Bootstrap, parts
from halluscope.stats.ratios import Floats

COEFFICIENTS = ("pearson", "spearman", "kendall")  # their names in `correlations`

FEWEST_MODELS = 3
# Up to this many models, all orders are tried (40,320); for more models, `DRAWN_ORDERS` orders are drawn.
EVERY_ORDER = 8

DRAWN_ORDERS = 40_320

MOST_IN_PAIRS = 100  # up to this many models, Kendall's tau is counted over all pairs; for more, scipy sorts

# Scores that differ by less than this share of the greatest score are equal, so that 0.1 + 0.2 is 0.3.
ROUNDING = 1e-12

FEWEST_ROWS, MOST_ROWS = 100, 2000  # from how many rows on, and at how many at most, the order is looked at

# In standard errors: below `BY_CHANCE` pairs fit no better than shuffled ones, above `CLEAR` something does
BY_CHANCE, CLEAR = 3, 6

Scores = Sequence[float] | Floats  # A score per model


def correlations(first: Scores, second: Scores, resampling: Bootstrap) -> dict[str, dict[str, float]]:
    """Correlate the scores of n models in two benchmarks: Pearson, Spearman and Kendall, each "value", "low" and
    "high".

    They are in [-1, 1], and NaN where `undefined` says why. A resample in which a benchmark's scores are all equal is
    left out.
    """
    if len(first) < FEWEST_MODELS:
        raise ValueError(f"There are {len(first)} models; a correlation needs at least {FEWEST_MODELS}.")
    with needs("A correlation", "stats"):
        import scipy.stats
    x, y = np.array(first, dtype=float), np.array(second, dtype=float)
    if undefined(x, y):
        return {name: dict.fromkeys(("value", "low", "high"), np.nan) for name in COEFFICIENTS}
    draws = np.random.default_rng(resampling.seed)
    drawn = [np.arange(len(x))]
    drawn += [draws.integers(len(x), size=len(x)) for _ in range(resampling.resamples)]
    rows = np.stack([row for row in drawn if not (_constant(x[row]) or _constant(y[row]))])
    most = AT_ONCE // (len(x) * min(len(x), MOST_IN_PAIRS)) + 1
    found = [
        _coefficients(x[part], y[part], scipy.stats) for part in np.split(rows, range(most, len(rows), most))
    ]
    result = {}
    for name, (value, *resampled) in zip(COEFFICIENTS, np.concatenate(found, axis=1), strict=True):
        low, high = resampling.interval(np.array(resampled, dtype=float))
        result[name] = {"value": float(value), "low": low, "high": high}
    return result


def _coefficients(x: Floats, y: Floats, stats: Any) -> Floats:
    """Return the coefficients [3, resamples] of scores [resamples, models], digit by digit as scipy has them."""
    of_rank = 1 / (x.shape[1] - 1)
    u, v = (stats.rankdata(of, axis=1) - (x.shape[1] + 1) / 2 for of in (x, y))
    spearman = (u * v).sum(axis=1) * of_rank
    for ranks in (v, u):
        spearman /= np.sqrt((ranks * ranks).sum(axis=1) * of_rank)
    if x.shape[1] > MOST_IN_PAIRS:
        kendall = np.array([stats.kendalltau(*both).statistic for both in zip(x, y, strict=True)])
    else:
        one, other = np.triu_indices(x.shape[1], 1)
        in_x, in_y = (np.sign(of[:, one] - of[:, other]) for of in (x, y))
        kendall = (in_x * in_y).sum(axis=1)
        for order in (in_x, in_y):
            kendall /= np.sqrt((order != 0).sum(axis=1))
    pearson = stats.pearsonr(x, y, axis=1).statistic
    return np.stack([pearson, np.clip(spearman, -1, 1), np.clip(kendall, -1, 1)])


def undefined(first: Scores, second: Scores) -> str | None:
    """Say why the correlation is undefined: one benchmark gives all models the same score. None if it is defined."""
    for which, scores in (("first", first), ("second", second)):
        if _constant(np.asarray(scores)):
            return f"All {which} scores are {float(scores[0]):g}: a correlation with a constant is undefined."
    return None


def by_chance(first: Scores, second: Scores) -> float:
    """Return how often models assigned to scores at random have a Pearson correlation at least as far from 0.

    With n models it is at least 1 / n!, so three models prove nothing, however high the coefficient. It is exact for
    up to `EVERY_ORDER` models; NaN if the correlation is undefined.
    """
    if undefined(first, second):
        return float("nan")
    away = [np.asarray(scores, dtype=float) - np.mean(scores) for scores in (first, second)]
    x, y = (of / np.abs(of).max() for of in away)
    # the given order is the first; orders that are drawn come in small parts, which are several times as fast
    own, draws = np.arange(len(x)), np.random.default_rng(0)
    orders = [np.array(list(permutations(own)))] if len(x) <= EVERY_ORDER else [own[np.newaxis]]
    drawn = parts(DRAWN_ORDERS - 1 if len(x) > EVERY_ORDER else 0, 64 * len(x))
    others = (draws.permuted(np.tile(own, (part, 1)), axis=1) for part in drawn)
    products = np.abs(np.concatenate([y[order] @ x for order in chain(orders, others)]))
    return float((products >= products[0] - ROUNDING).mean())


def _constant(scores: Floats) -> bool:
    return bool(np.ptp(scores) <= ROUNDING * np.abs(scores).max())


def warn_if_shuffled(predicted: ArrayLike, present: ArrayLike) -> None:
    """Warn if rows fit no better than shuffled ones, and in another order clearly would.

    Args:
        predicted: what each prediction says, 0 or 1 [rows, classes].
        present: what is in the image of each reference [rows, classes].
    """
    tables = (np.asarray(table)[:MOST_ROWS].astype(np.float32) for table in (predicted, present))
    ours, theirs = (table - table.mean(axis=0) for table in tables)
    fit = (ours * theirs).sum(axis=1)
    if len(fit) < FEWEST_ROWS or not _errors(fit) < BY_CHANCE:
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


def _errors(values: NDArray[Any]) -> float:
    """Return how many standard errors the mean lies above 0; NaN if all values are equal."""
    spread = values.std() / np.sqrt(len(values))
    return float(values.mean() / spread) if spread else float("nan")
