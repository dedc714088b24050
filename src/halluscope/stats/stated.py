"""What a result states of its intervals."""

from collections.abc import Mapping
from typing import Any

from halluscope.stats.intervals import LeftOut, interval, why_none

INTERVAL = "interval"
NO_INTERVAL = "no_interval"


def of_scores(scores: Mapping[str, LeftOut], level: float) -> dict[str, Any]:
    """Return `interval`, both ends by score, and `no_interval`, if a score has none: its name -> the reason."""
    intervals: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for name, score in scores.items():
        reason = why_none(score)
        if reason:
            reasons[name] = reason
        else:
            intervals[name] = interval(score, level)
    if not reasons:
        return {INTERVAL: intervals}
    return {INTERVAL: intervals, NO_INTERVAL: reasons}
