"""Reads THRONE's rows (an image and the classes in it), and the cells that POPE's questions ask about."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope import vocabularies
from halluscope.benchmarks.pope import rows as pope
from halluscope.benchmarks.pope.rows import ObjectQuestion
from halluscope.reading import presence
from halluscope.reading.presence import ImageObjects, read_all
from halluscope.vocabularies import Vocabulary

__all__ = ["ImageObjects", "asked_cells", "inputs", "load", "read_all"]


def load(sources: Sequence[str], *, vocabulary: str | Sequence[str] = "coco") -> list[ImageObjects]:
    """Read which objects are in which image, as `halluscope.reading.presence.load` does."""
    return presence.load(sources, vocabularies.load(vocabulary))


def inputs(
    images: Sequence[ImageObjects],
    *,
    cells: Sequence[str] = (),
    vocabulary: str = "coco",
) -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows."""
    inputs = presence.inputs(images)
    if not cells:
        return inputs
    questions = []
    all_cells = set()  # of the whole sample, other images included
    for row in pope.load(cells):
        if isinstance(row, ObjectQuestion):
            questions.append(row)
            all_cells.add((row.image_id, row.object))
    classes = vocabularies.load(vocabulary)
    inputs["cells"] = asked_cells(questions, inputs["image_ids"], classes)
    inputs["cells_of"] = len(all_cells)
    return inputs


def asked_cells(
    questions: Iterable[ObjectQuestion], image_ids: Sequence[int], vocabulary: Vocabulary
) -> NDArray[np.bool_]:
    """Return which cells [images, classes] the questions ask about, with images in the order of `image_ids`."""
    # image id -> the classes that it is asked about
    objects: dict[int, list[str]] = {image_id: [] for image_id in image_ids}
    for question in questions:
        if question.image_id in objects:
            objects[question.image_id].append(question.object)
    if not any(objects.values()):
        raise ValueError(
            f"No question is about any of the {len(image_ids):,} images; expected questions about the same images."
        )
    return vocabulary.presence([objects[image_id] for image_id in image_ids])
