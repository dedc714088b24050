"""Finds which question each row of a file of verdicts is about, by the ids in its columns."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

QUESTION_ID = "question_id"
# What a batch's output, which has no fixed order, calls the request
CUSTOM_ID = "custom_id"
# The columns that may name the question; of several, the first that names any counts
COLUMNS = (QUESTION_ID, "id", CUSTOM_ID, "index", "idx")


def in_rows(rows: Sequence[Mapping[str, Any]], known: Collection[Hashable]) -> list[Any]:
    """Return the id that each row has in the first column in which any row names a known question.

    If there is none, it is the id in each row's first column that has one; None for a row without one.
    """
    for column in COLUMNS:
        ids = [number_in(row.get(column), known) for row in rows]
        if any(is_among(id, known) for id in ids):
            return ids
    return [_first_in(row, known) for row in rows]


def _first_in(row: Mapping[str, Any], known: Collection[Hashable]) -> Any:
    for column in COLUMNS:
        if row.get(column) is not None:
            return number_in(row[column], known)
    return None


def number_in(id: Any, known: Collection[Hashable]) -> Any:
    """Return the number that a text writes, if the text itself is no known id; other ids as they are."""
    if isinstance(id, str) and id not in known and id.isascii() and id.isdigit():
        return int(id)
    return id


def is_among(id: Any, known: Collection[Hashable]) -> bool:
    return isinstance(id, str | int) and not isinstance(id, bool) and id in known


def are_count(ids: Sequence[Any], known: Collection[Hashable]) -> bool:
    """Whether ids only count rows from 1, of all questions: these are counted from 0, or called otherwise."""
    count = range(1, len(ids) + 1)
    if list(ids) != list(count):
        return False
    return set(known) == set(range(len(ids))) or set(known).isdisjoint(count)
