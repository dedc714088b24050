"""What responses state about their rows: ids, images, addresses of images, questions and sets."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from halluscope.responses.column_facts import FEWEST_ROWS, question_in
from halluscope.responses.identity import (
    Identity,
    are_whole,
    images_of,
    last_part,
    plain_id,
    plain_image,
    question_of,
)
from halluscope.responses.image_urls import URLS, address_in, file_in
from halluscope.responses.names import IDS, IMAGES, QUESTIONS
from halluscope.responses.reading import Responses
from halluscope.responses.repeats import places_of_repeats
from halluscope.responses.table import ABSENT, Table

# A column that identifies a row together with its id -> the names that a response may use for the column. A
# name is used only if the value under it is a known one.
SYNONYMS = {"sampling": ("sampling", "category")}

# What a response may state about its row: nothing, the same, something else, or something that cannot be compared
SILENT, SAME, OTHER, STRANGE = range(4)

# A list of one value stands for the value in these columns
LISTS = (list, tuple, np.ndarray)


@dataclass(frozen=True)
class Case:
    """Responses, and the rows that they may belong to."""

    responses: Responses
    rows: Sequence[Any]
    identity: Identity

    def __len__(self) -> int:
        return len(self.responses)

    @property
    def source(self) -> str:
        """The file, for messages."""
        return self.responses.source

    @property
    def table(self) -> Table:
        """The rows that hold the responses."""
        return self.responses.table

    def where(self, place: int) -> str:
        """Return a response's location, for messages."""
        return self.table.where[place]

    @cached_property
    def wanted(self) -> list[Any]:
        """The rows that are scored."""
        return list(filter(self.identity.wanted, self.rows))

    @cached_property
    def first(self) -> list[Any]:
        """The rows that responses may belong to by their order: the first, if only the first responses were read."""
        if self.identity.options.limit:
            return self.wanted[: len(self)]
        return self.wanted

    @cached_property
    def questions(self) -> list[str]:
        """The columns in which responses may state questions."""
        questions = [name for name in QUESTIONS if name in self.table.columns]
        # where another column asks, the user names the responses', or none of many rows asks, `text` may hold right
        # answers or responses too
        may_say = len(questions) > 1 or self.identity.options.text_columns or len(self) >= FEWEST_ROWS
        if (
            "text" in questions
            and may_say
            and not any("?" in str(cell) for cell in self.responses.stated("text"))
        ):
            questions.remove("text")
        return questions

    @cached_property
    def images(self) -> list[str]:
        """The columns in which responses may name images, beside the id."""
        return [name for name in IMAGES if name in self.table.columns and not self._is_own_id(name)]

    @cached_property
    def urls(self) -> list[str]:
        """The columns in which responses may state the addresses of images."""
        return [name for name in URLS if name in self.table.columns and not self._is_own_id(name)]

    def _is_own_id(self, name: str) -> bool:
        return name in self.identity.id or name == self.identity.options.id_column

    @cached_property
    def known_images(self) -> set[str]:
        """The names of the images of all rows."""
        return {name for row in self.rows for name in images_of(row)}

    def holds(self, name: str) -> bool:
        """Whether a response has a value in a column."""
        return name in self.table.columns and any(is_value(cell) for cell in self.table.cells(name))

    def fills(self, name: str) -> bool:
        """Whether all responses have a value in a column."""
        if name not in self.table.columns:
            return False
        cells = self.table.cells(name)
        return are_whole(cells) or all(is_value(cell) for cell in cells)

    @cached_property
    def stated_questions(self) -> list[str]:
        """The dataset's question that each response states, with or without other words; "" for none."""
        known = {question_of(row) for row in self.rows} - {""}
        columns = [self.responses.stated(name) for name in self.questions]
        questions = []
        for place in range(len(self)):
            texts = [cells[place] for cells in columns if isinstance(cells[place], str)]
            questions.append(question_in(texts, known))
        return questions

    @cached_property
    def stated_images(self) -> list[str]:
        """The dataset's image that each response states, as `images_of` writes it; [] unless all state one."""
        names = [self.table.cells(name) for name in IMAGES]
        addresses = [self.table.cells(name) for name in self.urls]
        images = []
        for place in range(len(self)):
            values = [cells[place] for cells in names if type(cells[place]) in (str, int, float)]
            values += [file_in(address_in(cells[place])) for cells in addresses]
            image = self._known_image(values)
            if not image:
                return []
            images.append(image)
        return images

    def _known_image(self, values: Sequence[Any]) -> str:
        for value in values:
            image = plain_image(value)
            if image in self.known_images:
                return image
        return ""

    # Responses that a file holds twice

    def without_repeats(self) -> "Case | None":
        """Return the case without the responses that repeat an earlier one; None if no response does."""
        otherwise = [*self.questions, *self.identity.also_by]
        for column in self.identity.also:
            otherwise += [column, *SYNONYMS[column]]
        repeats = places_of_repeats(self.stated_ids(), self._plain_cells(otherwise), self.responses.texts)
        if not repeats:
            return None
        places = [place for place in range(len(self)) if place not in repeats]
        return replace(self, responses=self.responses.take(places))

    def stated_ids(self) -> list[tuple[str, ...]]:
        """Return the ids and images that each response states."""
        names = [*self.identity.id, *IDS, *self.urls]
        if self.identity.options.id_column:
            names.append(self.identity.options.id_column)
        return self._plain_cells(names)

    def _plain_cells(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return each response's values of some columns in their plain form; "" for none."""
        columns = []
        for name in dict.fromkeys(names):
            if name not in self.table.columns:
                continue
            plain = plain_image if name in IMAGES or name in self.urls else plain_id
            columns.append(["" if cell is None else plain(cell) for cell in self.responses.stated(name)])
        if not columns:
            return [()] * len(self)
        return list(zip(*columns, strict=True))


def is_value(cell: Any) -> bool:
    """Whether a cell holds a value: neither null nor an empty text."""
    return cell is not None and cell != ""


# Our names of what responses state

# The columns that state something about the row, in which a list of one value stands for the value
STATES = {*QUESTIONS, *IMAGES, *URLS, *(name for names in SYNONYMS.values() for name in names)}


def with_our_names(responses: Responses, identity: Identity) -> Responses:
    """Add, under our names, what responses state under other names, and the value of each list of one value."""
    written = responses.table
    table = _with_single_values(responses)
    for name, own in identity.also_by.items():
        if name in written.columns:
            cells = written.cells(name)
            if own == "file_name":
                cells = [last_part(cell) for cell in cells]
            table = table.with_columns({own: _where(written, name, cells, table, own)})
    for own, values in identity.also.items():
        table = _with_set(table, written, own, values)
    table = _with_parts_of_index(table, identity.index_columns)
    return replace(responses, table=table)


def _where(written: Table, name: str, cells: Sequence[Any], otherwise: Table, own: str) -> list[Any]:
    """Return a column's cells where rows have it, else those of another table's column."""
    others = otherwise.cells(own)
    chosen = []
    for place, cell in enumerate(cells):
        if written.has(place, name):
            chosen.append(cell)
        else:
            chosen.append(others[place] if otherwise.has(place, own) else ABSENT)
    return chosen


def _with_single_values(responses: Responses) -> Table:
    table = responses.table
    for name in STATES.intersection(table.columns):
        cells = table.cells(name)
        if not any(issubclass(kind, LISTS) for kind in set(map(type, cells))):
            continue
        single = []
        for place, cell in enumerate(cells):
            value = cell
            if isinstance(cell, LISTS) and len(cell) == 1 and responses.columns[place] != name:
                inner = cell[0].get("path") if isinstance(cell[0], Mapping) else cell[0]
                value = inner if isinstance(inner, str) else cell
            single.append(value if table.has(place, name) else ABSENT)
        table = table.with_columns({name: single})
    return table


def _with_set(table: Table, written: Table, own: str, values: Collection[str]) -> Table:
    """Add the column that names each row's set, from a column with another name."""
    synonyms = [name for name in SYNONYMS[own] if name in table.columns]
    if not synonyms:
        others = [name for name in written.columns if _names_sets(written, name, values)]
        return table.with_columns({own: written.cells(others[-1])}) if others else table
    if synonyms == [own]:
        return table
    sets = []
    for place, stated in enumerate(written.cells(own)):
        cell = table.cells(own)[place] if table.has(place, own) else ABSENT
        if not isinstance(stated, str) or not stated:
            for name in reversed(synonyms):
                text = table.cells(name)[place]
                if isinstance(text, str) and set(text.split(",")) <= set(values):
                    cell = text
        sets.append(cell)
    return table.with_columns({own: sets})


def _names_sets(table: Table, name: Any, values: Collection[str]) -> bool:
    """Whether each row has the name of a set in a column."""
    if not table.has(0, name):
        return False
    return all(isinstance(cell, str) and cell in values for cell in table.cells(name))


def _with_parts_of_index(table: Table, names: Sequence[str]) -> Table:
    """Add the columns whose values an `index` joins by "_", where a row has none of their names."""
    if not names or "index" not in table.columns:
        return table
    columns: dict[str, list[Any]] = {name: [ABSENT] * len(table) for name in names}
    for place, index in enumerate(table.cells("index")):
        parts = str("" if index is None else index).split("_")
        if len(parts) != len(names):
            continue
        for name, part in zip(names, parts, strict=True):
            columns[name][place] = part
    missing = {name: cells for name, cells in columns.items() if any(cell is not ABSENT for cell in cells)}
    return table.beneath(missing)
