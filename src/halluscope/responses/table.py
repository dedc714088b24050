"""Rows of a file of responses by their columns, with the location of each row."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from halluscope.reading.tables import Located

Row = Mapping[Any, Any]


class Absent:
    """Stands in a column for a row that does not have the column."""


ABSENT = Absent()


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
        return Lines(self._file, [self._numbers[place] for place in places])


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
        self._given = columns
        # made when they are asked for: a file may have very many columns
        self._cells: dict[Any, list[Any]] = {}

    @classmethod
    def of_rows(cls, source: str, located: Sequence[Located]) -> "Table":
        """Return the table of rows that are given with their locations."""
        where = [place for place, _ in located]
        rows = [row for _, row in located]
        names: dict[Any, None] = {}
        for columns in dict.fromkeys(map(tuple, rows)):
            names.update(dict.fromkeys(columns))
        return cls(source, where, rows, {}, names)

    def __len__(self) -> int:
        return len(self.where)

    @property
    def is_flat(self) -> bool:
        """Whether the table was read column by column, so that no cell holds an object."""
        return not self._rows

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
        if name in self._given:
            cells = self._given[name]
            if Absent not in set(map(type, cells)):
                return cells
            return [None if cell is ABSENT else cell for cell in cells]
        if name in self.columns:
            return [row.get(name) for row in self._rows]
        return [None] * len(self)

    def has(self, place: int, name: Any) -> bool:
        """Whether a row has a column."""
        if name in self._given:
            return self._given[name][place] is not ABSENT
        return name in self.columns and name in self._rows[place]

    def row(self, place: int) -> dict[Any, Any]:
        """Return one row."""
        row = dict(self._rows[place]) if self._rows else {}
        for name, cells in self._given.items():
            if cells[place] is not ABSENT:
                row[name] = cells[place]
        return row

    def rows(self) -> list[dict[Any, Any]]:
        """Return all rows."""
        return [self.row(place) for place in range(len(self))]

    def take(self, places: Sequence[int]) -> "Table":
        """Return some rows, in this order."""
        where: Sequence[str]
        if isinstance(self.where, Lines):
            where = self.where.take(places)
        else:
            where = [self.where[place] for place in places]
        rows = [self._rows[place] for place in places] if self._rows else ()
        given = {}
        for name, cells in self._given.items():
            given[name] = [cells[place] for place in places]
        return Table(self.source, where, rows, given, self.columns)

    def with_columns(self, columns: Mapping[Any, list[Any]]) -> "Table":
        """Return the table with more columns after its own, or other values in its own."""
        names = [*self.columns, *columns]
        return Table(self.source, self.where, self._rows, {**self._given, **columns}, names)

    def beneath(self, columns: Mapping[Any, list[Any]]) -> "Table":
        """Return the table with more columns before its own, where its rows have none of these names."""
        given = dict(self._given)
        for name, cells in columns.items():
            own = self.cells(name)
            given[name] = [own[place] if self.has(place, name) else cell for place, cell in enumerate(cells)]
        return Table(self.source, self.where, self._rows, given, [*columns, *self.columns])
