"""Times two ways of doing the same thing, in turn, and records their ratio, for `watch.py`."""

import argparse
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

# The environment variable that names the file to which ratios are appended, one JSON object a line
RATIOS = "HALLUSCOPE_RATIOS"
# The environment variable that `watch.py --quick` sets: smaller inputs, for ratios in seconds
QUICK = "HALLUSCOPE_QUICK"
UNIT = (1 if sys.platform == "darwin" else 1024) / 1e9  # of a peak that the system reports, in GB

ENOUGH, MOST_ROUNDS = 2.0, 20  # seconds after which, and rounds after which, no more are run


def size(full: int, quick: int) -> int:
    """Return how large an input is: `quick` in CI."""
    return quick if os.environ.get(QUICK) else full


def options(about: str | None, *words: str, **numbers: int) -> argparse.Namespace:
    """Read the command line: words that may be left out, and options of whole numbers, given with their defaults."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for word in words:
        parser.add_argument(word, nargs="?", type=Path)
    for name, default in numbers.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    return parser.parse_args()


def seconds(run: Callable[[], Any]) -> float:
    """Return the seconds that one call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(
    name: str, ours: Callable[[], Any], baseline: Callable[[], Any], what: str, rounds: int = 3
) -> float:
    """Run both in turn (ours, baseline, ours, ...), print the best time of each, and return baseline / ours.

    The best of several times is the one that other work on the machine disturbed least; what takes little time runs
    more often.
    """
    pairs = [(seconds(ours), seconds(baseline)) for _ in range(rounds)]
    while sum(map(sum, pairs)) < ENOUGH and len(pairs) < MOST_ROUNDS:
        pairs.append((seconds(ours), seconds(baseline)))
    mine, theirs = (min(times) for times in zip(*pairs, strict=True))
    return record(name, mine, theirs, what)


def record(name: str, mine: float, theirs: float, baseline: str, memory: float | None = None) -> float:
    """Print and return the ratio of two times, and append it to the file that `RATIOS` names, if it names one.

    `memory` is our peak in GB.
    """
    ratio = theirs / mine
    peak = "" if memory is None else f"; at most {memory:.2f} GB"
    print(f"{name}: {mine:.3f} s; {baseline}: {theirs:.3f} s; {ratio:.2f} times as fast{peak}", flush=True)
    if path := os.environ.get(RATIOS):
        row = {"script": Path(sys.argv[0]).stem, "name": name, "ratio": ratio, "baseline": baseline}
        row |= {"seconds": mine} | ({} if memory is None else {"memory": memory})
        with Path(path).open("a") as file:
            file.write(json.dumps(row) + "\n")
    return ratio


# Runs a command, and prints its seconds and its peak memory. A process counts the memory of the one that starts it as
# its own, so this one is small.
LAUNCH = """
import os, subprocess, sys, time
start = time.perf_counter()
none = subprocess.DEVNULL
running = subprocess.Popen([sys.executable, *sys.argv[1:]], stdout=none, stderr=none)
_, status, usage = os.wait4(running.pid, 0)
running.returncode = os.waitstatus_to_exitcode(status)
print(time.perf_counter() - start, usage.ru_maxrss)
sys.exit(running.returncode)
"""


def process(arguments: Sequence[str]) -> tuple[float, float]:
    """Run Python with these arguments, without its output; return the seconds and that process's peak memory in GB."""
    launch = [sys.executable, "-S", "-c", LAUNCH, *arguments]
    usual = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}  # as for users, modules are compiled once
    took, peak = subprocess.run(launch, check=True, capture_output=True, text=True, env=usual).stdout.split()
    return float(took), int(peak) * UNIT


def measure(run: Callable[..., Any], *args: Any) -> tuple[float, float]:
    """Call a function at the top level of a module in a process of its own; return the seconds for the call, and the
    process's peak memory in GB, imports included.
    """
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_measured, run, args).result()


def _measured(run: Callable[..., Any], args: tuple[Any, ...]) -> tuple[float, float]:
    took = seconds(lambda: run(*args))
    return took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT
