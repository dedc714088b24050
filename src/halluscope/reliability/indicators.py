"""HQM: how far a hallucination benchmark can be believed (Yan et al., "Measuring the Measurers", section III).

A benchmark is reliable if it gives the same models the same scores again, in a second run or in a parallel form. It is
valid if its scores agree with people's (criterion), and if people find its questions and answers right (content).
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from halluscope.inputs import listed, scores, word
from halluscope.signature import data_of, signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import by_chance, correlations, undefined
from halluscope.stats.strata import Stratum, share

CORRELATED = ("test_retest", "parallel_forms", "criterion")
"""Equations 1, 2 and 4: the same correlation with three kinds of second test."""

CONTENT = "content"
"""Equation 3: the share of valid rows."""

INDICATORS = (*CORRELATED, CONTENT)

SCORES = "a list of numbers, the score of each model"
MARKS = "a list with a mark, 1 or 0, for each reviewed row"


def compute(
    predictions: Sequence[float],
    references: Sequence[float] | None = None,
    *,
    indicator: str = "test_retest",
    bootstrap: int = 1000,
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
        return _content(predictions, references, level)
    if references is None:
        raise ValueError(f"references is None; {indicator} needs the models' scores in the second test.")
    first, second = scores("predictions", predictions, SCORES), scores("references", references, SCORES)
    if len(first) != len(second):
        raise ValueError(
            f"There are {len(first)} predictions and {len(second)} references; expected the scores of the same models "
            "in both tests, in the same order."
        )
    found = correlations(first, second, resampling)
    why = undefined(first, second)
    if why:
        warnings.warn(why, stacklevel=2)
    return {
        **{name: of["value"] for name, of in found.items()},
        "low": found["pearson"]["low"],
        "high": found["pearson"]["high"],
        "interval": {name: (of["low"], of["high"]) for name, of in found.items()},
        "chance": by_chance(first, second),
        "models": len(first),
        "undefined": why,
        "signature": signature(
            "hqm",
            data=data_of("models", zip(first, second, strict=True)),
            indicator=indicator,
            interval=resampling,
        ),
    }


def _content(marks: Sequence[float], references: object, level: float) -> dict[str, Any]:
    if references is not None:
        raise ValueError(
            "references are given; content validity takes only predictions, one mark per reviewed row."
        )
    found = [
        int(mark) if isinstance(mark, bool | np.bool_) else mark
        for mark in listed("predictions", marks, MARKS)
    ]
    found = scores("predictions", found, MARKS)
    for row, mark in enumerate(found):
        if mark not in (0, 1):
            raise ValueError(f"predictions[{row}] is {mark:g}; expected 1 for valid, 0 for not valid.")
    return content(found, level=level)


def content(
    marks: Sequence[float], strata: Mapping[str, Stratum] | None = None, level: float = 0.95
) -> dict[str, Any]:
    """Return the content validity (equation 3) of checked marks, weighted if the rows were drawn by strata.

    Args:
        marks: 1 valid or 0 not valid, one per reviewed row.
        strata: stratum -> its rows and marks.
        level: the confidence level of the interval, in (0, 1).

    Returns:
        The same as `compute` for "content".
    """
    found = share(marks, strata or {}, level)
    return {
        CONTENT: found["value"],
        "low": found["low"],
        "high": found["high"],
        "valid": int(sum(marks)),
        "rows": len(marks),
        "signature": signature(
            "hqm",
            data=data_of("marks", _marked(marks, strata or {})),
            indicator=CONTENT,
            **({"strata": len(strata)} if strata else {}),
            interval=f"{level:g},wilson",
        ),
    }


def _marked(marks: Sequence[float], strata: Mapping[str, Stratum]) -> list[list[object]]:
    """Return one mark per row; if there are strata, with its stratum and the stratum's size, which are weights."""
    if not strata:
        return [[int(mark)] for mark in marks]
    return [
        [name, one.rows, int(place >= one.errors)]
        for name, one in strata.items()
        for place in range(one.judgements)
    ]
