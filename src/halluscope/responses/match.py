"""Matches responses to the rows of a dataset.

Rows are found by their ids. Whatever else a response states (the question, the image, the sampling) must not contradict
its row. If no response has an id, responses are matched by their order, provided that there are as many as rows.
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
"""The way of matching responses that have no id."""

IDS = ("image_id", "question_id", "id", "qid", "index", "image", "file_name")
"""The columns where an id is looked for, after the column with the dataset's own name for the id.

They are used only for a dataset whose rows are identified by one column.
"""

IMAGES = ("image_id", "file_name", "image")
"""The columns that name an image. They hold the row's id only in datasets whose rows are identified by their image."""

QUESTIONS = ("question", "prompt", "query", "instruction", "text")
"""The columns where a response may state the question."""

STATED = ("prompt", "query", "instruction")
"""The columns where a response may state the whole prompt, including words around the dataset's question."""

SYNONYMS = {"sampling": ("sampling", "category")}
"""A column that identifies a row together with its id -> the names that a response may use for the column.

A name is used only if the value under it is a known one.
"""

_COCO = re.compile(r"(?:COCO_(?:train|val|test)\d{4}_)?(\d{12})(?:\.(?:jpe?g|png))?", re.IGNORECASE)
_FILE = re.compile(r"[^\n]{1,300}\.(?:jpe?g|png|webp|gif|bmp|tiff?)", re.IGNORECASE)

R = TypeVar("R")


@dataclass(frozen=True)
class Identity:
    """How the rows of a dataset are found.

    Attributes:
        id: the columns that identify a row; a response that has one of them must have all.
        also: column -> its values; such a column identifies a row together with `id`, if all responses have it.
        chooses: whether the responses determine which rows are scored; otherwise each wanted row needs a response,
            within the sets of `set_of`.
        set_of: returns a row's set: if any row of a set has a response, all its rows need one. None for a row that
            never needs a response.
        wanted: whether a row is scored; if not, it is left out with its response.
        only: column of `also` -> the value that is wanted; responses with another value are left out.
        partial: whether rows may lack a response.
        first: whether only the first responses were read; matched by order, they belong to the first rows.
        prompt: what an LVLM is asked if rows have neither a question nor a prompt of their own.
        column: the column with a response's id; None to look for it.
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
        """The columns where a response's id is looked for, in this order, if one column identifies a row."""
        (own,) = self.id
        images = own in IMAGES
        return (own, *(name for name in IDS if name != own and (images or name not in IMAGES)))


@dataclass(frozen=True)
class Matched(Generic[R]):
    """Responses and the rows that they belong to.

    Attributes:
        name: the name of the responses.
        rows: the rows, in the order of the responses if these determine the rows, otherwise in the dataset's order.
        texts: one per row.
        by: the columns that they were matched by, or `ORDER`.
        of: the number of wanted rows, with or without a response.
        sampled: whether a harness wrote the responses.
        checked: whether a response states, beside its id, a question or an image, which was compared with its row's.
        left_out: the number of responses about rows that are not scored.
        other_prompts: the number of responses that state a prompt other than the row's or the benchmark's.
        prompts: the names of the prompts that the responses say were asked; "" for responses that name none.
        asked: the prompt that each response states, with each run of white space as one space; "" if it states none.
    """

    name: str
    rows: list[R]
    texts: list[str]
    by: str
    of: int
    sampled: bool = False
    checked: bool = False
    left_out: int = 0
    other_prompts: int = 0
    prompts: Sequence[str] = ("",)
    asked: Sequence[str] = ()

    def only(self, places: Sequence[int]) -> "Matched[R]":
        """Return only the rows at these indices, in this order, with their responses."""
        return replace(
            self,
            rows=[self.rows[place] for place in places],
            texts=[self.texts[place] for place in places],
            asked=[self.asked[place] for place in places] if self.asked else (),
        )


Pair = tuple[Any, Response]


def match(responses: Responses, rows: Sequence[R], identity: Identity) -> Matched[R]:
    """Match each response to its row.

    Args:
        responses: the responses of one LVLM.
        rows: the dataset's rows, objects with a field for each column.
        identity: how rows are found.

    Raises:
        ValueError: if a response's id is unknown, occurs twice, or belongs to a row that the response contradicts; if a
            row has no response; if ids do not identify rows; if there are no ids, and the numbers of responses and rows
            differ; or if the texts repeat the questions.
    """
    wanted = [row for row in rows if identity.wanted(row)]
    if not wanted:
        there = {column: sorted({str(getattr(row, column)) for row in rows}) for column in identity.only}
        said = "; ".join(
            f"in the dataset, {column} is {' or '.join(map(repr, values))}"
            for column, values in there.items()
        )
        raise ValueError(
            f"None of the {len(rows):,} rows is left to score: the options select no row of this dataset"
            f"{f' ({said}; for an upstream file, its name decides this)' if said else ''}."
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
        response for row, response in found if _says(response, "prompt", _prompt(row, identity)) is False
    ]
    return Matched(
        responses.name,
        [row for row, _ in found],
        [response.text for _, response in found],
        by,
        len(wanted),
        responses.sampled,
        any(any(_compared(response, row, identity)) for row, response in found),
        len(responses.each) - len(found),
        len(others),
        sorted({str(response.row.get(PROMPT) or "") for _, response in found}),
        [_stated(response) for _, response in found],
    )


def _stated(response: Response) -> str:
    """Return the prompt that a response states; "" if it states none."""
    said = (response.row.get(column) for column in STATED if column != response.column)
    return next((_spaced(prompt) for prompt in said if isinstance(prompt, str) and prompt.strip()), "")


def _check_said(responses: Responses, found: Sequence[Pair], identity: Identity) -> None:
    """Check that the texts do not repeat the questions: a file of questions is easily mistaken for one of responses."""
    echoed = [response for row, response in found if _is_asked(response.text, row, identity)]
    questions = all(response.text.rstrip().endswith("?") for _, response in found)
    if echoed and (questions or len(echoed) == len(found)):
        one = echoed[0]
        raise ValueError(
            f"{responses.source} holds questions, not responses: in {one.where}, {one.column} is {brief(one.text)}, "
            "which is the question or prompt itself. Expected the LVLM's responses; if they are in another column, "
            "name it: --text-column (text_column)."
        )


def _is_asked(text: str, row: Any, identity: Identity) -> bool:
    asked = _spaced(getattr(row, "question", None) or _prompt(row, identity))
    return asked != "" and _spaced(text) == asked


def _prompt(row: Any, identity: Identity) -> str:
    """Return the prompt for a row of a dataset without questions (`Identity.prompt`); "" if its rows have questions."""
    return (getattr(row, "prompt", "") or identity.prompt) if identity.prompt else ""


def _is_meant(response: Response, identity: Identity) -> bool:
    """Whether a response has the wanted values of `Identity.only`, or does not state them."""
    return all(
        _value(response.row, column, identity.also[column]) in (None, value)
        for column, value in identity.only.items()
    )


def _id_columns(each: Sequence[Response], identity: Identity) -> tuple[str, ...] | None:
    """Return the columns that hold the responses' ids; None if the responses have no ids.

    Raises:
        ValueError: if only some responses have an id, or no response has the column that the user names.
    """
    if identity.column:
        names: Sequence[str] = (identity.column,)
    else:
        names = identity.id if len(identity.id) > 1 else identity.names
    held = [name for name in names if any(response.row.get(name) not in (None, "") for response in each)]
    if identity.column and not held:
        raise ValueError(
            f"No response has the column {identity.column}; expected the column with the id. {each[0].where} has "
            f"{', '.join(map(str, each[0].row))}."
        )
    if not held:
        return None
    columns = identity.id if len(identity.id) > 1 and not identity.column else (held[0],)
    for response in each:
        if missing := [name for name in columns if response.row.get(name) in (None, "")]:
            others = ", but other responses do" if len(columns) == 1 else ""
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
    """Return the columns that, together with the ids, identify rows: those that all responses and all rows have."""
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
    """Return the place of each row that has a response -> the response."""
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
                f"{response.where}: {named} is already in {earlier.where}; expected one response per row. Remove one "
                "of them."
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
    """Check that each row has a response if another row of its set has one."""
    begun = {identity.set_of(wanted[i]) for i in found} - {None}
    missing = [key for key, i in place.items() if i not in found and identity.set_of(wanted[i]) in begun]
    if missing and not identity.partial:
        raise ValueError(
            f"{responses.source} has no response to {len(missing):,} of the {len(wanted):,} rows of the dataset, such "
            f"as {_named(names, missing[0])}. Answer them, or pass --partial (partial=True) to score the rows that "
            "have one."
        )
    if not found:
        raise ValueError(
            f"{responses.source} holds no response to any of the {len(wanted):,} rows that the options select."
        )


def _by_id_and_order(
    responses: Responses,
    each: Sequence[Response],
    wanted: Sequence[R],
    columns: tuple[str, ...],
    shared: str,
    identity: Identity,
) -> tuple[str, list[Pair]]:
    """Match responses whose ids several rows share, which is possible only if they are in the order of the rows."""
    wanted = _first(wanted, each, identity)
    ids = [tuple(_id(response, name, {}) for name in columns) for response in each]
    if ids != [_key(row, identity, []) for row in wanted]:
        raise ValueError(
            f"{responses.source}: several of the {len(wanted):,} rows of the dataset share their "
            f"{' and '.join(columns)}, such as {shared}, and the responses are not in the dataset's order. Choose one "
            f"config or sampling, or give each response its {' and '.join(identity.also) or 'config'}."
        )
    pairs = list(zip(wanted, each, strict=True))
    for row, response in pairs:
        _agree(response, row, f"matched by {ORDER} and {_named(columns, _key(row, identity, []))}", identity)
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
            f"{responses.source} holds {given:,} responses without an id, and the dataset has {len(wanted):,} rows; "
            "expected one response per row in the same order, or an id in each response: "
            f"{(', ' if len(identity.id) > 1 else ' or ').join(names)}."
        )
    pairs = list(zip(fitting, each, strict=True))
    for row, response in pairs:
        _agree(response, row, f"matched by {ORDER}", identity)
    return [(row, response) for row, response in pairs if identity.wanted(row)]


def _first(wanted: Sequence[R], each: Sequence[Response], identity: Identity) -> Sequence[R]:
    """Return the rows that responses may belong to by their order: the first rows, if only the first were read."""
    return wanted[: len(each)] if identity.first else wanted


def _agree(response: Response, row: Any, named: str, identity: Identity) -> None:
    """Check that nothing that a response states contradicts its row: different sets of questions share their ids."""
    contradiction = next(_contradictions(response, row, identity), None)
    if contradiction:
        column, said, expected = contradiction
        raise ValueError(
            f"{response.where} ({named}) has the {column} {brief(said, 120)}, but its row in the dataset has "
            f"{brief(expected, 120)}. Are these responses to another file or sampling, or in another order?"
        )


def _contradictions(response: Response, row: Any, identity: Identity) -> Iterator[tuple[str, Any, Any]]:
    """Yield each column in which a response contradicts its row: the column, the response's value, the row's value."""
    for column, expected, same in _compared(response, row, identity):
        if not same:
            yield column, response.row[column], expected
    for column, values in identity.also.items():
        said, expected = _value(response.row, column, values), getattr(row, column)
        if said and expected and said != expected:
            yield column, said, expected


def _compared(response: Response, row: Any, identity: Identity) -> Iterator[tuple[str, Any, bool]]:
    """Yield each question or image that a response states: its column, the row's value, whether they are the same."""
    asked = getattr(row, "question", "")
    for column in QUESTIONS if asked else ():
        if column != response.column and (same := _says(response, column, asked)) is not None:
            yield column, asked, same
    expected = getattr(row, "file_name", "") or getattr(row, "image_id", "")
    for column in IMAGES:
        is_id = column in identity.id or column == identity.column
        if not is_id and (same := _is_image(response.row.get(column), row)) is not None:
            yield column, expected, same


def _is_image(said: Any, row: Any) -> bool | None:
    """Whether a value names the row's image; None if it names no image, or none that can be compared."""
    number, file = getattr(row, "image_id", None), getattr(row, "file_name", "") or ""
    if isinstance(said, str) and _FILE.fullmatch(said.strip()):
        if file:
            return _base(said) == _base(file) or _plain(said) == _plain(file)
        coco = _COCO.fullmatch(_base(said))
        return int(coco[1]) == number if coco and number is not None else None
    if isinstance(said, bool) or not isinstance(said, int | float | str) or number is None:
        return None
    plain = _plain(said)
    return plain == _plain(number) if plain.isdigit() else None


def _says(response: Response, column: str, asked: str) -> bool | None:
    """Whether a response's column holds a question or prompt; None if the column states none."""
    said = response.row.get(column)
    return _spaced(asked) in _spaced(said) if isinstance(said, str) and said != "" else None


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
    """Return what a response says about its row, in the form in which `_key` returns the row's own values."""
    return (
        *(_id(response, name, files) for name in columns),
        *(_value(response.row, column, identity.also[column]) for column in also),
    )


def _id(response: Response, name: str, files: Mapping[str, str]) -> str:
    """Return a response's id as text; a file name is accepted as an image's id if `files` has it or it is COCO's."""
    value = response.row.get(name)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or not isinstance(value, int | float | str) or not str(value).strip():
        raise ValueError(f"{response.where}: {name} is {brief(value)}; expected a whole number or a name.")
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{response.where}: {name} is {brief(value)}; expected a whole number or a name.")
    text = str(value).strip()
    return files.get(text) or files.get(_base(text)) or _plain(value)


def _files(rows: Sequence[Any], own: str) -> dict[str, str]:
    """Return file name -> id as text, for images with a file name; a path's last part works too if it is unique."""
    whole = {str(row.file_name): _plain(getattr(row, own)) for row in rows if getattr(row, "file_name", "")}
    shared = Counter(map(_base, whole))
    return {_base(file): key for file, key in whole.items() if shared[_base(file)] == 1} | whole


def _plain(value: object) -> str:
    """Return an id as text: 7, 7.0, "007" and "COCO_val2014_000000000007.jpg" are the same id."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    coco = _COCO.fullmatch(_base(text))
    text = coco[1] if coco else text
    whole = text.removesuffix(".0")
    return (whole.lstrip("0") or "0") if whole.isascii() and whole.isdigit() else text


def _base(name: object) -> str:
    """Return the last part of a path."""
    return str(name).replace("\\", "/").rstrip("/").rpartition("/")[2]


def _value(row: Mapping[str, Any], column: str, values: Sequence[str]) -> str | None:
    """Return a response's value in a column of `Identity.also`, or a known value in a synonym; None if neither."""
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
