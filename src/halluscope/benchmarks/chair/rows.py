"""Reads CHAIR's rows, an image and its objects, from a presence dataset, or from annotations and captions together."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from halluscope import vocabularies
from halluscope.benchmarks.chair.metric import load_synonyms, read
from halluscope.errors import BuildError
from halluscope.files.opening import entries_of
from halluscope.paths import path_of
from halluscope.reading import presence
from halluscope.reading.coco import WHOLE, Kind, read_annotations, take
from halluscope.reading.presence import ImageObjects, inputs, read_all
from halluscope.reading.words import lemmas, readers
from halluscope.reading.words.tokens import Word

CAPTION: Kind = lambda value: isinstance(value, str), "text, as in COCO's captions_*.json"

__all__ = ["ImageObjects", "inputs", "load", "read_all"]


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
    _, class_of = load_synonyms(synonyms, allow_other_synonyms)
    found = ground_truth(sources[0], captions, class_of, readers.load(reader, readers.WORDS).read)
    return [ImageObjects(image_id, names) for image_id, names in found.items()]


def ground_truth(
    instances: str | Path,
    captions: str | Path,
    class_of: Mapping[str, str],
    words_of: Callable[[str], Sequence[Word]] = lemmas.words,
) -> dict[int, list[str]]:
    """Return, by image, the classes that are annotated or that a caption names (Rohrbach et al., 2018, section 3.1)."""
    table = read_annotations(path_of(instances))
    vocabulary = vocabularies.load("coco")
    vocabulary.check_annotated(table.classes, str(instances))
    texts = _captions(path_of(captions))
    without = [image_id for image_id in table.image_ids if image_id not in texts]
    if without:
        raise BuildError(
            f"{captions} has no caption for {len(without):,} of the {len(table.image_ids):,} images of {instances}, "
            f"such as image_id {without[0]}. Are these the captions of the same split?"
        )
    objects: dict[int, list[str]] = {}
    for image_id, names in zip(table.image_ids, table.objects(), strict=True):
        spoken = (read(text, class_of, words_of).objects for text in texts[image_id])
        present = {*names}.union(*spoken)
        objects[image_id] = [name for name in vocabulary.classes if name in present]
    return objects


def _captions(file: Path) -> dict[int, list[str]]:
    """Return image id -> its captions."""
    texts: dict[int, list[str]] = {}
    for number, (_, entry) in enumerate(entries_of(file, "annotations")):
        where = f"{file}: annotations[{number}]"
        texts.setdefault(take(entry, "image_id", WHOLE, where), []).append(
            take(entry, "caption", CAPTION, where)
        )
    return texts
