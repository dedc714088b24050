"""Prepare the next while the present is used: tokenizing beside a GPU that computes."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Iterable[T]) -> Iterator[T]:
    """The same items in the same order, each made by a thread while the one before it is in use.

    An error in making an item is raised where that item would come.
    """
    iterator = iter(items)
    end = object()
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, iterator, end)
        while (item := coming.result()) is not end:
            coming = thread.submit(next, iterator, end)
            yield item  # type: ignore[misc]
