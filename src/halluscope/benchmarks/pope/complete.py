"""Builds pope_c: POPE's question about every class of every image (POPE-Complete; THRONE, section 5.4).

It is made from a presence dataset that this project built. The config `questions` holds the rows; `images` holds each
image once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Features, Image, Value
from numpy.typing import NDArray

from halluscope import vocabularies
from halluscope.benchmarks.pope.rows import questions_about
from halluscope.building.build_info import STATS, compare, read_stats
from halluscope.building.command import Builder
from halluscope.building.fetch import Fetched, sha256_of
from halluscope.building.output import GROUP_ROWS, Order, Table
from halluscope.errors import BuildError
from halluscope.reading.datasets import home

ROWS_AT_ONCE = 100_000

QUESTIONS = Features(
    {
        "question_id": Value("int64"),
        "image_id": Value("int64"),
        "object": Value("string"),
        "question": Value("string"),
        "answer": Value("string"),
    }
)


@dataclass(frozen=True)
class Presence:
    """A built `throne_*` dataset."""

    stats: Mapping[str, Any]  # the content of its stats.json, which agrees with its files
    files: Sequence[Path]
    classes: Sequence[str]  # the annotated classes, in category order
    image_ids: NDArray[np.int64]
    present: NDArray[np.bool_]  # [images, classes]

    @property
    def has_images(self) -> bool:
        return "image" in self.stats["tables"][0]["columns"]

    def groups(self, *columns: str) -> Iterator[pa.Table]:
        """Yield these columns, a few rows at a time, with the bytes of images unchanged."""
        for file in self.files:
            with pq.ParquetFile(file) as opened:
                for batch in opened.iter_batches(GROUP_ROWS, columns=list(columns)):
                    yield pa.Table.from_batches([batch]).select(list(columns))


def make(order: Order) -> Path:
    name = order.spec.built_from or ""
    folder = order.source or home(name)
    built = read(folder, name)
    out = order.target()
    numbers = counts(built.present)
    order.spec.matches(numbers, order.subset)
    is_subset = built.stats["subset"]
    if is_subset and not order.subset:
        raise BuildError(
            f"--source {folder} is a subset or a changed copy of {name}; pass --subset if you mean it."
        )
    source = Fetched(folder, sha256_of(folder / STATS), published=not is_subset)
    return order.save(out, tables(built, order.spec.vocabulary or "coco"), numbers, {name: source})


def read(folder: Path, name: str) -> Presence:
    """Read the built presence dataset of this name in a folder, after comparing its files with its stats.json."""
    file = folder / STATS
    if not folder.exists():
        raise BuildError(
            f"There is no {folder}, where {name} was looked for. Build it first: halluscope build {name}. If it is "
            f"elsewhere, name its folder: --source {home(name)}."
        )
    if not file.is_file():
        raise BuildError(
            f"--source {folder} is not a dataset that halluscope built: it has no stats.json. Build it first: "
            f"halluscope build {name}."
        )
    stats = read_stats(file)
    images_per_class = stats["counts"].get("images_per_class")
    if stats["name"] != name or not isinstance(images_per_class, dict):
        raise BuildError(
            f"--source {folder} holds {stats['name']!r}; expected a presence dataset, {name}, whose stats.json "
            "counts images_per_class."
        )
    files = compare(folder, stats["tables"][:1])
    classes = list(images_per_class)
    image_ids = pq.read_table(files, columns=["image_id"])["image_id"]
    objects = pq.read_table(files, columns=["objects"])["objects"]
    return Presence(
        stats=stats,
        files=files,
        classes=classes,
        image_ids=image_ids.to_numpy(),
        present=vocabularies.load(classes).presence(objects.to_pylist()),
    )


def counts(present: NDArray[np.bool_]) -> dict[str, int]:
    """Count the questions about a table [images, classes]."""
    images, classes = present.shape
    yes = int(present.sum())
    return {
        "questions": present.size,
        "images": images,
        "classes": classes,
        "yes": yes,
        "no": present.size - yes,
    }


def tables(built: Presence, vocabulary: str) -> list[Table]:
    """Return the rows to write: the configs `questions` and `images`."""
    text_of = questions_about(vocabularies.load(vocabulary))
    texts = [text_of[name] for name in built.classes]
    questions = grid(built.image_ids, built.classes, texts, built.present)
    columns = {"image_id": Value("int64")}
    if built.has_images:
        columns["image"] = Image()
    columns["file_name"] = Value("string")
    return [
        Table(QUESTIONS, questions, "questions"),
        Table(Features(columns), built.groups(*columns), "images"),
    ]


def grid(
    image_ids: NDArray[np.int64], classes: Sequence[str], texts: Sequence[str], present: NDArray[np.bool_]
) -> Iterator[pa.Table]:
    """Yield all questions, image by image and in the order of the classes, many rows at a time."""
    class_column = pa.array(classes)
    text_column = pa.array(texts)
    answer_column = pa.array(["no", "yes"])
    images = max(1, ROWS_AT_ONCE // len(classes))
    for first in range(0, len(image_ids), images):
        ids = image_ids[first : first + images]
        is_present = present[first : first + images].ravel()
        kinds = np.tile(np.arange(len(classes)), len(ids))
        yield pa.table(
            {
                "question_id": np.arange(len(kinds)) + first * len(classes) + 1,
                "image_id": np.repeat(ids, len(classes)),
                "object": class_column.take(kinds),
                "question": text_column.take(kinds),
                "answer": answer_column.take(is_present.astype(np.int8)),
            }
        )


COMPLETE = Builder(
    "pope_c",
    about="""Builds pope_c: POPE's question about every class of every image (POPE-Complete; THRONE, section 5.4).

It is made from throne_coco, which must be built first:

    halluscope build pope_c                                  # from datasets/throne_coco
    halluscope build pope_c --source FOLDER
""",
    source="a built throne_coco (default: datasets/throne_coco)",
    make=make,
)

COMPLETE_OBJECTS365 = Builder(
    "pope_c_objects365",
    about="""Builds pope_c_objects365: POPE's question about every class of every image (POPE-Complete; THRONE, 5.4).

It is made from throne_objects365, which must be built first:

    halluscope build pope_c_objects365                                  # from datasets/throne_objects365
    halluscope build pope_c_objects365 --source FOLDER
""",
    source="a built throne_objects365 (default: datasets/throne_objects365)",
    make=make,
)
