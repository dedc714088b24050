"""The one matcher: which response belongs to which row of a dataset.

Rows are found by their ids. What a response carries beside its id must not contradict the row: the question, the image,
the sampling. Where no response has an id, they are matched by their order, if there are as many.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np

from halluscope.foreign import brief
from halluscope.responses.files import PROMPT, Response, Responses

ORDER = "order"
"""What responses are matched by that have no id."""

IDS = ("image_id", "question_id", "id", "qid", "index", "image", "file_name")
"""Where the id of a row is looked for that is found by one column: first by the column's own name."""

IMAGES = ("image_id", "file_name", "image")
"""What names an image. It is an id only where images are what is found."""

QUESTIONS = ("question", "prompt", "query", "instruction", "text")
"""Where a response may say what was asked."""

STATED = ("prompt", "query", "instruction")
"""Where a response may say all that was asked, words beside the dataset's question included."""

SYNONYMS = {"sampling": ("sampling", "category")}
"""What else a column may be called that finds a row together with its id, if it holds one of the known values."""

_COCO = re.compile(r"(?:COCO_(?:train|val|test)\d{4}_)?(\d{12})(?:\.(?:jpe?g|png))?", re.IGNORECASE)
_FILE = re.compile(r"[^\n]{1,300}\.(?:jpe?g|png|webp|gif|bmp|tiff?)", re.IGNORECASE)

R = TypeVar("R")


@dataclass(frozen=True)
class Identity:
    """How the rows of a dataset are found.

    Attributes:
        id: the columns that find a row; a response that has one must have all.
        also: column -> its values: what finds a row together with `id`, where all responses have it.
        chooses: whether the responses choose the rows; otherwise each row that is wanted needs one, as `set_of` says.
        set_of: the set that a row is answered with, whole or not at all; None for a row that may be left out alone.
        wanted: whether a row is scored; one that is not is left out, with its response.
        only: column of `also` -> the value that is wanted; responses about another are left out.
        partial: whether rows may be without a response.
        first: whether only the first responses were read; by their order they stand for the first rows.
        prompt: what an LVLM is asked where rows have neither a question nor a prompt of their own.
        column: where the id stands in a response; None looks for it.
    """

    id: tuple[str, ...]
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    chooses: bool = False
    set_of: Callable[[Any], Hashable] = field(default=lambda row: "")
    wanted: Callable[[Any], bool] = field(default=lambda row: True)
    only: Mapping[str, str] = field(default_factory=dict)
    partial: bool = False
    first: bool = False
    prompt: str = ""
    column: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Where a response's id is looked for, in this order, if one column finds a row."""
        (own,) = self.id
        images = own in IMAGES
        return (own, *(name for name in IDS if name != own and (images or name not in IMAGES)))


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
        left_out: how many responses are about rows that are not scored.
        other_prompts: how many say that something else was asked than the row's prompt, or the benchmark's.
        prompts: the names of the prompts that they say were asked; "" where one says nothing.
        asked: the prompt that each says it answers, white space as one space; "" where it says none.
    """

    name: str
    rows: list[R]
    texts: list[str]
    by: str
    of: int
    sampled: bool = False
    left_out: int = 0
    other_prompts: int = 0
    prompts: Sequence[str] = ("",)
    asked: Sequence[str] = ()

    def only(self, places: Sequence[int]) -> "Matched[R]":
        """Some of the rows, by their places in this order, with their responses."""
        return replace(
            self,
            rows=[self.rows[place] for place in places],
            texts=[self.texts[place] for place in places],
            asked=[self.asked[place] for place in places] if self.asked else (),
        )


Pair = tuple[Any, Response]


def match(responses: Responses, rows: Sequence[R], identity: Identity) -> Matched[R]:
    """Put each response to its row.

    Args:
        responses: of one LVLM.
        rows: of the dataset, objects with a field for each column.
        identity: how they are found.

    Raises:
        ValueError: for a response whose id the dataset does not have, that comes twice, or that contradicts its row; a
            row without a response; ids that do not tell rows apart; responses without ids that are not as many as the
            rows; or texts that are what was asked.
    """
    wanted = [row for row in rows if identity.wanted(row)]
    if not wanted:
        there = {column: sorted({str(getattr(row, column)) for row in rows}) for column in identity.only}
        said = "; ".join(
            f"{column} is {', '.join(map(repr, values))} there" for column, values in there.items()
        )
        raise ValueError(
            f"No row of the {len(rows):,} is left to be scored; the options choose none of this dataset"
            f"{f' ({said}; an upstream file tells it by its name)' if said else ''}."
        )
    each = [response for response in responses.each if _is_meant(response, identity)]
    if not each:
        raise ValueError(f"{responses.source}: no response is about {', '.join(identity.only.values())}.")
    columns = _id_columns(each, identity)
    if columns is None:
        by, found = ORDER, _by_order(responses, each, rows, wanted, identity)
    else:
        by, found = _by_id(responses, each, rows, wanted, columns, identity)
    _check_said(responses, found, identity)
    others = [
        response for row, response in found if _says_otherwise(response, "prompt", _prompt(row, identity))
    ]
    return Matched(
        responses.name,
        [row for row, _ in found],
        [response.text for _, response in found],
        by,
        len(wanted),
        responses.sampled,
        len(responses.each) - len(found),
        len(others),
        sorted({str(response.row.get(PROMPT) or "") for _, response in found}),
        [_stated(response) for _, response in found],
    )


def _stated(response: Response) -> str:
    """The prompt that a response says it answers; "" where it says none."""
    said = (response.row.get(column) for column in STATED if column != response.column)
    return next((_spaced(prompt) for prompt in said if isinstance(prompt, str) and prompt.strip()), "")


def _check_said(responses: Responses, found: Sequence[Pair], identity: Identity) -> None:
    """Check that the texts are not what was asked: a file of questions is easily taken for one of responses."""
    echoed = [response for row, response in found if _is_asked(response.text, row, identity)]
    questions = all(response.text.rstrip().endswith("?") for _, response in found)
    if echoed and (questions or len(echoed) == len(found)):
        one = echoed[0]
        raise ValueError(
            f"{responses.source} holds what was asked, not what the LVLM said: {one.where} has {brief(one.text)} as "
            f"{one.column}, as the question is. Expected responses; if they stand in another column, name it: "
            "--text-column (text_column)."
        )


def _is_asked(text: str, row: Any, identity: Identity) -> bool:
    asked = _spaced(getattr(row, "question", None) or _prompt(row, identity))
    return asked != "" and _spaced(text) == asked


def _prompt(row: Any, identity: Identity) -> str:
    """What was to be asked about a row without a question; "" about one that has one."""
    return (getattr(row, "prompt", "") or identity.prompt) if identity.prompt else ""


def _is_meant(response: Response, identity: Identity) -> bool:
    """Whether a response is not about another value than the one that is wanted."""
    return all(
        _value(response.row, column, identity.also[column]) in (None, value)
        for column, value in identity.only.items()
    )


def _id_columns(each: Sequence[Response], identity: Identity) -> tuple[str, ...] | None:
    """Where the ids stand in the responses; None if they have none.

    Raises:
        ValueError: for responses of which some have an id and some have none, or none has the column that is named.
    """
    if identity.column:
        names: Sequence[str] = (identity.column,)
    else:
        names = identity.id if len(identity.id) > 1 else identity.names
    held = [name for name in names if any(response.row.get(name) not in (None, "") for response in each)]
    if identity.column and not held:
        raise ValueError(
            f"{each[0].where} has no {identity.column}, nor has any other response; expected the column with the id. "
            f"It has {', '.join(map(str, each[0].row))}."
        )
    if not held:
        return None
    columns = identity.id if len(identity.id) > 1 and not identity.column else (held[0],)
    for response in each:
        if missing := [name for name in columns if response.row.get(name) in (None, "")]:
            others = ", but others have one" if len(columns) == 1 else ""
            raise ValueError(
                f"{response.where} has no {' or '.join(missing)}{others}; expected {', '.join(columns)} in each "
                "response, or in none."
            )
    return columns


def _by_id(
    responses: Responses,
    each: Sequence[Response],
    rows: Sequence[R],
    wanted: Sequence[R],
    columns: tuple[str, ...],
    identity: Identity,
) -> tuple[str, list[Pair]]:
    also = _also(each, rows, identity)
    names = [*columns, *also]
    place: dict[Hashable, int] = {}
    for i, row in enumerate(wanted):
        own = _key(row, identity, also)
        if place.setdefault(own, i) != i:
            return _by_id_and_order(responses, each, wanted, columns, _named(names, own), identity)
    left_out = {_key(row, identity, also) for row in rows} - place.keys()
    files = _files(rows, identity.id[0]) if identity.id[0] in IMAGES else {}
    keyed = ((_key_of(response, columns, also, files, identity), response) for response in each)
    kept = ((key, response) for key, response in keyed if key not in left_out)
    found = _placed(kept, wanted, place, names, identity)
    if identity.chooses:
        return " and ".join(names), [(wanted[i], response) for i, response in found.items()]
    _check_whole(responses, found, wanted, place, [*identity.id, *also], identity)
    return " and ".join(names), [(row, found[i]) for i, row in enumerate(wanted) if i in found]


def _also(each: Sequence[Response], rows: Sequence[Any], identity: Identity) -> list[str]:
    """The columns that find rows together with their ids: those that all responses and all rows have."""
    return [
        column
        for column, values in identity.also.items()
        if all(_value(response.row, column, values) for response in each)
        and all(getattr(row, column) for row in rows)
    ]


def _placed(
    keyed: Iterable[tuple[Hashable, Response]],
    wanted: Sequence[Any],
    place: Mapping[Hashable, int],
    names: Sequence[str],
    identity: Identity,
) -> dict[int, Response]:
    """The place of a row -> its response."""
    found: dict[int, Response] = {}
    for key, response in keyed:
        named = _named(names, key)
        if key not in place:
            raise ValueError(
                f"{response.where}: {named} is not among the {len(wanted):,} rows of the dataset. Are these "
                "the responses to this dataset, and to this split of it?"
            )
        _agree(response, wanted[place[key]], named, identity)
        earlier = found.setdefault(place[key], response)
        if earlier is not response:
            raise ValueError(
                f"{response.where}: {named} stands in {earlier.where} already; expected one response per row. Remove "
                "one of them."
            )
    return found


def _check_whole(
    responses: Responses,
    found: Mapping[int, Response],
    wanted: Sequence[Any],
    place: Mapping[Hashable, int],
    names: Sequence[str],
    identity: Identity,
) -> None:
    """Check that no row lacks a response, as far as the rows go together."""
    begun = {identity.set_of(wanted[i]) for i in found} - {None}
    missing = [key for key, i in place.items() if i not in found and identity.set_of(wanted[i]) in begun]
    if missing and not identity.partial:
        raise ValueError(
            f"{responses.source} has no response to {len(missing):,} of the {len(wanted):,} rows of the dataset, such "
            f"as {_named(names, missing[0])}. Nothing is scored as if it were complete: answer them, "
            "or pass --partial (partial=True) to score the part that is there."
        )
    if not found:
        raise ValueError(
            f"{responses.source} holds no response to any of the {len(wanted):,} rows that are wanted."
        )


def _by_id_and_order(
    responses: Responses,
    each: Sequence[Response],
    wanted: Sequence[R],
    columns: tuple[str, ...],
    shared: str,
    identity: Identity,
) -> tuple[str, list[Pair]]:
    """Ids that several rows share tell them apart only if the responses stand in the order of the rows."""
    wanted = _first(wanted, each, identity)
    ids = [tuple(_id(response, name, {}) for name in columns) for response in each]
    if ids != [_key(row, identity, []) for row in wanted]:
        raise ValueError(
            f"{responses.source}: {' and '.join(columns)} stands for more than one of the {len(wanted):,} rows of "
            f"the dataset, such as {shared}, and the responses do not stand in its order. Choose one config or "
            f"sampling, or give each response its {' and '.join(identity.also) or 'config'}."
        )
    pairs = list(zip(wanted, each, strict=True))
    for row, response in pairs:
        _agree(response, row, f"in its place, {_named(columns, _key(row, identity, []))}", identity)
    return f"{' and '.join(columns)} and {ORDER}", pairs


def _by_order(
    responses: Responses,
    each: Sequence[Response],
    rows: Sequence[R],
    wanted: Sequence[R],
    identity: Identity,
) -> list[Pair]:
    given, first = len(each), _first(wanted, each, identity)
    fitting: Sequence[R] = first if given == len(first) else rows
    if given != len(fitting):
        names = identity.id if len(identity.id) > 1 else identity.names
        raise ValueError(
            f"{responses.source} holds {given:,} responses without an id, and the dataset {len(wanted):,} rows; "
            "expected one per row in the same order, or an id in each response: "
            f"{(', ' if len(identity.id) > 1 else ' or ').join(names)}."
        )
    pairs = list(zip(fitting, each, strict=True))
    for row, response in pairs:
        _agree(response, row, f"matched by {ORDER}, its place", identity)
    return [(row, response) for row, response in pairs if identity.wanted(row)]


def _first(wanted: Sequence[R], each: Sequence[Response], identity: Identity) -> Sequence[R]:
    """The rows that responses stand for by their order: the first ones, where only so many responses were read."""
    return wanted[: len(each)] if identity.first else wanted


def _agree(response: Response, row: Any, named: str, identity: Identity) -> None:
    """Check that a response which says what it is about says the same as the row: sets of questions share their ids."""
    contradiction = next(_contradictions(response, row, identity), None)
    if contradiction:
        column, said, expected = contradiction
        raise ValueError(
            f"{response.where}: {named} has the {column} {brief(said, 120)}, but in the dataset "
            f"{brief(expected, 120)}. Are these responses to another file or sampling, or in another order?"
        )


def _contradictions(response: Response, row: Any, identity: Identity) -> Iterator[tuple[str, Any, Any]]:
    """Each column in which a response says something else than the row: column, what it says, and what the row says."""
    asked = getattr(row, "question", "")
    for column in QUESTIONS if asked else ():
        if column != response.column and _says_otherwise(response, column, asked):
            yield column, response.row[column], asked
    for column in IMAGES:
        said = response.row.get(column)
        if column not in identity.id and column != identity.column and not _is_same_image(said, row):
            expected = getattr(row, "file_name", "") or getattr(row, "image_id", "")
            yield column, said, expected
    for column, values in identity.also.items():
        said, expected = _value(response.row, column, values), getattr(row, column)
        if said and expected and said != expected:
            yield column, said, expected


def _is_same_image(said: Any, row: Any) -> bool:
    """Whether what a response says of its image can be the row's; what names no image says nothing."""
    number, file = getattr(row, "image_id", None), getattr(row, "file_name", "") or ""
    if isinstance(said, str) and _FILE.fullmatch(said.strip()):
        if file:
            return _base(said) == _base(file) or _plain(said) == _plain(file)
        coco = _COCO.fullmatch(_base(said))
        return not coco or number is None or int(coco[1]) == number
    if isinstance(said, bool) or not isinstance(said, int | float | str) or number is None:
        return True
    plain = _plain(said)
    return not plain.isdigit() or plain == _plain(number)


def _says_otherwise(response: Response, column: str, asked: str) -> bool:
    """Whether a response says in this column that something was asked which does not hold the question."""
    said = response.row.get(column)
    return isinstance(said, str) and said != "" and _spaced(asked) not in _spaced(said)


def _key(row: Any, identity: Identity, also: Sequence[str]) -> tuple[str, ...]:
    return (
        *(_plain(getattr(row, name)) for name in identity.id),
        *(str(getattr(row, name)) for name in also),
    )


def _key_of(
    response: Response,
    columns: Sequence[str],
    also: Sequence[str],
    files: Mapping[str, str],
    identity: Identity,
) -> Hashable:
    """What a response says of its row, as `_key` has it of the row."""
    return (
        *(_id(response, name, files) for name in columns),
        *(_value(response.row, column, identity.also[column]) for column in also),
    )


def _id(response: Response, name: str, files: Mapping[str, str]) -> str:
    """A response's id as text; an image's file name stands for the image, if `files` knows it or it is COCO's."""
    value = response.row.get(name)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or not isinstance(value, int | float | str) or not str(value).strip():
        raise ValueError(f"{response.where}: {name} is {brief(value)}; expected a whole number or a name.")
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{response.where}: {name} is {brief(value)}; expected a whole number or a name.")
    text = str(value).strip()
    return files.get(text) or files.get(_base(text)) or _plain(value)


def _files(rows: Sequence[Any], own: str) -> dict[str, str]:
    """File name -> id as text, of the images that have one; the last part of a path serves where no two share it."""
    whole = {str(row.file_name): _plain(getattr(row, own)) for row in rows if getattr(row, "file_name", "")}
    shared = Counter(map(_base, whole))
    return {_base(file): key for file, key in whole.items() if shared[_base(file)] == 1} | whole


def _plain(value: object) -> str:
    """An id as text: 7, 7.0, "007" and "COCO_val2014_000000000007.jpg" are the same."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    coco = _COCO.fullmatch(_base(text))
    text = coco[1] if coco else text
    whole = text.removesuffix(".0")
    return (whole.lstrip("0") or "0") if whole.isascii() and whole.isdigit() else text


def _base(name: object) -> str:
    """The last part of a path."""
    return str(name).replace("\\", "/").rstrip("/").rpartition("/")[2]


def _value(row: Mapping[str, Any], column: str, values: Sequence[str]) -> str | None:
    """A row's value in a column that finds rows together with their ids; None if it has none of the known ones."""
    own = row.get(column)
    if isinstance(own, str) and own:
        return own
    others = (row.get(name) for name in SYNONYMS.get(column, ()))
    return next((value for value in others if isinstance(value, str) and value in values), None)


def _spaced(value: object) -> str:
    return " ".join(str(value).split())


def _named(keys: Sequence[str], key: Hashable) -> str:
    values: Any = key
    return ", ".join(f"{name} {value:.80}" for name, value in zip(keys, values, strict=False))
