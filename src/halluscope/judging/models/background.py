"""Prepares the next item while the current one is in use, such as tokenizing while a GPU computes."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Iterable[T]) -> Iterator[T]:
    """Yield the same items in the same order; a thread makes each item while the one before it is in use.

    An error in making an item is raised where that item would have come.
    """
    iterator = iter(items)
    end = object()
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, iterator, end)
        while (item := coming.result()) is not end:
            coming = thread.submit(next, iterator, end)
            yield item  # type: ignore[misc]
