"""What the thin modules in metrics/ share."""

from typing import Any

import evaluate


class Module(evaluate.Metric):  # type: ignore[misc]
    """An `evaluate` metric that scores lists at once, as they were given.

    What `add` and `add_batch` collected takes evaluate's own way, through a file; that way refuses a prediction of
    None, or half a character, with a message of its own and before our checks.
    """

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any]:
        """Score `predictions` against `references`, or what was added before."""
        added = predictions is None and references is None
        result: dict[str, Any] = (
            super().compute(**options) if added else self._compute(predictions, references, **options)
        )
        return result
