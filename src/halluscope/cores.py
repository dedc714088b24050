"""Reads many texts on all cores of the machine."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

MANY = 2000  # From this many texts on, starting processes takes less time than they save
A_BATCH = 256  # How many texts a process takes at once

_read: Callable[[str], Any]  # what a process does with a text, set in each process


def map_texts(read: Callable[[str], T], texts: Sequence[str]) -> Iterator[T]:
    """Yield `read(text)` for each text, in their order; `read` depends on nothing but the text.

    Processes are forked, so on other systems than Linux, and in a process that may have no children, one core does all.
    """
    cores = _cores()
    if len(texts) < MANY or cores == 1:
        for text in texts:
            yield read(text)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(cores, get_context("fork"), _start, (read,)) as pool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forking beside threads
            arriving = pool.map(_read_in_process, texts, chunksize=A_BATCH)
        yield from arriving


def _cores() -> int:
    """Return how many cores may be used."""
    from multiprocessing import current_process

    if sys.platform != "linux" or current_process().daemon:
        return 1
    return len(os.sched_getaffinity(0))


def _start(read: Callable[[str], Any]) -> None:
    global _read
    _read = read


def _read_in_process(text: str) -> Any:
    return _read(text)
