"""Reads many texts on all cores of the machine."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

MANY = 2000  # From this many texts on, starting processes takes less time than they save
A_BATCH = 256  # How many texts a process takes at once

_read: Callable[[str], Any]  # what a process does with a text


def map_texts(read: Callable[[str], T], texts: Sequence[str]) -> Iterator[T]:
    """Yield `read(text)` for each text, in their order; `read` depends on nothing but the text.

    Processes are forked, so on other systems than Linux, and in a process that may have no children, one core does all.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    daemon = multiprocessing.current_process().daemon
    cores = 1 if daemon or sys.platform != "linux" else len(os.sched_getaffinity(0))
    if len(texts) < MANY or cores == 1:
        yield from map(read, texts)
        return
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(cores, fork, _start, (read,)) as pool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forking beside threads
            arriving = pool.map(_of, texts, chunksize=A_BATCH)
        yield from arriving


def _start(read: Callable[[str], Any]) -> None:
    global _read
    _read = read


def _of(text: str) -> Any:
    return _read(text)
