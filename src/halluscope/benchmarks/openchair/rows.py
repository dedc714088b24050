"""Reads OpenCHAIR's rows: an image, and the caption that it was made from."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from halluscope.graded.rows import Rows
from halluscope.reading.datasets import read_columns

UPSTREAM = "text"  # the caption's column in the authors' dataset, whose rows have only their index as an id

ROWS = Rows(__file__)
read_all = ROWS.read_all


def load(sources: Sequence[str]) -> list[Any]:
    """Read the dataset: a built folder or Hub id, a file of its rows, or the authors' own dataset."""
    columns = (*ROWS.columns, "form", UPSTREAM)
    rows = chain.from_iterable(read_columns(source, columns, (), "") for source in sources)
    return read_all(rows, ", ".join(sources))


def inputs(rows: Sequence[Any]) -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows."""
    return {
        "references": [row.true_caption for row in rows],
        "image_ids": [row.image_id for row in rows],
        "forms": [row.form for row in rows],
    }
