"""What the thin modules in metrics/ share."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import datasets
import evaluate

from halluscope import registry
from halluscope.inputs import listed


class Module(evaluate.Metric):  # type: ignore[misc]
    """An `evaluate` metric that scores lists at once, as they were given.

    What `add` and `add_batch` collected takes evaluate's own way, through a file; that way refuses a prediction of
    None, or half a character, with a message of its own and before our checks.

    Attributes:
        benchmark: its name; the record says what is measured, whom to cite, and where to read more.
        row: the types of a prediction and a reference.
        read_row: where a reference is a row of a dataset: takes it and where it stands, and gives what `row` types;
            evaluate would refuse a row with a null or a further column.
    """

    benchmark: ClassVar[str]
    row: ClassVar[Mapping[str, Any]]
    read_row: ClassVar[Callable[[Any, str], Mapping[str, Any]] | None] = None

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any]:
        """Score `predictions` against `references`, or what was added before."""
        added = predictions is None and references is None
        result: dict[str, Any] = (
            super().compute(**options) if added else self._compute(predictions, references, **options)
        )
        return result

    def add(self, *, prediction: Any = None, reference: Any = None, **more: Any) -> None:
        """Add a prediction and its reference."""
        read = type(self).read_row
        known = reference if read is None else read(reference, "reference")
        super().add(prediction=prediction, reference=known, **more)

    def add_batch(self, *, predictions: Any = None, references: Any = None, **more: Any) -> None:
        """Add predictions and their references."""
        read, expected = type(self).read_row, "a list, one per row"
        given, known = (
            listed("predictions", predictions, expected),
            listed("references", references, expected),
        )
        if len(given) != len(known):
            raise ValueError(
                f"There are {len(given)} predictions and {len(known)} references; expected as many."
            )
        if read is not None:
            known = [read(row, f"references[{number}]") for number, row in enumerate(known)]
        super().add_batch(predictions=given, references=known, **more)

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
