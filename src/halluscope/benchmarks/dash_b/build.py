"""Builds dash_b from the authors' two lists of images, without the object ("neg") and with it ("pos")."""

from pathlib import Path
from typing import Any

from halluscope.benchmarks.dash_b import lists
from halluscope.benchmarks.dash_b.metric import LABELLED
from halluscope.building.command import Builder, Order


def make(order: Order) -> Path:
    """Build dash_b."""
    out = order.target()
    sources = {half: order.fetch(half) for half in lists.HALVES}
    rows = LABELLED.of_lists((half, source.path) for half, source in sources.items())
    columns = LABELLED.schema.features(*LABELLED.data["build"]["columns"])
    counts = {**LABELLED.counts(rows), **_counts(rows)}
    return order.write(out, rows, columns, lambda row: row.row, _file, counts, sources)


def _file(row: Any) -> str:
    """Return a row's image file in the folder of the authors' images."""
    return "/".join(("neg" if row.answer == "no" else "pos", row.source, row.object, row.file_name))


def _counts(rows: list[Any]) -> dict[str, int]:
    answers = [row.answer for row in rows]
    return {
        "yes": answers.count("yes"),
        "no": answers.count("no"),
        "objects": len({row.object for row in rows}),
    }


BUILDER = Builder(
    name="dash_b",
    about="""Builds dash_b: 2,682 yes/no questions about 70 objects.

    halluscope build dash_b                                         # downloads 0.1 MB; no images
    halluscope build dash_b --source DASH-B/images --images FOLDER
""",
    source="the folder of the authors' lists, dash_benchmark_neg.json and dash_benchmark_pos.json (default: download)",
    images="the folder of the images: neg/SOURCE/OBJECT/NAME and pos/... (default: no column `image`)",
    make=make,
)
