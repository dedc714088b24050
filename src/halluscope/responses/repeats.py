"""Finds responses that a file holds twice, as the file of a resumed run does."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any


def places_of_repeats(
    rows: Sequence[Mapping[str, Any]], texts: Sequence[str], columns: Sequence[str], ids: Collection[str]
) -> set[int]:
    """Return the places of rows that say what an earlier row says, about the same.

    Args:
        rows: the rows of the file.
        texts: the response in each row.
        columns: the columns that state what a row is about: ids, images, questions, parts of the dataset.
        ids: those of them that tell rows apart. A row without a value in any of them repeats none.

    Returns:
        The places in `rows`, of each repeat but not of the first row that it repeats.
    """
    seen = set()
    repeats = set()
    for place, row in enumerate(rows):
        if all(row.get(column) in (None, "") for column in ids):
            continue
        about = tuple(_plain(row.get(column)) for column in columns)
        key = (about, texts[place])
        if key in seen:
            repeats.add(place)
        seen.add(key)
    return repeats


def _plain(value: Any) -> str:
    """Return a value as text: 7, 7.0 and "7" are the same id."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)
