"""Times writing the grid of pope_c, 5,000 images x 80 classes, from a built throne_coco to Parquet, without images.

The baseline makes the same rows one by one.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.benchmarks.pope import complete as pope_c
from halluscope.benchmarks.throne import build as presence
from halluscope.building import output
from halluscope.building.spec import load
from halluscope.judging.questions import OBJECT_QUESTION, QuestionSet
from halluscope.reading.coco import CocoImage, CocoTable
from halluscope.vocabularies import load as load_vocabulary
from memory import measure

IMAGES = 5000
COCO = load_vocabulary("coco")


def make_throne(folder: Path, pictures: Path | None = None) -> None:
    """Build a throne_coco with three random objects per image, and with the images of `pictures`, if given."""
    rng = np.random.default_rng(0)
    drawn = [np.sort(rng.choice(len(COCO.classes), 3, replace=False)) for _ in range(IMAGES)]
    images = tuple(
        CocoImage(139 + i, f"{139 + i:012d}.jpg", tuple(COCO.classes[j] for j in row), 3)
        for i, row in enumerate(drawn)
    )
    table = CocoTable(COCO.classes, images, tuple(range(1, 81)))
    spec = load("throne_coco")
    output.write(
        spec,
        [presence.table(table, spec.split, pictures)],
        presence.counts(table),
        {},
        True,
        output.target(spec, folder),
    )


def write(source: Path, out: Path) -> None:
    """Write the grid as the builder does."""
    dataset = pope_c.read(source, "throne_coco")
    for table in pope_c.tables(dataset, dataset.table(), "coco", "validation"):
        table.write(out)


def write_plainly(source: Path, out: Path) -> None:
    """Write the grid as the baseline does."""
    rows = _rows(pope_c.read(source, "throne_coco").read("image_id", "objects").to_pylist())
    output.Table(pope_c.QUESTIONS, rows, "validation", "questions").write(out)


def _rows(images: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    (about,) = QuestionSet("object", (OBJECT_QUESTION,), "").about(COCO)
    number = 0
    for image in images:
        for question in about:
            number += 1
            yield {
                "question_id": number,
                "image_id": image["image_id"],
                "object": question.object,
                "question": question.text,
                "answer": "yes" if question.object in image["objects"] else "no",
            }


def main() -> None:
    """Print times, memory and the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "throne"
        make_throne(source)
        figures = {}
        for name, run in (("grid", write), ("row by row", write_plainly)):
            out = Path(folder) / name
            figures[name] = measure(run, source, out)
            size = sum(file.stat().st_size for file in out.rglob("*.parquet")) / 1e6
            print("{}: {:.2f} s, {:.2f} GB at most, {:.1f} MB written".format(name, *figures[name], size))
        ratio = figures["row by row"][0] / figures["grid"][0]
        print(f"{IMAGES:,} x {len(COCO.classes)} questions: {ratio:.1f} times as fast")


if __name__ == "__main__":
    main()
