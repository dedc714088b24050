"""Measures how similarly two benchmarks order the same models: Pearson, Spearman and Kendall, with intervals.

Sources: THRONE, section 5.2 and Figure 6 (Spearman); HQM, equations 1, 2 and 4 (Pearson). scipy computes the
coefficients (Kendall's is tau-b). An interval resamples the models. With few models it says little: three models that
lie on a line do so in every resample. So `by_chance` is reported too, which is never small for few models.

Also notices predictions and references in different orders, which no metric could tell from a bad model.
"""

import warnings
from collections.abc import Iterable, Sequence
from itertools import permutations
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

# From how many rows on, and at how many at most, the order is looked at
FEWEST_ROWS = 100
MOST_ROWS = 2000

BY_CHANCE = 3  # standard errors, below which pairs fit no better than shuffled ones
CLEAR = 6  # standard errors, above which something does

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
    x = np.array(first, dtype=float)
    y = np.array(second, dtype=float)
    result = {}
    if undefined(x, y):
        for name in COEFFICIENTS:
            result[name] = {"value": np.nan, "low": np.nan, "high": np.nan}
        return result

    models = _resampled_models(x, y, resampling)
    at_once = AT_ONCE // (len(x) * min(len(x), MOST_IN_PAIRS)) + 1
    blocks = []
    for first_row in range(0, len(models), at_once):
        block = models[first_row : first_row + at_once]
        blocks.append(_coefficients(x[block], y[block], scipy.stats))

    for name, values in zip(COEFFICIENTS, np.concatenate(blocks, axis=1), strict=True):
        low, high = resampling.interval(values[1:])
        result[name] = {"value": float(values[0]), "low": low, "high": high}
    return result


def _resampled_models(x: Floats, y: Floats, resampling: Bootstrap) -> NDArray[np.int64]:
    """Return all models, and then those of each resample whose scores are not all equal: [1 + resamples, models]."""
    random = np.random.default_rng(resampling.seed)
    rows = [np.arange(len(x))]
    for _ in range(resampling.resamples):
        drawn = random.integers(len(x), size=len(x))
        if not _constant(x[drawn]) and not _constant(y[drawn]):
            rows.append(drawn)
    return np.stack(rows)


def _coefficients(x: Floats, y: Floats, stats: Any) -> Floats:
    """Return the coefficients [3, resamples] of scores [resamples, models], digit by digit as scipy has them."""
    pearson = stats.pearsonr(x, y, axis=1).statistic
    spearman = np.clip(_spearman(x, y, stats), -1, 1)
    kendall = np.clip(_kendall(x, y, stats), -1, 1)
    return np.stack([pearson, spearman, kendall])


def _spearman(x: Floats, y: Floats, stats: Any) -> Floats:
    models = x.shape[1]
    per_model = 1 / (models - 1)
    x_ranks = stats.rankdata(x, axis=1) - (models + 1) / 2
    y_ranks = stats.rankdata(y, axis=1) - (models + 1) / 2
    coefficients: Floats = (x_ranks * y_ranks).sum(axis=1) * per_model
    coefficients /= np.sqrt((y_ranks * y_ranks).sum(axis=1) * per_model)
    coefficients /= np.sqrt((x_ranks * x_ranks).sum(axis=1) * per_model)
    return coefficients


def _kendall(x: Floats, y: Floats, stats: Any) -> Floats:
    models = x.shape[1]
    if models > MOST_IN_PAIRS:
        taus = []
        for x_row, y_row in zip(x, y, strict=True):
            taus.append(stats.kendalltau(x_row, y_row).statistic)
        return np.array(taus)
    first, second = np.triu_indices(models, 1)
    x_order = np.sign(x[:, first] - x[:, second])
    y_order = np.sign(y[:, first] - y[:, second])
    coefficients: Floats = (x_order * y_order).sum(axis=1)
    coefficients /= np.sqrt((x_order != 0).sum(axis=1))
    coefficients /= np.sqrt((y_order != 0).sum(axis=1))
    return coefficients


def undefined(first: Scores, second: Scores) -> str | None:
    """Say why the correlation is undefined: one benchmark gives all models the same score. None if it is defined."""
    for which, scores in (("first", first), ("second", second)):
        if _constant(np.asarray(scores)):
            return f"All {which} scores are {float(scores[0]):g}: a correlation with a constant is undefined."
    return None


def _constant(scores: Floats) -> bool:
    return bool(np.ptp(scores) <= ROUNDING * np.abs(scores).max())


def by_chance(first: Scores, second: Scores) -> float:
    """Return how often models assigned to scores at random have a Pearson correlation at least as far from 0.

    With n models it is at least 1 / n!, so three models prove nothing, however high the coefficient. It is exact for
    up to `EVERY_ORDER` models; NaN if the correlation is undefined.
    """
    if undefined(first, second):
        return float("nan")
    x = _scaled(first)
    y = _scaled(second)
    models = np.arange(len(x))
    if len(models) <= EVERY_ORDER:
        orders = np.array(list(permutations(models)))
        products = y[orders] @ x
    else:
        random = np.random.default_rng(0)
        blocks = [y[np.newaxis] @ x]
        # small blocks are several times as fast
        for drawn in parts(DRAWN_ORDERS - 1, 64 * len(models)):
            orders = random.permuted(np.tile(models, (drawn, 1)), axis=1)
            blocks.append(y[orders] @ x)
        products = np.concatenate(blocks)
    away = np.abs(products)
    own = away[0]  # the order that was given is the first
    return float((away >= own - ROUNDING).mean())


def _scaled(scores: Scores) -> Floats:
    """Return how far scores are from their mean; the farthest is 1 or -1."""
    away: Floats = np.asarray(scores, dtype=float) - np.mean(scores)
    scaled: Floats = away / np.abs(away).max()
    return scaled


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
    fit = (predicted_away * present_away).sum(axis=1)
    if len(fit) < FEWEST_ROWS:
        return
    errors = _errors(fit)
    # with several classes, the next row of a dataset is often alike, and fits a little
    most_by_chance = CLEAR if predicted_away.shape[1] > 1 else BY_CHANCE
    if np.isnan(errors) or errors >= most_by_chance:
        return
    if predicted_away.shape[1] > 1:
        fits_otherwise = _fits_another_order(predicted_away, present_away)
    else:
        fits_otherwise = _fits_from_another_row(predicted_away[:, 0], present_away[:, 0])
    if fits_otherwise:
        warnings.warn(
            "The predictions fit their references no better than shuffled ones would, but fit them clearly better in "
            "another order. Are both in the same order? A file with the dataset's ids is matched by them; in Python, "
            "compute(..., ids=(ids of the predictions, ids of the references)) does it.",
            stacklevel=3,
        )


def _away_from_mean(table: ArrayLike) -> NDArray[np.float32]:
    numbers = np.asarray(table)[:MOST_ROWS].astype(np.float32)
    away: NDArray[np.float32] = numbers - numbers.mean(axis=0)
    return away


def _fits_another_order(predicted: NDArray[np.float32], present: NDArray[np.float32]) -> bool:
    """Whether predictions fit other rows clearly better than predictions that say as much about nothing."""
    about_nothing = np.random.default_rng(0).permuted(predicted, axis=0)
    best = (predicted @ present.T).max(axis=1)
    best_by_chance = (about_nothing @ present.T).max(axis=1)
    return _errors(best - best_by_chance) > CLEAR


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
