"""Checks that nothing that responses state contradicts their rows: different sets of questions share their ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from halluscope.responses.column_facts import plain_question
from halluscope.responses.identity import address_of, images_of, plain_id, plain_image
from halluscope.responses.image_urls import address_in, contradicts, file_in
from halluscope.responses.names import IMAGES, QUESTIONS, is_image_file
from halluscope.responses.stated import OTHER, SAME, SILENT, STRANGE, SYNONYMS, Case
from halluscope.sanitize import short_repr

# The columns for the whole prompt
STATED = ("prompt", "query", "instruction")
PROMPTS = (*STATED, "question")  # in datasets without questions, a question is a prompt

# What files and tables have where they state nothing, as text
NOTHING = {"", "None", "nan", "[]", "{}", "()"}


@dataclass(frozen=True)
class Pairs:
    """Responses and their rows, as one way of matching gives them."""

    by: str
    rows: list[Any]
    places: list[int]  # the place of each row's response
    needed: int  # the number of rows that need a response
    # by column, what each response states in it about its row
    stated: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def uncompared(self) -> dict[str, int]:
        """How many responses state something in a column that cannot be compared; columns without any are left out."""
        counts = {column: states.count(STRANGE) for column, states in self.stated.items()}
        return {column: count for column, count in counts.items() if count}

    def states_same(self, number: int) -> bool:
        """Whether the response of a pair states something that is its row's."""
        return any(states[number] == SAME for states in self.stated.values())


def agreeing(case: Case, by: str, rows: list[Any], places: list[int], needed: int) -> Pairs:
    """Return responses and their rows, after checking that nothing contradicts.

    Args:
        case: the responses.
        by: what they are matched by.
        rows: their rows.
        places: the place of each row's response.
        needed: the number of rows that need a response.
    """
    stated: dict[str, list[int]] = {}
    for column in case.questions:
        owns = [getattr(row, "question", "") or "" for row in rows]
        stated[column] = _states(case, by, column, rows, places, owns)
    for column in case.images:
        owns = [getattr(row, "file_name", "") or getattr(row, "image_id", "") for row in rows]
        stated[column] = _states(case, by, column, rows, places, owns)
    for own in case.identity.also:
        for column in case.table.columns:
            if column in SYNONYMS[own]:
                owns = [getattr(row, column, "") for row in rows]
                stated[column] = _states(case, by, column, rows, places, owns)
    for column in case.urls:
        stated[column] = _states_of_addresses(case, by, column, rows, places)
    return Pairs(by, rows, places, needed, stated)


def _states(
    case: Case, by: str, column: str, rows: Sequence[Any], places: Sequence[int], owns: Sequence[Any]
) -> list[int]:
    """Return what each response states in a column about its row."""
    cells = case.responses.stated(column)
    values = [cells[place] for place in places]
    equal = SAME if column in QUESTIONS or column in IMAGES else SILENT
    if set(map(type, values)) == {str} and values == owns:
        return [equal] * len(values)
    states = []
    for number, value in enumerate(values):
        if value is None:
            state = SILENT
        elif isinstance(value, str) and value == owns[number]:
            state = equal
        else:
            state = _state(case, column, value, owns[number], rows[number])
        if state == OTHER:
            where = case.where(places[number])
            raise _contradiction(case, where, by, rows[number], column, value, owns[number])
        states.append(state)
    return states


def _state(case: Case, column: str, value: Any, own: Any, row: Any) -> int:
    """Return what a value states about a row that has another value, or none."""
    if isinstance(value, str | float | list | tuple | Mapping) and str(value).strip() in NOTHING:
        return SILENT
    if column in IMAGES:
        return _state_of_image(value, row)
    if column in QUESTIONS:
        return _state_of_question(case, column, value, own)
    # it names a set
    if not isinstance(value, str):
        return STRANGE
    is_other = column in case.identity.also and own and own not in value.split(",")
    return OTHER if is_other else SILENT


def _state_of_question(case: Case, column: str, value: Any, own: str) -> int:
    if not isinstance(value, str):
        return STRANGE if own or (case.identity.prompt and column in PROMPTS) else SILENT
    if not own:
        return SILENT
    # a question agrees if the dataset's stands in it
    if own in value or plain_question(own) in plain_question(value.replace("\\n", " ")):
        return SAME
    return OTHER


def _state_of_image(value: Any, row: Any) -> int:
    number = getattr(row, "image_id", None)
    file = getattr(row, "file_name", "")
    if number is None and not file:
        return SILENT
    if isinstance(value, bool | list | tuple | np.ndarray):
        return STRANGE
    if not isinstance(value, str | int | float):
        # an image itself, as in a dataset's row, says nothing
        return STRANGE if isinstance(value, Mapping) and "bytes" not in value else SILENT
    if plain_image(value) in images_of(row):
        return SAME
    is_file = isinstance(value, str) and is_image_file(value)
    if plain_id(value).isdigit() or (file and is_file):
        own = file if file and is_file else number
        return SILENT if own is None else OTHER
    return SILENT if is_file else STRANGE


def _states_of_addresses(
    case: Case, by: str, column: str, rows: Sequence[Any], places: Sequence[int]
) -> list[int]:
    """Return where the addresses of images are those of the rows' images; no row may have another row's."""
    cells = case.table.cells(column)
    states = []
    for row, place in zip(rows, places, strict=True):
        address = address_in(cells[place])
        file = file_in(address)
        if not file:
            states.append(SILENT)
            continue
        own = images_of(row)
        known = address_of(row)
        if contradicts(file, plain_image(file), own, case.known_images, bool(known)):
            shown = known or getattr(row, "file_name", "") or getattr(row, "image_id", "")
            raise _contradiction(case, case.where(place), by, row, column, address, shown)
        states.append(SAME if plain_image(file) in own else SILENT)
    return states


def _contradiction(
    case: Case, where: str, by: str, row: Any, column: str, value: Any, own: Any
) -> ValueError:
    return ValueError(
        f"{where} ({case.identity.named(row)}, matched by {by}) has the {column} {short_repr(value, 120)}, but "
        f"its row in the dataset has {short_repr(own, 120)}. Are these responses to another file or sampling, or "
        "in another order?"
    )
