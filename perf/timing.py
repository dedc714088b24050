"""Time two ways of doing the same thing, in turn, and print their ratio."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any


def seconds(run: Callable[[], Any]) -> float:
    """Return the seconds that one call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(
    name: str, ours: Callable[[], Any], baseline: Callable[[], Any], what: str, rounds: int = 3
) -> float:
    """Run both in turn (ours, baseline, ours, ...), print the medians, and return baseline / ours, pair by pair."""
    pairs = [(seconds(ours), seconds(baseline)) for _ in range(rounds)]
    ratio = median(theirs / mine for mine, theirs in pairs)
    mine, theirs = (median(times) for times in zip(*pairs, strict=True))
    print(
        f"{name}: {mine:.3f} s; {what}: {theirs:.3f} s; {ratio:.1f} times as fast (median of {rounds} pairs)"
    )
    return ratio
