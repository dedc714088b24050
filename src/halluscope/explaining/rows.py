"""Matches responses to the rows of one protocol, with the labels of another."""

from collections.abc import Mapping, Sequence
from typing import Any

from halluscope import registry, scoring
from halluscope.explaining.protocols import Protocol, Protocols, Way, means
from halluscope.options import MatchingOptions, taken
from halluscope.registry import Benchmark
from halluscope.responses.files import Given
from halluscope.sanitize import short_repr
from halluscope.scoring import Ready

Key = tuple[str, ...]  # the values that identify a row
ABSENT = object()  # a row for which the other labels have none


class Rows:
    """Files of one LVLM's responses, each matched once to the rows of each protocol."""

    def __init__(
        self,
        benchmark: Benchmark,
        stated: Protocols,
        responses: Sequence[Given],
        dataset: Sequence[str],
        options: Mapping[str, Any],
        matching: MatchingOptions | None,
    ) -> None:
        self.files: list[str] = []  # their names, known once they are matched
        self._benchmark, self._responses, self._dataset = benchmark, responses, dataset
        self._options, self._matching = options, matching
        self._others = {one.labels.dataset for one in stated.each if one.labels.dataset}
        self._columns = registry.identity(benchmark).key
        self._prepared: dict[str, list[Ready]] = {}
        self._tables: dict[str, dict[Key, Any]] = {}
        self._ready: dict[Key, Ready] = {}

    def match(self, one: Protocol) -> None:
        """Match the files to a protocol's rows."""
        if lacking := [name for name in one.needs if not self._options.get(name)]:
            option = f"--{lacking[0].replace('_', '-')}"
            raise ValueError(f"{option} is not given, and {one.name} needs it.")
        first, *others = self._prepare(one.rows)
        self.files = [ready.matched.name for ready in (first, *others)]
        for other in others:
            if sorted(map(self.key, other.matched.rows)) != sorted(map(self.key, first.matched.rows)):
                raise ValueError(
                    f"{other.matched.name} and {first.matched.name} answer different rows ({len(other.matched.rows):,} "
                    f"and {len(first.matched.rows):,}); expected one LVLM's responses to the same rows, a file per "
                    "prompt."
                )
        for file in self.files:
            self.ready(file, one, one)

    def ready(self, file: str, rows_of: Protocol, labels_of: Protocol) -> Ready:
        """Return a file's responses to the rows of one protocol, with the labels of another where it has some."""
        key = same_rows(file, rows_of, labels_of)
        if key not in self._ready:
            self._ready[key] = self._put(file, rows_of, labels_of)
        return self._ready[key]

    def options(self, *ways: Way) -> dict[str, Any]:
        """Return the options that ways set, and the user's options that apply in all of these ways."""
        gone = self._others.union(*(way.without for way in ways))
        left = {name: value for name, value in self._options.items() if name not in gone}
        return left | {name: value for way in ways for name, value in way.options.items()}

    def identity(self, row: Any) -> dict[str, Any]:
        """Return the columns that identify a row, with their names, to be shown."""
        return registry.identity(self._benchmark).identity(vars(row))

    def key(self, row: Any) -> Key:
        """Return the values of the columns that identify a row."""
        return tuple(str(getattr(row, column, "")) for column in self._columns)

    def _prepare(self, rows: Way) -> list[Ready]:
        key = means(rows)
        if key not in self._prepared:
            self._prepared[key] = scoring.prepare(
                self._benchmark, self._responses, self._dataset, self.options(rows), self._matching
            )
        return self._prepared[key]

    def _put(self, file: str, rows_of: Protocol, labels_of: Protocol) -> Ready:
        prepared = self._prepare(rows_of.rows)
        index = self.files.index(file)
        mine = prepared[index].matched.rows
        theirs = self._labelled(mine, rows_of.labels)
        rows = [
            None if left_out is None else row
            for row, left_out in zip(self._labelled(mine, labels_of.labels), theirs, strict=True)
        ]
        if rows == mine:
            return prepared[index]
        options = self.options(labels_of.labels, rows_of.rows)
        return scoring.among(self._benchmark, prepared[index], rows, options, (index, len(prepared)))

    def _labelled(self, rows: Sequence[Any], labels: Way) -> Sequence[Any]:
        """Return the rows with other labels; None for a row that these labels leave out."""
        if not (labels.dataset or labels.without):
            return rows
        table = self._table(labels)
        return [self._counterpart(row, table, labels.dataset) for row in rows]

    def _table(self, labels: Way) -> Mapping[Key, Any]:
        """Return the rows of other labels by their keys; None for a row that is not scored."""
        key = means(labels)
        if key not in self._tables:
            module = self._benchmark.module("rows")
            source = self._options.get(labels.dataset, self._dataset)
            rows = module.load(source, **taken(module.load, self.options(labels)))
            wanted = getattr(module, "wanted", lambda row: True)
            self._tables[key] = {self.key(row): row if wanted(row) else None for row in rows}
        return self._tables[key]

    def _counterpart(self, row: Any, table: Mapping[Key, Any], named: str) -> Any:
        found = table.get(self.key(row), ABSENT)
        if found is ABSENT or (found is not None and question(found) != question(row)):
            known = ", ".join(f"{name} {value}" for name, value in self.identity(row).items())
            raise ValueError(
                f"{named} has no row for {known}: {short_repr(question(row))}; expected other labels of the same rows."
            )
        return found


def question(row: Any) -> str:
    """Return a row's question, with runs of white space as one space; "" for a row without a question."""
    return " ".join(str(getattr(row, "question", "")).split())


def same_rows(file: str, rows_of: Protocol, labels_of: Protocol) -> Key:
    """Return a key for the responses in a file to certain rows with certain labels."""
    return file, means(rows_of.rows, rows_of.labels), means(labels_of.labels)
