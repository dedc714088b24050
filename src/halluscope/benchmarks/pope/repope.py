"""Builds repope: POPE's questions about COCO with corrected answers (Neuhaus and Hein, RePOPE, 2025)."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from datasets import Features, Value

from halluscope.benchmarks.pope.build import FEATURES
from halluscope.benchmarks.pope.rows import REPOPE, SAMPLINGS, ObjectQuestion, read_official
from halluscope.building import output
from halluscope.building.command import Builder, Order
from halluscope.building.output import Table


def counts(rows: Sequence[ObjectQuestion]) -> dict[str, Any]:
    """Count the rows for stats.json."""
    return {
        "rows": len(rows),
        **{name: sum(row.sampling == name for row in rows) for name in SAMPLINGS},
        **{answer: sum(row.answer == answer for row in rows) for answer in ("yes", "no")},
        "images": len({row.file_name for row in rows}),
    }


def make(order: Order) -> Path:
    """Build repope."""
    out = order.target()
    sources = {name: order.fetch(name) for name in SAMPLINGS}
    rows = [row for name in SAMPLINGS for row in read_official(sources[name].path, name, REPOPE)]
    numbers = counts(rows)
    complete = order.spec.matches(numbers, order.subset)
    table = Table(Features({**FEATURES, "labels": Value("string")}), map(asdict, rows), order.spec.split)
    return output.write(order.spec, [table], numbers, sources, complete, out)


CORRECTED = Builder(
    name="repope",
    about="""Builds repope: POPE's questions about COCO with corrected answers; ambiguous questions are left out.

    halluscope build repope                                         # downloads 1 MB
    halluscope build repope --source RePOPE/annotations
""",
    source="the folder of the authors' files, RePOPE's annotations/ (default: download)",
    make=make,
)
