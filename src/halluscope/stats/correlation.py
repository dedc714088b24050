"""How alike two benchmarks order the same models: Pearson, Spearman and Kendall, with intervals.

Sources: THRONE, section 5.2 and Figure 6 (Spearman); HQM, equations 1, 2 and 4 (Pearson). scipy computes the
coefficients (Kendall's is tau-b). An interval resamples the models. Of a few models it says little: three that lie on
a line lie on it in every resample. So `by_chance` stands beside it, which no few models can make small.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import MissingExtra
from halluscope.stats.bootstrap import Bootstrap

FEWEST_MODELS = 3
EVERY_ORDER = 8
"""Up to so many models all orders are tried, 40,320; of more models as many are drawn."""

ROUNDING = 1e-12
"""Scores that differ by less, relative to the greatest, are equal: 0.1 + 0.2 is 0.3."""

Coefficient = Callable[[NDArray[np.float64], NDArray[np.float64]], float]


def correlations(
    first: Sequence[float], second: Sequence[float], resampling: Bootstrap
) -> dict[str, dict[str, float]]:
    """Correlate the scores of n models in two benchmarks.

    Args:
        first: a score a model.
        second: the same models' scores in the other benchmark, in the same order.
        resampling: how the intervals are made. A resample in which one benchmark's scores are all equal has no
            coefficient and is left out.

    Returns:
        "pearson", "spearman" and "kendall", each {"value", "low", "high"}: in [-1, 1]; `low` and `high` are NaN
        without resamples, and all are NaN where `undefined` says why.

    Raises:
        ValueError: for unequal lengths, fewer than three models, or a score that is no finite number.
        MissingExtra: without scipy.
    """
    x, y = _both(first, second)
    if undefined(first, second):
        return {name: dict.fromkeys(("value", "low", "high"), np.nan) for name in _coefficients()}
    draws = np.random.default_rng(resampling.seed).integers(len(x), size=(resampling.resamples, len(x)))
    result = {}
    for name, coefficient in _coefficients().items():
        values = [
            coefficient(x[draw], y[draw]) for draw in draws if not (_constant(x[draw]) or _constant(y[draw]))
        ]
        low, high = resampling.interval(np.array(values, dtype=float))
        result[name] = {"value": coefficient(x, y), "low": low, "high": high}
    return result


def undefined(first: Sequence[float], second: Sequence[float]) -> str | None:
    """Why there is no correlation: one benchmark gives all models the same score; None if there is one."""
    for which, scores in (("first", first), ("second", second)):
        if _constant(np.asarray(scores, dtype=float)):
            return f"All {which} scores are {float(scores[0]):g}: a correlation with a constant is undefined."
    return None


def by_chance(first: Sequence[float], second: Sequence[float]) -> float:
    """How often a Pearson correlation at least as far from 0 comes about if models are put to scores at random.

    With n models it is at least 1 / n!: from three models nothing can be concluded, however high the coefficient.

    Args:
        first: a score a model.
        second: in the other benchmark.

    Returns:
        A fraction in (0, 1], exact for up to `EVERY_ORDER` models, for more from orders drawn the same each time; NaN
        where the correlation is undefined.

    Raises:
        ValueError: as `correlations`.
    """
    x, y = _both(first, second)
    if undefined(first, second):
        return float("nan")
    if len(x) <= EVERY_ORDER:
        orders = np.array(list(permutations(range(len(x)))))
    else:
        drawn = np.random.default_rng(0).permuted(np.tile(np.arange(len(x)), (40_319, 1)), axis=1)
        orders = np.vstack([np.arange(len(x)), drawn])
    centred = (x - x.mean()) / np.abs(x - x.mean()).max()
    products = np.abs(((y - y.mean()) / np.abs(y - y.mean()).max())[orders] @ centred)
    return float((products >= products[0] - ROUNDING).mean())


def _constant(scores: NDArray[np.float64]) -> bool:
    return bool(np.ptp(scores) <= ROUNDING * np.abs(scores).max())


def _both(first: Sequence[float], second: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, y = _checked(first, "first"), _checked(second, "second")
    if len(x) != len(y):
        raise ValueError(
            f"There are {len(x)} and {len(y)} scores; expected one of each a model, in the same order."
        )
    return x, y


def _coefficients() -> dict[str, Coefficient]:
    try:
        from scipy import stats
    except ImportError as error:
        raise MissingExtra(f"Correlations need scipy ({error}): pip install 'halluscope[stats]'.") from error
    functions = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    return {name: partial(_statistic, function) for name, function in functions.items()}


def _statistic(function: Any, x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return float(function(x, y).statistic)


def _checked(scores: Sequence[float], which: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(scores, dtype=float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.ndim != 1:
        raise ValueError(f"The {which} scores are {scores!r:.80}; expected a list of numbers, one a model.")
    if len(array) < FEWEST_MODELS:
        raise ValueError(f"There are {len(array)} models; a correlation needs at least {FEWEST_MODELS}.")
    if not np.isfinite(array).all():
        model = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"The {which} score of model {model} is undefined; leave it out.")
    return array
