"""Reads from a COCO annotation file which classes are in which image.

The format: https://cocodataset.org/#format-data. `info` and `licenses` may be absent. Every annotation counts, those of
crowds (iscrowd) too, because the question is only whether a class is in the image.
"""

import contextlib
import io
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from pycocotools.coco import COCO

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, read_json
from halluscope.foreign import brief
from halluscope.numbers import is_id


@dataclass(frozen=True)
class CocoImage:
    """One image: its id and file name, the classes in it ordered by category id, and its number of annotations."""

    image_id: int
    file_name: str
    objects: tuple[str, ...]
    annotations: int


@dataclass(frozen=True)
class CocoTable:
    """The class names in the order of category ids, the images in the order of image ids, and the category ids."""

    classes: tuple[str, ...]
    images: tuple[CocoImage, ...]
    class_ids: tuple[int, ...]

    @property
    def file_names(self) -> list[str]:
        """The images' file names, in the order of image ids."""
        return [image.file_name for image in self.images]

    def without(self, file_names: Iterable[str]) -> "CocoTable":
        """Return the table without the images that have these file names.

        Raises:
            BuildError: when no image is left.
        """
        gone = set(file_names)
        images = tuple(image for image in self.images if image.file_name not in gone)
        if not images:
            raise BuildError(f"None of the {len(self.images):,} images that the annotations name exists.")
        return replace(self, images=images)

    def only(self, image_ids: Collection[int]) -> "CocoTable":
        """Return the table with only these images.

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
        LimitExceeded: when it is too large.
        FileNotFoundError: when it is not there.
    """
    data = read_json(file, _lean)
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


def _lean(entry: dict[str, Any]) -> dict[str, Any]:
    """Drop an annotation's box and outline, which would fill most of the memory; leave any other object unchanged."""
    if "image_id" in entry and "category_id" in entry:
        return {key: entry.get(key) for key in ("id", "image_id", "category_id")}
    return entry


def _check(data: Any, name: str) -> None:
    """Check that a file's content is COCO annotations.

    Raises:
        BuildError: if it is not, or contradicts itself.
    """
    if not isinstance(data, dict):
        raise BuildError(f"{name} is not COCO: it holds a JSON {type(data).__name__}; expected an object.")
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
            raise BuildError(f"{where} is {brief(annotation)}; expected an object.")
        if isinstance(annotation.get("id"), list | dict):
            raise BuildError(f"{where} has the id {brief(annotation['id'])}; expected a whole number.")
        for key, known, what in (("image_id", images, "images"), ("category_id", categories, "categories")):
            if type(annotation.get(key)) is not int or annotation[key] not in known:
                raise BuildError(
                    f"{where} (id {brief(annotation.get('id'))}) has {key} {brief(annotation.get(key))}, "
                    f"which is not among the {len(known):,} {what} of the file."
                )


def _ids(entries: Iterable[Any], where: str, text: str) -> set[int]:
    """Check that images or categories have unique ids, which are numbers, and unique names; return the ids."""
    seen: set[int] = set()
    named: dict[str, int] = {}
    for i, entry in enumerate(entries):
        if not isinstance(entry, dict) or not is_id(entry.get("id")):
            raise BuildError(
                f"{where}[{i}] is {brief(entry)}; expected an object whose id is a 64-bit whole number."
            )
        if not isinstance(entry.get(text), str) or not entry[text]:
            raise BuildError(
                f"{where}[{i}] (id {entry['id']}) has {text} {brief(entry.get(text))}; expected text."
            )
        if entry["id"] in seen:
            raise BuildError(
                f"{where}[{i}] has id {entry['id']}, which an earlier entry has too; expected each id once."
            )
        if named.setdefault(entry[text], entry["id"]) != entry["id"]:
            raise BuildError(
                f"{where}[{i}] (id {entry['id']}) has the {text} {brief(entry[text])}, which the id "
                f"{named[entry[text]]} has too; expected each {text} once. Get the file again, or rename one."
            )
        seen.add(entry["id"])
    return seen
