"""Rows of a file of responses by their columns, with the location of each row."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from halluscope.reading.tables import Located

Row = Mapping[Any, Any]
T = TypeVar("T")


class Absent:
    """Stands in a column for a row that does not have the column."""


ABSENT = Absent()


def picked(values: Sequence[T], places: Iterable[int]) -> list[T]:
    """Return the values at some places."""
    return [values[place] for place in places]


def kinds(values: Iterable[Any]) -> set[type]:
    """Return the types of values."""
    return set(map(type, values))


class Lines(Sequence[str]):
    """The locations of a file's lines, made when they are asked for."""

    def __init__(self, file: str, numbers: Sequence[int]) -> None:
        self._file = file
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: Any) -> Any:
        return f"{self._file}, line {self._numbers[place]}"

    def take(self, places: Sequence[int]) -> "Lines":
        """Return the locations of some lines."""
        return Lines(self._file, picked(self._numbers, places))


def _locations(where: Sequence[str], places: Sequence[int]) -> Sequence[str]:
    """Return the locations of some rows."""
    if isinstance(where, Lines):
        return where.take(places)
    return picked(where, places)


class Table:
    """Rows of a file; a row may lack a column that others have.

    Args:
        source: the file, for messages.
        where: the location of each row, for messages.
        rows: the rows.
        columns: columns that rows have beside those in `rows`, or in their place; `ABSENT` where a row lacks one.
        names: all columns, in their order.
    """

    def __init__(
        self,
        source: str,
        where: Sequence[str],
        rows: Sequence[Row],
        columns: Mapping[Any, list[Any]],
        names: Collection[Any],
    ) -> None:
        self.source = source
        self.where = where
        self.columns = dict.fromkeys(names)
        self._rows = rows
        self._made = columns
        # made when they are asked for: a file may have very many columns
        self._cells: dict[Any, list[Any]] = {}

    @classmethod
    def of_rows(cls, source: str, located: Sequence[Located]) -> "Table":
        """Return the table of rows that are given with their locations."""
        where = []
        rows = []
        names: dict[Any, None] = {}
        last: tuple[Any, ...] = ()
        for place, row in located:
            where.append(place)
            rows.append(row)
            columns = tuple(row)
            if columns != last:
                names.update(dict.fromkeys(columns))
                last = columns
        return cls(source, where, rows, {}, names)

    def __len__(self) -> int:
        return len(self.where)

    @property
    def names(self) -> list[str]:
        """The names of the columns that any row has."""
        return [name for name in self.columns if isinstance(name, str)]

    def cells(self, name: Any) -> list[Any]:
        """Return a column's value in each row; None where a row lacks it."""
        if name not in self._cells:
            self._cells[name] = self._cells_of(name)
        return self._cells[name]

    def _cells_of(self, name: Any) -> list[Any]:
        if name not in self.columns:
            return [None] * len(self)
        if name not in self._made:
            return [row.get(name) for row in self._rows]
        cells = self._made[name]
        if Absent not in kinds(cells):
            return cells
        return [None if cell is ABSENT else cell for cell in cells]

    def has(self, place: int, name: Any) -> bool:
        """Whether a row has a column."""
        if name in self._made:
            return self._made[name][place] is not ABSENT
        return name in self.columns and name in self._rows[place]

    def cell(self, place: int, name: Any) -> Any:
        """Return a row's value in a column; `ABSENT` if it lacks the column."""
        if self.has(place, name):
            return self.cells(name)[place]
        return ABSENT

    def row(self, place: int) -> dict[Any, Any]:
        """Return one row."""
        row: dict[Any, Any] = {}
        if self._rows:
            row.update(self._rows[place])
        for name, cells in self._made.items():
            if cells[place] is not ABSENT:
                row[name] = cells[place]
        return row

    def rows(self) -> list[dict[Any, Any]]:
        """Return all rows."""
        return [self.row(place) for place in range(len(self))]

    def take(self, places: Sequence[int]) -> "Table":
        """Return some rows, in this order."""
        where = _locations(self.where, places)
        rows: Sequence[Row] = ()
        if self._rows:
            rows = picked(self._rows, places)
        columns = {}
        for name, cells in self._made.items():
            columns[name] = picked(cells, places)
        return Table(self.source, where, rows, columns, self.columns)

    def with_columns(self, columns: Mapping[Any, list[Any]]) -> "Table":
        """Return the table with more columns after its own, or other values in its own."""
        made = dict(self._made)
        made.update(columns)
        names = list(self.columns) + list(columns)  # `Table` has each once
        return Table(self.source, self.where, self._rows, made, names)

    def over(self, columns: Mapping[Any, list[Any]]) -> "Table":
        """Return the table with more columns before its own, which hold only where its rows have none of the name."""
        made = dict(self._made)
        for name, cells in columns.items():
            made[name] = list(cells)
            for place in range(len(self)):
                if self.has(place, name):
                    made[name][place] = self.cells(name)[place]
        names = list(columns) + list(self.columns)
        return Table(self.source, self.where, self._rows, made, names)
