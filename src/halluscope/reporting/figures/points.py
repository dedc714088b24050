"""What charts draw: shares and scores with the ends of their intervals, and the scores of results to draw together."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.registry import Benchmark
from halluscope.stats.ratios import wilson

UNDEFINED = float("nan")

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Share:
    """A count out of a total, with Wilson's interval at 0.95; NaN if the total is 0.

    >>> share = Share(0, 10)
    >>> share.value, round(share.high, 3)
    (0.0, 0.278)
    """

    count: int
    total: int

    @property
    def value(self) -> float:
        """The share, in [0, 1]."""
        return self.count / self.total if self.total else UNDEFINED

    @property
    def low(self) -> float:
        """The lower end."""
        return wilson(self.count, self.total)[0] if self.total else UNDEFINED

    @property
    def high(self) -> float:
        """The upper end."""
        return wilson(self.count, self.total)[1] if self.total else UNDEFINED


@dataclass(frozen=True)
class Score:
    """A score, and the ends of its interval; NaN for what the result does not have."""

    value: float = UNDEFINED
    low: float = UNDEFINED
    high: float = UNDEFINED


Point = Share | Score


def score(result: Result, name: str) -> Score:
    """Return a score of a result."""
    return _score(result.get(name), result.get("interval", {}).get(name))


def _score(value: Any, ends: Any) -> Score:
    return Score(_number(value), *map(_number, ends or ()))


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else UNDEFINED


def having(results: Sequence[Result], names: Sequence[str]) -> list[int]:
    """Return the indices of the results that have all of these scores."""
    return [
        index
        for index, result in enumerate(results)
        if not any(math.isnan(_number(result.get(name))) for name in names)
    ]


def two_scores(benchmark: Benchmark, results: Sequence[Result]) -> list[str]:
    """Return two scores that several results have; fewer if there are not two.

    They are precision and recall, if possible of the principal score's kind ("f0.5_cls": "precision_cls"); else the
    principal score and recall, or the principal score and the next one.
    """
    own = "_" + benchmark.principal.rpartition("_")[2]
    for pair in ([f"precision{end}", f"recall{end}"] for end in (own, "")):
        if len(having(results, pair)) > 1:
            return pair
    directed = [name for name, direction in benchmark.scores.items() if direction and "/" not in name]
    rest = [
        name for name in dict.fromkeys([benchmark.principal, *directed]) if len(having(results, [name])) > 1
    ]
    return sorted(rest, key=lambda name: (name != benchmark.principal, name != "recall"))[:2]


def groups(benchmark: Benchmark, results: Sequence[Result]) -> tuple[str, list[dict[str, Score]]]:
    """Return a score that results have by groups, if possible the principal one, and for each result: group -> score.

    Groups for which no result has a score are left out; the list is empty if no score has two groups.
    """
    for name in (benchmark.principal, *benchmark.scores):
        each = [_groups(result, name) for result in results]
        known = {group for one in each for group, score in one.items() if not math.isnan(score.value)}
        if len(known) > 1:
            order = [
                group for group in dict.fromkeys(group for one in each for group in one) if group in known
            ]
            return name, [{group: one.get(group, Score()) for group in order} for one in each]
    return benchmark.principal, []


def _groups(result: Result, name: str) -> dict[str, Score]:
    ends = _grouped(result.get("interval", {}), name)
    return {group: _score(value, ends.get(group)) for group, value in _grouped(result, name).items()}


def _grouped(result: Result, name: str) -> dict[str, Any]:
    """Return a score by groups, from keys like "accuracy/chart", or from tables like {"chart": {"accuracy": ...}}."""
    grouped = {
        key.removeprefix(f"{name}/"): value for key, value in result.items() if key.startswith(f"{name}/")
    }
    for part in result.values():
        for group, scores in part.items() if isinstance(part, Mapping) else ():
            if isinstance(scores, Mapping) and name in scores:
                grouped[group] = scores[name]
    return grouped
