"""Builds pope_c: POPE's question about every class of every image (POPE-Complete; THRONE, section 5.4).

It is made from a presence dataset that this project built. The config `questions` holds the rows; `images` holds each
image once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from datasets import Features, Image, Value
from numpy.typing import NDArray

from halluscope import vocabularies
from halluscope.building import output
from halluscope.building.build_info import compare, read_stats
from halluscope.building.command import Builder, Order
from halluscope.building.fetch import Fetched, sha256_of
from halluscope.building.output import GROUP_ROWS, Table
from halluscope.errors import BuildError
from halluscope.judging.questions import OBJECT_QUESTION, QuestionSet
from halluscope.reading.datasets import home

ROWS_AT_ONCE = 100_000

# A presence dataset -> the dataset that is built from it.
MADE_OF = {"throne_coco": "pope_c", "throne_objects365": "pope_c_objects365"}

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

    folder: Path
    stats: Mapping[str, Any]  # the content of its stats.json, which agrees with its files
    classes: Sequence[str]  # the annotated classes, in category order

    def groups(self, *columns: str) -> Iterator[pa.Table]:
        """Yield these columns, a few rows at a time, with the bytes of images unchanged."""
        for shard in self.stats["tables"][0]["shards"]:
            with pq.ParquetFile(self.folder / shard["file"]) as file:
                for batch in file.iter_batches(GROUP_ROWS, columns=list(columns)):
                    yield pa.Table.from_batches([batch]).select(list(columns))

    def read(self, *columns: str) -> pa.Table:
        """Read these columns of all rows."""
        return pa.concat_tables(self.groups(*columns)).combine_chunks()

    def table(self) -> NDArray[np.bool_]:
        """Return which class is in which image [images, classes]."""
        objects = self.read("objects")["objects"].combine_chunks()
        names = pc.list_flatten(objects)
        columns = pc.index_in(names, value_set=pa.array(self.classes))
        if columns.null_count:
            unknown = names[pc.index(pc.is_null(columns), True).as_py()]
            raise BuildError(
                f"{self.folder} names the object {unknown.as_py()!r}, which is not one of its classes."
            )
        table = np.zeros((len(objects), len(self.classes)), dtype=bool)
        table[pc.list_parent_indices(objects).to_numpy(), columns.to_numpy()] = True
        return table


def read(folder: Path, of: str) -> Presence:
    """Find the built presence dataset `of` in a folder, and compare its files with its stats.json."""
    file = folder / "stats.json"
    if not file.is_file():
        raise BuildError(
            f"--source {folder} is not a dataset that halluscope built: it has no stats.json. Build it first: "
            f"halluscope build {of}."
        )
    stats = read_stats(file)
    has_columns = {"image_id", "file_name", "objects"} <= set(stats["tables"][0]["columns"])
    classes = stats["counts"].get("images_per_class")
    if not has_columns or not isinstance(classes, dict):
        raise BuildError(
            f"--source {folder} holds {stats['name']!r}; expected a presence dataset, {of}, whose stats.json "
            "counts images_per_class."
        )
    compare(folder, stats["tables"][:1])
    return Presence(folder, stats, list(classes))


def tables(built: Presence, present: NDArray[np.bool_], vocabulary: str, split: str) -> list[Table]:
    """Return the rows to write: the configs `questions` and `images`."""
    (about,) = QuestionSet("object", (OBJECT_QUESTION,), "").about(vocabularies.load(vocabulary))
    text = {question.object: question.text for question in about}
    columns = {"image_id": Value("int64"), "image": Image(), "file_name": Value("string")}
    if "image" not in built.stats["tables"][0]["columns"]:
        del columns["image"]
    image_ids = built.read("image_id")["image_id"].to_numpy()
    questions = grid(image_ids, built.classes, [text[name] for name in built.classes], present)
    return [
        Table(QUESTIONS, questions, split, "questions"),
        Table(Features(columns), built.groups(*columns), split, "images"),
    ]


def grid(
    image_ids: NDArray[np.int64], classes: Sequence[str], texts: Sequence[str], present: NDArray[np.bool_]
) -> Iterator[pa.Table]:
    """Yield all questions, image by image and in the order of the classes, many rows at a time."""
    objects, asked, answers = pa.array(classes), pa.array(texts), pa.array(["no", "yes"])
    images = max(1, ROWS_AT_ONCE // len(classes))
    for first in range(0, len(image_ids), images):
        some = slice(first, first + images)
        ids = np.repeat(image_ids[some], len(classes))
        column = np.tile(np.arange(len(classes)), len(image_ids[some]))
        yield pa.table(
            {
                "question_id": np.arange(len(ids)) + first * len(classes) + 1,
                "image_id": ids,
                "object": objects.take(column),
                "question": asked.take(column),
                "answer": answers.take(present[some].ravel().astype(np.int8)),
            }
        )


def make(order: Order, *, of: str) -> Path:
    """Build the dataset."""
    built = read(order.source or home(of), of)
    if built.stats["name"] != of:
        raise BuildError(f"--source {built.folder} holds {built.stats['name']!r}; expected {of}.")
    out, spec = order.target(), order.spec
    present = built.table()
    yes = int(present.sum())
    numbers = {
        "questions": present.size,
        "images": len(present),
        "classes": present.shape[1],
        "yes": yes,
        "no": present.size - yes,
    }
    complete = spec.matches(numbers, order.subset)
    if built.stats["subset"] and not order.subset:
        raise BuildError(
            f"--source {built.folder} is a subset or a changed copy of {of}; pass --subset if you mean it."
        )
    written = tables(built, present, spec.vocabulary or "coco", spec.split)
    source = Fetched(built.folder, sha256_of(built.folder / "stats.json"), not built.stats["subset"])
    return output.write(spec, written, numbers, {of: source}, complete, out)


COMPLETE, COMPLETE_OBJECTS365 = (
    Builder(
        name=name,
        about=f"""Builds {name}: POPE's question about every class of every image (POPE-Complete; THRONE, section 5.4).

It is made from {of}, which must be built first:

    halluscope build {name}                                  # from datasets/{of}
    halluscope build {name} --source FOLDER
""",
        source=f"a built {of} (default: datasets/{of})",
        make=partial(make, of=of),
    )
    for of, name in MADE_OF.items()
)
