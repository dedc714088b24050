"""What a result states of its intervals: `interval`, and `no_interval`, why a score has none.

Runs are compared by what each score is without each cluster, which `recording` collects while they are scored.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from halluscope.stats.intervals import LeftOut, Names, interval, why_none

INTERVAL = "interval"
NO_INTERVAL = "no_interval"

# The intervals of a result, and the scores that they are made from, by their names joined with "/".
Recorded = list[tuple[Mapping[str, Any], Mapping[str, LeftOut]]]

_recorded: ContextVar[Recorded | None] = ContextVar("recorded", default=None)


@contextmanager
def recording() -> Iterator[Recorded]:
    """Collect, inside a `with` block, what `of_scores` is called with."""
    kept: Recorded = []
    before = _recorded.set(kept)
    try:
        yield kept
    finally:
        _recorded.reset(before)


def of_scores(scores: Mapping[Names, LeftOut], level: float) -> dict[str, Any]:
    """Return `interval`, nested as the scores are, and `no_interval`, if a score has none: its name -> the reason."""
    intervals: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for path, score in scores.items():
        reason = why_none(score)
        if reason:
            reasons["/".join(path)] = reason
            continue
        nest = intervals
        for name in path[:-1]:
            nest = nest.setdefault(name, {})
        nest[path[-1]] = interval(score, level)
    kept = _recorded.get()
    if kept is not None:
        kept.append((intervals, {"/".join(path): score for path, score in scores.items()}))
    if not reasons:
        return {INTERVAL: intervals}
    return {INTERVAL: intervals, NO_INTERVAL: reasons}
