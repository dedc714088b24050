"""Reads the rows of a benchmark's dataset: as `halluscope build` writes them, or as their authors published them.

A benchmark states its row as a frozen dataclass, and how one is read from checked fields.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from halluscope.errors import BuildError
from halluscope.files.opening import SHEETS, Readable, ending, json_rows
from halluscope.reading import tables
from halluscope.reading.datasets import Source, read_columns, read_once
from halluscope.reading.fields import Fields
from halluscope.sanitize import short_repr


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a dataset."""

    form: str = field(default="")  # its parallel form; "" for the original

    @property
    def row(self) -> dict[str, Any]:
        """The row as the dataset has it, without the image."""
        columns = dict(vars(self))
        del columns["form"]
        for name, value in columns.items():
            if isinstance(value, tuple):
                columns[name] = list(value)
        return columns


R = TypeVar("R", bound=Row)


class Rows(Generic[R]):
    """Reads the rows of one dataset."""

    row_type: ClassVar[type[Row]]
    dataset: ClassVar[str]  # the name of the dataset
    file: ClassVar[str]  # what the authors call their file
    id: ClassVar[str] = "id"
    needed: ClassVar[tuple[str, ...]]  # the columns that a dataset must have
    upstream: ClassVar[Mapping[str, str]] = {}  # our name of a column -> the authors', where they differ
    others: ClassVar[tuple[str, ...]] = ()  # further columns that are read where others published the rows
    # a column that only the authors' file has; "" if its rows are those without an id, None if rows are never theirs
    marker: ClassVar[str | None] = None
    before_image: ClassVar[str] = "file_name"  # the column that the image follows, if it is built

    @abstractmethod
    def parse(self, row: Fields) -> R:
        """Return a row of checked fields, by our names; of the authors' file too."""

    def features(self, with_image: bool = False) -> dict[str, Any]:
        """Return the types of the dataset's columns, which are the fields of a row."""
        from datasets import Image, List, Value

        number = Value("int64")
        text = Value("string")
        types: dict[Any, Any] = {int: number, str: text, str | None: text, tuple[str, ...]: List(text)}
        columns = {}
        for column in fields(self.row_type):
            if column.name == "form":
                continue
            columns[column.name] = types[column.type]
            if with_image and column.name == self.before_image:
                columns["image"] = Image()
        return columns

    def load(self, sources: Sequence[str]) -> list[R]:
        """Read datasets, or files of the authors, as users name them."""
        rows: list[Any] = []
        columns = set(self.upstream.values()).union(self.others)
        for column in fields(self.row_type):
            columns.add(column.name)
        for source in sources:
            path = Source.of(source).path
            if ending(path) in SHEETS:
                rows += self.read_upstream(path)
            else:
                rows += read_columns(source, columns)
        return self.read_all(rows, ", ".join(sources))

    def read_upstream(self, file: Readable) -> list[R]:
        """Read the authors' file, whatever its name, in its order."""
        rows: list[R]
        kind = ending(file) or ending(Path(self.file))
        if kind in (*SHEETS, ".parquet"):
            rows = read_once(tables.rows(file, tables.Choices(kind=kind)), self.read, self.id)
        else:
            rows = read_once(json_rows(file), self.read, self.id)
        if not rows:
            raise BuildError(f"{file} holds no rows; expected those of {self.file}.")
        return rows

    def read_all(self, rows: Iterable[Any], where: str = "references") -> list[R]:
        """Read rows, as the dataset or the authors' file has them; rows that were read before stay as they are."""
        return read_once(tables.numbered(where, rows), self.read, self.id)

    def read(self, row: Any, where: str, number: int = 0) -> R:
        """Read the row that stands there; `number` is its id if it has none."""
        if isinstance(row, self.row_type):
            return row  # type: ignore[return-value]
        expected = f"a row of the dataset {self.dataset}, or of {self.file}"
        if not isinstance(row, Mapping):
            raise ValueError(f"{where} is {short_repr(row)}; expected {expected}.")
        names: Mapping[str, str] = {}
        values = dict(row)
        if self.is_upstream(row):
            names = self.upstream
            values = self.renamed(row)
            values.setdefault(self.id, number)
        missing = []
        for name in self.needed:
            if name not in values:
                missing.append(repr(names.get(name, name)))
        if missing:
            lacks = " and no ".join(missing)
            raise ValueError(f"{where} has no {lacks}; expected {expected}.")
        return self.parse(Fields(values, where, names))

    def is_upstream(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is one of the authors' file."""
        if self.marker:
            return self.marker in row
        return self.marker == "" and self.id not in row

    def renamed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row of the authors' file by our names of its columns."""
        values = dict(row)
        for name, theirs in self.upstream.items():
            if theirs in row:
                values[name] = row[theirs]
        return values
