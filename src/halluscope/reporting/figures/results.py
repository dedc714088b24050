"""Reads scores from results: a pair to draw against each other, and one score by groups."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.registry import Benchmark
from halluscope.reporting.figures.shares import UNDEFINED

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Score:
    """A score, and the ends of its interval; NaN for what the result does not have."""

    value: float
    low: float
    high: float


def score(result: Result, name: str) -> Score:
    """Return a score of a result."""
    return _score(result.get(name), result.get("interval", {}).get(name))


def two_scores(benchmark: Benchmark, results: Sequence[Result]) -> list[str]:
    """Return two scores that several results have, in the order in which they are drawn; fewer if there are not two.

    They are precision and recall if the results have these, of the principal score's kind ("f0.5_cls":
    "precision_cls"); else the principal score and recall, or the principal score and the next one.
    """
    own = "_" + benchmark.principal.rpartition("_")[2]
    kinds = [[f"precision{end}", f"recall{end}"] for end in (own, "")]
    judged = [name for name, direction in benchmark.scores.items() if direction and "/" not in name]
    rest = [
        name for name in dict.fromkeys([benchmark.principal, *judged]) if len(having(results, [name])) > 1
    ]
    rest.sort(key=lambda name: (name != benchmark.principal, name != "recall"))
    return next((pair for pair in kinds if len(having(results, pair)) > 1), rest[:2])


def having(results: Sequence[Result], names: Sequence[str]) -> list[int]:
    """Return the places of the results that have all of these scores."""
    return [
        place
        for place, result in enumerate(results)
        if not any(math.isnan(_number(result.get(name))) for name in names)
    ]


def groups(benchmark: Benchmark, results: Sequence[Result]) -> tuple[str, list[dict[str, Score]]]:
    """Return a score that results have by groups, if possible the principal one, and for each result: group -> score.

    Groups for which no result has a score are left out; the list is empty if no score has two groups.
    """
    for name in (benchmark.principal, *benchmark.scores):
        of = [_groups(result, name) for result in results]
        defined = [group for group in dict.fromkeys(group for one in of for group in one) if _any(of, group)]
        if len(defined) > 1:
            return name, [{group: one.get(group, _score(None, None)) for group in defined} for one in of]
    return benchmark.principal, []


def _any(of: Sequence[Mapping[str, Score]], group: str) -> bool:
    return any(group in one and not math.isnan(one[group].value) for one in of)


def _groups(result: Result, name: str) -> dict[str, Score]:
    ends = _grouped(result.get("interval", {}), name)
    return {group: _score(value, ends.get(group)) for group, value in _grouped(result, name).items()}


def _grouped(result: Result, name: str) -> dict[str, Any]:
    """Return a score by groups, from keys like "accuracy/chart", or from tables like {"chart": {"accuracy": ...}}."""
    found = {
        key.removeprefix(f"{name}/"): value for key, value in result.items() if key.startswith(f"{name}/")
    }
    for part in result.values():
        for group, scores in part.items() if isinstance(part, Mapping) else ():
            if isinstance(scores, Mapping) and name in scores:
                found[group] = scores[name]
    return found


def _score(value: Any, ends: Any) -> Score:
    low, high = ends or (None, None)
    return Score(_number(value), _number(low), _number(high))


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else UNDEFINED
