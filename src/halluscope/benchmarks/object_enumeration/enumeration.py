"""The enumeration of one image: its objects with their places, and what is absent (supplement, section 5.1)."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from halluscope.reading.boxes import Box

INSTRUCTION = "<image> Give a list of objects and locations in the image."

PER_CLASS = 3

PLACES = (
    ("top left", "top", "top right"),
    ("left", "center", "right"),
    ("bottom left", "bottom", "bottom right"),
)
"""The names of the nine places, row by row; the paper prints only "bottom left"."""

ABSENT = "absent"


class Instance(NamedTuple):
    """An object: the name of its class, and its place."""

    name: str
    place: str


@dataclass(frozen=True, slots=True)
class Enumeration:
    """What a model is taught to say about an image.

    Attributes:
        objects: the objects, in the order of the list.
        absent: the names of absent classes, in the order of the draw.
    """

    objects: tuple[Instance, ...]
    absent: tuple[str, ...]

    @property
    def response(self) -> str:
        """The list as text, one entry per line, with brackets as the paper prints them.

        >>> Enumeration((Instance("dining table", "bottom"),), ("dog",)).response
        'dining table [bottom]\\ndog [absent]'
        """
        lines = (*self.objects, *((name, ABSENT) for name in self.absent))
        return "\n".join(f"{name} [{place}]" for name, place in lines)


def listed(objects: Iterable[tuple[str, Box]], width: int, height: int) -> tuple[Instance, ...]:
    """Return the objects of a picture to list: those with the largest boxes first, at most `PER_CLASS` per class.

    Args:
        objects: class names and boxes; boxes of equal area keep their order.
        width: the width of the picture, in pixels.
        height: the height of the picture, in pixels.
    """
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
