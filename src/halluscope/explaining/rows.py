"""Responses put to the rows of one protocol, with the labels of another."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from halluscope import registry, scoring
from halluscope.explaining.protocols import Protocol, Protocols, Way, means
from halluscope.foreign import brief
from halluscope.options import Door, taken
from halluscope.registry import Benchmark
from halluscope.responses.files import Given
from halluscope.scoring import Ready

Key = tuple[str, ...]
"""What finds a row."""

ABSENT = object()
"""Stands for a row that other labels do not have."""


class Rows:
    """Files of one LVLM's responses, each matched once to the rows of each protocol.

    Attributes:
        files: their names, known once they are matched.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        stated: Protocols,
        responses: Sequence[Given],
        dataset: Sequence[str],
        options: Mapping[str, Any],
        door: Door | None,
    ) -> None:
        """Hold what is to be matched; the arguments are those of `halluscope.scoring.prepare`."""
        self.files: list[str] = []
        self._benchmark, self._responses, self._dataset = benchmark, responses, dataset
        self._options, self._door = options, door
        self._others = {one.labels.dataset for one in stated.each if one.labels.dataset}
        self._prepared: dict[str, list[Ready]] = {}
        self._tables: dict[str, dict[Key, Any]] = {}
        self._ready: dict[Key, Ready] = {}

    def match(self, one: Protocol) -> None:
        """Match the files to a protocol's rows.

        Raises:
            ValueError: without an option that it needs, for responses that do not belong to the rows, or for files that
                answer other rows than the first.
        """
        if lacking := [name for name in one.needs if not self._options.get(name)]:
            option = f"--{lacking[0].replace('_', '-')}"
            raise ValueError(f"{option} is not given, and {one.name} needs it.")
        first, *others = self._prepare(one.rows)
        self.files = [ready.matched.name for ready in (first, *others)]
        for other in others:
            if sorted(map(self.key, other.matched.rows)) != sorted(map(self.key, first.matched.rows)):
                raise ValueError(
                    f"{other.matched.name} and {first.matched.name} answer other rows ({len(other.matched.rows):,} and "
                    f"{len(first.matched.rows):,}); expected one LVLM's responses to the same rows, a file per prompt."
                )
        for file in self.files:
            self.ready(file, one, one)

    def ready(self, file: str, rows_of: Protocol, labels_of: Protocol) -> Ready:
        """The responses in a file to the rows of one protocol, with the labels of another where they have one."""
        key = same_rows(file, rows_of, labels_of)
        if key not in self._ready:
            self._ready[key] = self._put(file, rows_of, labels_of)
        return self._ready[key]

    def options(self, *ways: Way) -> dict[str, Any]:
        """The options that ways mean, and those of the user's that hold in all of them."""
        gone = self._others.union(*(way.without for way in ways))
        left = {name: value for name, value in self._options.items() if name not in gone}
        return left | {name: value for way in ways for name, value in way.options.items()}

    def identity(self, row: Any) -> dict[str, Any]:
        """What finds a row, for people."""
        return registry.identity(self._benchmark).identity(vars(row))

    def key(self, row: Any) -> Key:
        """What finds a row."""
        return tuple(str(getattr(row, column, "")) for column in self._columns)

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        return registry.identity(self._benchmark).key

    def _prepare(self, rows: Way) -> list[Ready]:
        """The files, matched to the rows that count."""
        key = means(rows)
        if key not in self._prepared:
            self._prepared[key] = scoring.prepare(
                self._benchmark, self._responses, self._dataset, self.options(rows), self._door
            )
        return self._prepared[key]

    def _put(self, file: str, rows_of: Protocol, labels_of: Protocol) -> Ready:
        prepared = self._prepare(rows_of.rows)
        place = self.files.index(file)
        mine = prepared[place].matched.rows
        theirs = self._labelled(mine, rows_of.labels)
        rows = [
            None if left_out is None else row
            for row, left_out in zip(self._labelled(mine, labels_of.labels), theirs, strict=True)
        ]
        if rows == mine:
            return prepared[place]
        options = self.options(labels_of.labels, rows_of.rows)
        return scoring.among(self._benchmark, prepared[place], rows, options, (place, len(prepared)))

    def _labelled(self, rows: Sequence[Any], labels: Way) -> Sequence[Any]:
        """The rows with other labels; None for one that these leave out."""
        if not (labels.dataset or labels.without):
            return rows
        table = self._table(labels)
        return [self._counterpart(row, table, labels.dataset) for row in rows]

    def _table(self, labels: Way) -> Mapping[Key, Any]:
        """The rows that other labels are about; None for one that is not scored."""
        key = means(labels)
        if key not in self._tables:
            module = self._benchmark.module("rows")
            source = self._options.get(labels.dataset, self._dataset)
            rows = module.load(source, **taken(module.load, self.options(labels)))
            wanted = getattr(module, "wanted", lambda row: True)
            self._tables[key] = {self.key(row): row if wanted(row) else None for row in rows}
        return self._tables[key]

    def _counterpart(self, row: Any, table: Mapping[Key, Any], named: str) -> Any:
        """The row of other labels that is about the same.

        Raises:
            ValueError: if there is none, or one that asks something else.
        """
        found = table.get(self.key(row), ABSENT)
        if found is ABSENT or (found is not None and question(found) != question(row)):
            known = ", ".join(f"{name} {value}" for name, value in self.identity(row).items())
            raise ValueError(
                f"{named} has no row for {known}: {brief(question(row))}; expected other labels of the same rows."
            )
        return found


def question(row: Any) -> str:
    """What a row asks, white space as one space; "" for one that asks nothing of its own."""
    return " ".join(str(getattr(row, "question", "")).split())


def same_rows(file: str, rows_of: Protocol, labels_of: Protocol) -> Key:
    """What tells the responses to some rows with some labels from others."""
    return file, means(rows_of.rows, rows_of.labels), means(labels_of.labels)
