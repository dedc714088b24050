"""Reads the boxes of a COCO annotation file entry by entry; only each annotation's image, class and box are kept.

The format: https://cocodataset.org/#format-data. Every annotation counts, those of crowds (iscrowd) too.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import BuildError
from halluscope.files.entries import entries_of
from halluscope.files.opening import Readable
from halluscope.foreign import brief

Box = tuple[float, float, float, float]
"""x and y of the upper left corner, width and height, in pixels."""

BEYOND = 1.0
"""The pixels by which a box may extend beyond its image, because coordinates are rounded."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image, by its id and file name; width and height in pixels."""

    image_id: int
    file_name: str
    width: int
    height: int


@dataclass(frozen=True)
class Boxes:
    """Images and what is annotated in them.

    Attributes:
        classes: the class names, ordered by category id.
        pictures: the images, ordered by image id.
        kinds: [annotations], the index of each annotation's class in `classes`; annotations are ordered by image, and
            within an image as in the file.
        corners: [annotations, 4], each annotation's `Box`, in the same order.
        starts: [images + 1], where each image's annotations begin in `kinds`; the last number is where they end.
    """

    classes: tuple[str, ...]
    pictures: tuple[Picture, ...]
    kinds: NDArray[np.int32]
    corners: NDArray[np.float64]
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


def read(file: Readable) -> Boxes:
    """Read and check an annotation file.

    Raises:
        BuildError: when it cannot be read, is not JSON (or is cut off), is not COCO, or contradicts itself.
        LimitExceeded: when it is too large.
    """
    pictures: dict[int, Picture] = {}
    classes: dict[int, str] = {}
    image_ids, class_ids, corners = array("q"), array("q"), array("d")
    read_in = {"images": 0, "annotations": 0, "categories": 0}
    for name, entry in entries_of(file, *read_in):
        where = f"{file}: {name}[{read_in[name]}]"
        read_in[name] += 1
        if not isinstance(entry, dict):
            raise BuildError(f"{where} is {brief(entry)}; expected an object.")
        if name == "annotations":
            image_ids.append(_id(entry, "image_id", where))
            class_ids.append(_id(entry, "category_id", where))
            corners.extend(box_of(entry.get("bbox"), where))
        elif name == "images":
            picture = _picture(entry, where)
            _once(picture.image_id, pictures, where)
            pictures[picture.image_id] = picture
        else:
            category = _id(entry, "id", where)
            _once(category, classes, where)
            classes[category] = _name(entry, "name", where)
    for name in ("images", "categories"):
        if not read_in[name]:
            raise BuildError(f"{file} names no {name}; there is nothing to build.")
    _check_names(classes, str(file))
    known = tuple(pictures[one] for one in sorted(pictures))
    return _grouped(
        tuple(classes[one] for one in sorted(classes)),
        known,
        _places(class_ids, sorted(classes), f"{file}: annotations", "category_id"),
        _places(image_ids, [one.image_id for one in known], f"{file}: annotations", "image_id"),
        np.array(corners).reshape(-1, 4),
    )


def box_of(given: Any, where: str) -> Box:
    """Check a box as a file has it; whether it lies in its image is left to `fitted`.

    Raises:
        BuildError: unless it is four finite numbers, with a width and height that are not negative.
    """
    good = isinstance(given, list) and len(given) == 4 and all(map(_is_near, given))
    if not good or given[2] < 0 or given[3] < 0:
        raise BuildError(
            f"{where} has the box {brief(given)}; expected [x, y, width, height] in pixels, with a width and "
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


_FAR = 1e9
"""Coordinates and sizes must be smaller than this, in pixels."""


def _is_near(value: Any) -> bool:
    return type(value) in (int, float) and -_FAR < value < _FAR


def _picture(entry: dict[str, Any], where: str) -> Picture:
    number, file_name = _id(entry, "id", where), _name(entry, "file_name", where)
    width, height = (entry.get(key) for key in ("width", "height"))
    if not (type(width) is int and type(height) is int and 0 < width < _FAR and 0 < height < _FAR):
        raise BuildError(
            f"{where} (id {number}) has width {brief(width)} and height {brief(height)}; expected pixels, whole "
            "numbers of at least 1."
        )
    return Picture(number, file_name, width, height)


def _id(entry: dict[str, Any], key: str, where: str) -> int:
    value = entry.get(key)
    if type(value) is not int or abs(value) >= 2**63:
        raise BuildError(f"{where} has {key} {brief(value)}; expected a whole number of at most 63 bits.")
    return value


def _name(entry: dict[str, Any], key: str, where: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or len(value.splitlines()) != 1 or not value.strip():
        raise BuildError(f"{where} has {key} {brief(value)}; expected text of one line.")
    return value


def _once(number: int, seen: dict[int, Any], where: str) -> None:
    if number in seen:
        raise BuildError(f"{where} has id {number}, which an earlier entry has too; expected each id once.")


def _check_names(classes: dict[int, str], name: str) -> None:
    """Check that no two categories have the same name: objects are distinguished by it."""
    of: dict[str, int] = {}
    for category, text in classes.items():
        if (first := of.setdefault(text, category)) != category:
            raise BuildError(
                f"{name}: categories {first} and {category} are both called {brief(text)}; expected each name once."
            )


def _places(ids: "array[int]", known: Sequence[int], where: str, key: str) -> NDArray[np.int64]:
    """Return the index of each id among the known ids, which are sorted."""
    wanted, there = np.frombuffer(ids, np.int64) if ids else np.empty(0, np.int64), np.array(known)
    places = np.searchsorted(there, wanted)
    strange = np.flatnonzero(there[np.minimum(places, len(there) - 1)] != wanted)
    if len(strange):
        first = int(strange[0])
        raise BuildError(
            f"{where}[{first}] has {key} {ids[first]}, which is not among the {len(known):,} ids that the file names."
        )
    return places


def _grouped(
    classes: tuple[str, ...],
    pictures: tuple[Picture, ...],
    kinds: NDArray[np.int64],
    owners: NDArray[np.int64],
    corners: NDArray[np.float64],
) -> Boxes:
    order = np.argsort(owners, kind="stable")
    starts = np.searchsorted(owners[order], np.arange(len(pictures) + 1))
    return Boxes(classes, pictures, kinds[order].astype(np.int32), corners[order], starts)
