"""Lists the largest objects of images, with their places (THRONE's supplement, section 5.1)."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from halluscope.errors import BuildError
from halluscope.reading.coco import CocoTable
from halluscope.stats.ratios import Floats

# The most objects of a name that are listed
PER_CLASS = 3

# The names of the nine places, row by row; the paper prints only "bottom left".
PLACES = (
    ("top left", "top", "top right"),
    ("left", "center", "right"),
    ("bottom left", "bottom", "bottom right"),
)

# The pixels by which a box may extend beyond its picture, because coordinates are rounded
BEYOND = 1.0

# The columns of a table of boxes: the index of the image, the object's name, its box, and the size of the picture
COLUMNS = ("image", "name", "x", "y", "w", "h", "width", "height")


@dataclass(frozen=True)
class PlacedObject:
    """An object in an image."""

    name: str
    place: str


@dataclass(frozen=True)
class Listed:
    """The objects of images, and what became of boxes that leave their pictures."""

    objects: dict[int, list[PlacedObject]]  # index of the image -> its objects, the largest first
    boxes_cut: int
    boxes_left_out: int


def list_objects(boxes: pd.DataFrame, clip: bool, table: CocoTable) -> Listed:
    """List each image's largest objects, at most `PER_CLASS` of a name, with their places.

    With `clip`, boxes that leave their pictures are cut or left out; otherwise they are an error. A centre on a grid
    line belongs to the right or below.

    Args:
        boxes: a table with the columns `COLUMNS`, in pixels.
        clip: whether boxes may leave their pictures.
        table: names the images, for errors.
    """
    start = boxes[["x", "y"]].to_numpy(float)
    size = boxes[["w", "h"]].to_numpy(float)
    picture = boxes[["width", "height"]].to_numpy(float)
    is_beyond = ((start < -BEYOND) | (start + size > picture + BEYOND)).any(axis=1)
    if is_beyond.any() and not clip:
        raise leaves_its_picture(boxes.loc[is_beyond].iloc[0], table)
    end_inside = np.minimum(start + size, picture)
    start_inside = np.maximum(start, 0)
    start = np.where(is_beyond[:, np.newaxis], start_inside, start)
    size = np.where(is_beyond[:, np.newaxis], end_inside - start_inside, size)
    is_inside = ~is_beyond | (size > 0).all(axis=1)
    objects = boxes[["image", "name"]].assign(
        area=size.prod(axis=1),
        place=places(start + size / 2, picture),
    )
    return Listed(
        largest(objects[is_inside]),
        boxes_cut=int((is_beyond & is_inside).sum()),
        boxes_left_out=int((~is_inside).sum()),
    )


def leaves_its_picture(box: pd.Series, table: CocoTable) -> BuildError:
    """Return the error of a box that extends beyond its picture."""
    image = box["image"]
    numbers = ", ".join(f"{box[column]:g}" for column in ("x", "y", "w", "h"))
    return BuildError(
        f"Image {table.image_ids[image]} ({table.file_names[image]}) has the box [{numbers}] (x, y, width, height), "
        f"which extends beyond its picture of {box['width']:g} x {box['height']:g} pixels. Are these annotations of "
        "the same images? If so, correct the file, or pass --clip to cut boxes to their picture, leave out those "
        "outside it, and count both."
    )


def places(centres: Floats, pictures: Floats) -> NDArray[np.str_]:
    """Return the names of the places of points [points, 2] in pictures of these sizes [points, 2]."""
    cells = (3 * centres / pictures).astype(int).clip(0, 2)
    column = cells[:, 0]
    row = cells[:, 1]
    named: NDArray[np.str_] = np.array(PLACES)[row, column]
    return named


def largest(objects: pd.DataFrame) -> dict[int, list[PlacedObject]]:
    """Return each image's largest objects, the largest first, and equal ones in the order of the table."""
    by_area = objects.sort_values("area", ascending=False, kind="stable")
    counting = by_area.groupby(["image", "name"]).head(PER_CLASS)
    of_image = defaultdict(list)
    for row in counting.itertuples(index=False):
        of_image[row.image].append(PlacedObject(row.name, row.place))
    return dict(of_image)
