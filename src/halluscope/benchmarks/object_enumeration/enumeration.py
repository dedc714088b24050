"""The enumeration of one image: its objects with their places, and what is absent (supplement, section 5.1)."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from halluscope.errors import BuildError
from halluscope.reading.coco import Box, fitted

INSTRUCTION = "<image> Give a list of objects and locations in the image."

PER_CLASS = 3

# The names of the nine places, row by row; the paper prints only "bottom left".
PLACES = (
    ("top left", "top", "top right"),
    ("left", "center", "right"),
    ("bottom left", "bottom", "bottom right"),
)

ABSENT = "absent"


class Instance(NamedTuple):
    """An object: the name of its class, and its place."""

    name: str
    place: str


@dataclass(frozen=True, slots=True)
class Enumeration:
    """What a model is taught to say about an image."""

    objects: tuple[Instance, ...]  # the objects, in the order of the list
    absent: tuple[str, ...]  # the names of absent classes, in the order of the draw

    @property
    def response(self) -> str:
        """The list as text, one entry per line, with brackets as the paper prints them.

        >>> Enumeration((Instance("dining table", "bottom"),), ("dog",)).response
        'dining table [bottom]\\ndog [absent]'
        """
        lines = (*self.objects, *((name, ABSENT) for name in self.absent))
        return "\n".join(f"{name} [{place}]" for name, place in lines)


def listed(objects: Iterable[tuple[str, Box]], width: int, height: int) -> tuple[Instance, ...]:
    """Return the largest objects, at most `PER_CLASS` per class."""
    of_class: Counter[str] = Counter()
    found = []
    for name, box in sorted(objects, key=_smallness):
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
    return PLACES[_third(y + high / 2, height)][_third(x + wide / 2, width)]


def _third(centre: float, size: int) -> int:
    return min(max(int(3 * centre / size), 0), 2)


def _smallness(item: tuple[str, Box]) -> float:
    _, (_, _, wide, high) = item
    return -(wide * high)


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
