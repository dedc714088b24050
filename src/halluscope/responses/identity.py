"""What a dataset says of its rows, by which responses find them: ids, images, questions, sets and right answers."""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any

from halluscope.options import MatchingOptions
from halluscope.responses.column_facts import REMEMBERED, plain_question
from halluscope.responses.image_urls import file_in
from halluscope.responses.names import IDS, IMAGES, is_image_file
from halluscope.responses.table import kinds
from halluscope.sanitize import one_line

LONGEST_ID = 400  # a longer text is no number and no image's name

_COCO = re.compile(r"(?:COCO_(?:train|val|test)\d{4}_)?(\d{12})(?:\.(?:jpe?g|png))?", re.IGNORECASE)


@dataclass(frozen=True)
class Identity:
    """How the rows of a dataset are found."""

    id: tuple[str, ...]  # the columns that identify a row; a response that has one of them must have all
    # column -> its values; such a column identifies a row together with `id`, if all responses have it
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # whether the responses determine which rows are scored; otherwise each wanted row needs a response,
    # within the sets of `set_of`
    partial_ok: bool = False
    # returns a row's set: if any row of a set has a response, all its rows need one. None for a row that
    # never needs a response
    set_of: Callable[[Any], Hashable] = lambda row: ""
    # whether a row is scored; if not, it is left out with its response
    wanted: Callable[[Any], bool] = lambda row: True
    # column of `also` -> the value that is wanted; responses with another value are left out
    only: Mapping[str, str] = field(default_factory=dict)
    options: MatchingOptions = MatchingOptions()
    # what is scored only as a whole, such as "both questions about an image"; "" if each row is scored by itself
    whole: str = ""
    prompt: str = ""  # what an LVLM is asked if rows have neither a question nor a prompt of their own
    # returns the name of an older published version of the questions, given rows and the prompts that responses to
    # them state; its rows are whole by themselves. "" for the dataset's own version, or an unknown one
    version_of: Callable[[Sequence[Any], Sequence[str]], str] = lambda rows, prompts: ""
    target: str = ""  # the rows' column with the right answer
    # the columns whose values an `index` may join by "_"
    index_columns: tuple[str, ...] = ()
    # columns of responses that together identify a row too -> the columns of the rows
    also_by: Mapping[str, str] = field(default_factory=dict)
    # whether responses without the rows' ids state their row by its image and its question
    by_question: bool = False
    # returns a row's right answers by the other known versions of the questions
    other_answers: Callable[[Any], Sequence[Any]] = lambda row: ()
    # whether texts are the right answers to rows by a known version whose answers only a digest tells
    are_corrected: Callable[[Sequence[Any], Sequence[str | None]], bool] = lambda rows, texts: False
    # returns the row that a response states whole, with the right answer, given its place; None if it states none
    stated_row: Callable[[Mapping[str, Any], str, int], Any] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that identify a row; if it is one, all where a response's id is looked for, in this order."""
        if len(self.id) > 1:
            return self.id
        others = [name for name in IDS if name not in self.id]
        if self.id[0] not in IMAGES:  # then an image is no id
            others = [name for name in others if name not in IMAGES]
        return self.id + tuple(others)

    def prompt_of(self, row: Any) -> str:
        """Return the prompt for a row of a dataset without questions; "" if its rows have questions."""
        if not self.prompt:
            return ""
        return getattr(row, "prompt", "") or self.prompt

    def sets(self, rows: Sequence[Any]) -> dict[str, list[Any]]:
        """Return rows by their values of `also`, as messages name them, such as "sampling random"; "" for no values."""
        sets: dict[str, list[Any]] = {}
        for row in rows:
            values = []
            for column in self.also:
                if getattr(row, column):
                    values.append(f"{column} {getattr(row, column)}")
            sets.setdefault(", ".join(values), []).append(row)
        return sets

    def named(self, row: Any) -> str:
        """Name a row, for messages, by what identifies it."""
        key = {}
        for name in self.id + tuple(self.also):
            value = getattr(row, name)
            if value or name in self.id:
                key[name] = plain_id(value)
        return named(list(key), tuple(key.values()))


# The values of one column, or of several, by which rows are told apart
Key = str | int | tuple[str | int, ...]


def named(names: Sequence[str], key: Key) -> str:
    """Name a row, for messages, by some columns and their values."""
    if not isinstance(key, tuple):
        key = (key,)
    return ", ".join(f"{name} {one_line(str(value), 80)}" for name, value in zip(names, key, strict=False))


# What rows state, in forms that are equal where the same is meant


def question_of(row: Any) -> str:
    """Return a row's question, with single spaces; "" if it asks none."""
    return plain_question(getattr(row, "question", "") or "")


def questions_of(rows: Sequence[Any]) -> list[str]:
    """Return the question of each row."""
    return [question_of(row) for row in rows]


def address_of(row: Any) -> str:
    """Return where a row's image was published; "" if that is not known."""
    return getattr(row, "url", "") or getattr(row, "image_url", "") or ""


def images_of(row: Any) -> tuple[str, ...]:
    """Return the names of a row's image: its file's, its id, and its address's."""
    images: dict[str, None] = {}
    for name in (getattr(row, "file_name", ""), getattr(row, "image_id", None), file_in(address_of(row))):
        if name not in ("", None):
            images[plain_image(name)] = None
    return tuple(images)


def names_of_images(rows: Sequence[Any]) -> set[str]:
    """Return the names of the images of some rows."""
    names: set[str] = set()
    for row in rows:
        names.update(images_of(row))
    return names


def values_of(rows: Sequence[Any], name: str) -> list[Any]:
    """Return each row's value of a column."""
    return list(map(attrgetter(name), rows))


def keys_in(columns: Sequence[list[Any]]) -> list[Key]:
    """Return the key of each row: its value in the only column, or its values in several."""
    if len(columns) == 1:
        return columns[0]
    return list(zip(*columns, strict=True))


def are_whole(values: Sequence[Any]) -> bool:
    """Whether all values are whole numbers, which need no plain form among themselves."""
    return kinds(values) == {int}


def ids_of_files(rows: Sequence[Any], id_column: str) -> dict[str, str]:
    """Return the id of each image's file; by the last part of its path too, if that is no other's."""
    ids = {}
    by_last_part: dict[str, list[str]] = {}
    for row in rows:
        if getattr(row, "file_name", ""):
            file = str(row.file_name)
            ids[file] = plain_id(getattr(row, id_column))
    for file, key in ids.items():
        by_last_part.setdefault(last_part(file), []).append(key)
    for base, keys in by_last_part.items():
        if len(keys) == 1:
            ids.setdefault(base, keys[0])
    return ids


def plain_id(value: object) -> str:
    """Return an id as text: 7, 7.0, "007" and "COCO_val2014_000000000007.jpg" are the same id."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    if type(value) is int or len(text) > LONGEST_ID:
        return text
    return _plain_text(text)


@lru_cache(REMEMBERED)
def _plain_text(text: str) -> str:
    coco = _COCO.fullmatch(last_part(text))
    if coco:
        text = coco[1]
    whole = text.removesuffix(".0")
    if whole.isascii() and whole.isdigit():
        return whole.lstrip("0") or "0"
    return text


def plain_image(name: object) -> str:
    """Return the name of an image without folders, as `plain_id` writes it."""
    base = last_part(name)
    if "%" in base or "?" in base:
        base = file_in(str(name))
    return plain_id(base)


def plain_stem(name: object) -> str:
    """Return the name of an image's file as images are compared, without its ending."""
    image = plain_image(name)
    if not is_image_file(image):
        return image
    return plain_id(image.rpartition(".")[0])


def last_part(name: object) -> str:
    """Return the last part of a path."""
    return str(name).replace("\\", "/").rstrip("/").rpartition("/")[2]


@lru_cache(REMEMBERED)
def plain_object(name: str) -> str:
    """Return an object's name as objects are compared: "Dining_Table" and "dining table" are the same."""
    return single_spaced(name.replace("_", " ")).casefold()


def single_spaced(value: object) -> str:
    """Return a value as text with each run of white space as one space."""
    return " ".join(str(value).split())
