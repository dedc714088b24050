"""What the thin modules in metrics/ share."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import datasets
import evaluate


class Module(evaluate.Metric):  # type: ignore[misc]
    """An `evaluate` metric that scores lists at once, as they were given.

    What `add` and `add_batch` collected takes evaluate's own way, through a file; that way refuses a prediction of
    None, or half a character, with a message of its own and before our checks.

    Attributes:
        score: predictions, references and options to a result; its docstring is the module's help.
        about: what is measured.
        bibtex: whom to cite.
        links: where to read more.
        row: the types of a prediction and a reference.
    """

    score: ClassVar[Callable[..., dict[str, Any]]]
    about: ClassVar[str]
    bibtex: ClassVar[str]
    links: ClassVar[Sequence[str]]
    row: ClassVar[Mapping[str, Any]]

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any]:
        """Score `predictions` against `references`, or what was added before."""
        added = predictions is None and references is None
        result: dict[str, Any] = (
            super().compute(**options) if added else self._compute(predictions, references, **options)
        )
        return result

    def _info(self) -> evaluate.MetricInfo:
        of = type(self)
        return evaluate.MetricInfo(
            description=of.about,
            citation=of.bibtex,
            inputs_description=of.score.__doc__ or "",
            features=datasets.Features(of.row),
            reference_urls=list(of.links),
        )

    def _compute(self, predictions: Any, references: Any, **options: Any) -> dict[str, Any]:
        return type(self).score(predictions, references, **options)
