"""Reads which objects are in which image, from a presence dataset, COCO's annotations, or image id -> class names."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.files.opening import json_rows, read_json
from halluscope.reading.datasets import Source, in_stats, read_columns, read_once
from halluscope.reading.fields import Fields
from halluscope.reading.tables import Located, numbered
from halluscope.sanitize import short_repr
from halluscope.vocabularies import Vocabulary

# From this many images on, most classes of a vocabulary should occur
ENOUGH = 100

# The other columns that a row may have
TEXTS = ("file_name", "prompt", "form")


@dataclass(frozen=True)
class ImageObjects:
    """A row: an image and what is in it."""

    image_id: int  # a unique number
    objects: Sequence[str]  # the names of the classes in the image
    file_name: str = ""  # the file name of the image; "" if unknown
    prompt: str = ""  # what is asked about the image; "" for the benchmark's own prompt
    form: str = ""  # the parallel form that the row belongs to; "" for the original


def load(sources: Sequence[str], vocabulary: Vocabulary | None = None) -> list[ImageObjects]:
    """Read datasets with `image_id` and `objects`, COCO annotation files, or files of image id -> names.

    Warn if many images hold few of the vocabulary's classes: the annotators may not have looked for the others.
    """
    located = (each for source in sources for each in _located(source, vocabulary))
    images = read_once(located, _read, "image_id")
    if vocabulary and len(images) >= ENOUGH:
        named = {name for image in images for name in image.objects if isinstance(name, str)}
        missing = [name for name in vocabulary.classes if name not in named]
        if 2 * len(missing) > len(vocabulary.classes):
            _warn(f"No image of the {len(images):,} in {', '.join(sources)} holds", missing, vocabulary)
    return images


def inputs(images: Sequence[ImageObjects]) -> dict[str, Any]:
    """Return a metric's inputs from the rows."""
    return {
        "references": [image.objects for image in images],
        "image_ids": [image.image_id for image in images],
        "forms": [image.form for image in images],
    }


def read_all(rows: Iterable[Any], where: str = "references") -> list[ImageObjects]:
    return read_once(numbered(where, rows), _read, "image_id")


def _located(written: str, vocabulary: Vocabulary | None) -> Iterable[Located]:
    source = Source.of(written)
    if source.is_json and not source.name.endswith((".jsonl", ".jsonl.gz")):
        yield from _of_json(source.path, vocabulary)
    elif source.is_json:
        yield from json_rows(source.path)
    else:
        names = ("image_id", "objects", *TEXTS)
        rows = read_columns(written, names, names[:2], "a presence dataset")
        known = in_stats(source.path, "counts", "images_per_class")
        classes = vocabulary.classes if vocabulary and isinstance(known, dict) else ()
        missing = [name for name in classes if name not in known]
        if vocabulary and missing:
            _warn(f"{source.path} was built from annotations without", missing, vocabulary)
        yield from ((f"{written}, row {number}", row) for number, row in enumerate(rows))


def _of_json(path: Path, vocabulary: Vocabulary | None) -> Iterable[Located]:
    content = read_json(path, lambda entry: None if {"image_id", "category_id"} <= entry.keys() else entry)
    if not isinstance(content, dict):
        raise ValueError(
            f"{path} holds a {type(content).__name__}; expected image id -> class names, or COCO's format."
        )
    if "annotations" not in content:
        for key, names in content.items():
            yield f"{path}, {key!r:.80}", {"image_id": key, "objects": names}
        return
    from halluscope.reading.coco import read_annotations

    table = read_annotations(path)
    if vocabulary:
        vocabulary.check_annotated(table.classes, str(path))
    for image in map(ImageObjects, table.image_ids, table.objects(), table.file_names):
        yield str(path), image


def _read(row: Any, where: str, _: int) -> ImageObjects:
    if isinstance(row, ImageObjects):
        return row
    if isinstance(row, Mapping) and "image_id" in row and isinstance(row.get("objects"), list):
        image_id = Fields(row, where).whole("image_id", or_digits=True)
        texts = {name: str(row.get(name) or "") for name in TEXTS}
        return ImageObjects(image_id, row["objects"], **texts)
    raise ValueError(
        f"{where}: expected image_id and objects, a list of class names; got {short_repr(row, 120)}."
    )


def _warn(where: str, missing: Sequence[str], vocabulary: Vocabulary) -> None:
    warnings.warn(
        f"{where} {len(missing):,} of the {len(vocabulary.classes):,} classes of the vocabulary {vocabulary.name!r}: "
        f"{', '.join(missing[:5])}, ... If the annotators did not look for them, every mention of them counts as "
        "hallucinated.",
        stacklevel=2,
    )
