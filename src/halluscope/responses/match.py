"""The one matcher: which response belongs to which row of a dataset.

Rows are found by their ids. What a response carries beside its id must not contradict the row: the question, the image.
Where no response has an id, they are matched by their order, if there are as many.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from halluscope.responses.files import Response, Responses

ORDER = "order"
"""What responses are matched by that have no id."""

AGREES = ("question", "file_name", "image_id")
"""What a response may carry beside its id, which must then be the row's."""

R = TypeVar("R")


@dataclass(frozen=True)
class Identity:
    """How the rows of a dataset are found.

    Attributes:
        id: the columns that find a row; a response that has one must have all.
        also: columns that find it together with `id`, where all responses have them.
        chooses: whether the responses choose the rows; otherwise each row that is wanted needs one.
        wanted: whether a row is scored; one that is not is left out, with its response.
    """

    id: tuple[str, ...]
    also: tuple[str, ...] = ()
    chooses: bool = False
    wanted: Callable[[Any], bool] = field(default=lambda row: True)


@dataclass(frozen=True)
class Matched(Generic[R]):
    """Responses and the rows that they belong to.

    Attributes:
        name: of the responses.
        rows: in the order of the responses where these choose, else in that of the dataset.
        texts: one per row.
        by: the columns that they were matched by, or `ORDER`.
        of: how many rows there are to choose from, or were wanted.
        sampled: whether a harness wrote the responses.
    """

    name: str
    rows: list[R]
    texts: list[str]
    by: str
    of: int
    sampled: bool = False


def match(responses: Responses, rows: Sequence[R], identity: Identity) -> Matched[R]:
    """Put each response to its row.

    Args:
        responses: of one LVLM.
        rows: of the dataset, objects with a field for each column.
        identity: how they are found.

    Raises:
        ValueError: for a response whose id the dataset does not have, that comes twice, or that contradicts its row; a
            row without a response; ids that do not tell rows apart; or responses without ids that are not as many as
            the rows.
    """
    wanted = [row for row in rows if identity.wanted(row)]
    if not wanted:
        raise ValueError(
            f"No row of the {len(rows):,} is left to be scored: the options choose none of this dataset."
        )
    has_id = [any(response.row.get(name) is not None for name in identity.id) for response in responses.each]
    if not any(has_id):
        by, found = ORDER, _by_order(responses, rows, wanted, identity)
    elif not all(has_id):
        raise ValueError(
            f"{responses.each[has_id.index(False)].where} has no {' or '.join(identity.id)}, but others have one."
        )
    else:
        also = [name for name in identity.also if all(name in response.row for response in responses.each)]
        keys = (*identity.id, *also)
        by, found = " and ".join(keys), _by_id(responses, rows, wanted, keys, identity.chooses)
    return Matched(
        responses.name,
        [row for row, _ in found],
        [response.text for _, response in found],
        by,
        len(wanted),
        responses.sampled,
    )


def _by_id(
    responses: Responses, rows: Sequence[R], wanted: Sequence[R], keys: tuple[str, ...], chooses: bool
) -> list[tuple[R, Response]]:
    place: dict[Hashable, int] = {}
    for i, row in enumerate(wanted):
        key = tuple(_plain(getattr(row, name)) for name in keys)
        if place.setdefault(key, i) != i:
            raise ValueError(
                f"{_named(keys, key)} stands for more than one of the {len(wanted):,} rows of the dataset; choose one "
                "config or sampling, or give each response its sampling."
            )
    left_out = {tuple(_plain(getattr(row, name)) for name in keys) for row in rows} - place.keys()
    found: dict[int, Response] = {}
    for response in responses.each:
        key = tuple(_id(response, name) for name in keys)
        if key in left_out:
            continue
        if key not in place:
            raise ValueError(
                f"{response.where}: {_named(keys, key)} is not among the {len(wanted):,} rows of the dataset. Is it "
                "the dataset, and the split, that was asked?"
            )
        _agree(response, wanted[place[key]], _named(keys, key))
        earlier = found.setdefault(place[key], response)
        if earlier is not response:
            raise ValueError(
                f"{response.where}: {_named(keys, key)} stands in {earlier.where} already; expected one response per "
                "row. Remove one of them."
            )
    if chooses:
        return [(wanted[i], response) for i, response in found.items()]
    if missing := [key for key, i in place.items() if i not in found]:
        raise ValueError(
            f"{responses.name} has no response to {len(missing):,} of the {len(wanted):,} rows of the dataset, such as "
            f"{_named(keys, missing[0])}. Nothing is scored as if it were complete: answer them, or score only what "
            "was asked."
        )
    return [(row, found[i]) for i, row in enumerate(wanted)]


def _by_order(
    responses: Responses, rows: Sequence[R], wanted: Sequence[R], identity: Identity
) -> list[tuple[R, Response]]:
    given = len(responses.each)
    fitting: Sequence[R] = wanted if given == len(wanted) else rows
    if given != len(fitting):
        raise ValueError(
            f"{responses.name} holds {given:,} responses without {' or '.join(identity.id)}, and the dataset "
            f"{len(wanted):,} rows; expected one per row in the same order, or "
            f"{', '.join(identity.id)} in each response."
        )
    pairs = list(zip(fitting, responses.each, strict=True))
    for row, response in pairs:
        _agree(response, row, f"matched by {ORDER}, its place")
    return [(row, response) for row, response in pairs if identity.wanted(row)]


def _agree(response: Response, row: Any, named: str) -> None:
    """Check that a response which says what it is about says the same as the row: sets of questions share their ids."""
    for name in AGREES:
        expected, said = getattr(row, name, ""), response.row.get(name)
        if expected in ("", None) or said is None:
            continue
        if _spaced(_plain(said)) != _spaced(_plain(expected)):
            raise ValueError(
                f"{response.where}: {named} has the {name} {said!r:.80}, but in the dataset {expected!r:.80}. Are "
                "these responses to another file or sampling, or in another order?"
            )


def _id(response: Response, name: str) -> str:
    value = response.row.get(name)
    if (
        isinstance(value, bool)
        or not isinstance(value, int | str)
        or (isinstance(value, str) and not value.strip())
    ):
        raise ValueError(f"{response.where}: {name} is {value!r:.80}; expected a whole number or a name.")
    return _plain(value)


def _plain(value: object) -> str:
    """An id as text: a number is the same with and without leading zeros."""
    text = str(value).strip()
    return str(int(text)) if text.isascii() and text.isdigit() else text


def _spaced(value: object) -> str:
    return " ".join(str(value).split())


def _named(keys: Sequence[str], key: Hashable) -> str:
    values: Any = key
    return ", ".join(f"{name} {value}" for name, value in zip(keys, values, strict=True))
