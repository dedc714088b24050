"""Checks and cuts boxes that extend beyond their picture."""

from dataclasses import dataclass

from halluscope.errors import BuildError
from halluscope.reading.boxes import Box, fitted


@dataclass
class Fitting:
    """Checks boxes, and cuts them if asked to.

    Attributes:
        clip: whether to cut a box that extends beyond its picture; otherwise such a box is an error.
        cut: the number of boxes cut.
        left_out: the number of boxes left out because they lie outside.
    """

    clip: bool = False
    cut: int = 0
    left_out: int = 0

    def __call__(self, box: Box, width: int, height: int, where: str) -> Box | None:
        """Return the part of a box that lies in its picture, or None if the box lies outside.

        Raises:
            BuildError: for a box that extends beyond its picture, unless `clip` is set.
        """
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
