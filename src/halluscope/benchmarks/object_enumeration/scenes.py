"""Reads Visual Genome's objects in COCO's images."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from halluscope.benchmarks.object_enumeration.boxes import COLUMNS
from halluscope.files.opening import Readable, entries
from halluscope.reading.coco import BOX, SIDE, WHOLE, CocoTable, Kind, take
from halluscope.validation import is_id


def is_id_or_null(value: Any) -> bool:
    return value is None or is_id(value)


def is_list(value: Any) -> bool:
    return isinstance(value, list)


def are_texts(values: Any) -> bool:
    """Whether a value of a JSON file is a list of texts."""
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


COCO_ID = Kind(is_id_or_null, "a 64-bit whole number, or null")
LIST = Kind(is_list, "a list")
TEXTS = Kind(are_texts, "a list of text")


@dataclass(frozen=True)
class Scenes:
    """What Visual Genome says of images."""

    boxes: pd.DataFrame  # with the columns `COLUMNS`; the sizes of pictures are Visual Genome's
    names: dict[int, set[str]]  # index of the image -> all names of its objects


@dataclass(frozen=True)
class Picture:
    """Visual Genome's copy of an image, which may be larger or smaller than COCO's."""

    image: int  # its index
    width: int
    height: int


@dataclass(frozen=True)
class Entry:
    """An entry of one of Visual Genome's files, about an image."""

    image_id: int  # Visual Genome's
    content: Any
    where: str  # it stands, for errors


def read_scenes(image_data: Readable, objects: Readable, table: CocoTable) -> Scenes:
    """Read Visual Genome's objects in the table's images; of two scenes of an image the first counts."""
    pictures = read_pictures(image_data, table)
    rows = []
    names: dict[int, set[str]] = {}
    for entry in read_entries(objects):
        scene_objects = take(entry.content, "objects", LIST, entry.where)
        picture = pictures.get(entry.image_id)
        if picture is None or picture.image in names:
            continue
        for scene_object in scene_objects:
            names_of_object = plain_names(take(scene_object, "names", TEXTS, entry.where))
            numbers = [scene_object.get(key) for key in ("x", "y", "w", "h")]
            x, y, width, height = take({"box": numbers}, "box", BOX, entry.where)
            if not names_of_object:
                continue
            rows.append(
                (
                    picture.image,
                    names_of_object[0],
                    x,
                    y,
                    width,
                    height,
                    picture.width,
                    picture.height,
                )
            )
            names.setdefault(picture.image, set()).update(names_of_object)
    return Scenes(pd.DataFrame(rows, columns=list(COLUMNS)), names)


def read_pictures(image_data: Readable, table: CocoTable) -> dict[int, Picture]:
    """Read which of Visual Genome's images are in the table: its image id -> the picture."""
    index_of = {image_id: index for index, image_id in enumerate(table.image_ids)}
    pictures = {}
    for entry in read_entries(image_data):
        coco_id = take(entry.content, "coco_id", COCO_ID, entry.where)
        if coco_id in index_of:
            pictures[entry.image_id] = Picture(
                index_of[coco_id],
                width=take(entry.content, "width", SIDE, entry.where),
                height=take(entry.content, "height", SIDE, entry.where),
            )
    return pictures


def read_entries(file: Readable) -> Iterator[Entry]:
    for number, content in enumerate(entries(file), 1):
        where = f"{file}: entry {number}"
        yield Entry(take(content, "image_id", WHOLE, where), content, where)


def plain_names(names: Sequence[str]) -> list[str]:
    """Return an object's names in lower case and with single spaces, without empty ones."""
    plain = []
    for name in names:
        words = name.lower().split()
        if words:
            plain.append(sys.intern(" ".join(words)))  # the same few names occur millions of times
    return plain
