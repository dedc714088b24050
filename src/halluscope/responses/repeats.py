"""Finds responses that a file holds twice, as the file of a resumed run does."""

from collections.abc import Sequence


def places_of_repeats(
    ids: Sequence[tuple[str, ...]], about: Sequence[tuple[str, ...]], texts: Sequence[str]
) -> set[int]:
    """Return the places of responses that repeat an earlier one, with the same text about the same row.

    Args:
        ids: the ids and images that each response states; "" for what it does not state. A response that states none
            repeats none: one question may be asked about many images.
        about: what else each response states of its row, such as its question.
        texts: the responses.

    Returns:
        The place of each repeat, but not of the first response that it repeats.
    """
    earlier = set()
    repeats = set()
    for place, response in enumerate(zip(ids, about, texts, strict=True)):
        if not any(ids[place]):
            continue
        if response in earlier:
            repeats.add(place)
        earlier.add(response)
    return repeats


def some_column_is_unique(ids: Sequence[tuple[str, ...]]) -> bool:
    """Whether responses are told apart by one of the columns that may hold an id."""
    columns = zip(*ids, strict=True)
    return any("" not in column and len(set(column)) == len(column) for column in columns)
