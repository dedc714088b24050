"""HQM: how far a hallucination benchmark can be believed (Yan et al., "Measuring the Measurers", section III).

Reliable is a benchmark that gives the same models the same scores again: in a second run, or in a parallel form.
Valid is one whose scores agree with people's (criterion), and whose questions and answers people find right (content).
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
"""Equation 3: a share."""

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
    """Measure how far a benchmark can be believed, from the scores that it gave to several models.

    Args:
        predictions: a score a model, at least three; for "content" a mark a reviewed row, 1 valid and 0 not valid.
        references: the same models' scores in the second test, in the same order: another run ("test_retest"), a
            parallel form ("parallel_forms"), people's ("criterion"). None for "content".
        indicator: which of these it is.
        bootstrap: how many resamples of the models the intervals are made of; 0 for none.
        seed: of the bootstrap.
        level: of the intervals, in (0, 1).

    Returns:
        `pearson` (equations 1, 2 and 4), and beside it `spearman` and `kendall` (tau-b), in [-1, 1]; `low` and `high`,
        the interval of `pearson`, and `interval` with that of each; `chance`, how often models put to scores at random
        correlate as strongly, at least 1 / n! for n models; `models`; `undefined`, None or why there is no
        correlation, in which case all scores are NaN and a warning is given; `signature`.
        For "content": `content` (equation 3) in [0, 1], `low` and `high` (Wilson), `valid`, `rows`, `signature`.

    Raises:
        ValueError: for fewer than three models, unequal lengths, a score that is no finite number, a mark other than 0
            and 1, or an unknown indicator.
        MissingExtra: without scipy (pip install 'halluscope[stats]'); "content" needs none.
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
            "references are given; content validity takes only predictions, a mark a reviewed row."
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
    """Content validity (equation 3) of marks that were checked; weighted, if the rows were drawn by strata.

    Args:
        marks: 1 valid or 0 not valid, a reviewed row.
        strata: the same rows by stratum.
        level: of the interval, in (0, 1).

    Returns:
        What `compute` gives for "content".
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
    """A mark a row, with its stratum and how many rows that was drawn from, if there are strata: these are weights."""
    if not strata:
        return [[int(mark)] for mark in marks]
    return [
        [name, one.rows, int(place >= one.errors)]
        for name, one in strata.items()
        for place in range(one.judgements)
    ]
