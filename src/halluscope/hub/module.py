"""What the thin modules in metrics/ share."""

import sys
import warnings
from typing import Any, ClassVar

import datasets
import evaluate

from halluscope import registry
from halluscope.benchmark import Benchmark
from halluscope.reading.rows import Rows
from halluscope.reporting.tables import Values
from halluscope.rows_metric import RowsMetric
from halluscope.validation import listed


class Module(evaluate.Metric):  # type: ignore[misc]
    """An `evaluate` metric that scores lists as they are given, all at once or added in parts.

    What is added is held in memory. evaluate itself would write it to a file of typed columns, which turns numbers into
    text and whose errors do not name the row.
    """

    benchmark: ClassVar[str]  # its name
    # the types of a prediction and a reference, to be shown; {} if references are rows of the benchmark's dataset
    row: ClassVar[Values] = {}

    def __init__(self, *of_evaluate: Any, **more: Any) -> None:
        super().__init__(*of_evaluate, **more)
        if self.num_process != 1:
            raise ValueError(
                f"num_process is {self.num_process}; expected 1. Gather the predictions, and score them in one process."
            )
        self._predictions: list[Any] = []
        self._references: list[Any] = []

    def __len__(self) -> int:
        return len(self._predictions)

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any]:
        """Score what was added before and then `predictions` against `references`, together; all is then forgotten.

        In an `evaluate.combine`, the options of the other metrics are left to these, with a warning.
        """
        record = self._record()
        caller = sys._getframe(1).f_locals.get("self")  # evaluate.combine passes the options of all to each
        if isinstance(caller, evaluate.CombinedEvaluations):
            options = _without_others(record, options)
        try:
            record.check_options({name: value for name, value in options.items() if name != "ids"})
            texts, rows = self._with_added(predictions, references)
            result = dict(record.compute(texts, rows, **options))
        except Exception as error:
            if self._predictions:
                error.add_note(
                    f"Rows that were added before ({len(self._predictions):,}) are kept: compute() scores them, and "
                    "rows that are added or given again count twice. To begin anew, load the metric again."
                )
            raise
        self._predictions = []
        self._references = []
        return result

    def _with_added(self, predictions: Any, references: Any) -> tuple[Any, Any]:
        """Return what is scored: what was added, followed by what is given; after an error it can be added to again."""
        if predictions is None and references is None:
            return self._predictions, self._references
        if not self._predictions:
            return predictions, references
        if predictions is None or references is None:
            lacking = "predictions" if predictions is None else "references"
            raise ValueError(
                f"Rows were added before ({len(self._predictions)}), and {lacking} is None; expected predictions and "
                "references together. To score what was added alone, call compute() without either."
            )
        texts, rows = _rows_of(predictions, references)
        return self._predictions + texts, self._references + rows

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:  # evaluate extends the docstring
        """Add a prediction and its reference."""
        self._add([prediction], [reference], "reference")

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add predictions and their references."""
        texts, rows = _rows_of(predictions, references)
        self._add(texts, rows, "references[{}]")

    def _add(self, predictions: list[Any], references: list[Any], where: str) -> None:
        rows = self._rows()
        if rows is not None:
            for number, row in enumerate(references):
                rows.read(row, where.format(number))  # refuses what is no row
        self._predictions += predictions
        self._references += references

    def _record(self) -> Benchmark:
        return registry.benchmark(type(self).benchmark)

    def _rows(self) -> Rows[Any] | None:
        """Return what reads references that are rows of the benchmark's dataset; None if they are something else."""
        record = self._record()
        if isinstance(record, RowsMetric):
            return record.table
        return None

    def _info(self) -> evaluate.MetricInfo:
        record = self._record()
        row = type(self).row
        rows = self._rows()
        if rows is not None:
            row = {"predictions": datasets.Value("string"), "references": rows.features()}
        return evaluate.MetricInfo(
            description=record.description,
            citation=record.citation,
            inputs_description=record.help,
            features=datasets.Features(row),
            reference_urls=list(record.links),
        )


def _without_others(record: Benchmark, options: dict[str, Any]) -> dict[str, Any]:
    """Leave out the options of other metrics, with a warning."""
    own = {}
    others = []
    for name, value in options.items():
        if name in record.keywords or name == "ids":
            own[name] = value
        else:
            others.append(name)
    if others:
        named = ", ".join(sorted(others))
        warnings.warn(f"{record.name} ignores the options of other metrics: {named}.", stacklevel=4)
    return own


def _rows_of(predictions: Any, references: Any) -> tuple[list[Any], list[Any]]:
    """Return predictions and references as lists of one length."""
    expected = "a list, one per row"
    texts = listed("predictions", predictions, expected)
    rows = listed("references", references, expected)
    if len(texts) != len(rows):
        raise ValueError(
            f"There are {len(texts)} predictions and {len(rows)} references; expected one of each per row."
        )
    return list(texts), list(rows)
