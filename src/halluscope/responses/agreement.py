"""Checks that nothing that responses state contradicts their rows: different sets of questions share their ids."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from halluscope.responses.column_facts import plain_question
from halluscope.responses.identity import (
    address_of,
    images_of,
    plain_id,
    plain_image,
    plain_object,
    plain_stem,
)
from halluscope.responses.image_urls import address_in, contradicts, file_in
from halluscope.responses.names import IMAGES, QUESTIONS, is_image_file
from halluscope.responses.stated import OTHER, SAME, SILENT, STRANGE, SYNONYMS, Case
from halluscope.responses.table import kinds, picked
from halluscope.sanitize import short_repr

# The columns for the whole prompt
WHOLE_PROMPTS = ("prompt", "query", "instruction")
# In datasets without questions, a question is a prompt
PROMPTS_OR_QUESTIONS = WHOLE_PROMPTS + ("question",)

_STOPS = str.maketrans("?!", "..")

# What files and tables have where they state nothing, as text
NOTHING = {"", "None", "nan", "[]", "{}", "()"}


@dataclass(frozen=True)
class Pairs:
    """Responses and their rows, as one way of matching gives them."""

    way: str  # what they are matched by
    rows: list[Any]
    places: list[int]  # the place of each row's response
    needed: int  # the number of rows that need a response
    # by column, what each response states in it about its row
    states: dict[str, list[int]] = field(default_factory=dict)

    @property
    def uncompared(self) -> dict[str, int]:
        """How many responses state something in a column that cannot be compared; columns without any are left out."""
        counts = {}
        for column, states in self.states.items():
            if STRANGE in states:
                counts[column] = states.count(STRANGE)
        return counts

    def states_same(self, number: int) -> bool:
        """Whether the response of a pair states something that is its row's."""
        return any(states[number] == SAME for states in self.states.values())


@dataclass(frozen=True)
class _Contradiction:
    """A response that states something else than its row."""

    number: int  # of the pair
    column: str
    value: Any
    expected: Any

    def error(self, case: Case, pairs: Pairs) -> ValueError:
        """Return the error that says so."""
        where = case.where(pairs.places[self.number])
        row = case.identity.named(pairs.rows[self.number])
        advice = ""
        if self.column in QUESTIONS:
            advice = (
                f" If the same was asked in other words, leave {self.column} out, and say so beside the score: it may "
                "not be comparable with others."
            )
        return ValueError(
            f"{where} ({row}, matched by {pairs.way}) has the {self.column} {short_repr(self.value, 120)}, but "
            f"its row in the dataset has {short_repr(self.expected, 120)}. Are these responses to another file or "
            f"sampling, or in another order?{advice}"
        )


def agreeing(
    case: Case, way: str, rows: list[Any], places: list[int] | None = None, needed: int | None = None
) -> Pairs:
    """Return responses and their rows, after checking that nothing contradicts.

    Args:
        case: the responses.
        way: what they are matched by.
        rows: their rows.
        places: the place of each row's response; without them, rows and responses are in the same order.
        needed: the number of rows that need a response, if not all wanted ones do.
    """
    if places is None:
        places = list(range(len(rows)))
    if needed is None:
        needed = len(case.wanted)
    pairs = Pairs(way, rows, places, needed)
    for column in case.question_columns:
        pairs.states[column] = _states(case, pairs, column, "question")
    for column in case.image_columns:
        if column == "image_id":
            pairs.states[column] = _states(case, pairs, column, "image_id", "file_name")
        else:
            pairs.states[column] = _states(case, pairs, column, "file_name", "image_id")
    for name in case.identity.also:
        for column in SYNONYMS[name]:
            if column in case.table.columns:
                pairs.states[column] = _states(case, pairs, column, column)
    for column in case.object_columns:
        pairs.states[column] = _states_of_objects(case, pairs, column)
    for column in case.address_columns:
        pairs.states[column] = _states_of_addresses(case, pairs, column)
    return pairs


def _states(case: Case, pairs: Pairs, column: str, name: str, otherwise: str = "") -> list[int]:
    """Return what each response states in a column about its row.

    Args:
        case: the responses.
        pairs: the responses and their rows.
        column: the column of the responses.
        name: the column of the rows.
        otherwise: the column of the rows where that is empty.
    """
    expected = [getattr(row, name, "") or getattr(row, otherwise, "") for row in pairs.rows]
    cells = case.responses.cells(column)
    values = picked(cells, pairs.places)
    equal = SILENT
    if column in QUESTIONS or column in IMAGES:
        equal = SAME
    if kinds(values) == {str} and values == expected:
        return [equal] * len(values)
    states = []
    for number, value in enumerate(values):
        state = equal
        if value is None:
            state = SILENT
        elif not isinstance(value, str) or value != expected[number]:
            state = _state(case, column, value, expected[number], pairs.rows[number])
        if state == OTHER:
            raise _Contradiction(number, column, value, expected[number]).error(case, pairs)
        states.append(state)
    return states


def _state(case: Case, column: str, value: Any, expected: Any, row: Any) -> int:
    """Return what a value states about a row that has another value, or none."""
    if isinstance(value, str | float | list | tuple | Mapping) and str(value).strip() in NOTHING:
        return SILENT
    if column in IMAGES:
        return _state_of_image(value, row, case.known_images)
    if column in QUESTIONS:
        return _state_of_question(case, column, value, expected)
    # it names a set
    if not isinstance(value, str):
        return STRANGE
    if column in case.identity.also and expected and expected not in value.split(","):
        return OTHER
    return SILENT


def _state_of_question(case: Case, column: str, value: Any, expected: str) -> int:
    if not isinstance(value, str):
        is_prompt = case.identity.prompt and column in PROMPTS_OR_QUESTIONS
        return STRANGE if expected or is_prompt else SILENT
    if not expected:
        return SILENT
    return SAME if asks(value, expected) else OTHER


def asks(text: str, question: str) -> bool:
    """Whether a text asks a question: it stands in it, whichever mark ends a sentence."""
    return question in text or _with_stops(question) in _with_stops(text.replace("\\n", " "))


def _with_stops(question: str) -> str:
    """Return a question with full stops for the other marks that end sentences: authors print the same with either."""
    return plain_question(question).translate(_STOPS)


def names_another_image(value: Any, row: Any, known: Collection[str]) -> bool:
    """Whether a value names the image of another row, given the names of all rows' images."""
    if not isinstance(value, str | int | float):
        return False
    names = _names_of_image(value)
    return names.isdisjoint(images_of(row)) and not names.isdisjoint(known)


def _names_of_image(value: Any) -> set[str]:
    """Return what a value may call an image: a file's name may be the image's id with an ending."""
    return {plain_image(value), plain_stem(value)}


def _state_of_image(value: Any, row: Any, known: Collection[str]) -> int:
    number = getattr(row, "image_id", None)
    file = getattr(row, "file_name", "")
    if number is None and not file:
        return SILENT
    if isinstance(value, bool | list | tuple | np.ndarray):
        return STRANGE
    if not isinstance(value, str | int | float):
        # an image itself, as in a dataset's row, says nothing
        is_unknown = isinstance(value, Mapping) and "bytes" not in value
        return STRANGE if is_unknown else SILENT
    if not _names_of_image(value).isdisjoint(images_of(row)):
        return SAME
    if names_another_image(value, row, known):
        return OTHER
    is_file = isinstance(value, str) and is_image_file(value)
    if file and is_file:
        return OTHER
    if plain_id(value).isdigit():
        return SILENT if number is None else OTHER
    return SILENT if is_file else STRANGE


def _states_of_objects(case: Case, pairs: Pairs, column: str) -> list[int]:
    """Return which responses state the object of their row; none may have another row's."""
    cells = case.table.cells(column)
    states = []
    for number, place in enumerate(pairs.places):
        expected = getattr(pairs.rows[number], "object", "")
        if expected and plain_object(cells[place]) != plain_object(expected):
            contradiction = _Contradiction(number, column, cells[place], expected).error(case, pairs)
            raise ValueError(f"{contradiction} If they ask about another object, leave {column} out.")
        states.append(SAME if expected else SILENT)
    return states


def _states_of_addresses(case: Case, pairs: Pairs, column: str) -> list[int]:
    """Return where the addresses of images are those of the rows' images; no row may have another row's."""
    cells = case.table.cells(column)
    states = []
    for number, place in enumerate(pairs.places):
        address = address_in(cells[place])
        file = file_in(address)
        if not file:
            states.append(SILENT)
            continue
        row = pairs.rows[number]
        image = plain_image(file)
        images = images_of(row)
        known = address_of(row)
        if contradicts(file, image, images, case.known_images, bool(known)):
            expected = known or getattr(row, "file_name", "") or getattr(row, "image_id", "")
            raise _Contradiction(number, column, address, expected).error(case, pairs)
        states.append(SAME if image in images else SILENT)
    return states
