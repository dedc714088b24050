"""Run a function in its own process, and measure the time and memory that it takes."""

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def measure(run: Callable[..., Any], *args: Any) -> tuple[float, float]:
    """Return the seconds for one call, and the process's peak memory in GB, imports included.

    Args:
        run: a function at the top level of a module.
        args: its arguments.
    """
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_measured, run, args).result()


def _measured(run: Callable[..., Any], args: tuple[Any, ...]) -> tuple[float, float]:
    start = time.perf_counter()
    run(*args)
    took = time.perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024
    return took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
