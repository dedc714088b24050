"""CHAIR's ground truth: the objects of an image, from its annotations and its five captions together.

Source: Rohrbach et al. (EMNLP 2018), section 3.1. Annotations miss objects that people speak of, and captions miss
objects that are small; an object counts as present if either names it.
"""

import json
from pathlib import Path
from typing import Any

from halluscope.benchmarks.chair.mentions import read
from halluscope.benchmarks.chair.synonyms import Synonyms
from halluscope.errors import BuildError
from halluscope.reading.coco import read_annotations
from halluscope.vocabularies import load


def ground_truth(instances: str | Path, captions: str | Path, synonyms: Synonyms) -> dict[int, list[str]]:
    """Read which classes are in which image.

    Args:
        instances: COCO's instances_*.json.
        captions: COCO's captions_*.json, about the same images; more than these may be in it.
        synonyms: what the words of the captions stand for.

    Returns:
        image id -> class names in category order, for each image of `instances`.

    Raises:
        BuildError: for a file that cannot be read or is not COCO, a class outside COCO's 80, an image without a
            caption.
    """
    table = read_annotations(Path(instances))
    classes = load("coco").classes
    if unknown := sorted(set(table.classes) - set(classes)):
        raise BuildError(
            f"{instances} has the class {unknown[0]!r}, which is not one of COCO's {len(classes)}; "
            "CHAIR's synonym list knows no other."
        )
    texts = _captions(Path(captions))
    without = [image.image_id for image in table.images if image.image_id not in texts]
    if without:
        raise BuildError(
            f"{captions} has no caption for {len(without):,} of the {len(table.images):,} images of {instances}, "
            f"such as image_id {without[0]}. Are these the captions of the same split?"
        )
    objects: dict[int, list[str]] = {}
    for image in table.images:
        spoken = (read(text, synonyms.class_of).objects for text in texts[image.image_id])
        present = set(image.objects).union(*spoken)
        objects[image.image_id] = [name for name in classes if name in present]
    return objects


def _captions(file: Path) -> dict[int, list[str]]:
    """image id -> its captions."""
    try:
        data = json.loads(file.read_bytes())
    except OSError as error:
        raise BuildError(f"The captions {file} cannot be read: {error}.") from error
    except ValueError as error:
        raise BuildError(f"{file} is not JSON, or is cut off: {error}. Get the file again.") from error
    rows = data.get("annotations") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        raise BuildError(f"{file} is not COCO: expected an object with a list of annotations.")
    texts: dict[int, list[str]] = {}
    for number, row in enumerate(rows):
        image_id, text = _caption(row, f"{file}: annotations[{number}]")
        texts.setdefault(image_id, []).append(text)
    return texts


def _caption(row: Any, where: str) -> tuple[int, str]:
    if (
        not isinstance(row, dict)
        or type(row.get("image_id")) is not int
        or not isinstance(row.get("caption"), str)
    ):
        raise BuildError(
            f"{where} is {str(row)[:120]}; expected an object with image_id and caption. "
            "Are these COCO's captions_*.json?"
        )
    return row["image_id"], row["caption"]
