"""What responses state about their rows: ids, images, addresses of images, questions and sets."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from halluscope.responses.column_facts import FEWEST_ROWS, SENTENCE, common_ending, question_in
from halluscope.responses.identity import (
    Identity,
    are_whole,
    last_part,
    names_of_images,
    plain_id,
    plain_image,
    plain_object,
    questions_of,
    values_of,
)
from halluscope.responses.image_urls import URLS, address_in, file_in
from halluscope.responses.names import IDS, IMAGES, QUESTIONS, is_image_file, only_one_in
from halluscope.responses.reading import Responses
from halluscope.responses.repeats import places_of_repeats
from halluscope.responses.table import ABSENT, Table, kinds

# A column that identifies a row together with its id -> the names that a response may use for the column. A
# name is used only if the value under it is a known one.
SYNONYMS = {"sampling": ("sampling", "category")}

# What a response may state about its row: nothing, the same, something else, or something that cannot be compared
SILENT = 0
SAME = 1
OTHER = 2
STRANGE = 3

# What an instruction speaks of that a question may be followed by
_ANSWER = re.compile(r"\banswer|\byes\b", re.IGNORECASE)

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
        return [row for row in self.rows if self.identity.wanted(row)]

    @cached_property
    def rows_by_order(self) -> list[Any]:
        """The rows that responses may belong to by their order: the first, if only the first responses were read."""
        if self.identity.options.limit:
            return self.wanted[: len(self)]
        return self.wanted

    @cached_property
    def question_columns(self) -> list[str]:
        """The columns in which responses may state questions."""
        columns = [name for name in self._present(QUESTIONS) if not self._only_instructs(name)]
        # where another column asks, the user names the responses', or none of many rows asks, `text` may hold right
        # answers or responses too
        may_say = len(columns) > 1 or self.identity.options.text_columns or len(self) >= FEWEST_ROWS
        if "text" in columns and may_say and not self._asks("text"):
            columns.remove("text")
        return columns

    def _only_instructs(self, name: str) -> bool:
        """Whether a column has the same text in all of many rows: a piece of one, or how to answer the questions."""
        cells = self.responses.cells(name)
        text = cells[0]
        if not isinstance(text, str) or len(cells) < FEWEST_ROWS or cells.count(text) < len(cells):
            return False
        is_about_answers = len(text.split()) < SENTENCE or _ANSWER.search(text) is not None
        return is_about_answers and "?" not in text and len(set(questions_of(self.rows))) > 1

    def _asks(self, name: str) -> bool:
        """Whether a column has a question mark in any row where it does not hold the response."""
        return any("?" in str(cell) for cell in self.responses.cells(name))

    @cached_property
    def image_columns(self) -> list[str]:
        """The columns in which responses may name images, beside the id."""
        return self._beside_ids(IMAGES)

    @cached_property
    def address_columns(self) -> list[str]:
        """The columns in which responses may state the addresses of images."""
        return self._beside_ids(URLS)

    def _beside_ids(self, names: Sequence[str]) -> list[str]:
        """Return the columns that are present, but those for ids that the dataset or the user names."""
        columns = []
        for name in self._present(names):
            if name not in self.identity.id and name != self.identity.options.id_column:
                columns.append(name)
        return columns

    def _present(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if name in self.table.columns]

    @cached_property
    def object_columns(self) -> list[str]:
        """The column with the object that each response is about, if none states a question; [] if there is none."""
        if self.question_columns:
            return []
        known = {plain_object(getattr(row, "object", "")) for row in self.rows} - {""}
        if not known:
            return []
        columns = []
        for name in self.table.names:
            cells = self.responses.cells(name)
            if all(isinstance(cell, str) and plain_object(cell) in known for cell in cells):
                columns.append(name)
        if len(columns) > 1:  # the others may be objects that the question is not about
            return [name for name in columns if name == "object"]
        return columns

    @cached_property
    def known_images(self) -> set[str]:
        """The names of the images of all rows."""
        return names_of_images(self.rows)

    @property
    def states_ids(self) -> bool:
        """Whether a response has the id of a row, or the user says where ids are."""
        if self.identity.options.id_column:
            return True
        name = self.identity.id[0]
        known = {str(value) for value in values_of(self.rows, name)}
        return any(str(cell) in known for cell in self.table.cells(name))

    def holds(self, name: str) -> bool:
        """Whether a response has a value in a column."""
        return name in self.table.columns and any(map(is_value, self.table.cells(name)))

    def fills(self, name: str) -> bool:
        """Whether all responses have a value in a column."""
        if name not in self.table.columns:
            return False
        cells = self.table.cells(name)
        return are_whole(cells) or all(map(is_value, cells))

    @cached_property
    def stated_questions(self) -> list[str]:
        """The dataset's question that each response states, with or without other words; "" for none."""
        known = set(questions_of(self.rows)) - {""}
        questions = [question_in(self.asking_texts(place), known) for place in range(len(self))]
        if "" in questions:
            columns = [self.responses.cells(name) for name in self.question_columns]
            _find_before_ending(questions, columns, known)
        return questions

    def asking_texts(self, place: int) -> list[str]:
        """Return the texts that a response states in the columns for questions."""
        return [cell for cell in self._asking_cells[place] if isinstance(cell, str)]

    @cached_property
    def _asking_cells(self) -> list[tuple[Any, ...]]:
        return self._by_row([self.responses.cells(name) for name in self.question_columns])

    @cached_property
    def stated_images(self) -> list[str]:
        """The dataset's image that each response states, as `images_of` writes it; [] unless all state one."""
        names = self._by_row([self.table.cells(name) for name in self._present(IMAGES)])
        addresses = self._by_row([self.table.cells(name) for name in self.address_columns])
        images = []
        for place in range(len(self)):
            image = self._known_image(names[place], addresses[place])
            if not image:
                return []
            images.append(image)
        return images

    def _by_row(self, columns: Sequence[list[Any]]) -> list[tuple[Any, ...]]:
        """Return the cells of columns row by row."""
        if not columns:
            return [()] * len(self)
        return list(zip(*columns, strict=True))

    def _known_image(self, names: Sequence[Any], addresses: Sequence[Any]) -> str:
        """Return the first of the dataset's images among the names and the addresses of images; "" for none."""
        for name in names:
            if type(name) in (str, int, float) and plain_image(name) in self.known_images:
                return plain_image(name)
        for address in addresses:
            image = plain_image(file_in(address_in(address)))
            if image in self.known_images:
                return image
        return ""

    # Responses that a file holds twice

    def without_repeats(self) -> "Case | None":
        """Return the case without the responses that repeat an earlier one; None if no response does."""
        names = self.question_columns + list(self.identity.also_by)
        for column in self.identity.also:
            names.append(column)
            names.extend(SYNONYMS[column])
        repeats = places_of_repeats(self.stated_ids(), self._plain_cells(names), self.responses.texts)
        if not repeats:
            return None
        places = [place for place in range(len(self)) if place not in repeats]
        return replace(self, responses=self.responses.take(places))

    def stated_ids(self) -> list[tuple[str, ...]]:
        """Return the ids and images that each response states."""
        names = list(self.identity.id) + list(IDS) + self.address_columns
        if self.identity.options.id_column:
            names.append(self.identity.options.id_column)
        return self._plain_cells(names)

    def _plain_cells(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return each response's values of some columns in their plain form; "" for none."""
        columns = []
        for name in self._present(list(dict.fromkeys(names))):
            plain: Callable[[object], str] = plain_id
            if name in IMAGES or name in self.address_columns:
                plain = plain_image
            texts = []
            for cell in self.responses.cells(name):
                texts.append("" if cell is None else plain(cell))
            columns.append(texts)
        return self._by_row(columns)


def _find_before_ending(questions: list[str], columns: Sequence[list[Any]], known: Collection[str]) -> None:
    """Find those that are "" before what all texts of a column end with, such as how to answer.

    They have no question mark, or are of several sentences.
    """
    for cells in columns:
        if kinds(cells) != {str}:
            continue
        ending = common_ending(cells)
        for place, question in enumerate(questions):
            if not question:
                questions[place] = question_in([cells[place].removesuffix(ending)], known)


def is_value(cell: Any) -> bool:
    """Whether a cell holds a value: neither null nor an empty text."""
    return cell is not None and cell != ""


# Our names of what responses state

# The columns that state something about the row, in which a list of one value stands for the value
STATES = set(QUESTIONS).union(IMAGES, URLS, *SYNONYMS.values())


def with_our_names(responses: Responses, rows: Sequence[Any], identity: Identity) -> Responses:
    """Add, under our names, what responses state under other names, and the value of each list of one value."""
    before = responses.table
    table = _with_image(_with_single_values(responses), rows)
    for theirs, ours in identity.also_by.items():
        if theirs in before.columns:
            table = table.with_columns({ours: _renamed(table, before, theirs, ours)})
    for ours, values in identity.also.items():
        table = _with_set(table, before, ours, values)
    return replace(responses, table=_with_parts_of_index(table, identity.index_columns))


def _renamed(table: Table, before: Table, theirs: str, ours: str) -> list[Any]:
    """Return a column under our name, where rows have it under theirs, or else under ours."""
    cells = []
    for place, cell in enumerate(before.cells(theirs)):
        if not before.has(place, theirs):
            cells.append(table.cell(place, ours))
        elif ours == "file_name":
            cells.append(last_part(cell))
        else:
            cells.append(cell)
    return cells


def _with_image(table: Table, rows: Sequence[Any]) -> Table:
    """Add the image where no column is named like one, from the column that has the dataset's images in all rows."""
    if not table.columns.keys().isdisjoint(IMAGES):
        return table
    names = []
    for name, cell in table.row(0).items():
        if isinstance(cell, str) and is_image_file(cell):
            names.append(name)
    if not names:
        return table
    known = names_of_images(rows)
    for name in names:
        cells = table.cells(name)
        if all(isinstance(cell, str) and plain_image(cell) in known for cell in cells):
            return table.with_columns({"image": cells})
    return table


def _with_single_values(responses: Responses) -> Table:
    table = responses.table
    for name in STATES.intersection(table.columns):
        if not any(issubclass(kind, LISTS) for kind in kinds(table.cells(name))):
            continue
        cells = []
        for place in range(len(table)):
            cell = table.cell(place, name)
            if responses.columns[place] != name:
                cell = _single_value(cell)
            cells.append(cell)
        table = table.with_columns({name: cells})
    return table


def _single_value(cell: Any) -> Any:
    """Return the text, or the path of the image, in a list of one; any other cell as it is."""
    if not isinstance(cell, LISTS) or len(cell) != 1:
        return cell
    value = cell[0]
    if isinstance(value, Mapping):
        value = value.get("path")
    return value if isinstance(value, str) else cell


def _with_set(table: Table, before: Table, ours: str, values: Collection[str]) -> Table:
    """Add the column that names each row's set as the dataset does, from columns that may be called otherwise."""
    names = [name for name in SYNONYMS[ours] if name in table.columns]
    if not names:
        names = [name for name in before.columns if _tells_sets(before, name, values)][-1:]
    if not names:
        return table
    own_cells = table.cells(ours)
    if kinds(own_cells) == {str} and set(own_cells) <= set(values):  # the usual case; a loop is slow
        return table
    if _names_other_things(own_cells, values):
        own_cells = [None] * len(table)
        table = table.with_columns({ours: [ABSENT] * len(table)})
    sets = []
    for place, cell in enumerate(own_cells):
        if isinstance(cell, str) and cell:
            sets.append(_sets_in(cell, values) or cell)
        else:
            sets.append(_first_sets(table, place, names, values) or table.cell(place, ours))
    return table.with_columns({ours: sets})


def _names_other_things(cells: Sequence[Any], values: Collection[str]) -> bool:
    """Whether a column that is called as one of sets has different texts, and none names a set.

    So has one of the responses that another way of decoding gave. One word in all rows may be another set.
    """
    if kinds(cells) != {str} or len(set(cells)) < 2:
        return False
    return not any(_sets_in(cell, values) for cell in set(cells))


def _first_sets(table: Table, place: int, names: Sequence[str], values: Collection[str]) -> str:
    """Return the set, or the sets, in the first of some columns where a row names any; "" for none."""
    for name in names:
        sets = _sets_in(table.cells(name)[place], values)
        if sets:
            return sets
    return ""


def _sets_in(cell: Any, values: Collection[str]) -> str:
    """Return the set, or the sets ("a,b"), that a cell names in any case, also within other words; "" for none."""
    if not isinstance(cell, str):
        return ""
    if cell in values:
        return cell
    names = [name.strip() for name in cell.lower().split(",")]
    if set(names) <= set(values):
        return ",".join(names)
    return only_one_in(cell, values)


def _tells_sets(table: Table, name: Any, values: Collection[str]) -> bool:
    """Whether each cell of a column is the name of a set, or holds one, if they are not all the same.

    The same word in all rows may stand for something else, such as how the LVLM was trained.
    """
    if not table.has(0, name):
        return False
    sets = set()
    are_names = True
    for cell in table.cells(name):
        name_of_set = _sets_in(cell, values)
        if not name_of_set:
            return False
        sets.add(name_of_set)
        are_names = are_names and cell.strip().lower() == name_of_set
    return are_names or len(sets) > 1


def _with_parts_of_index(table: Table, names: Sequence[str]) -> Table:
    """Add the columns whose values an `index` joins by "_", where a row has none of their names."""
    if not names or "index" not in table.columns:
        return table
    columns: dict[str, list[Any]] = {}
    for place, index in enumerate(table.cells("index")):
        parts = str(index).split("_")
        if len(parts) == len(names):
            for name, part in zip(names, parts, strict=True):
                columns.setdefault(name, [ABSENT] * len(table))[place] = part
    return table.over(columns)
