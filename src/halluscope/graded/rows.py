"""Reads and builds the rows of a benchmark by the columns that its data file declares."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import make_dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, ending, json_rows
from halluscope.reading import tables
from halluscope.reading.datasets import Source, read_columns, read_once
from halluscope.reading.fields import Fields
from halluscope.sanitize import short_repr
from halluscope.stats.tallies import Bools
from halluscope.vocabularies import read_toml

# Names -> values: of a row, of options, or of what a result says
Values = Mapping[str, Any]

_LISTS = {"words": "a list of words", "answers": "at least one right answer, each a text"}
"""The kinds of columns that hold a list of texts -> what is expected of them."""


class Column(NamedTuple):
    """A column of a dataset, as a data file declares it."""

    name: str
    kind: str = "text"  # or "whole", one of `_LISTS`, or a key of `Rows.kinds`
    upstream: str = ""  # its name in the authors' file, if that differs
    digits: str = ""  # where a whole number may be a text: "" nowhere, "upstream", or "always"
    values: Sequence[str] = ()  # the only texts that are allowed; () allows all
    spellings: Mapping[
        str, str
    ] = {}  # another spelling of a value, such as that of the authors' file -> the value
    called: Mapping[str, str] = {}  # value -> the name of its group, where that differs
    optional: bool = False  # whether the text may be missing
    default: str | None = None  # the value of a missing text
    needed: bool = True  # whether a dataset must have the column
    derived: bool = False  # whether `Rows.derive` makes it from the others
    own: bool = False  # whether it tells the dataset's rows from responses
    digest: bool = True  # whether it is in the digest of the data in a signature
    join: str = ", "  # what stands between the texts of a list in a prompt

    def read(self, row: Fields, is_upstream: bool) -> Any:
        if self.kind == "whole":
            return row.whole(self.name, or_digits=self.digits in ("always", *["upstream"] * is_upstream))
        if self.values:
            value = row.given.get(self.name)
            plain = isinstance(value, int | str) and self.spellings.get(str(value))
            return plain or row.one_of(self.name, self.values)
        if self.kind == "text":
            return (row.text_or_none(self.name) or self.default) if self.optional else row.text(self.name)
        texts = row.words(self.name, _LISTS[self.kind])
        if self.kind == "answers" and not (texts and all(text.strip() for text in texts)):
            raise row.wrong(self.name, _LISTS[self.kind])
        return texts

    def shown(self, value: Any) -> str:
        return self.join.join(value) if self.kind in _LISTS else str(value or "")


class Row:
    """A row of a dataset: an attribute per column, and `form`, its parallel form ("" for the original)."""

    id: Any
    form: str

    @property
    def row(self) -> dict[str, Any]:
        """The row as the dataset has it, without the image."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
            if name != "form"
        }


class Rows:
    """The rows of a benchmark, as the data file beside `module` declares them; a subclass holds what it cannot say."""

    # own kinds of columns: what reads a field, and the column's type in a Parquet file, or what makes it
    kinds: ClassVar[Mapping[str, tuple[Callable[[Fields, str], Any], str | Callable[[], Any]]]] = {}
    row_base: ClassVar[type[Row]] = Row

    def __init__(self, module: str) -> None:
        self.data = read_toml(module, "benchmark.toml")
        self.dataset: Values = self.data["dataset"]
        self.name: str = self.data["benchmark"]["name"]
        self.columns = {name: Column(name, **one) for name, one in self.data["columns"].items()}
        # name -> the authors'
        self.upstream = {name: one.upstream or name for name, one in self.columns.items()}
        self.ids = self.dataset.get("id", ("id",))
        # the columns that a dataset must have
        self.needed = [name for name, one in self.columns.items() if one.needed and not one.derived]
        self.row_type: Any = make_dataclass(
            self.name.title(),
            [*self.columns, ("form", str, "")],
            bases=(self.row_base,),
            frozen=True,
            namespace={} if self.ids == ("id",) else {"id": property(attrgetter(*self.ids))},
        )

    # In what benchmarks differ

    def derive(self, values: Values, where: str) -> Values:
        """Return the derived columns of a row that stands there."""
        return {}

    def rename(self, row: Values) -> Values:
        """Return a row of the authors' file under our names, with the columns that it has."""
        return {name: row[theirs] for name, theirs in self.upstream.items() if theirs in row}

    def cluster_of(self, row: Any) -> Any:
        """Return what a row shares with the rows it depends on: by default its image."""
        image = getattr(row, self.dataset["image_key"])
        return row.id if image is None else image

    def groups(self, rows: Sequence[Any]) -> dict[str, Bools]:
        """Return which rows belong to each group; by default, to each value of the columns that the data file names."""
        groups: dict[str, Bools] = {}
        for column in self.dataset.get("groups", ()):
            values = np.array([getattr(row, column) for row in rows])
            of = self.columns[column]
            names = of.values or dict.fromkeys(values.tolist())
            groups |= {of.called.get(name, name): values == name for name in names if name in values}
        return groups

    def counts(self, rows: Sequence[Any]) -> Values:
        """Return the counts of a dataset's rows, which its spec states."""
        columns = [self.columns[name] for name in self.dataset.get("groups", ())]
        return {
            "questions": len(rows),
            **dict.fromkeys((value for column in columns for value in column.values), 0),
            **{name: int(of.sum()) for name, of in self.groups(rows).items() if "/" not in name},
            "images": len({getattr(row, self.dataset["image_key"]) for row in rows}),
        }

    def identity(self, row: Any) -> Iterator[Any]:
        """Yield the values that distinguish a row from others, for the digest in a signature."""
        for name, column in self.columns.items():
            value = getattr(row, name)
            if column.digest and column.kind in (*_LISTS, *self.kinds):
                for one in value or ():
                    yield from one.values() if isinstance(one, Mapping) else (one,)
            elif column.digest:
                yield value

    # Reading

    def load(self, sources: Sequence[str]) -> list[Any]:
        rows: list[Any] = []
        columns = {*self.columns, *self.upstream.values(), "form"}
        for source in sources:
            named = Source.of(source)
            if ending(named.path) == ".csv":
                rows += self.read_upstream(named.path)
            else:
                rows += read_columns(source, columns)
        return self.read_all(rows, ", ".join(sources))

    def read_upstream(self, file: Readable) -> list[Any]:
        """Read the authors' file, in its order."""
        located = tables.rows(file) if ending(file) in (".csv", ".parquet") else json_rows(file)
        if not (rows := read_once(located, self.read)):
            raise BuildError(f"{file} holds no rows; expected those of {self.dataset['file']}.")
        return rows

    def read_all(self, rows: Iterable[Any], where: str = "references") -> list[Any]:
        return read_once(tables.numbered(where, rows), self.read)

    def read(self, row: Any, where: str, number: int = 0) -> Any:
        """Read a row of the dataset, or of the authors' file; `number` is its id if it has none."""
        if isinstance(row, self.row_type):
            return row
        expected = f"a row of the dataset {self.name}, or of {self.dataset['file']}"
        if not isinstance(row, Mapping):
            raise ValueError(f"{where} is {short_repr(row)}; expected {expected}.")
        # a column that only the authors' file has; "" if its rows are those without an id
        marker = self.dataset.get("marker")
        is_upstream = marker in row if marker else marker == "" and self.ids[0] not in row
        names = self.upstream if is_upstream else {}
        values = {self.ids[0]: number, **self.rename(row)} if is_upstream else dict(row)
        if missing := [names.get(name, name) for name in self.needed if name not in values]:
            raise ValueError(f"{where} has no {' and no '.join(map(repr, missing))}; expected {expected}.")
        fields = Fields(values, where, names)
        found = {
            name: self.kinds[one.kind][0](fields, name)
            if one.kind in self.kinds
            else one.read(fields, is_upstream)
            for name, one in self.columns.items()
            if not one.derived
        }
        found |= self.derive(found, where)
        return self.row_type(**{name: found[name] for name in self.columns}, form=str(row.get("form") or ""))

    def features(self, *names: str) -> dict[str, Any]:
        """Return the types of columns in a Parquet file, among them "image"; by default of all columns, without it."""
        from datasets import Image, List, Value

        def feature(name: str) -> Any:
            kind = "image" if name == "image" else self.columns[name].kind
            if kind in self.kinds:
                of = self.kinds[kind][1]
                return Value(of) if isinstance(of, str) else of()
            if kind in _LISTS:
                return List(Value("string"))
            return Image() if kind == "image" else Value("int64" if kind == "whole" else "string")

        return {name: feature(name) for name in names or self.columns}

    # Building

    @property
    def builder(self) -> Any:
        """The builder of the dataset from its authors' file, and from a second one that a user may name."""
        from halluscope.building.command import Builder
        from halluscope.building.output import Order

        table = self.data["build"]

        def make(order: Order, **options: Any) -> Path:
            out = order.target()
            sources, rows = self.fetch(order)
            for name, named in options.items():
                if named is not None:
                    sources[name] = order.fetch(name, named, f"--{name.replace('_', '-')}")
                    rows = self._extended(rows, sources[name].path)
            columns, counts = self.features(*table["columns"]), self.counts(rows)
            written = [{**row.row, "image": self.file_of(row)} for row in rows]
            return order.write(out, written, columns, counts, sources, table.get("exact", False))

        said = {name: table[name] for name in ("about", "source", "images", "options") if name in table}
        return Builder(self.name, make=make, **said)

    def _extended(self, rows: Sequence[Any], file: Readable) -> list[Any]:
        """Return the rows with the columns that a second file adds to their images."""
        images = {row.image_id for row in rows}
        known = self.extra(file, images)
        if missing := sorted(images - known.keys()):
            shown = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
            raise BuildError(
                f"{file} says nothing of {len(missing):,} of the {len(images):,} images: image id {shown}. "
                f"{self.data['build']['extra']}"
            )
        return [replace(row, **known[row.image_id]) for row in rows]

    def fetch(self, order: Any) -> tuple[dict[str, Any], list[Any]]:
        questions = order.fetch("questions")
        return {"questions": questions}, self.read_upstream(questions.path)

    def extra(self, file: Readable, images: Collection[int]) -> dict[int, Values]:
        """Return what the second file says of images, by their ids: columns and values."""
        raise NotImplementedError

    def file_of(self, row: Any) -> str | None:
        file = self.data["build"]["file"]
        name: str | None = getattr(row, file) if file in self.columns else file.format(**row.row)
        return name
