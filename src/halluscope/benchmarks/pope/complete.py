"""Builds pope_c: POPE's question about every class of every image (POPE-Complete; THRONE, section 5.4).

The config `questions` holds the rows; `images` holds each image once.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Features, Image, Value
from numpy.typing import NDArray

from halluscope import vocabularies
from halluscope.benchmarks.pope import presence as presences
from halluscope.benchmarks.pope.presence import Presence
from halluscope.building import output
from halluscope.building.command import Builder, Order
from halluscope.building.output import Table
from halluscope.errors import BuildError
from halluscope.judging.questions import OBJECT_QUESTION, QuestionSet
from halluscope.reading.datasets import home
from halluscope.vocabularies import Vocabulary

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


def presence(built: Presence) -> NDArray[np.bool_]:
    """Return which class is in which image [images, classes]."""
    objects = built.read("objects")["objects"].combine_chunks()
    names = pc.list_flatten(objects)
    columns = pc.index_in(names, value_set=pa.array(built.classes))
    if columns.null_count:
        unknown = names[pc.index(pc.is_null(columns), True).as_py()]
        raise BuildError(
            f"{built.folder} names the object {unknown.as_py()!r}, which is not one of its classes."
        )
    table = np.zeros((len(objects), len(built.classes)), dtype=bool)
    table[pc.list_parent_indices(objects).to_numpy(), columns.to_numpy()] = True
    return table


def counts(present: NDArray[np.bool_]) -> dict[str, Any]:
    """Count the rows for stats.json."""
    yes = int(present.sum())
    return {
        "questions": present.size,
        "images": len(present),
        "classes": present.shape[1],
        "yes": yes,
        "no": present.size - yes,
    }


def tables(built: Presence, present: NDArray[np.bool_], vocabulary: str, split: str) -> list[Table]:
    """Return the rows to write: the configs `questions` and `images`."""
    texts = _texts(built.classes, vocabularies.load(vocabulary))
    image_ids = built.read("image_id")["image_id"].to_numpy()
    columns = {"image_id": Value("int64"), "image": Image(), "file_name": Value("string")}
    if not built.has_images:
        del columns["image"]
    return [
        Table(QUESTIONS, grid(image_ids, built.classes, texts, present), split, "questions"),
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


def _texts(classes: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    (about,) = QuestionSet("object", (OBJECT_QUESTION,), "").about(vocabulary)
    text = {question.object: question.text for question in about}
    return [text[name] for name in classes]


def make(order: Order, *, of: str) -> Path:
    """Build the dataset."""
    built = presences.read(order.source or home(of), "--source", of)
    if built.name != of:
        raise BuildError(f"--source {built.folder} holds {built.name!r}; expected {of}.")
    out, spec = order.target(), order.spec
    present = presence(built)
    numbers = counts(present)
    complete = spec.matches(numbers, order.subset)
    if not built.source.published and not order.subset:
        raise BuildError(
            f"--source {built.folder} is a subset or a changed copy of {of}; pass --subset if you mean it."
        )
    written = tables(built, present, spec.vocabulary or "coco", spec.split)
    return output.write(spec, written, numbers, {of: built.source}, complete, out)


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
