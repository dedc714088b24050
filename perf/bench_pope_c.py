"""Times writing the grid of pope_c, 5,000 images x 80 classes, from a built throne_coco, and scoring responses to it.

The baselines make the same rows one by one, and count by a short script (bench_commands.py).
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import parquet

from bench_commands import score_questions
from halluscope import registry
from halluscope.benchmarks.pope import complete as pope_c
from halluscope.benchmarks.throne import build as presence
from halluscope.building.output import Order, Table
from halluscope.building.spec import load
from halluscope.judging.questions import OBJECT_QUESTION, QuestionSet
from halluscope.reading.coco import CocoTable
from halluscope.vocabularies import load as load_vocabulary
from timing import measure, record

IMAGES = 5000
COCO = load_vocabulary("coco")


def make_throne(folder: Path, pictures: Path | None = None) -> None:
    """Build a throne_coco with three random objects per image, and with the images of `pictures`, if given."""
    rng = np.random.default_rng(0)
    drawn = [np.sort(rng.choice(len(COCO.classes), 3, replace=False)) for _ in range(IMAGES)]
    ids = tuple(range(139, 139 + IMAGES))
    table = CocoTable(
        classes=COCO.classes,
        class_ids=tuple(range(1, 81)),
        image_ids=ids,
        file_names=tuple(f"{image_id:012d}.jpg" for image_id in ids),
        owners=np.repeat(np.arange(IMAGES), 3),
        kinds=np.concatenate(drawn).astype(np.int64),
    )
    order = Order(load("throne_coco"), images=pictures, out=folder, with_images=bool(pictures), subset=True)
    presence.write(order, table, {}, order.target())


def write(source: Path, out: Path) -> None:
    """Write the grid as the builder does."""
    dataset = pope_c.read(source, "throne_coco")
    for table in pope_c.tables(dataset, "coco"):
        table.write(out, "validation")


def write_plainly(source: Path, out: Path) -> None:
    """Write the grid as the baseline does."""
    files = pope_c.read(source, "throne_coco").files
    rows = _rows(parquet.read_table(files, columns=["image_id", "objects"]).to_pylist())
    Table(pope_c.QUESTIONS, rows, "questions").write(out, "validation")


def _rows(images: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    (about,) = QuestionSet("object", (OBJECT_QUESTION,), "").about(COCO)
    number = 0
    for image in images:
        for question in about:
            number += 1
            answer = "no"
            if question.object in image["objects"]:
                answer = "yes"
            yield {
                "question_id": number,
                "image_id": image["image_id"],
                "object": question.object,
                "question": question.text,
                "answer": answer,
            }


def main() -> None:
    """Print times, memory and the ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_throne(folder / "throne")
        ours = measure(write, folder / "throne", folder / "grid")
        baseline = measure(write_plainly, folder / "throne", folder / "rows")
        record(
            "writing the questions", ours.seconds, baseline.seconds, "writing them row by row", ours.memory
        )
        built = folder / "pope_c"
        registry.benchmark("pope").builder(registry.dataset("pope_c")).build(
            folder / "throne", out=built, subset=True
        )
        (questions,) = built.rglob("questions/*.parquet")
        table = parquet.read_table(questions, columns=["question_id", "object"])
        responses = folder / "responses.jsonl"
        with responses.open("w") as file:
            for row in table.to_pylist():
                number = row["question_id"]
                answer = "No"
                if number % 3:
                    answer = "Yes"
                text = f"{answer}, I looked for a {row['object']}, number {number}."
                file.write(json.dumps({"question_id": number, "text": text}) + "\n")
        score_questions("score pope_c, 400,000 rows", str(responses), str(built), "pope_c")


if __name__ == "__main__":
    main()
