"""Reads COCO's annotation files: which classes and boxes are in which image, and who made the images.

The format: https://cocodataset.org/#format-data. Every annotation counts, those of crowds (iscrowd) too. A file is read
entry by entry; only each annotation's image, class and box are kept in memory.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, entries_of, read_json
from halluscope.inputs import is_id
from halluscope.sanitize import short_repr

# x and y of the upper left corner, width and height, in pixels
Box = tuple[float, float, float, float]

# The pixels by which a box may extend beyond its image, because coordinates are rounded
BEYOND = 1.0

# Coordinates and sizes must be smaller than this, in pixels
_FAR = 1e9

# COCO's licences by their ids, for files that leave them out
LICENCES = {
    1: "CC BY-NC-SA 2.0",
    2: "CC BY-NC 2.0",
    3: "CC BY-NC-ND 2.0",
    4: "CC BY 2.0",
    5: "CC BY-SA 2.0",
    6: "CC BY-ND 2.0",
    7: "no known copyright restrictions",
    8: "a work of the United States' government",
}


@dataclass(frozen=True, slots=True)
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
        return [image.file_name for image in self.images]

    def without(self, file_names: Iterable[str]) -> "CocoTable":
        gone = set(file_names)
        images = tuple(image for image in self.images if image.file_name not in gone)
        if not images:
            raise BuildError(f"None of the {len(self.images):,} images that the annotations name exists.")
        return replace(self, images=images)

    def only(self, image_ids: Collection[int]) -> "CocoTable":
        asked = set(image_ids)
        if unknown := sorted(asked - {image.image_id for image in self.images}):
            raise BuildError(
                f"{len(unknown):,} of the {len(asked):,} image ids are not among the {len(self.images):,} images of "
                f"the annotations, such as {unknown[0]}. Are these the annotations of the same split?"
            )
        return replace(self, images=tuple(image for image in self.images if image.image_id in asked))


@dataclass(frozen=True, slots=True)
class Picture:
    """An image, by its id and file name; width and height in pixels, 0 where sizes are not read."""

    image_id: int
    file_name: str
    width: int
    height: int


@dataclass(frozen=True)
class Boxes:
    """Images and what is annotated in them. Annotations are ordered by image, and within an image as in the file."""

    classes: tuple[str, ...]  # the class names, ordered by category id
    class_ids: tuple[int, ...]  # the category ids
    pictures: tuple[Picture, ...]  # the images, ordered by image id
    kinds: NDArray[np.int32]  # [annotations], the index of each annotation's class in `classes`
    corners: NDArray[np.float64]  # [annotations, 4], each annotation's `Box`
    # [images + 1], where each image's annotations begin in `kinds`; the last number is where they end
    starts: NDArray[np.int64]

    def of(self, picture: int) -> list[tuple[int, Box]]:
        """Return the annotations of the image at this index: class and box, in the order of the file."""
        some = slice(self.starts[picture], self.starts[picture + 1])
        return list(zip(self.kinds[some].tolist(), map(tuple, self.corners[some].tolist()), strict=True))

    def present(self) -> Iterator[NDArray[np.int32]]:
        """Yield the classes in each image, each class once and in order."""
        return (np.unique(self.kinds[some]) for some in map(slice, self.starts[:-1], self.starts[1:]))


def read_annotations(file: Readable) -> CocoTable:
    """Read and check an annotation file; its boxes are not read."""
    table = read_boxes(file, sized=False)
    counts = np.diff(table.starts).tolist()
    images = (
        CocoImage(image.image_id, image.file_name, tuple(table.classes[kind] for kind in kinds), count)
        for image, kinds, count in zip(table.pictures, table.present(), counts, strict=True)
    )
    return CocoTable(table.classes, tuple(images), table.class_ids)


def read_boxes(file: Readable, sized: bool = True) -> Boxes:
    """Read and check an annotation file; without `sized`, boxes and image sizes are neither needed nor read."""
    names: dict[str, dict[int, str]] = {"images": {}, "categories": {}}
    sizes: dict[int, tuple[int, int]] = {}
    image_ids, class_ids, corners = array("q"), array("q"), array("d")
    count = {"images": 0, "annotations": 0, "categories": 0}
    for key, entry in entries_of(file, *count):
        where = f"{file}: {key}[{count[key]}]"
        count[key] += 1
        if key == "annotations":
            image_ids.append(_id(entry, "image_id", where))
            class_ids.append(_id(entry, "category_id", where))
            if sized:
                corners.extend(box_of(entry.get("bbox"), where))
        else:
            number = _id(entry, "id", where)
            if number in names[key]:
                raise BuildError(
                    f"{where} has id {number}, which an earlier entry has too; expected each id once."
                )
            names[key][number] = _name(entry, "file_name" if key == "images" else "name", where)
            if sized and key == "images":
                sizes[number] = _size(entry, where)
    for key, known in names.items():
        if not known:
            raise BuildError(f"{file} names no {key}; there is nothing to build.")
        first: dict[str, int] = {}  # images and classes are known by their names
        for number, name in known.items():
            if first.setdefault(name, number) != number:
                raise BuildError(
                    f"{file}: {key} {first[name]} and {number} are both called {short_repr(name)}; expected each name "
                    "once. Get the file again, or rename one."
                )
    pictures, classes = sorted(names["images"].items()), sorted(names["categories"].items())
    owners = _index(image_ids, pictures, f"{file}: annotations", "image_id")
    kinds = _index(class_ids, classes, f"{file}: annotations", "category_id")
    order = np.argsort(owners, kind="stable")
    return Boxes(
        classes=tuple(name for _, name in classes),
        class_ids=tuple(number for number, _ in classes),
        pictures=tuple(Picture(number, name, *sizes.get(number, (0, 0))) for number, name in pictures),
        kinds=kinds[order].astype(np.int32),
        corners=np.array(corners).reshape(-1, 4)[order if sized else slice(0)],
        starts=np.searchsorted(owners[order], np.arange(len(pictures) + 1)),
    )


def box_of(given: Any, where: str) -> Box:
    """Check a box as a file has it; whether it lies in its image is left to `fitted`."""
    good = isinstance(given, list) and len(given) == 4
    if (
        not good
        or not all(type(value) in (int, float) and -_FAR < value < _FAR for value in given)
        or min(given[2:]) < 0
    ):
        raise BuildError(
            f"{where} has the box {short_repr(given)}; expected [x, y, width, height] in pixels, with a width and "
            "height of at least 0."
        )
    return tuple(given)


def fitted(box: Box, width: int, height: int) -> Box | None:
    """Return the part of a box that lies in its image: all of it if it fits, None if it lies outside."""
    x, y, wide, high = box
    if x >= -BEYOND and y >= -BEYOND and x + wide <= width + BEYOND and y + high <= height + BEYOND:
        return box
    left, top, right, bottom = max(x, 0.0), max(y, 0.0), min(x + wide, width), min(y + high, height)
    return None if left >= right or top >= bottom else (left, top, right - left, bottom - top)


def _size(entry: dict[str, Any], where: str) -> tuple[int, int]:
    width, height = (entry.get(key) for key in ("width", "height"))
    if not (type(width) is int and type(height) is int and 0 < width < _FAR and 0 < height < _FAR):
        raise BuildError(
            f"{where} (id {entry['id']}) has width {short_repr(width)} and height {short_repr(height)}; expected "
            "pixels, whole numbers of at least 1."
        )
    return width, height


def _id(entry: Any, key: str, where: str) -> int:
    if not isinstance(entry, dict):
        raise BuildError(
            f"{where} is {short_repr(entry)}; expected an object whose {key} is a 64-bit whole number."
        )
    value: Any = entry.get(key)
    if not is_id(value):
        raise BuildError(f"{where} has {key} {short_repr(value)}; expected a 64-bit whole number.")
    return int(value)


def _name(entry: dict[str, Any], key: str, where: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or len(value.splitlines()) != 1 or not value.strip():
        raise BuildError(
            f"{where} (id {entry['id']}) has {key} {short_repr(value)}; expected text of one line."
        )
    return value


def _index(ids: "array[int]", known: Sequence[tuple[int, str]], where: str, key: str) -> NDArray[np.int64]:
    """Return the index of each id among the known ids, which are sorted."""
    wanted, sorted_ids = np.array(ids, np.int64), np.array([number for number, _ in known])
    index = np.searchsorted(sorted_ids, wanted)
    unknown = np.flatnonzero(sorted_ids[np.minimum(index, len(known) - 1)] != wanted)
    if len(unknown):
        first = int(unknown[0])
        raise BuildError(
            f"{where}[{first}] has {key} {ids[first]}, which is not among the {len(known):,} ids that the file names."
        )
    return index


def credits(file: Path) -> dict[str, str]:
    """Read the licence and the source of each image."""
    data = read_json(file)
    if not isinstance(data, Mapping) or not isinstance(data.get("images"), list):
        raise ValueError(
            f"{file} is {short_repr(data)}; expected an annotation file in COCO's format, with `images`."
        )
    names = {row["id"]: str(row["name"]) for row in _rows(data.get("licenses"), "name")} or LICENCES
    found = {}
    for image in _rows(data["images"], "id"):
        licence = image.get("license")
        known = names.get(licence) if isinstance(licence, int) else None
        parts = (known, image.get("flickr_url") or image.get("coco_url"))
        found[str(image["id"])] = ", ".join(str(part) for part in parts if part)
    return found


def _rows(rows: Any, needed: str) -> list[Mapping[str, Any]]:
    listed = rows if isinstance(rows, list) else []
    return [row for row in listed if isinstance(row, Mapping) and "id" in row and needed in row]
