"""What the thin modules in metrics/ share."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import datasets
import evaluate

from halluscope import registry
from halluscope.inputs import listed


class Module(evaluate.Metric):  # type: ignore[misc]
    """An `evaluate` metric that scores lists as they are given, all at once or added in parts.

    What is added is held in memory. evaluate itself would write it to a file of typed columns, which turns numbers into
    text and whose errors do not name the row.

    Attributes:
        benchmark: its name; the benchmark's record says what is measured, whom to cite, and where to read more.
        row: the types of a prediction and a reference, to be shown.
        read_row: where a reference is a row of a dataset, takes the row and its place, and refuses what is not a row.
    """

    benchmark: ClassVar[str]
    row: ClassVar[Mapping[str, Any]]
    read_row: ClassVar[Callable[[Any, str], object] | None] = None

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
        """Score `predictions` against `references`, or what was added before, which is then forgotten."""
        if predictions is not None or references is not None:
            return self._compute(predictions, references, **options)
        result = self._compute(self._predictions, self._references, **options)
        self._predictions, self._references = [], []
        return result

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:
        """Add a prediction and its reference."""
        self._check([reference], "reference")
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add predictions and their references."""
        expected = "a list, one per row"
        given, known = (
            listed("predictions", predictions, expected),
            listed("references", references, expected),
        )
        if len(given) != len(known):
            raise ValueError(
                f"There are {len(given)} predictions and {len(known)} references; expected one of each per row."
            )
        self._check(known, "references[{}]")
        self._predictions += given
        self._references += known

    def _check(self, references: list[Any], where: str) -> None:
        """Refuse references that are no rows of a dataset, before they are added."""
        if read := type(self).read_row:
            for number, row in enumerate(references):
                read(row, where.format(number))

    def _info(self) -> evaluate.MetricInfo:
        record = registry.benchmark(type(self).benchmark)
        return evaluate.MetricInfo(
            description=record.description,
            citation=record.citation,
            inputs_description=record.help,
            features=datasets.Features(type(self).row),
            reference_urls=list(record.links),
        )

    def _compute(self, predictions: Any, references: Any, **options: Any) -> dict[str, Any]:
        record = registry.benchmark(type(self).benchmark)
        record.check_options(options)
        return record.compute(predictions, references, **options)
