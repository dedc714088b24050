"""HQM: how far a hallucination benchmark can be believed (Yan et al., "Measuring the Measurers", section III).

A benchmark is reliable if it gives the same models the same scores again, in a second run or in a parallel form. It is
valid if its scores agree with people's (criterion), and if people find its questions and answers right (content).

A correlation is positive if two tests favour the same models: if higher is better for one score and lower for the
other, the sign of one is turned. Each benchmark's record says which way a score is better.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from halluscope import registry
from halluscope.inputs import listed, scores, word
from halluscope.registry import HIGHER, LOWER, Direction
from halluscope.signature import data_of, signature
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap
from halluscope.stats.correlation import by_chance, correlations, undefined
from halluscope.stats.samples import Stratum, share

# Equations 1, 2 and 4: the same correlation with three kinds of second test.
CORRELATED = ("test_retest", "parallel_forms", "criterion")
CONTENT = "content"  # equation 3: the share of valid rows
INDICATORS = (*CORRELATED, CONTENT)

SCORES = "a list of numbers, the score of each model"
MARKS = "a list with a mark, 1 or 0, for each reviewed row"

# Scores from a marked review sheet: the share of a model's rows with which people agree, or disagree.
AGREE, DISAGREE = "agree", "disagree"
PEOPLE: Mapping[str, Direction] = {AGREE: HIGHER, DISAGREE: LOWER}


def compute(
    predictions: Sequence[float],
    references: Sequence[float] | None = None,
    *,
    indicator: str = "test_retest",
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
        return _content(predictions, references, level)
    if references is None:
        raise ValueError(f"references is None; {indicator} needs the models' scores in the second test.")
    first, second = scores("predictions", predictions, SCORES), scores("references", references, SCORES)
    if len(first) != len(second):
        raise ValueError(
            f"There are {len(first)} predictions and {len(second)} references; expected the scores of the same models "
            "in both tests, in the same order."
        )
    coefficients = correlations(first, second, resampling)
    interval = {name: (each["low"], each["high"]) for name, each in coefficients.items()}
    if why := undefined(first, second):
        warnings.warn(why, stacklevel=2)
    return {
        **{name: each["value"] for name, each in coefficients.items()},
        **dict(zip(("low", "high"), interval["pearson"], strict=True)),
        "interval": interval,
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
    listing = [
        int(mark) if isinstance(mark, bool | np.bool_) else mark
        for mark in listed("predictions", marks, MARKS)
    ]
    checked = scores("predictions", listing, MARKS)
    for row, mark in enumerate(checked):
        if mark not in (0, 1):
            raise ValueError(f"predictions[{row}] is {mark:g}; expected 1 for valid, 0 for not valid.")
    return content(checked, level=level)


def content(
    marks: Sequence[float], strata: Mapping[str, Stratum] | None = None, level: float = 0.95
) -> dict[str, Any]:
    """Return what `compute` does for "content", weighted if the marks (1 or 0) are of rows drawn by strata."""
    estimate = share(marks, strata or {}, level)
    # One mark per row; with strata, also its stratum and the stratum's size, which are weights.
    rows = (
        [[int(mark)] for mark in marks]
        if not strata
        else [
            [name, one.rows, int(index >= one.errors)]
            for name, one in strata.items()
            for index in range(one.judgements)
        ]
    )
    return {
        CONTENT: estimate["value"],
        "low": estimate["low"],
        "high": estimate["high"],
        "valid": int(sum(marks)),
        "rows": len(marks),
        "signature": signature(
            "hqm",
            data=data_of("marks", rows),
            indicator=CONTENT,
            **({"strata": len(strata)} if strata else {}),
            interval=f"{level:g},wilson",
        ),
    }


def makers(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of the metrics that made these results, from the signatures."""
    return sorted({str(result.get("signature", "")).partition("|")[0] for result in results.values()})


def direction(results: Mapping[str, Mapping[str, Any]], score: str) -> Direction:
    """Return whether a higher or a lower score is better; None if neither is, or if the score is unknown."""
    benchmarks = [benchmark for benchmark in registry.benchmarks() if benchmark.name in makers(results)]
    if not benchmarks:
        return PEOPLE.get(score)
    try:
        (better,) = {benchmark.direction(score) for benchmark in benchmarks}
    except (KeyError, ValueError):
        return None
    return better


def turned(first: Direction, second: Direction) -> bool:
    """Whether one of two scores is better if higher and the other if lower."""
    return {first, second} == {HIGHER, LOWER}


def turn(scores: Sequence[float]) -> list[float]:
    """Return the scores with the sign reversed; constant scores, which have no correlation, stay unchanged."""
    return [-score for score in scores] if len(set(scores)) > 1 else list(scores)
