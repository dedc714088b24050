"""How alike two benchmarks order the same models: Pearson, Spearman and Kendall, with intervals.

Sources: THRONE, section 5.2 and Figure 6 (Spearman); HQM, equations 1, 2 and 4 (Pearson). scipy computes the
coefficients (Kendall's is tau-b). An interval resamples the models. Of a few models it says little: three that lie on
a line lie on it in every resample. So `by_chance` stands beside it, which no few models can make small.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import MissingExtra
from halluscope.foreign import brief
from halluscope.inputs import is_like_a_list
from halluscope.numbers import is_number
from halluscope.stats.bootstrap import Bootstrap, parts

FEWEST_MODELS = 3
EVERY_ORDER = 8
"""Up to so many models all orders are tried, 40,320; of more models as many are drawn."""

DRAWN_ORDERS = 40_320

ROUNDING = 1e-12
"""Scores that differ by less, relative to the greatest, are equal: 0.1 + 0.2 is 0.3."""

LARGEST_SCORE = 1e100
"""Of larger ones, squares overflow."""

Scores = Sequence[float] | NDArray[np.float64]
"""A score per model."""

Coefficient = Callable[[NDArray[np.float64], NDArray[np.float64]], float]


def correlations(first: Scores, second: Scores, resampling: Bootstrap) -> dict[str, dict[str, float]]:
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
    if undefined(x, y):
        return {name: dict.fromkeys(("value", "low", "high"), np.nan) for name in _coefficients()}
    coefficients = _coefficients()
    resampled: dict[str, list[float]] = {name: [] for name in coefficients}
    draws = np.random.default_rng(resampling.seed)
    for _ in range(resampling.resamples):
        draw = draws.integers(len(x), size=len(x))
        if not (_constant(x[draw]) or _constant(y[draw])):
            for name, coefficient in coefficients.items():
                resampled[name].append(coefficient(x[draw], y[draw]))
    result = {}
    for name, coefficient in coefficients.items():
        low, high = resampling.interval(np.array(resampled[name], dtype=float))
        result[name] = {"value": coefficient(x, y), "low": low, "high": high}
    return result


def undefined(first: Scores, second: Scores) -> str | None:
    """Why there is no correlation: one benchmark gives all models the same score; None if there is one."""
    for which, scores in (("first", np.asarray(first)), ("second", np.asarray(second))):
        if _constant(scores):
            return f"All {which} scores are {float(scores[0]):g}: a correlation with a constant is undefined."
    return None


def by_chance(first: Scores, second: Scores) -> float:
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
    if undefined(x, y):
        return float("nan")
    x, y = ((scores - scores.mean()) / np.abs(scores - scores.mean()).max() for scores in (x, y))
    products = np.abs(np.concatenate([y[orders] @ x for orders in _orders(len(x))]))
    return float((products >= products[0] - ROUNDING).mean())


def _orders(models: int) -> Iterator[NDArray[np.int64]]:
    """Orders of the models, in parts [orders, models]: all of them, or as many as were drawn; the given one first."""
    if models <= EVERY_ORDER:
        yield np.array(list(permutations(range(models))))
        return
    yield np.arange(models)[np.newaxis]
    draws = np.random.default_rng(0)
    for part in parts(DRAWN_ORDERS - 1, 64 * models):  # so few at a time are several times as fast
        yield draws.permuted(np.tile(np.arange(models), (part, 1)), axis=1)


def _constant(scores: NDArray[np.float64]) -> bool:
    return bool(np.ptp(scores) <= ROUNDING * np.abs(scores).max())


def _both(first: Scores, second: Scores) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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


def _checked(scores: Scores, which: str) -> NDArray[np.float64]:
    if not is_like_a_list(scores) or not all(score is None or is_number(score) for score in scores):
        raise ValueError(
            f"The {which} scores are {brief(scores)}; expected a list of numbers, one per model."
        )
    if len(scores) < FEWEST_MODELS:
        raise ValueError(f"There are {len(scores)} models; a correlation needs at least {FEWEST_MODELS}.")
    for model, score in enumerate(scores):
        if score is None or not -LARGEST_SCORE <= score <= LARGEST_SCORE:
            raise ValueError(f"The {which} score of model {model} is undefined; leave it out.")
    return np.array([float(score) for score in scores])
