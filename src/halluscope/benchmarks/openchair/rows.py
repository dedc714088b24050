"""Reads OpenCHAIR's rows: an image, and the caption that it was made from."""

from collections.abc import Sequence
from typing import Any

from halluscope.graded.rows import Rows

ROWS = Rows(__file__)
load, read_all = ROWS.load, ROWS.read_all


def inputs(rows: Sequence[Any]) -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows."""
    return {
        "references": [row.true_caption for row in rows],
        "image_ids": [row.image_id for row in rows],
        "forms": [row.form for row in rows],
    }
