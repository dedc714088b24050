"""Builds gavie: 1,000 instructions about 120 images of Visual Genome, with its descriptions of their regions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from halluscope.benchmarks.gavie import regions
from halluscope.benchmarks.gavie.metric import GRADED
from halluscope.graded.build import Extra, builder


def describe(file: Any, rows: Sequence[Any]) -> list[Any]:
    """Return the rows with the regions of their images."""
    known = regions.read(file, {row.image_id for row in rows})
    return [replace(row, regions=tuple(known[row.image_id])) for row in rows]


BUILDER = builder(
    GRADED,
    Extra(
        "regions",
        "region_descriptions.json of Visual Genome, or the authors' vg_annotation.json, for a judge to read",
        describe,
    ),
)
