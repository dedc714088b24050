"""Finds which question each row of a file of verdicts is about, by the ids in its columns."""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

from halluscope.validation import id_of, is_whole

QUESTION_ID = "question_id"
# What a batch's output, which has no fixed order, calls the request
CUSTOM_ID = "custom_id"
# The columns that may name the question; `question_id` does wherever it stands, of the others the first that can
COLUMNS = (QUESTION_ID, "id", CUSTOM_ID, "index", "idx")


def in_rows(rows: Sequence[Mapping[str, Any]], known: Collection[Hashable]) -> list[Any]:
    """Return the id that each row has in `question_id`, or in the first column in which any row names a known question.

    If there is none, it is the id in each row's first column that has one; None for a row without one.
    """
    for column in COLUMNS:
        ids = [number_in(row.get(column)) for row in rows]
        if any(is_among(id, known) for id in ids):
            return ids
        if column == QUESTION_ID and any(id is not None for id in ids):
            return ids
    return [_first_in(row) for row in rows]


def _first_in(row: Mapping[str, Any]) -> Any:
    for column in COLUMNS:
        id = number_in(row.get(column))
        if id is not None:
            return id
    return None


def number_in(id: Any) -> Any:
    """Return the whole number that a text or a float states; None for NaN; others as they are.

    >>> number_in("007"), number_in(7.0), number_in("7.0"), number_in("chatcmpl-7"), number_in(float("nan"))
    (7, 7, 7, 'chatcmpl-7', None)
    """
    number = None
    if isinstance(id, str):
        number = id_of(id.removesuffix(".0"))
    elif isinstance(id, float):
        if math.isnan(id):
            return None
        if id.is_integer():
            number = int(id)
    if number is None:
        return id
    return number


def is_among(id: Any, known: Collection[Hashable]) -> bool:
    """Whether an id, as `number_in` returns it, is a known question's."""
    return is_whole(id) and id in known


def are_count(ids: Sequence[Any], known: Collection[Hashable]) -> bool:
    """Whether ids only count rows from 1, of all questions: these are counted from 0, or called otherwise."""
    count = range(1, len(ids) + 1)
    if list(ids) != list(count):
        return False
    return set(known) == set(range(len(ids))) or set(known).isdisjoint(count)
