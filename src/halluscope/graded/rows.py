"""Reads the rows of a graded benchmark by the columns that its data file declares."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, is_dataclass, make_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, ending, json_rows
from halluscope.reading import tables
from halluscope.reading.datasets import Source, once_by_id, read_columns, read_once
from halluscope.reading.fields import Fields
from halluscope.sanitize import short_repr

_LISTS = {"words": "a list of words", "answers": "at least one right answer, each a text"}
"""The kinds of columns that hold a list of texts -> what is expected of them."""


@dataclass(frozen=True)
class Column:
    """A column of a dataset, as a data file declares it."""

    name: str
    kind: str = "text"  # or "whole", one of `_LISTS`, or a key of `Schema.kinds`
    upstream: str = ""  # its name in the authors' file, if that differs
    digits: str = ""  # where a whole number may be a text: "" nowhere, "upstream", or "always"
    values: Sequence[str] = ()  # the only texts that are allowed; () allows all
    optional: bool = False  # whether the text may be missing
    default: str | None = None  # the value of a missing text
    needed: bool = True  # whether a dataset must have the column
    derived: bool = False  # whether `Schema.derive` makes it from the others
    own: bool = False  # whether it tells the dataset's rows from responses
    digest: bool = True  # whether it is in the digest of the data in a signature
    join: str = ", "  # what stands between the texts of a list in a prompt

    def read(self, row: Fields, is_upstream: bool) -> Any:
        """Return the column's value in a row."""
        if self.kind == "whole":
            return row.whole(self.name, or_digits=self.digits in ("always", *["upstream"] * is_upstream))
        if self.values:
            return row.one_of(self.name, self.values)
        if self.kind == "text":
            return (row.text_or_none(self.name) or self.default) if self.optional else row.text(self.name)
        texts = row.words(self.name, _LISTS[self.kind])
        if self.kind == "answers" and not (texts and all(text.strip() for text in texts)):
            raise row.wrong(self.name, _LISTS[self.kind])
        return texts

    def shown(self, value: Any) -> str:
        """Return a value as a prompt shows it."""
        return self.join.join(value) if self.kind in _LISTS else str(value or "")

    @property
    def feature(self) -> Any:
        """The column's type in a Parquet file."""
        from datasets import List, Value

        one = Value("int64" if self.kind == "whole" else "string")
        return List(one) if self.kind in _LISTS else one


class Row:
    """A row of a dataset: an attribute per column, and `form`, its parallel form ("" for the original)."""

    id: int
    form: str

    @property
    def row(self) -> dict[str, Any]:
        """The row as the dataset has it, without the image."""
        values = asdict(self)  # type: ignore[call-overload]
        return {name: _plain(value) for name, value in values.items() if name != "form"}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Schema:
    """What a row of a benchmark is."""

    name: str
    columns: Mapping[str, Column]
    file: str  # the name of the authors' file
    marker: str  # a column that only the authors' file has; "" if its rows are those without an id
    derive: Callable[[Mapping[str, Any]], Mapping[str, Any]]  # values of a row -> its derived columns
    rename: Callable[[Mapping[str, Any]], dict[str, Any]]  # a row of the authors' file -> our columns
    kinds: Mapping[str, tuple[Callable[[Fields, str], Any], Callable[[], Any]]]  # own kinds: reader, feature
    id: str = "id"  # the column that identifies a row

    @cached_property
    def row_type(self) -> Any:
        """The dataclass of a row."""
        parts: list[Any] = [*self.columns, ("form", str, "")]
        own = {} if self.id == "id" else {"id": property(lambda row: getattr(row, self.id))}
        return make_dataclass(self.name.title(), parts, bases=(Row,), frozen=True, namespace=own)

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """The columns that a dataset must have."""
        return tuple(name for name, one in self.columns.items() if one.needed and not one.derived)

    def load(self, sources: Sequence[str]) -> list[Any]:
        """Read the dataset: built folders, Hub ids, or the authors' file."""
        return self.read_all((row for source in sources for row in self._rows(source)), ", ".join(sources))

    def _rows(self, source: str) -> Iterable[Any]:
        named = Source.of(source)
        if ending(Path(named.name)) == ".csv":
            return self.read_upstream(named.path)
        rows: Iterable[Any] = read_columns(
            source, (*self.columns, "form"), self.needed, f"the dataset {self.name}"
        )
        return rows

    def read_upstream(self, file: Readable) -> list[Any]:
        """Read the authors' file, in its order, or raise a BuildError."""
        located = tables.rows(file) if ending(file) in (".csv", ".parquet") else json_rows(file)
        try:
            rows = once_by_id(
                (self.read(row, where, number), where) for number, (where, row) in enumerate(located)
            )
        except ValueError as error:
            raise BuildError(str(error)) from error
        if not rows:
            raise BuildError(f"{file} holds no rows; expected those of {self.file}.")
        return rows

    def read_all(self, rows: Iterable[Any], where: str = "references") -> list[Any]:
        """Read rows of the dataset or of the authors' file; no id may come twice."""
        return read_once(rows, where, self.read)

    def read(self, row: Any, where: str, number: int = 0) -> Any:
        """Read a row; one that was read before is returned unchanged.

        Args:
            row: a row of the dataset, or of the authors' file.
            where: the place of the row, for messages.
            number: its index among the rows, which is its id if it has none.
        """
        if isinstance(row, self.row_type):
            return row
        expected = f"a row of the dataset {self.name}, or of {self.file}"
        if not isinstance(row, Mapping):
            raise ValueError(f"{where} is {short_repr(row)}; expected {expected}.")
        is_upstream = self.marker in row if self.marker else self.id not in row
        names = (
            {name: one.upstream for name, one in self.columns.items() if one.upstream} if is_upstream else {}
        )
        values = {self.id: number, **self.rename(row)} if is_upstream else dict(row)
        if missing := [names.get(name) or name for name in self.needed if name not in values]:
            raise ValueError(f"{where} has no {' and no '.join(map(repr, missing))}; expected {expected}.")
        fields = Fields(values, where, names)
        found = {
            name: self._value(one, fields, is_upstream)
            for name, one in self.columns.items()
            if not one.derived
        }
        found |= self.derive(found)
        return self.row_type(**{name: found[name] for name in self.columns}, form=str(row.get("form") or ""))

    def _value(self, column: Column, fields: Fields, is_upstream: bool) -> Any:
        if column.kind in self.kinds:
            return self.kinds[column.kind][0](fields, column.name)
        return column.read(fields, is_upstream)

    def renamed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row of the authors' file under our names, with the columns that it has."""
        named = {name: one.upstream or name for name, one in self.columns.items()}
        return {name: row[theirs] for name, theirs in named.items() if theirs in row}

    def features(self, *names: str) -> dict[str, Any]:
        """Return the types of columns in a Parquet file, among them "image"; by default of all columns, without it."""
        from datasets import Image

        return {name: Image() if name == "image" else self._feature(name) for name in names or self.columns}

    def _feature(self, name: str) -> Any:
        column = self.columns[name]
        return self.kinds[column.kind][1]() if column.kind in self.kinds else column.feature

    def identity(self, row: Any) -> Iterator[Any]:
        """Yield the values that distinguish a row from others, for the digest in a signature."""
        for name, column in self.columns.items():
            value = getattr(row, name)
            if column.digest and column.kind in (*_LISTS, *self.kinds):
                for one in value or ():
                    yield from astuple(one) if is_dataclass(one) and not isinstance(one, type) else (one,)
            elif column.digest:
                yield value
