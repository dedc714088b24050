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

# Which values fit, and the kind in words
Kind = tuple[Callable[[Any], bool], str]

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
        return [[self.classes[kind] for kind in np.flatnonzero(row)] for row in self.present()]

    def only(self, wanted: Sequence[bool]) -> "CocoTable":
        """Return the table of some of the images."""
        kept = np.array(wanted)[self.owners]
        return replace(
            self,
            image_ids=tuple(compress(self.image_ids, wanted)),
            file_names=tuple(compress(self.file_names, wanted)),
            owners=(np.cumsum(wanted) - 1)[self.owners[kept]],
            kinds=self.kinds[kept],
        )


def read_annotations(file: Readable) -> CocoTable:
    """Read and check an annotation file; its boxes are not read."""
    return read_boxes(file, sized=False)[0]


def read_boxes(
    file: Readable, sized: bool = True
) -> tuple[CocoTable, NDArray[np.int64], NDArray[np.float64]]:
    """Read and check an annotation file.

    Besides the table there are the images' widths and heights [images, 2] and the annotations' boxes [annotations, 4]:
    x and y of the upper left corner, width and height, all in pixels; without `sized`, both are empty.
    """
    names: dict[str, dict[int, str]] = {"images": {}, "categories": {}}
    ids: dict[str, dict[str, int]] = {"images": {}, "categories": {}}
    sizes: dict[int, list[int]] = {}
    image_ids, class_ids, boxes = array("q"), array("q"), array("d")
    count = {"images": 0, "annotations": 0, "categories": 0}
    for key, entry in entries_of(file, *count):
        where = f"{file}: {key}[{count[key]}]"
        count[key] += 1
        if key == "annotations":
            image_ids.append(take(entry, "image_id", WHOLE, where))
            class_ids.append(take(entry, "category_id", WHOLE, where))
            if sized:
                boxes.extend(take(entry, "bbox", BOX, where))
            continue
        number = take(entry, "id", WHOLE, where)
        name = take(entry, "file_name" if key == "images" else "name", LINE, where)
        if number in names[key]:
            raise BuildError(
                f"{where} has id {number}, which an earlier entry has too; expected each id once."
            )
        # images and classes are known by their names
        if (first := ids[key].setdefault(name, number)) != number:
            raise BuildError(
                f"{file}: {key} {first} and {number} are both called {short_repr(name)}; expected each name once. "
                "Get the file again, or rename one."
            )
        names[key][number] = name
        if sized and key == "images":
            sizes[number] = [take(entry, side, SIDE, where) for side in ("width", "height")]
    for key, known in names.items():
        if not known:
            raise BuildError(f"{file} names no {key}; there is nothing to build.")
    images, classes = (dict(sorted(known.items())) for known in names.values())
    table = CocoTable(
        classes=tuple(classes.values()),
        class_ids=tuple(classes),
        image_ids=tuple(images),
        file_names=tuple(images.values()),
        owners=_index(image_ids, images, f"{file}: annotations", "image_id"),
        kinds=_index(class_ids, classes, f"{file}: annotations", "category_id"),
    )
    return table, np.array([sizes[one] for one in images if sized]), np.array(boxes).reshape(-1, 4)


def take(entry: Any, key: str, kind: Kind, where: str) -> Any:
    """Return a value of an object in a JSON file, after checking that it is of a kind."""
    fits, expected = kind
    if not isinstance(entry, dict):
        raise BuildError(f"{where} is {short_repr(entry)}; expected an object whose {key} is {expected}.")
    if not fits(value := entry.get(key)):
        raise BuildError(f"{where} has {key} {short_repr(value)}; expected {expected}.")
    return value


def _is_box(value: Any) -> bool:
    is_list = isinstance(value, list) and len(value) == 4
    return (
        is_list
        and all(type(one) in (int, float) and -_FAR < one < _FAR for one in value)
        and min(value[2:]) >= 0
    )


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and len(value.splitlines()) == 1 and not value.isspace()


WHOLE: Kind = is_id, "a 64-bit whole number"
SIDE: Kind = lambda value: type(value) is int and 0 < value < _FAR, "pixels, a whole number of at least 1"
BOX: Kind = _is_box, "[x, y, width, height] in pixels, with a width and height of at least 0"
LINE: Kind = _is_line, "text of one line"


def _index(ids: "array[int]", known: Mapping[int, str], where: str, key: str) -> NDArray[np.int64]:
    """Return the index of each id among the known ids."""
    positions = {number: index for index, number in enumerate(known)}
    found = np.fromiter((positions.get(number, -1) for number in ids), np.int64, len(ids))
    for wrong in np.flatnonzero(found < 0)[:1]:
        raise BuildError(
            f"{where}[{wrong}] has {key} {ids[wrong]}, which is not among the {len(known):,} ids that the file names."
        )
    return found


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
