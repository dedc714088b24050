"""How alike two benchmarks order the same models: Pearson, Spearman and Kendall, with intervals.

Sources: THRONE, section 5.2 and Figure 6 (Spearman); HQM, equations 1, 2 and 4 (Pearson). scipy computes the
coefficients (Kendall's is tau-b); an interval resamples the models, and is wide because there are few of them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import MissingExtra
from halluscope.scoring.bootstrap import Bootstrap

FEWEST_MODELS = 3

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
        without resamples.

    Raises:
        ValueError: for unequal lengths, fewer than three models, an undefined score, or scores that are all equal.
        MissingExtra: without scipy.
    """
    x, y = _checked(first, "first"), _checked(second, "second")
    if len(x) != len(y):
        raise ValueError(
            f"There are {len(x)} and {len(y)} scores; expected one of each a model, in the same order."
        )
    draws = np.random.default_rng(resampling.seed).integers(len(x), size=(resampling.resamples, len(x)))
    result = {}
    for name, coefficient in _coefficients().items():
        values = [
            coefficient(x[draw], y[draw]) for draw in draws if np.ptp(x[draw]) > 0 and np.ptp(y[draw]) > 0
        ]
        low, high = resampling.interval(np.array(values, dtype=float))
        result[name] = {"value": coefficient(x, y), "low": low, "high": high}
    return result


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
    array = np.asarray(scores, dtype=float)
    if len(array) < FEWEST_MODELS:
        raise ValueError(f"There are {len(array)} models; a correlation needs at least {FEWEST_MODELS}.")
    if np.isnan(array).any():
        raise ValueError(
            f"The {which} score of model {int(np.flatnonzero(np.isnan(array))[0])} is undefined; leave it out."
        )
    if np.ptp(array) == 0:
        raise ValueError(f"All {which} scores are {array[0]:g}: a correlation with a constant is undefined.")
    return array
