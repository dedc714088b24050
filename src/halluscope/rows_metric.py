"""Metrics of a dataset's rows, which a reader of rows reads and checks."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from halluscope.benchmark import Score
from halluscope.metric import Metric
from halluscope.reading.rows import Row, Rows
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.signature import data_of
from halluscope.stats.intervals import AMOUNT, Range
from halluscope.stats.tallies import Bools, Ints, numbers


class RowsMetric(Metric):
    """A metric of a dataset's rows."""

    table: ClassVar[Rows[Any]]  # reads the dataset's rows
    items = "per_question"
    extra_numbers: Mapping[str, Score] = {"questions": Score(), "images": Score()}
    ranges: ClassVar[Mapping[str, Range]] = {MEAN_WORDS: AMOUNT}
    rows_published: ClassVar[int]  # how many rows the dataset has

    # In what benchmarks differ

    @abstractmethod
    def cluster_of(self, row: Any) -> Any:
        """Return what a row shares with those that it depends on."""

    @abstractmethod
    def identity(self, row: Any) -> tuple[Any, ...]:
        """Return what tells a row from others, for the digest of the data in a signature."""

    @abstractmethod
    def shown(self, row: Any) -> dict[str, Any]:
        """Return what the table of questions says of a row."""

    def groups(self, rows: Sequence[Any]) -> dict[str, Bools]:
        """Return which rows belong to each group, for which scores are also given."""
        return {}

    # The dataset's rows

    def module(self, name: str) -> Any:
        """Return a module of its package; this object in place of its rows' module, and what shows it for "report"."""
        if name == "rows":
            return self
        module = super().module(name)
        if name == "report":
            return module.VIEW
        return module

    def load(self, sources: Sequence[str]) -> list[Any]:
        """Read datasets, or files of the authors, as users name them."""
        return self.table.load(sources)

    def read_all(self, rows: Sequence[Any], where: str = "references") -> list[Any]:
        """Read rows, as the dataset or the authors' file has them."""
        return self.table.read_all(rows, where)

    def inputs(self, rows: Sequence[Any]) -> dict[str, Any]:
        """Return the arguments of `compute` for rows."""
        return {"references": rows}

    # What a result says of them

    def clusters(self, rows: Iterable[Any]) -> Ints:
        """Return the number of each row's cluster."""
        return numbers([self.cluster_of(row) for row in rows])

    def sizes(self, rows: Iterable[Any]) -> dict[str, int]:
        """Return how many questions are scored, and how many clusters they are of."""
        questions = 0
        clusters = set()
        for row in rows:
            questions += 1
            clusters.add(self.cluster_of(row))
        return {"questions": questions, self.leaves_out(rows): len(clusters)}

    def data(self, rows: Iterable[Any]) -> str:
        return data_of(self.name, [self.identity(row) for row in rows])

    def forms(self, rows: Iterable[Row]) -> list[str]:
        return [row.form for row in rows]
