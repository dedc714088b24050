"""Reads a COCO annotation file: which classes are in which image.

The format: https://cocodataset.org/#format-data. `info` and `licenses` may be absent. Every annotation counts,
those of crowds (iscrowd) too: what is asked is whether a class is in the image.
"""

import contextlib
import io
import json
import zipfile
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from pycocotools.coco import COCO

from halluscope.errors import BuildError
from halluscope.files.opening import Readable


@dataclass(frozen=True)
class CocoImage:
    """One image: its id and file name, the classes in it by category id, and how many annotations say so."""

    image_id: int
    file_name: str
    objects: tuple[str, ...]
    annotations: int


@dataclass(frozen=True)
class CocoTable:
    """The class names by category id, the images by image id, and the category ids themselves."""

    classes: tuple[str, ...]
    images: tuple[CocoImage, ...]
    class_ids: tuple[int, ...]

    @property
    def file_names(self) -> list[str]:
        """Of the images, by image id."""
        return [image.file_name for image in self.images]

    def without(self, file_names: Iterable[str]) -> "CocoTable":
        """The same table, less the images with these file names.

        Raises:
            BuildError: when no image is left.
        """
        gone = set(file_names)
        images = tuple(image for image in self.images if image.file_name not in gone)
        if not images:
            raise BuildError(f"None of the {len(self.images):,} images that the annotations name is there.")
        return replace(self, images=images)

    def only(self, image_ids: Collection[int]) -> "CocoTable":
        """The same table with these images alone.

        Raises:
            BuildError: for an id that no image has.
        """
        asked = set(image_ids)
        if unknown := sorted(asked - {image.image_id for image in self.images}):
            raise BuildError(
                f"{len(unknown):,} of the {len(asked):,} image ids are not among the {len(self.images):,} images of "
                f"the annotations, such as {unknown[0]}. Are these the annotations of the same split?"
            )
        return replace(self, images=tuple(image for image in self.images if image.image_id in asked))


def read_annotations(file: Readable) -> CocoTable:
    """Read and check an annotation file.

    Raises:
        BuildError: when it cannot be read, is not JSON (or is cut off), is not COCO, or contradicts itself.
    """
    data = _parse(file)
    _check(data, str(file))
    coco = COCO()
    coco.dataset = data
    with contextlib.redirect_stdout(io.StringIO()):
        coco.createIndex()
    return CocoTable(
        classes=tuple(coco.cats[i]["name"] for i in sorted(coco.cats)),
        images=tuple(_image(coco, image_id) for image_id in sorted(coco.imgs)),
        class_ids=tuple(sorted(coco.cats)),
    )


def _image(coco: COCO, image_id: int) -> CocoImage:
    annotations = coco.imgToAnns[image_id]
    present = sorted({annotation["category_id"] for annotation in annotations})
    names = tuple(coco.cats[i]["name"] for i in present)
    return CocoImage(image_id, coco.imgs[image_id]["file_name"], names, len(annotations))


def _parse(file: Readable) -> Any:
    try:
        data = file.read_bytes()
    except (OSError, zipfile.BadZipFile) as error:
        raise BuildError(f"The annotation file {file} cannot be read: {error}.") from error
    try:
        return json.loads(data, object_hook=_lean)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
        raise BuildError(
            f"{file} is {'cut off' if cut else 'not JSON'}: {error.msg} at line {error.lineno}, "
            f"column {error.colno} (character {error.pos:,} of {len(error.doc):,}). Get the file again."
        ) from error
    except UnicodeDecodeError as error:
        raise BuildError(
            f"{file} is not JSON: byte {error.start:,} is not UTF-8. Get the file again."
        ) from error


def _lean(entry: dict[str, Any]) -> dict[str, Any]:
    """An annotation without its box and outline, which would fill most of the memory; anything else as it is."""
    if "image_id" in entry and "category_id" in entry:
        return {key: entry.get(key) for key in ("id", "image_id", "category_id")}
    return entry


def _check(data: Any, name: str) -> None:
    """Refuse what is not COCO, before anything is made of it."""
    if not isinstance(data, dict):
        raise BuildError(f"{name} is not COCO: it holds a JSON {type(data).__name__}, expected an object.")
    for key in ("images", "annotations", "categories"):
        if not isinstance(data.get(key), list):
            what = f"{key!r} is a {type(data[key]).__name__}" if key in data else f"it has no {key!r}"
            raise BuildError(
                f"{name} is not COCO: {what}; expected lists of images, annotations and categories."
            )
        if not data[key] and key != "annotations":
            raise BuildError(f"{name} names no {key}; there is nothing to build.")
    images = _ids(data["images"], f"{name}: images", "file_name")
    categories = _ids(data["categories"], f"{name}: categories", "name")
    for i, annotation in enumerate(data["annotations"]):
        where = f"{name}: annotations[{i}]"
        if not isinstance(annotation, dict):
            raise BuildError(f"{where} is {annotation!r:.80}; expected an object.")
        for key, known, what in (("image_id", images, "images"), ("category_id", categories, "categories")):
            if type(annotation.get(key)) is not int or annotation[key] not in known:
                raise BuildError(
                    f"{where} (id {annotation.get('id')}) has {key} {annotation.get(key)!r:.80}, "
                    f"which is not among the {len(known):,} {what} of the file."
                )


def _ids(entries: Iterable[Any], where: str, text: str) -> set[int]:
    """The ids of images or categories: each a number, once, and with a name."""
    seen: set[int] = set()
    for i, entry in enumerate(entries):
        if not isinstance(entry, dict) or type(entry.get("id")) is not int:
            raise BuildError(
                f"{where}[{i}] is {entry!r:.80}; expected an object with a whole number as its id."
            )
        if not isinstance(entry.get(text), str) or not entry[text]:
            raise BuildError(
                f"{where}[{i}] (id {entry['id']}) has {text} {entry.get(text)!r:.80}; expected text."
            )
        if entry["id"] in seen:
            raise BuildError(
                f"{where}[{i}] has id {entry['id']}, which an earlier entry has too; ids are unique."
            )
        seen.add(entry["id"])
    return seen
