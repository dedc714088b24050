"""Measures how similarly two benchmarks order the same models: Pearson, Spearman and Kendall, with intervals.

Sources: THRONE, section 5.2 and Figure 6 (Spearman); HQM, equations 1, 2 and 4 (Pearson). scipy computes the
coefficients (Kendall's is tau-b). An interval resamples the models. With few models it says little: three models that
lie on a line do so in every resample. So `by_chance` is reported too, which is never small for few models.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
