"""What is done with boxes that leave their picture."""

from dataclasses import dataclass

from halluscope.errors import BuildError
from halluscope.reading.boxes import Box, fitted


@dataclass
class Fitting:
    """Looks at boxes, and cuts them if that is wanted.

    Attributes:
        clip: whether to cut what leaves its picture; otherwise it is an error.
        cut: how many were cut.
        left_out: how many lay outside.
    """

    clip: bool = False
    cut: int = 0
    left_out: int = 0

    def __call__(self, box: Box, width: int, height: int, where: str) -> Box | None:
        """The part of a box that lies in its picture; None if it lies outside.

        Raises:
            BuildError: for a box that leaves its picture, unless it is to be cut.
        """
        part = fitted(box, width, height)
        if part is box:
            return box
        if not self.clip:
            shown = ", ".join(f"{number:g}" for number in box)
            raise BuildError(
                f"{where} has the box [{shown}] (x, y, width, height), which leaves its picture of {width} x {height} "
                "pixels. Are these annotations of the same images? If they are, correct the file, or pass --clip: then "
                "boxes are cut to their picture, those that lie outside are left out, and both are counted."
            )
        if part is None:
            self.left_out += 1
        else:
            self.cut += 1
        return part
