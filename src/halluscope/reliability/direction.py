"""Says whether high or low scores are better, so that a correlation is positive if two tests favour the same models.

Each benchmark's record says this for its scores, and a file of results names its benchmark in the signatures.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from halluscope import registry
from halluscope.registry import HIGHER, LOWER, Direction

AGREE, DISAGREE = "agree", "disagree"
PEOPLE: Mapping[str, Direction] = {AGREE: HIGHER, DISAGREE: LOWER}
"""Scores from a marked review sheet: the share of a model's rows with which people agree, or disagree."""


def makers(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of the metrics that made these results, from the signatures."""
    return sorted({str(result.get("signature", "")).partition("|")[0] for result in results.values()})


def direction(results: Mapping[str, Mapping[str, Any]], score: str) -> Direction:
    """Return whether a higher or a lower score is better; None if neither is, or if the score is unknown.

    Args:
        results: model -> its result.
        score: the name of the score in each result.
    """
    metrics = {one.name: one for one in registry.benchmarks()}
    made_by = [metrics[name] for name in makers(results) if name in metrics]
    if not made_by:
        return PEOPLE.get(score)
    try:
        (found,) = {one.direction(score) for one in made_by}
    except (KeyError, ValueError):
        return None
    return found


def turned(first: Direction, second: Direction) -> bool:
    """Whether one of two scores is better if higher and the other if lower."""
    return {first, second} == {HIGHER, LOWER}


def turn(scores: Sequence[float]) -> list[float]:
    """Return the scores with the sign reversed; constant scores, which have no correlation, stay unchanged."""
    return [-score for score in scores] if len(set(scores)) > 1 else list(scores)
