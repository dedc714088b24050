"""Time two ways of doing the same thing, in turn, and print their ratio, which `watch.py` compares with its floor."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RATIOS = "HALLUSCOPE_RATIOS"
"""The environment variable that names the file to which ratios are appended, one JSON object a line."""


def seconds(run: Callable[[], Any]) -> float:
    """Return the seconds that one call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(
    name: str, ours: Callable[[], Any], baseline: Callable[[], Any], what: str, rounds: int = 3
) -> float:
    """Run both in turn (ours, baseline, ours, ...), print the best time of each, and return baseline / ours.

    The best of several times is the one that other work on the machine disturbed least.
    """
    pairs = [(seconds(ours), seconds(baseline)) for _ in range(rounds)]
    mine, theirs = (min(times) for times in zip(*pairs, strict=True))
    ratio: float = theirs / mine
    print(f"{name}: {mine:.3f} s; {what}: {theirs:.3f} s; {ratio:.1f} times as fast (best of {rounds} each)")
    record(name, ratio, what)
    return ratio


def record(name: str, ratio: float, baseline: str) -> None:
    """Append a ratio to the file that `RATIOS` names, if it names one."""
    if path := os.environ.get(RATIOS):
        row = {"script": Path(sys.argv[0]).stem, "name": name, "ratio": ratio, "baseline": baseline}
        with Path(path).open("a") as file:
            file.write(json.dumps(row) + "\n")
