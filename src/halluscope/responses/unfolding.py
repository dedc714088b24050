"""Finds the rows in a JSON object that holds several: column by column, in lists, by ids or images, or as chats.

A row is an object with a text, or with numbers alone. Lists of rows may lie under keys, beside settings and scores.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from halluscope.reading import tables
from halluscope.reading.tables import Located
from halluscope.responses.image_urls import address_in, file_in
from halluscope.responses.names import (
    IDS,
    IMAGES,
    LABEL,
    QUESTIONS,
    SAYS,
    TEXTS,
    TURNS,
    is_image_file,
    parts_in,
)
from halluscope.sanitize import one_line
from halluscope.validation import is_number

Row = Mapping[str, Any]

# The keys that mark an object as a sample of lm-eval or lmms-eval
SAMPLE = {"doc_id", "filtered_resps"}

# Keys that mark an object as a response, or as a sample, in which no list of rows is looked for
OWN = SAMPLE.union(TEXTS)

# The keys that say what a row is about
ABOUT = set(IDS).union(QUESTIONS)

# The names of columns that may be written in the plural too, such as "questions"
CELLS = ABOUT.union(TEXTS, {LABEL})

# Who says a turn of a chat, in the words of LLaVA's, OpenAI's and Google's files
SPEAKERS = {
    "human": "prompt",
    "user": "prompt",
    "gpt": "response",
    "assistant": "response",
    "model": "response",
}


# Where a part of a turn has its image's path or address
PICTURES = ("image_url", "image", "url", "path")


@dataclass(frozen=True)
class Unfolding:
    """What is known when rows are looked for in an object."""

    # column -> its values; the key of a list of rows may contain one of them, such as "random"
    parts: Mapping[str, Collection[str]] = field(default_factory=dict)
    text_columns: Collection[str] = ()  # the columns that the user names


@dataclass(frozen=True)
class Rows:
    """A list of rows in an object."""

    facts: Mapping[str, str]  # what its key says of each row: a part, or an image
    rows: Sequence[Row]


# Tables


def rows_of_columns(content: Mapping[str, Any], text_columns: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of a table that an object holds; [] if it holds none.

    A table is written column by column, as pandas does, or as names of columns and lists of cells, as pandas ("split")
    and Weights & Biases do.

    Args:
        content: the object.
        text_columns: the columns that the user names.
    """
    rows = _rows_of_lists(content)
    if rows:
        return rows
    first = next(iter(content.values()), None)
    if not isinstance(first, list | dict):
        return []
    if len(content) == 1:
        return _rows_of_only_column(content)
    index = _index_in(content, text_columns)
    columns = {}
    for name, value in content.items():
        cells = _column_in(value, index)
        if cells is None or any(isinstance(cell, Mapping) for cell in cells):
            return []
        singular = name.removesuffix("s")
        if singular in CELLS:
            name = singular
        columns[name] = cells
    lengths = {len(cells) for cells in columns.values()}
    if len(lengths) > 1:
        return []
    for cells in zip(*columns.values(), strict=True):
        rows.append(dict(zip(columns, cells, strict=True)))
    return _with_index(rows, index)


def _rows_of_lists(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table of names of columns and lists of cells; [] for other objects."""
    names = content.get("columns")
    lists = content.get("data")
    if not isinstance(names, list) or not isinstance(lists, list):
        return []
    try:
        rows = [dict(zip(names, cells, strict=True)) for cells in lists]
    except (TypeError, ValueError):  # they are something else
        return []
    return _with_index(rows, content.get("index"))


def _rows_of_only_column(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table with one column, of texts by id, whose ids are no count from 0; [] for other objects.

    A count from 0 is pandas' own, and says nothing but the order.
    """
    (name, cells), *_ = content.items()
    if not isinstance(cells, Mapping) or len(cells) < 2:
        return []
    are_texts = all(isinstance(cell, str) or cell is None for cell in cells.values())
    if not are_texts or not all(key.isdecimal() or is_image_file(key) for key in cells):
        return []
    if _is_count(list(cells)):
        return [{name: cell} for cell in cells.values()]
    return [{tables.KEY: key, name: cell} for key, cell in cells.items()]


def _is_count(index: Sequence[str]) -> bool:
    return all(key == str(number) for number, key in enumerate(index))


def _index_in(content: Mapping[str, Any], text_columns: Collection[str]) -> list[str]:
    """Return the keys of the cells in a table's first column; [] where it is a list, or may be no column.

    It is one if its keys count its cells, or if any column is named as columns often are.
    """
    first = next(iter(content.values()))
    if not isinstance(first, dict):
        return []
    index = list(first)
    is_table = any(name in CELLS or name in text_columns or SAYS.match(name) for name in content)
    return index if is_table or _is_count(index) else []


def _column_in(value: Any, index: Sequence[str]) -> Sequence[Any] | None:
    """Return the cells of a column: a list, or an object with the keys of `index`; None for anything else."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and list(value) == index:
        return list(value.values())
    return None


def _with_index(rows: list[dict[str, Any]], index: Any) -> list[dict[str, Any]]:
    """Return rows with pandas' index as ids, where it says more than their order, which ascending numbers do not."""
    if not isinstance(index, list) or len(index) != len(rows):
        return rows
    if not rows or tables.KEY in rows[0]:
        return rows
    ids = []
    for key in index:
        if not isinstance(key, int | str):
            return rows
        ids.append(int(key) if str(key).isdecimal() else key)
    if all(isinstance(key, int) for key in ids) and ids == sorted(ids):
        return rows
    return [{tables.KEY: key, **row} for key, row in zip(ids, rows, strict=True)]


# Lists of rows


def unfolded(
    row: dict[str, Any], where: str, known: Unfolding, figures: dict[str, float]
) -> Iterator[Located]:
    """Yield the rows in an object's lists, with the object's own values, if it has no text; else the object.

    So files are read that hold their rows under a key, beside scores or settings, image by image, or as chats. Several
    lists are read if the key of each names a part, such as "random", or an image, or if all are alike, as lists by
    category are, and do not answer the same questions.

    Args:
        row: the object.
        where: its location.
        known: what is known.
        figures: the numbers that stand beside rows are added here.
    """
    lists = _lists_to_read(row, where, known)
    if not lists:
        yield where, row
        return
    beside = {name: value for name, value in row.items() if name not in lists}
    figures.update(figures_in(beside))
    shared = _shared(row)
    for name, part in lists.items():
        chat = turns(part.rows)
        if "response" in chat:
            if not shared.keys().isdisjoint(IMAGES):
                chat.pop("image", None)
            yield where, {**shared, **chat}
            continue
        for number, inner in enumerate(part.rows, 1):
            whole = {**shared, **part.facts, **inner}
            yield from unfolded(whole, f"{where}, {name} {number}", known, {})


def _lists_to_read(row: Row, where: str, known: Unfolding) -> dict[str, Rows]:
    """Return the lists of rows in an object by their keys; {} where it has a text, or where its lists are no rows."""
    if stands_alone(row) or not set(known.text_columns).isdisjoint(row):
        return {}
    lists = _lists(row, known)
    parts = list(lists.values())
    if len(parts) < 2 or _are_named_apart(parts):
        return lists
    if not _are_alike(parts):
        return {}
    if len(set(map(_about, parts))) < len(parts):
        raise ValueError(
            f"{where} holds responses of several LVLMs, or of several runs, to the same questions: "
            f"{one_line(', '.join(lists), 120)}; expected those of one. Save each list as a file of its own."
        )
    return lists


def _shared(row: Row) -> dict[str, Any]:
    """Return what an object says of each row in its lists: its texts, its numbers and its image."""
    shared = {}
    for name, value in row.items():
        if isinstance(value, str | int | float):
            shared[name] = value
        elif name in IMAGES and isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
            shared[name] = value[0]  # the only image of a chat
    image = shared.get(tables.KEY)
    if isinstance(image, str) and is_image_file(image):
        shared["image"] = image
    return shared


def _are_named_apart(lists: Sequence[Rows]) -> bool:
    """Whether the key of each list says something else of its rows."""
    facts = set()
    for part in lists:
        facts.add(tuple(part.facts.items()))
    return () not in facts and len(facts) == len(lists)


def _lists(row: Row, known: Unfolding) -> dict[str, Rows]:
    """Return an object's lists of objects by their keys, or else those in its objects."""
    if not any(isinstance(value, list | Mapping) for value in row.values()):
        return {}  # most rows; what follows takes several times as long as reading them
    lists = {}
    says = _says(row)
    for name, value in row.items():
        if not are_objects(value) or _only_asks(value):
            continue
        # others are such as boxes beside a text
        if not says or any(map(_says, value)) or _holds_chat(value):
            lists[str(name)] = Rows(_facts_of_key(str(name), known), value)
    if lists or not ABOUT.isdisjoint(row):
        return lists
    return _lists_in_objects(row, known)


def _lists_in_objects(row: Row, known: Unfolding) -> dict[str, Rows]:
    """Return the objects in an object that hold rows by ids; without any, the lists in these objects."""
    objects: dict[str, Row] = {}
    for name, value in row.items():
        if isinstance(value, str) and (SAYS.match(name) or is_image_file(value)):
            return {}  # a row, with objects beside its text
        if isinstance(value, Mapping):
            objects[str(name)] = value
    lists = {}
    for name, value in objects.items():
        if _is_by_id(name, value):
            by_id = [entry for _, entry in tables.by_id(value, "")]
            lists[name] = Rows(_facts_of_key(name, known), by_id)
    if lists:
        return lists
    for name, value in objects.items():
        facts = _facts_of_key(name, known)
        for key, part in _lists(value, known).items():
            lists[f"{name}, {key}"] = Rows({**facts, **part.facts}, part.rows)
    return lists


def are_objects(value: Any) -> bool:
    """Whether a value is a list of objects, at least one."""
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _says(row: Row) -> bool:
    """Whether an object has a text in a column that is named like a response's, or is a turn of a chat."""
    if "role" in row or "from" in row or not set(TEXTS).isdisjoint(row):
        return True
    return any(isinstance(value, str) and SAYS.match(str(name)) for name, value in row.items())


def _facts_of_key(name: str, known: Unfolding) -> dict[str, str]:
    """Return what the key of a list says of its rows: their image or id, or the part that they belong to."""
    if is_image_file(name):
        return {"image": name}
    if name.isdigit():
        return {tables.KEY: name}
    return parts_in(name, known.parts)


def _is_by_id(name: str, value: Row) -> bool:
    """Whether an object's keys are ids or images, and its values rows, or responses if its name says so."""
    if not value:
        return False
    for key, entry in value.items():
        is_entry = type(entry) is dict or (type(entry) is str and SAYS.match(name))
        if not is_entry or not (str(key).isdigit() or is_image_file(str(key))):
            return False
    return True


def _are_alike(lists: Sequence[Rows]) -> bool:
    """Whether lists have the same columns, a text and an id or a question among them."""
    first = set(lists[0].rows[0])
    says = not first.isdisjoint(TEXTS) or any(map(SAYS.match, first))
    if not says or first.isdisjoint(ABOUT):
        return False
    return all(set(part.rows[0]) == first for part in lists)


def _about(part: Rows) -> tuple[str, ...]:
    """Return what rows are about: their ids, images and questions."""
    facts = []
    for row in part.rows:
        values = []
        for name in IDS + QUESTIONS:
            if name not in TEXTS:
                values.append(row.get(name))
        facts.append(str(values))
    return tuple(facts)


def turns(chat: Sequence[Row]) -> dict[str, str]:
    """Return a chat's last `prompt` and `response`, and its `image`, as LLaVA's, OpenAI's and Qwen's files have them.

    What is not there is left out; {} if nobody speaks whom such files name. `TURNS` counts several responses.
    """
    stated = {}
    images = set()
    responses = 0
    for turn in chat:
        speaker = SPEAKERS.get(str(turn.get("role", turn.get("from"))))
        text = turn.get("content", turn.get("value"))
        if isinstance(text, list):  # a text beside images
            images.update(_images_in(text))
            text = "\n".join(_texts_in(text))
        if speaker and isinstance(text, str):
            stated[speaker] = text
            responses += speaker == "response"
    if responses > 1:
        stated[TURNS] = str(responses)
    if stated and len(images) == 1:
        stated["image"] = images.pop()
    return stated


def stands_alone(row: Row) -> bool:
    """Whether an object is a response or a sample, in which no rows are looked for, unless a chat is in its place."""
    own = OWN.intersection(row)
    return bool(own) and not all(_holds_chat(row[name]) for name in own)


def _holds_chat(cell: Any) -> bool:
    """Whether a cell is a chat with its prompt and response, or what transformers' pipelines return of one."""
    if not are_objects(cell):
        return False
    if len(cell) == 1:
        return _holds_chat(cell[0].get("generated_text"))
    return turns(cell).keys() >= {"prompt", "response"}


def _only_asks(chat: Sequence[Row]) -> bool:
    """Whether a list is a chat without a response, such as the messages that a response answers."""
    stated = turns(chat)
    return "prompt" in stated and "response" not in stated


def _texts_in(parts: Sequence[Any]) -> list[str]:
    """Return the texts, but empty ones, in the parts of a turn."""
    texts = []
    for part in parts:
        text = part.get("text") if isinstance(part, Mapping) else None
        if isinstance(text, str) and text:
            texts.append(text)
    return texts


def _images_in(parts: Sequence[Any]) -> list[str]:
    """Return the names of the image files in the parts of a turn."""
    files = []
    for part in parts:
        if not isinstance(part, Mapping):
            continue
        for key in PICTURES:
            file = file_in(address_in(part.get(key)))
            if is_image_file(file):
                files.append(file)
    return files


# Numbers beside rows


def numbers(row: Row, outer: Sequence[Any] = ()) -> Iterator[tuple[Sequence[Any], float]]:
    """Yield the numbers in an object of objects, each with its keys from outside in."""
    for name, value in row.items():
        keys = list(outer) + [name]
        if isinstance(value, Mapping):
            yield from numbers(value, keys)
        elif is_number(value):
            yield keys, value


def figures_in(row: Row) -> dict[str, float]:
    """Return the numbers in an object of objects by their last keys."""
    figures = {}
    for keys, value in numbers(row):
        figures[str(keys[-1])] = float(value)
    return figures
