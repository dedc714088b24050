"""The indicators of HQM: how far a benchmark can be believed (Yan et al., "Measuring the Measurers", section III).

A benchmark is reliable if it gives the same models the same scores again, in a second run or in a parallel form. It is
valid if its scores agree with people's (criterion), and if people find its questions and answers right (content).
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from halluscope.signature import data_of, signature
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap
from halluscope.stats.correlation import by_chance, correlations, undefined
from halluscope.stats.strata import Stratum, share_of_ones
from halluscope.validation import listed, word
from halluscope.validation import scores as numbers

# Equations 1, 2 and 4: the same correlation with three kinds of second test; equation 3: the share of valid rows.
RETEST = "test_retest"
PARALLEL = "parallel_forms"
CRITERION = "criterion"
CONTENT = "content"
INDICATORS = (RETEST, PARALLEL, CRITERION, CONTENT)

SCORES = "a list of numbers, the score of each model"
MARKS = "a list with a mark, 1 or 0, for each reviewed row"


def compute(
    predictions: Sequence[float],
    references: Sequence[float] | None = None,
    *,
    indicator: str = RETEST,
    bootstrap: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, Any]:
    """Measure how far a benchmark can be believed, from its scores of several models.

    Args:
        predictions: one score per model, for at least three models; for "content" one mark per reviewed row: 1 valid, 0
            not valid.
        references: the same models' scores in the second test, in the same order: another run ("test_retest"), a
            parallel form ("parallel_forms"), or people's scores ("criterion"). None for "content".
        indicator: "test_retest", "parallel_forms", "criterion" or "content".
        bootstrap: how many times to resample the models for the intervals; 0 for no intervals.
        seed: the seed of the bootstrap.
        level: the confidence level of the intervals, in (0, 1).

    Returns:
        `pearson` (equations 1, 2 and 4), and also `spearman` and `kendall` (tau-b), in [-1, 1]; `low` and `high`, the
        interval of `pearson`, and `interval`, the interval of each; `chance`, how often scores assigned to models at
        random correlate as strongly, at least 1 / n! for n models; `models`, how many there are; `undefined`, None or
        why there is no correlation, in which case all scores are NaN and a warning is given; `signature`.
        For "content": `content` (equation 3) in [0, 1], `low` and `high` (Wilson), `valid`, `rows`, `signature`.

    Raises:
        ValueError: for fewer than three models, unequal lengths, a score that is not a finite number, a mark other than
            0 and 1, or an unknown indicator.
        MissingExtra: without scipy (pip install 'halluscope[stats]'); "content" does not need it.
    """
    word("indicator", indicator, INDICATORS)
    resampling = Bootstrap(bootstrap, seed, level)
    if indicator == CONTENT:
        if references is not None:
            raise ValueError(
                "references are given; content validity takes only predictions, one mark per reviewed row."
            )
        return content_validity(checked_marks(predictions), level=level)
    if references is None:
        raise ValueError(f"references is None; {indicator} needs the models' scores in the second test.")
    first = numbers("predictions", predictions, SCORES)
    second = numbers("references", references, SCORES)
    if len(first) != len(second):
        raise ValueError(
            f"There are {len(first)} predictions and {len(second)} references; expected the scores of the same models "
            "in both tests, in the same order."
        )
    coefficients = correlations(first, second, resampling)
    result: dict[str, Any] = {}
    interval = {}
    for name, coefficient in coefficients.items():
        result[name] = coefficient["value"]
        interval[name] = (coefficient["low"], coefficient["high"])
    why_undefined = undefined(first, second)
    if why_undefined:
        warnings.warn(why_undefined, stacklevel=2)
    result["low"] = coefficients["pearson"]["low"]
    result["high"] = coefficients["pearson"]["high"]
    result["interval"] = interval
    result["chance"] = by_chance(first, second)
    result["models"] = len(first)
    result["undefined"] = why_undefined
    result["signature"] = signature(
        "hqm",
        data=data_of("models", zip(first, second, strict=True)),
        indicator=indicator,
        interval=resampling,
    )
    return result


def checked_marks(predictions: Any) -> list[float]:
    """Check that there are marks, each 1 or 0, or True or False."""
    marks = []
    for mark in listed("predictions", predictions, MARKS):
        if isinstance(mark, bool | np.bool_):
            mark = int(mark)
        marks.append(mark)
    checked = numbers("predictions", marks, MARKS)
    for row, mark in enumerate(checked):
        if mark not in (0, 1):
            raise ValueError(f"predictions[{row}] is {mark:g}; expected 1 for valid, 0 for not valid.")
    return checked


def content_validity(
    marks: Sequence[float], strata: Mapping[str, Stratum] | None = None, level: float = 0.95
) -> dict[str, Any]:
    """Return what `compute` does for "content", weighted if the marks (1 or 0) are of rows drawn by strata."""
    estimate = share_of_ones(marks, strata or {}, level)
    choices: dict[str, Any] = {"indicator": CONTENT}
    if strata:
        choices["strata"] = len(strata)
    choices["interval"] = f"{level:g},wilson"
    return {
        CONTENT: estimate["value"],
        "low": estimate["low"],
        "high": estimate["high"],
        "valid": int(sum(marks)),
        "rows": len(marks),
        "signature": signature("hqm", data=data_of("marks", signed_marks(marks, strata)), **choices),
    }


def signed_marks(marks: Sequence[float], strata: Mapping[str, Stratum] | None) -> list[list[Any]]:
    """Return the marks for a signature; with strata, which are weights, also each one's stratum and its size."""
    if not strata:
        return [[int(mark)] for mark in marks]
    rows: list[list[Any]] = []
    for name, stratum in strata.items():
        for index in range(stratum.judgements):
            rows.append([name, stratum.rows, int(index >= stratum.errors)])
    return rows
