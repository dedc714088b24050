"""Reads COCO's annotation files: which classes and boxes are in which image, and who made the images.

The format: https://cocodataset.org/#format-data. Every annotation counts, those of crowds (iscrowd) too. A file is read
entry by entry; only each annotation's image, class and box are kept in memory.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, entries_of, read_json
from halluscope.sanitize import short_repr
from halluscope.validation import is_id

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


@dataclass(frozen=True)
class CocoTable:
    """The images of an annotation file, and the classes annotated in them."""

    classes: tuple[str, ...]  # the class names, ordered by category id
    class_ids: tuple[int, ...]  # the category ids
    image_ids: tuple[int, ...]  # in order
    file_names: tuple[str, ...]  # of the images
    owners: NDArray[np.int64]  # [annotations], the index of each annotation's image; as in the file
    kinds: NDArray[np.int64]  # [annotations], the index of its class

    def present(self) -> NDArray[np.bool_]:
        """Return which class is in which image [images, classes]."""
        table = np.zeros((len(self.image_ids), len(self.classes)), dtype=bool)
        table[self.owners, self.kinds] = True
        return table

    def objects(self) -> list[list[str]]:
        """Return the classes in each image, in the order of category ids."""
        objects = []
        for is_present in self.present():
            objects.append([self.classes[index] for index in np.flatnonzero(is_present)])
        return objects

    def only(self, is_chosen: Sequence[bool]) -> "CocoTable":
        """Return the table of some of the images."""
        is_of_chosen = np.array(is_chosen)[self.owners]
        new_index = np.cumsum(is_chosen) - 1
        return replace(
            self,
            image_ids=tuple(compress(self.image_ids, is_chosen)),
            file_names=tuple(compress(self.file_names, is_chosen)),
            owners=new_index[self.owners[is_of_chosen]],
            kinds=self.kinds[is_of_chosen],
        )


@dataclass(frozen=True)
class CocoBoxes:
    """An annotation file with the sizes of its images and the boxes of its annotations, in pixels."""

    table: CocoTable
    sizes: NDArray[np.int64]  # [images, 2], width and height
    boxes: NDArray[np.float64]  # [annotations, 4], x and y of the upper left corner, width and height


@dataclass(frozen=True)
class Kind:
    """A kind of value in a JSON file."""

    fits: Callable[[Any], bool]  # whether a value is of this kind
    expected: str  # the kind in words, for errors


def _is_side(value: Any) -> bool:
    return type(value) is int and 0 < value < _FAR


def _is_box(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 4:
        return False
    for number in value:
        if type(number) not in (int, float) or not -_FAR < number < _FAR:
            return False
    width, height = value[2:]
    return bool(width >= 0 and height >= 0)


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and len(value.splitlines()) == 1 and not value.isspace()


WHOLE = Kind(is_id, "a 64-bit whole number")
SIDE = Kind(_is_side, "pixels, a whole number of at least 1")
BOX = Kind(_is_box, "[x, y, width, height] in pixels, with a width and height of at least 0")
LINE = Kind(_is_line, "text of one line")


def take(entry: Any, key: str, kind: Kind, where: str) -> Any:
    """Return a value of an object in a JSON file, after checking that it is of a kind.

    Raises:
        BuildError: if the entry is no object, or if the value is of another kind.
    """
    if not isinstance(entry, dict):
        raise BuildError(
            f"{where} is {short_repr(entry)}; expected an object whose {key} is {kind.expected}."
        )
    value = entry.get(key)
    if not kind.fits(value):
        raise BuildError(f"{where} has {key} {short_repr(value)}; expected {kind.expected}.")
    return value


def read_annotations(file: Readable) -> CocoTable:
    """Read and check an annotation file; its boxes are not read."""
    return _read(file, with_boxes=False).table


def read_boxes(file: Readable) -> CocoBoxes:
    """Read and check an annotation file and its boxes."""
    return _read(file, with_boxes=True)


def _read(file: Readable, with_boxes: bool) -> CocoBoxes:
    """Read an annotation file; without boxes, sizes and boxes are empty."""
    images = _Named(str(file), "images", "file_name")
    classes = _Named(str(file), "categories", "name")
    image_ids = array("q")
    class_ids = array("q")
    sizes: dict[int, list[int]] = {}
    boxes = array("d")
    counts = {"images": 0, "annotations": 0, "categories": 0}
    for key, entry in entries_of(file, *counts):
        where = f"{file}: {key}[{counts[key]}]"
        counts[key] += 1
        if key == "annotations":
            image_ids.append(take(entry, "image_id", WHOLE, where))
            class_ids.append(take(entry, "category_id", WHOLE, where))
            if with_boxes:
                boxes.extend(take(entry, "bbox", BOX, where))
        elif key == "categories":
            classes.add(entry, where)
        else:
            image_id = images.add(entry, where)
            if with_boxes:
                sizes[image_id] = [take(entry, "width", SIDE, where), take(entry, "height", SIDE, where)]
    file_names = images.in_order()
    class_names = classes.in_order()
    table = CocoTable(
        classes=tuple(class_names.values()),
        class_ids=tuple(class_names),
        image_ids=tuple(file_names),
        file_names=tuple(file_names.values()),
        owners=_indexes(image_ids, file_names, f"{file}: annotations", "image_id"),
        kinds=_indexes(class_ids, class_names, f"{file}: annotations", "category_id"),
    )
    sizes_in_order = [size for _, size in sorted(sizes.items())]
    return CocoBoxes(table, np.array(sizes_in_order), np.array(boxes).reshape(-1, 4))


class _Named:
    """The images or the classes of a file, which have an id and a name each."""

    def __init__(self, file: str, key: str, name_key: str) -> None:
        self._file = file
        self._key = key
        self._name_key = name_key
        self._names: dict[int, str] = {}
        self._ids: dict[str, int] = {}

    def add(self, entry: Any, where: str) -> int:
        """Check an entry of the file, and return its id."""
        number: int = take(entry, "id", WHOLE, where)
        name: str = take(entry, self._name_key, LINE, where)
        if number in self._names:
            raise BuildError(
                f"{where} has id {number}, which an earlier entry has too; expected each id once."
            )
        if name in self._ids:
            raise BuildError(
                f"{self._file}: {self._key} {self._ids[name]} and {number} are both called {short_repr(name)}; "
                "expected each name once. Get the file again, or rename one."
            )
        self._names[number] = name
        self._ids[name] = number
        return number

    def in_order(self) -> dict[int, str]:
        """Return id -> name, by id; raises a BuildError if the file names nothing."""
        if not self._names:
            raise BuildError(f"{self._file} names no {self._key}; there is nothing to build.")
        return dict(sorted(self._names.items()))


def _indexes(ids: "array[int]", known: Mapping[int, str], where: str, key: str) -> NDArray[np.int64]:
    """Return the index of each id among the known ids."""
    positions = {number: index for index, number in enumerate(known)}
    indexes = np.fromiter((positions.get(number, -1) for number in ids), np.int64, len(ids))
    unknown = np.flatnonzero(indexes < 0)
    if len(unknown):
        first = unknown[0]
        raise BuildError(
            f"{where}[{first}] has {key} {ids[first]}, which is not among the {len(known):,} ids that the file names."
        )
    return indexes


def credits(file: Path) -> dict[str, str]:
    """Read the licence and the source of each image; the keys are the images' ids."""
    content = read_json(file)
    if not isinstance(content, Mapping) or not isinstance(content.get("images"), list):
        raise ValueError(
            f"{file} is {short_repr(content)}; expected an annotation file in COCO's format, with `images`."
        )
    names = {}
    for licence in _objects_with("name", content.get("licenses")):
        names[licence["id"]] = str(licence["name"])
    if not names:
        names = LICENCES
    texts = {}
    for image in _objects_with("id", content["images"]):
        parts = []
        licence_id = image.get("license")
        if isinstance(licence_id, int):
            parts.append(names.get(licence_id))
        parts.append(image.get("flickr_url") or image.get("coco_url"))
        texts[str(image["id"])] = ", ".join(str(part) for part in parts if part)
    return texts


def _objects_with(key: str, rows: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a list that have an id and this key; none of what is no list."""
    if not isinstance(rows, list):
        return []
    return [row for row in rows if isinstance(row, Mapping) and "id" in row and key in row]
