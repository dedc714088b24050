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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# The environment variable that names the file to which ratios are appended, one JSON object a line
RATIOS = "HALLUSCOPE_RATIOS"
# The environment variable that `watch.py --quick` sets: smaller inputs, for ratios in seconds
QUICK = "HALLUSCOPE_QUICK"

# Of a peak that the system reports, in GB
PEAK_UNIT = 1024 / 1e9
if sys.platform == "darwin":
    PEAK_UNIT = 1 / 1e9

ENOUGH_SECONDS = 2.0  # after which no more rounds are run
MOST_ROUNDS = 20


@dataclass(frozen=True)
class Run:
    """What a run in a process of its own took."""

    seconds: float
    memory: float  # the process's peak in GB


def size(full: int, quick: int) -> int:
    """Return how large an input is: `quick` in CI."""
    if os.environ.get(QUICK):
        return quick
    return full


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
    name: str,
    ours: Callable[[], Any],
    baseline: Callable[[], Any],
    about_baseline: str,
    rounds: int = 3,
) -> float:
    """Run both in turn (ours, baseline, ours, ...), print the best time of each, and return baseline / ours.

    The best of several times is the one that other work on the machine disturbed least; what takes little time runs
    more often.
    """
    our_times: list[float] = []
    baseline_times: list[float] = []
    while len(our_times) < MOST_ROUNDS:
        is_long_enough = sum(our_times) + sum(baseline_times) >= ENOUGH_SECONDS
        if len(our_times) >= rounds and is_long_enough:
            break
        our_times.append(seconds(ours))
        baseline_times.append(seconds(baseline))
    return record(name, min(our_times), min(baseline_times), about_baseline)


def record(
    name: str,
    our_seconds: float,
    baseline_seconds: float,
    about_baseline: str,
    memory: float | None = None,
) -> float:
    """Print and return the ratio of two times, and append it to the file that `RATIOS` names, if it names one.

    `memory` is our peak in GB.
    """
    ratio = baseline_seconds / our_seconds
    line = (
        f"{name}: {our_seconds:.3f} s; {about_baseline}: {baseline_seconds:.3f} s; {ratio:.2f} times as fast"
    )
    if memory is not None:
        line += f"; at most {memory:.2f} GB"
    print(line, flush=True)
    path = os.environ.get(RATIOS)
    if not path:
        return ratio
    row = {
        "script": Path(sys.argv[0]).stem,
        "name": name,
        "ratio": ratio,
        "baseline": about_baseline,
        "seconds": our_seconds,
    }
    if memory is not None:
        row["memory"] = memory
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


def process(arguments: Sequence[str]) -> Run:
    """Run Python with these arguments, without its output."""
    launch = [sys.executable, "-S", "-c", LAUNCH]
    launch += arguments
    environment = dict(os.environ)
    environment["PYTHONDONTWRITEBYTECODE"] = ""  # as for users, modules are compiled once
    finished = subprocess.run(launch, check=True, capture_output=True, text=True, env=environment)
    took, peak = finished.stdout.split()
    return Run(float(took), int(peak) * PEAK_UNIT)


def measure(run: Callable[..., Any], *args: Any) -> Run:
    """Call a function at the top level of a module in a process of its own.

    The seconds are those of the call; the peak memory is the process's, imports included.
    """
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_measured, run, args).result()


def _measured(run: Callable[..., Any], args: tuple[Any, ...]) -> Run:
    took = seconds(lambda: run(*args))
    return Run(took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT)
