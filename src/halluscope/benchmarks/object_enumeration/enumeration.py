"""The enumeration of an image: its objects with their places, and what is absent (THRONE's supplement, section 5).

The objects are COCO's, or Visual Genome's in the images that it shares with COCO. Absent classes are those that often
occur with what is present (section 5.2): the paper's pseudocode, line by line, so it gives the same numbers; the
dataset's card says how the lines that cannot run as printed are understood.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, entries
from halluscope.reading.coco import Box, box_of, fitted
from halluscope.sanitize import short_repr

INSTRUCTION = "<image> Give a list of objects and locations in the image."

PER_CLASS = 3
NEGATIVES = 6
SHARPENED = 10
MOST = 2**32 - 1  # The largest image id that `numpy.random.RandomState` takes as its seed; the smallest is 0

# The names of the nine places, row by row; the paper prints only "bottom left".
PLACES = (
    ("top left", "top", "top right"),
    ("left", "center", "right"),
    ("bottom left", "bottom", "bottom right"),
)

# The indices of some classes, in a list of all classes by category id.
Kinds = Sequence[int] | NDArray[np.integer[Any]]


class Instance(NamedTuple):
    """An object: the name of its class, and its place."""

    name: str
    place: str


class Enumeration(NamedTuple):
    """What a model is taught to say about an image."""

    objects: tuple[Instance, ...]  # the objects, in the order of the list
    absent: tuple[str, ...]  # the names of absent classes, in the order of the draw

    @property
    def response(self) -> str:
        """The list as text, one entry per line, with brackets as the paper prints them.

        >>> Enumeration((Instance("dining table", "bottom"),), ("dog",)).response
        'dining table [bottom]\\ndog [absent]'
        """
        lines = (*self.objects, *((name, "absent") for name in self.absent))
        return "\n".join(f"{name} [{place}]" for name, place in lines)


def listed(objects: Iterable[tuple[str, Box]], width: int, height: int) -> tuple[Instance, ...]:
    """Return the largest objects, at most `PER_CLASS` per class."""
    of_class: Counter[str] = Counter()
    found = []
    for name, box in sorted(objects, key=lambda one: -(one[1][2] * one[1][3])):
        of_class[name] += 1
        if of_class[name] <= PER_CLASS:
            found.append(Instance(name, place(box, width, height)))
    return tuple(found)


def place(box: Box, width: int, height: int) -> str:
    """Return the place of a box's centre in a picture; a centre on a grid line belongs to the right or below.

    >>> place((0, 0, 20, 20), 90, 60), place((20, 30, 20, 20), 90, 60)
    ('top left', 'bottom')
    """
    x, y, wide, high = box
    line, side = (
        min(max(int(3 * centre / size), 0), 2)
        for centre, size in ((y + high / 2, height), (x + wide / 2, width))
    )
    return PLACES[line][side]


@dataclass
class Fitting:
    """Checks boxes that extend beyond their picture, and cuts them if asked to."""

    # whether to cut a box that extends beyond its picture; otherwise such a box is an error
    clip: bool = False
    cut: int = 0  # the number of boxes cut
    left_out: int = 0  # the number of boxes left out because they lie outside

    def __call__(self, box: Box, width: int, height: int, where: str) -> Box | None:
        """Return the part of a box inside its picture; None if there is none."""
        part = fitted(box, width, height)
        if part is box:
            return box
        if not self.clip:
            shown = ", ".join(f"{number:g}" for number in box)
            raise BuildError(
                f"{where} has the box [{shown}] (x, y, width, height), which extends beyond its picture of {width} x "
                f"{height} pixels. Are these annotations of the same images? If so, correct the file, or pass --clip "
                "to cut boxes to their picture, leave out those outside it, and count both."
            )
        if part is None:
            self.left_out += 1
        else:
            self.cut += 1
        return part


def together(images: Iterable[Kinds], classes: int) -> NDArray[np.float64]:
    """Count the images in which two classes occur together [classes, classes]; the diagonal is 0."""
    co_occur = np.zeros((classes, classes))
    for present in map(_array, images):
        co_occur[np.ix_(present, present)] += 1
    np.fill_diagonal(co_occur, 0)
    return co_occur


def chances(co_occur: NDArray[np.float64], present: Kinds, never: Kinds | None = None) -> NDArray[np.float64]:
    """Return each class's chance of being drawn first [classes]; the sum is 1, or 0 if no class can be drawn."""
    barred = _array(present if never is None else never)
    if len(present) == 0:
        even = np.ones(len(co_occur))
        even[barred] = 0
        return _shares(even)
    rows = co_occur[_array(present)].copy()
    rows[:, barred] = 0
    summed = _shares(_shares(rows).sum(axis=0))
    return _shares(summed**SHARPENED)


def draw(image_id: int, probabilities: NDArray[np.float64]) -> list[int]:
    """Draw the absent classes of an image: six, or as many as possible, in the order of the draw."""
    size = min(NEGATIVES, int(np.count_nonzero(probabilities)))
    if not size:
        return []
    rng = np.random.RandomState(image_id)
    drawn: list[int] = rng.choice(len(probabilities), size=size, p=probabilities, replace=False).tolist()
    return drawn


def _shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = values.sum(axis=-1, keepdims=True)
    shares: NDArray[np.float64] = np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)
    return shares


def _array(kinds: Kinds) -> NDArray[np.int64]:
    return np.asarray(kinds, dtype=np.int64)


class Scene(NamedTuple):
    """Visual Genome's annotation of an image."""

    objects: tuple[Instance, ...]  # the objects to list
    names: frozenset[str]  # the known classes that Visual Genome names


def read_scenes(
    image_data: Readable, objects: Readable, image_ids: set[int], classes: set[str], fit: Fitting
) -> dict[int, Scene]:
    """Read the objects of the wanted images; an image's size in Visual Genome may differ from COCO's."""
    shared: dict[int, tuple[int, int, int]] = {}
    for where, entry in _entries(image_data, "image_id", "coco_id", "width", "height"):
        number, coco_id, *size = (entry[key] for key in ("image_id", "coco_id", "width", "height"))
        if coco_id is None:
            continue
        if any(type(one) is not int for one in (number, coco_id, *size)) or min(size) < 1:
            raise BuildError(
                f"{where} is {short_repr(entry)}; expected image_id, coco_id, width and height as whole numbers."
            )
        if coco_id in image_ids:
            shared[number] = coco_id, size[0], size[1]
    found: dict[int, Scene] = {}
    for where, entry in _entries(objects, "image_id", "objects"):
        if type(entry["image_id"]) is not int or not isinstance(entry["objects"], list):
            raise BuildError(f"{where} is {short_repr(entry)}; expected image_id, and a list of objects.")
        coco_id, width, height = shared.get(entry["image_id"], (None, 0, 0))
        if coco_id is None or coco_id in found:
            continue
        held = [_object(one, where) for one in entry["objects"]]
        boxes = [
            (names[0], part)
            for names, box in held
            if names and (part := fit(box, width, height, where)) is not None
        ]
        if boxes:
            named = frozenset(name for names, _ in held for name in names) & classes
            found[coco_id] = Scene(listed(boxes, width, height), named)
    if not found:
        raise BuildError(
            f"{objects} and {image_data} have no objects for any of the {len(image_ids):,} images of the "
            "annotations. Are these Visual Genome's files, and annotations of COCO's train images?"
        )
    return found


def _entries(file: Readable, *keys: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for place, entry in enumerate(entries(file), 1):
        _check_keys(entry, keys, f"{file}: entry {place}")
        yield f"{file}: entry {place}", entry


def _check_keys(entry: Any, keys: Iterable[str], where: str) -> None:
    for key in keys:
        if not isinstance(entry, Mapping) or key not in entry:
            raise BuildError(f"{where} holds {short_repr(entry)}; expected an object with {key}.")


def _object(given: Any, where: str) -> tuple[list[str], Box]:
    _check_keys(given, ("names", *"xywh"), where)
    names = given["names"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BuildError(
            f"{where} has an object with the names {short_repr(names)}; expected a list of text."
        )
    plain = [sys.intern(" ".join(name.lower().split())) for name in names]
    return [name for name in plain if name], box_of([given[key] for key in "xywh"], where)
