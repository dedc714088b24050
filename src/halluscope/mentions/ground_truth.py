"""Reads which classes are in images: from COCO's annotations, and from what its captions say."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from halluscope import vocabularies
from halluscope.errors import BuildError
from halluscope.files.opening import entries_of
from halluscope.mentions.reading import CaptionReader
from halluscope.paths import path_of
from halluscope.reading.coco import WHOLE, Kind, read_annotations, take


def ground_truth(
    instances: str | Path,
    captions: str | Path,
    reader: CaptionReader,
    only: Collection[int] | None = None,
) -> dict[int, list[str]]:
    """Return, by image, the classes that are annotated or that a caption names (Rohrbach et al., 2018, section 3.1).

    `only` are the images to look for; those that the file of instances lacks are absent from the result.
    """
    table = read_annotations(path_of(instances))
    if only is not None:
        table = table.only([image_id in only for image_id in table.image_ids])
    vocabulary = vocabularies.load("coco")
    vocabulary.check_annotated(table.classes, str(instances))
    captions_of = _captions(path_of(captions))
    without = [image_id for image_id in table.image_ids if image_id not in captions_of]
    if without:
        raise BuildError(
            f"{captions} has no caption for {len(without):,} of the {len(table.image_ids):,} images of {instances}, "
            f"such as image_id {without[0]}. Are these the captions of the same split?"
        )
    objects_of: dict[int, list[str]] = {}
    for image_id, annotated in zip(table.image_ids, table.objects(), strict=True):
        present = set(annotated)
        for caption in captions_of[image_id]:
            present.update(reader.read(caption).objects)
        objects_of[image_id] = [name for name in vocabulary.classes if name in present]
    return objects_of


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_CAPTION = Kind(_is_text, "text, as in COCO's captions_*.json")


def _captions(file: Path) -> dict[int, list[str]]:
    """Return image id -> its captions."""
    captions_of: dict[int, list[str]] = {}
    for number, (_, entry) in enumerate(entries_of(file, "annotations")):
        where = f"{file}: annotations[{number}]"
        image_id = take(entry, "image_id", WHOLE, where)
        caption = take(entry, "caption", _CAPTION, where)
        captions_of.setdefault(image_id, []).append(caption)
    return captions_of
