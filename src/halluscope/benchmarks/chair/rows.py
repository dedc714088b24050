"""Reads CHAIR's rows, an image and its objects, from a presence dataset, or from annotations and captions together."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from halluscope import vocabularies
from halluscope.benchmarks.chair import synonyms as synonym_lists
from halluscope.benchmarks.chair.reading import CaptionReader
from halluscope.errors import BuildError
from halluscope.files.opening import entries_of
from halluscope.paths import path_of
from halluscope.reading import presence
from halluscope.reading.coco import WHOLE, Kind, read_annotations, take
from halluscope.reading.presence import ImageObjects, inputs, read_all
from halluscope.reading.words import readers

__all__ = ["ImageObjects", "ground_truth", "inputs", "load", "read_all"]


def load(
    sources: Sequence[str],
    *,
    captions: str | None = None,
    synonyms: str | None = None,
    allow_other_synonyms: bool = False,
    reader: str = readers.LEMMINFLECT,
) -> list[ImageObjects]:
    """Read the objects of images from presence datasets, or from COCO's instances_*.json and its captions."""
    if captions is None:
        return presence.load(sources, vocabularies.load("coco"))
    if len(sources) != 1:
        raise ValueError(f"captions is given; expected one file of instances, got {len(sources)} datasets.")
    listed = synonym_lists.load(synonyms, allow_other_synonyms)
    words = readers.load(reader, readers.WORDS)
    objects_of = ground_truth(sources[0], captions, CaptionReader(listed.class_of, words.read))
    return [ImageObjects(image_id, objects) for image_id, objects in objects_of.items()]


def ground_truth(instances: str | Path, captions: str | Path, reader: CaptionReader) -> dict[int, list[str]]:
    """Return, by image, the classes that are annotated or that a caption names (Rohrbach et al., 2018, section 3.1)."""
    table = read_annotations(path_of(instances))
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
