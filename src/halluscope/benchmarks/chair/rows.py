"""Reads CHAIR's rows, an image and its objects, from a presence dataset, or from annotations and captions together."""

from collections.abc import Sequence
from typing import Any

from halluscope import vocabularies
from halluscope.benchmarks.chair import synonyms as synonym_lists
from halluscope.benchmarks.chair.ground_truth import ground_truth
from halluscope.reading import presence
from halluscope.reading.presence import ImageObjects, read_all
from halluscope.reading.words import readers

__all__ = ["ImageObjects", "inputs", "load", "read_all"]


def load(
    sources: Sequence[str],
    *,
    captions: str | None = None,
    synonyms: str | None = None,
    allow_other_synonyms: bool = False,
    reader: str = readers.LEMMINFLECT,
) -> list[ImageObjects]:
    """Read the objects of images.

    Args:
        sources: presence datasets, or COCO's instances_*.json with `captions`.
        captions: COCO's captions_*.json, about the same images: an object counts as present if either names it.
        synonyms: the synonym list's file, which says what the words of captions stand for.
        allow_other_synonyms: accept a list with another checksum.
        reader: what reads the words of captions (`readers`).

    Raises:
        ValueError: for a file or dataset of another form.
        FileNotFoundError: if a file or nltk's data do not exist.
    """
    if captions is None:
        return presence.load(sources, vocabularies.load("coco"))
    if len(sources) != 1:
        raise ValueError(f"captions is given; expected one file of instances, got {len(sources)} datasets.")
    listed = synonym_lists.load(synonyms, allow_other_synonyms)
    found = ground_truth(sources[0], captions, listed, readers.load(reader).words)
    return [ImageObjects(image_id, names) for image_id, names in found.items()]


def inputs(images: Sequence[ImageObjects]) -> dict[str, Any]:
    """Return the metric's inputs from the rows."""
    return {
        "references": [image.objects for image in images],
        "image_ids": [image.image_id for image in images],
        "forms": [image.form for image in images],
    }
