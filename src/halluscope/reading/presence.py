"""Reads which objects are in which image, from a presence dataset, COCO's annotations, or image id -> class names."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.files.opening import SHEETS, ending, parse, read_text, rows_of
from halluscope.reading.coco import read_annotations
from halluscope.reading.datasets import Source, in_stats, read_columns, read_once
from halluscope.reading.fields import Fields
from halluscope.reading.tables import Located, is_one_object, numbered
from halluscope.sanitize import short_repr
from halluscope.vocabularies import Vocabulary

# From this many images on, most classes of a vocabulary should occur
ENOUGH = 100

# The columns that a row must have
NEEDED = ("image_id", "objects")

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
    images = read_once(_located(sources, vocabulary), _read, "image_id")
    if vocabulary and len(images) >= ENOUGH:
        missing = _never_present(vocabulary.classes, images)
        if 2 * len(missing) > len(vocabulary.classes):
            _warn(f"No image of the {len(images):,} in {', '.join(sources)} holds", missing, vocabulary)
    return images


def is_names_by_image(written: str) -> bool:
    """Whether a source is a file of image id -> class names."""
    source = Source.of(written)
    if not source.is_json:
        return False
    text = read_text(source.path)
    if not is_one_object(text):
        return False
    content = parse(text, str(source.path), _unless_annotation)
    return "annotations" not in content and not all(name in content for name in NEEDED)


def _never_present(classes: Sequence[str], images: Sequence[ImageObjects]) -> list[str]:
    """Return the classes that are in no image."""
    present: set[str] = set()
    for image in images:
        for name in image.objects:
            if isinstance(name, str):  # what is none is named when the classes are looked up
                present.add(name)
    return [name for name in classes if name not in present]


def inputs(images: Sequence[ImageObjects]) -> dict[str, Any]:
    """Return a metric's inputs from the rows."""
    return {
        "references": [image.objects for image in images],
        "image_ids": [image.image_id for image in images],
        "forms": [image.form for image in images],
    }


def read_all(rows: Iterable[Any], where: str = "references") -> list[ImageObjects]:
    return read_once(numbered(where, rows), _read, "image_id")


def _located(sources: Sequence[str], vocabulary: Vocabulary | None) -> Iterator[Located]:
    """Yield the rows of datasets and files with their locations."""
    for written in sources:
        source = Source.of(written)
        if not source.is_json:
            yield from _of_dataset(written, source.path, vocabulary)
            continue
        if ending(source.path) in SHEETS:
            raise ValueError(
                f"{source.path} is a table, in which a list of class names is a text; expected JSON lines or Parquet. "
                "Save the lists so (in pandas: to_json(FILE, orient='records', lines=True))."
            )
        text = read_text(source.path)
        if is_one_object(text):
            yield from _of_object(source.path, text, vocabulary)
        else:
            yield from rows_of(text, str(source.path))


def _of_dataset(written: str, folder: Path, vocabulary: Vocabulary | None) -> Iterator[Located]:
    rows = read_columns(
        written, NEEDED + TEXTS, NEEDED, "a dataset with the objects in each image, such as throne_coco"
    )
    annotated = in_stats(folder, "counts", "images_per_class")
    if vocabulary and isinstance(annotated, dict):
        missing = [name for name in vocabulary.classes if name not in annotated]
        if missing:
            _warn(f"{folder} was built from annotations without", missing, vocabulary)
    for number, row in enumerate(rows):
        yield f"{written}, row {number}", row


def _of_object(path: Path, text: str, vocabulary: Vocabulary | None) -> Iterator[Located]:
    """Yield the rows of a file in COCO's format, of a file of image id -> class names, or of a file of one row."""
    content = parse(text, str(path), _unless_annotation)
    if all(name in content for name in NEEDED):
        yield str(path), content
        return
    if "annotations" not in content:
        for key, names in content.items():
            yield f"{path}, {key!r:.80}", {"image_id": key, "objects": names}
        return
    table = read_annotations(path)
    if vocabulary:
        vocabulary.check_annotated(table.classes, str(path))
    rows = zip(table.image_ids, table.objects(), table.file_names, strict=True)
    for image_id, objects, file_name in rows:
        yield str(path), ImageObjects(image_id, objects, file_name)


def _unless_annotation(entry: dict[str, Any]) -> dict[str, Any] | None:
    """Return an object of a file, but None for an annotation: there are many, and `read_annotations` reads them."""
    if "image_id" in entry and "category_id" in entry:
        return None
    return entry


def _read(row: Any, where: str, number: int) -> ImageObjects:
    """Read the row that stands there; its number is not needed, because every row names its image."""
    if isinstance(row, ImageObjects):
        return row
    if not isinstance(row, Mapping) or "image_id" not in row or not isinstance(row.get("objects"), list):
        raise ValueError(
            f"{where}: expected image_id and objects, a list of class names; got {short_repr(row, 120)}."
        )
    values = Fields(row, where)
    return ImageObjects(
        image_id=values.whole("image_id"),
        objects=row["objects"],
        file_name=values.text_or_none("file_name") or "",
        prompt=values.text_or_none("prompt") or "",
        form=values.form,
    )


def _warn(where: str, missing: Sequence[str], vocabulary: Vocabulary) -> None:
    warnings.warn(
        f"{where} {len(missing):,} of the {len(vocabulary.classes):,} classes of the vocabulary {vocabulary.name!r}: "
        f"{', '.join(missing[:5])}, ... If the annotators did not look for them, every mention of them counts as "
        "hallucinated.",
        stacklevel=2,
    )
