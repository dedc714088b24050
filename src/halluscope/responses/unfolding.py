"""Finds the rows in a JSON object that holds several: column by column, in lists, by ids or images, or as chats.

A row is an object with a text, or with numbers alone. Lists of rows may lie under keys, beside settings and scores.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from halluscope.reading import tables
from halluscope.reading.tables import Located
from halluscope.responses.names import IDS, LABEL, QUESTIONS, SAYS, TEXTS, is_image_file
from halluscope.sanitize import one_line
from halluscope.validation import is_number

Row = Mapping[str, Any]

# The keys that mark an object as a sample of lm-eval or lmms-eval
SAMPLE = {"doc_id", "filtered_resps"}

# Keys that mark an object as a response, or as a sample, in which no list of rows is looked for
OWN = {*TEXTS, *SAMPLE}

# The keys that name a cell, where a column may be named by the plural
CELLS = {*IDS, *QUESTIONS, *TEXTS, LABEL}

# Who says a turn of a chat, in the words of LLaVA's, OpenAI's and Google's files
SPEAKERS = {
    "human": "prompt",
    "user": "prompt",
    "gpt": "response",
    "assistant": "response",
    "model": "response",
}


@dataclass(frozen=True)
class Unfolding:
    """What is known when rows are looked for in an object."""

    # column -> its values; the key of a list of rows may contain one of them, such as "random"
    parts: Mapping[str, Collection[str]] = field(default_factory=dict)
    text_columns: Collection[str] = ()  # the columns that the user names


@dataclass(frozen=True)
class Rows:
    """A list of rows in an object."""

    stated: Mapping[str, str]  # what its key says of each row: a part, or an image
    rows: Sequence[Row]


# Tables


def rows_of_columns(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table that an object holds; [] if it holds none.

    A table is written column by column, as pandas does, or as names of columns and lists of cells, as pandas ("split")
    and Weights & Biases do.
    """
    names = content.get("columns")
    lists = content.get("data")
    if isinstance(names, list) and isinstance(lists, list):
        try:
            return [dict(zip(names, cells, strict=True)) for cells in lists]
        except (TypeError, ValueError):
            pass
    if not isinstance(next(iter(content.values()), None), list | dict):
        return []
    columns = {}
    for name, value in content.items():
        cells = _column_in(value)
        if cells is None or any(isinstance(cell, Mapping) for cell in cells):
            return []
        singular = name.removesuffix("s")
        columns[singular if singular in CELLS else name] = cells
    lengths = {len(cells) for cells in columns.values()}
    if len(content) < 2 or len(lengths) > 1:
        return []
    rows = [dict.fromkeys(columns) for _ in range(lengths.pop())]
    for name, cells in columns.items():
        for row, cell in zip(rows, cells, strict=True):
            row[name] = cell
    return rows


def _column_in(value: Any) -> list[Any] | None:
    """Return the cells of a column: a list, or an object with the keys "0", "1", ...; None for anything else."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and list(value) == [str(number) for number in range(len(value))]:
        return list(value.values())
    return None


# Lists of rows


def unfolded(row: dict[str, Any], where: str, how: Unfolding, figures: dict[str, float]) -> Iterator[Located]:
    """Yield the rows in an object's lists, with the object's own values, if it has no text; else the object.

    So files are read that hold their rows under a key, beside scores or settings, image by image, or as chats. Several
    lists are read if the key of each names a part, such as "random", or an image, or if all are alike, as lists by
    category are, and do not answer the same questions.

    Args:
        row: the object.
        where: its location.
        how: what is known.
        figures: the numbers that stand beside rows are added here.
    """
    lists: dict[str, Rows] = {}
    if OWN.isdisjoint(row) and not set(how.text_columns).intersection(row):
        lists = _lists(row, how)
    if len(lists) > 1 and not _are_named_apart(list(lists.values())):
        if not _are_alike([part.rows for part in lists.values()]):
            lists = {}
        elif len({_about(part.rows) for part in lists.values()}) < len(lists):
            raise ValueError(
                f"{where} holds responses of several LVLMs, or of several runs, to the same questions: "
                f"{one_line(', '.join(lists), 120)}; expected those of one. Save each list as a file of its own."
            )
    if not lists:
        yield where, row
        return
    shared = {key: value for key, value in row.items() if isinstance(value, str | int | float)}
    image = shared.get(tables.KEY)
    if isinstance(image, str) and is_image_file(image):
        shared["image"] = image
    figures.update(figures_in({name: value for name, value in row.items() if name not in lists}))
    for name, part in lists.items():
        chat = turns(part.rows)
        if chat:
            yield where, {**shared, **chat}
            continue
        for number, inner in enumerate(part.rows, 1):
            whole = {**shared, **part.stated, **inner}
            yield from unfolded(whole, f"{where}, {name} {number}", how, {})


def _are_named_apart(lists: Sequence[Rows]) -> bool:
    """Whether the key of each list says something else of its rows."""
    stated = {tuple(part.stated.items()) for part in lists}
    return () not in stated and len(stated) == len(lists)


def _lists(row: Row, how: Unfolding) -> dict[str, Rows]:
    """Return an object's lists of objects by their keys, or else those in its objects."""
    if not any(isinstance(value, list | Mapping) for value in row.values()):
        return {}  # most rows; what follows takes several times as long as reading them
    lists = {}
    says = _says(row)
    for name, value in row.items():
        if not _are_objects(value):
            continue
        if says and not any(_says(entry) for entry in value):
            continue  # such as boxes beside a text
        lists[str(name)] = Rows(_stated_by_key(str(name), how), value)
    if lists or not {*IDS, *QUESTIONS}.isdisjoint(row):
        return lists
    for name, value in row.items():
        if isinstance(value, str) and (SAYS.match(name) or is_image_file(value)):
            return {}  # a row, with objects beside its text
    objects = {str(name): value for name, value in row.items() if isinstance(value, Mapping)}
    for name, value in objects.items():
        if _is_by_id(name, value):
            by_id = [entry for _, entry in tables.by_id(value, "")]
            lists[name] = Rows(_stated_by_key(name, how), by_id)
    if lists:
        return lists
    for name, value in objects.items():
        stated = _stated_by_key(name, how)
        for key, part in _lists(value, how).items():
            lists[f"{name}, {key}"] = Rows({**stated, **part.stated}, part.rows)
    return lists


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _says(row: Row) -> bool:
    """Whether an object has a text in a column that is named like a response's, or is a turn of a chat."""
    if not {*TEXTS, "role", "from"}.isdisjoint(row):
        return True
    return any(isinstance(value, str) and SAYS.match(str(name)) for name, value in row.items())


def _stated_by_key(name: str, how: Unfolding) -> dict[str, str]:
    """Return what the key of a list says of its rows: their image or id, or the part that they belong to."""
    if is_image_file(name):
        return {"image": name}
    if name.isdigit():
        return {tables.KEY: name}
    stated = {}
    for column, values in how.parts.items():
        for value in values:
            if value in name.lower():
                stated[column] = value
    return stated


def _is_by_id(name: str, value: Row) -> bool:
    """Whether an object's keys are ids or images, and its values rows, or responses if its name says so."""
    if not value or not all(str(key).isdigit() or is_image_file(str(key)) for key in value):
        return False
    if SAYS.match(name):
        return all(type(entry) in (str, dict) for entry in value.values())
    return all(type(entry) is dict for entry in value.values())


def _are_alike(lists: Sequence[Sequence[Row]]) -> bool:
    """Whether lists have the same columns, a text and an id or a question among them."""
    first = set(lists[0][0])
    says = not first.isdisjoint(TEXTS) or any(SAYS.match(name) for name in first)
    if not says or first.isdisjoint({*IDS, *QUESTIONS}):
        return False
    return all(set(rows[0]) == first for rows in lists)


def _about(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return what rows are about: their ids, images and questions."""
    names = [name for name in (*IDS, *QUESTIONS) if name not in TEXTS]
    return tuple(str([row.get(name) for name in names]) for row in rows)


def turns(chat: Sequence[Row]) -> dict[str, str]:
    """Return the last prompt and response of a chat, as LLaVA's and OpenAI's files have it; {} if it is none."""
    last = {}
    for turn in chat:
        speaker = SPEAKERS.get(str(turn.get("role", turn.get("from"))))
        text = turn.get("content", turn.get("value"))
        if isinstance(text, list):  # OpenAI's form, beside images
            texts = [part.get("text") for part in text if isinstance(part, Mapping)]
            text = "\n".join(part for part in texts if isinstance(part, str) and part)
        if speaker and isinstance(text, str):
            last[speaker] = text
    return last if "response" in last else {}


# Numbers beside rows


def numbers(row: Row, *keys: Any) -> Iterator[tuple[Sequence[Any], float]]:
    """Yield the numbers in an object of objects, each with its keys from outside in."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from numbers(value, *keys, name)
        elif is_number(value):
            yield (*keys, name), value


def figures_in(row: Row) -> dict[str, float]:
    """Return the numbers in an object of objects by their last keys."""
    return {str(keys[-1]): float(value) for keys, value in numbers(row)}
