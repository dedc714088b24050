"""Measures how similarly two benchmarks order the same models: Pearson, Spearman and Kendall, with intervals.

Sources: THRONE, section 5.2 and Figure 6 (Spearman); HQM, equations 1, 2 and 4 (Pearson). scipy computes the
coefficients (Kendall's is tau-b). An interval resamples the models. With few models it says little: three models that
lie on a line do so in every resample. So `by_chance` is reported too, which is never small for few models.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import MissingExtra
from halluscope.inputs import is_like_a_list, is_number
from halluscope.sanitize import short_repr
from halluscope.stats.bootstrap import Bootstrap, parts

COEFFICIENTS = ("pearson", "spearman", "kendall")  # their names in `correlations`

FEWEST_MODELS = 3
# Up to this many models, all orders are tried (40,320); for more models, `DRAWN_ORDERS` orders are drawn.
EVERY_ORDER = 8

DRAWN_ORDERS = 40_320

# Scores that differ by less than this share of the greatest score are equal, so that 0.1 + 0.2 is 0.3.
ROUNDING = 1e-12

LARGEST_SCORE = 1e100  # The largest score; squares of larger scores would overflow

Scores = Sequence[float] | NDArray[np.float64]  # A score per model

Coefficient = Callable[[NDArray[np.float64], NDArray[np.float64]], float]


def correlations(first: Scores, second: Scores, resampling: Bootstrap) -> dict[str, dict[str, float]]:
    """Correlate the scores of n models in two benchmarks: Pearson, Spearman and Kendall, each "value", "low" and
    "high".

    They are in [-1, 1], and NaN where `undefined` says why. A resample in which a benchmark's scores are all equal is
    left out.
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
    """Say why the correlation is undefined: one benchmark gives all models the same score. None if it is defined."""
    for which, scores in (("first", np.asarray(first)), ("second", np.asarray(second))):
        if _constant(scores):
            return f"All {which} scores are {float(scores[0]):g}: a correlation with a constant is undefined."
    return None


def by_chance(first: Scores, second: Scores) -> float:
    """Return how often models assigned to scores at random have a Pearson correlation at least as far from 0.

    With n models it is at least 1 / n!, so three models prove nothing, however high the coefficient. It is exact for
    up to `EVERY_ORDER` models; NaN if the correlation is undefined.
    """
    x, y = _both(first, second)
    if undefined(x, y):
        return float("nan")
    x, y = ((scores - scores.mean()) / np.abs(scores - scores.mean()).max() for scores in (x, y))
    products = np.abs(np.concatenate([y[orders] @ x for orders in _orders(len(x))]))
    return float((products >= products[0] - ROUNDING).mean())


def _orders(models: int) -> Iterator[NDArray[np.int64]]:
    """Yield orders of the models in parts [orders, models]: all orders, or drawn ones; the given order is the first."""
    if models <= EVERY_ORDER:
        yield np.array(list(permutations(range(models))))
        return
    yield np.arange(models)[np.newaxis]
    draws = np.random.default_rng(0)
    for part in parts(DRAWN_ORDERS - 1, 64 * models):  # small parts are several times as fast
        yield draws.permuted(np.tile(np.arange(models), (part, 1)), axis=1)


def _constant(scores: NDArray[np.float64]) -> bool:
    return bool(np.ptp(scores) <= ROUNDING * np.abs(scores).max())


def _both(first: Scores, second: Scores) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, y = _checked(first, "first"), _checked(second, "second")
    if len(x) != len(y):
        raise ValueError(
            f"There are {len(x)} and {len(y)} scores; expected one of each per model, in the same order."
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
            f"The {which} scores are {short_repr(scores)}; expected a list of numbers, one per model."
        )
    if len(scores) < FEWEST_MODELS:
        raise ValueError(f"There are {len(scores)} models; a correlation needs at least {FEWEST_MODELS}.")
    for model, score in enumerate(scores):
        if score is None or not -LARGEST_SCORE <= score <= LARGEST_SCORE:
            raise ValueError(f"The {which} score of model {model} is undefined; leave it out.")
    return np.array([float(score) for score in scores])
