"""Reads a COCO annotation file entry by entry; only each annotation's image, class and box are kept in memory.

The format: https://cocodataset.org/#format-data. Every annotation counts, those of crowds (iscrowd) too.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import BuildError
from halluscope.files.json_stream import entries_of
from halluscope.files.opening import Readable
from halluscope.inputs import is_id
from halluscope.sanitize import short_repr

# x and y of the upper left corner, width and height, in pixels
Box = tuple[float, float, float, float]

# The pixels by which a box may extend beyond its image, because coordinates are rounded
BEYOND = 1.0


@dataclass(frozen=True, slots=True)
class Picture:
    """An image, by its id and file name; width and height in pixels, 0 where sizes are not read."""

    image_id: int
    file_name: str
    width: int
    height: int


@dataclass(frozen=True)
class Boxes:
    """Images and what is annotated in them."""

    classes: tuple[str, ...]  # the class names, ordered by category id
    class_ids: tuple[int, ...]  # the category ids
    pictures: tuple[Picture, ...]  # the images, ordered by image id
    # [annotations], the index of each annotation's class in `classes`; annotations are ordered by image, and
    # within an image as in the file
    kinds: NDArray[np.int32]
    corners: NDArray[np.float64]  # [annotations, 4], each annotation's `Box`, in the same order
    # [images + 1], where each image's annotations begin in `kinds`; the last number is where they end
    starts: NDArray[np.int64]

    def of(self, picture: int) -> list[tuple[int, Box]]:
        """Return the annotations of the image at this index: class and box, in the order of the file."""
        some = slice(self.starts[picture], self.starts[picture + 1])
        boxes: list[list[float]] = self.corners[some].tolist()
        kinds: list[int] = self.kinds[some].tolist()
        return [(kind, (x, y, w, h)) for kind, (x, y, w, h) in zip(kinds, boxes, strict=True)]

    def present(self) -> Iterator[NDArray[np.int32]]:
        """Yield the classes in each image, each class once and in order."""
        return (np.unique(self.kinds[some]) for some in map(slice, self.starts[:-1], self.starts[1:]))


def read(file: Readable, sized: bool = True) -> Boxes:
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
        _check_distinct(known, f"{file}: {key}")
    files, classes = sorted(names["images"].items()), sorted(names["categories"].items())
    owners = _index(image_ids, [number for number, _ in files], f"{file}: annotations", "image_id")
    kinds = _index(class_ids, [number for number, _ in classes], f"{file}: annotations", "category_id")
    order = np.argsort(owners, kind="stable")
    return Boxes(
        classes=tuple(name for _, name in classes),
        class_ids=tuple(number for number, _ in classes),
        pictures=tuple(Picture(number, name, *sizes.get(number, (0, 0))) for number, name in files),
        kinds=kinds[order].astype(np.int32),
        corners=np.array(corners).reshape(-1, 4)[order if sized else slice(0)],
        starts=np.searchsorted(owners[order], np.arange(len(files) + 1)),
    )


def box_of(given: Any, where: str) -> Box:
    """Check a box as a file has it; whether it lies in its image is left to `fitted`."""
    good = isinstance(given, list) and len(given) == 4 and all(map(_is_near, given))
    if not good or given[2] < 0 or given[3] < 0:
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


# Coordinates and sizes must be smaller than this, in pixels
_FAR = 1e9


def _is_near(value: Any) -> bool:
    return type(value) in (int, float) and -_FAR < value < _FAR


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


def _check_distinct(names: dict[int, str], where: str) -> None:
    """Check that no two images or classes have the same name, by which they are known."""
    first: dict[str, int] = {}
    for number, name in names.items():
        if first.setdefault(name, number) != number:
            raise BuildError(
                f"{where} {first[name]} and {number} are both called {short_repr(name)}; expected each name once. "
                "Get the file again, or rename one."
            )


def _index(ids: "array[int]", known: Sequence[int], where: str, key: str) -> NDArray[np.int64]:
    """Return the index of each id among the known ids, which are sorted."""
    wanted, sorted_ids = np.frombuffer(ids, np.int64) if ids else np.empty(0, np.int64), np.array(known)
    index = np.searchsorted(sorted_ids, wanted)
    unknown = np.flatnonzero(sorted_ids[np.minimum(index, len(known) - 1)] != wanted)
    if len(unknown):
        first = int(unknown[0])
        raise BuildError(
            f"{where}[{first}] has {key} {ids[first]}, which is not among the {len(known):,} ids that the file names."
        )
    return index
