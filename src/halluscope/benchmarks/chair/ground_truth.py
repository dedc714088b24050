"""CHAIR's ground truth: the objects of an image, from its annotations and its five captions together.

Source: Rohrbach et al. (EMNLP 2018), section 3.1. Annotations miss objects that people mention, and captions miss
small objects; an object counts as present if either names it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from halluscope.benchmarks.chair.mentions import read
from halluscope.benchmarks.chair.synonyms import Synonyms
from halluscope.errors import BuildError
from halluscope.files.opening import read_json
from halluscope.foreign import brief
from halluscope.numbers import is_id
from halluscope.reading.coco import read_annotations
from halluscope.reading.words import lemmas
from halluscope.reading.words.word import Word
from halluscope.vocabularies import load


def ground_truth(
    instances: str | Path,
    captions: str | Path,
    synonyms: Synonyms,
    words_of: Callable[[str], Sequence[Word]] = lemmas.words,
) -> dict[int, list[str]]:
    """Read which classes are in which image.

    Args:
        instances: COCO's instances_*.json.
        captions: COCO's captions_*.json, about the same images; it may hold other images too.
        synonyms: the classes that the words of captions stand for.
        words_of: returns a caption's tokens in their dictionary forms (`readers`).

    Returns:
        image id -> class names in category order, for each image of `instances`.

    Raises:
        BuildError: for a file that cannot be read or is not COCO, instances with classes other than COCO's 80, or an
            image without a caption.
    """
    table = read_annotations(Path(instances))
    load("coco").check_annotated(table.classes, str(instances))
    classes = load("coco").classes
    texts = _captions(Path(captions))
    without = [image.image_id for image in table.images if image.image_id not in texts]
    if without:
        raise BuildError(
            f"{captions} has no caption for {len(without):,} of the {len(table.images):,} images of {instances}, "
            f"such as image_id {without[0]}. Are these the captions of the same split?"
        )
    objects: dict[int, list[str]] = {}
    for image in table.images:
        spoken = (read(text, synonyms.class_of, words_of).objects for text in texts[image.image_id])
        present = set(image.objects).union(*spoken)
        objects[image.image_id] = [name for name in classes if name in present]
    return objects


def _captions(file: Path) -> dict[int, list[str]]:
    """Return image id -> its captions."""
    data = read_json(file)
    rows = data.get("annotations") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        raise BuildError(f"{file} is not COCO: expected an object with a list of annotations.")
    texts: dict[int, list[str]] = {}
    for number, row in enumerate(rows):
        image_id, text = _caption(row, f"{file}: annotations[{number}]")
        texts.setdefault(image_id, []).append(text)
    return texts


def _caption(row: Any, where: str) -> tuple[int, str]:
    if not isinstance(row, dict) or not is_id(row.get("image_id")) or not isinstance(row.get("caption"), str):
        raise BuildError(
            f"{where} is {brief(row, 120)}; expected an object with image_id and caption. "
            "Are these COCO's captions_*.json?"
        )
    return row["image_id"], row["caption"]
