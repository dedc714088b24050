"""Which way scores are better, so that a correlation is positive where two tests call the same models better.

The records of the benchmarks say so of their scores; a file of results names its benchmark in the signatures.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from halluscope import registry
from halluscope.registry import HIGHER, LOWER, Direction

AGREE, DISAGREE = "agree", "disagree"
PEOPLE: Mapping[str, Direction] = {AGREE: HIGHER, DISAGREE: LOWER}
"""What people say of a model, as a marked review sheet gives it: with which share of its rows they agree, or do not."""


def makers(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The names of the metrics that made results, as their signatures say."""
    return sorted({str(result.get("signature", "")).partition("|")[0] for result in results.values()})


def direction(results: Mapping[str, Mapping[str, Any]], score: str) -> Direction:
    """Which way a score of results is better; None for one that says nothing of that, or that nobody knows.

    Args:
        results: by the names of the models.
        score: its name in each of them.
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
    """Whether of two scores one is better the higher, the other the lower it is."""
    return {first, second} == {HIGHER, LOWER}


def turn(scores: Sequence[float]) -> list[float]:
    """Scores that are better the other way round; a constant, which has no correlation, stays as it is."""
    return [-score for score in scores] if len(set(scores)) > 1 else list(scores)
