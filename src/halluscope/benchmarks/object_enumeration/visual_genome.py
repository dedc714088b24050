"""Reads Visual Genome's objects in the images that it shares with COCO."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from halluscope.benchmarks.object_enumeration.enumeration import Fitting, Instance, listed
from halluscope.errors import BuildError
from halluscope.files.json_stream import entries
from halluscope.files.opening import Readable
from halluscope.reading.coco import Box, box_of
from halluscope.sanitize import short_repr


@dataclass(frozen=True, slots=True)
class Shared:
    """COCO's id of an image, and its size in Visual Genome, which may differ."""

    image_id: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Scene:
    """Visual Genome's annotation of an image."""

    objects: tuple[Instance, ...]  # the objects to list
    names: frozenset[str]  # the known classes that Visual Genome names


def read_scenes(
    image_data: Readable, objects: Readable, image_ids: set[int], classes: set[str], fit: Fitting
) -> dict[int, Scene]:
    """Read the objects of the wanted images."""
    shared = {number: one for number, one in _images(image_data) if one.image_id in image_ids}
    found: dict[int, Scene] = {}
    for number, where, given in _of_images(objects):
        image = shared.get(number)
        if image is not None and image.image_id not in found:
            scene = _scene(image, [_object(one, where) for one in given], classes, fit, where)
            if scene.objects:
                found[image.image_id] = scene
    if not found:
        raise BuildError(
            f"{objects} and {image_data} have no objects for any of the {len(image_ids):,} images of the "
            "annotations. Are these Visual Genome's files, and annotations of COCO's train images?"
        )
    return found


def _images(file: Readable) -> Iterator[tuple[int, Shared]]:
    for place, entry in enumerate(entries(file)):
        where = f"{file}: entry {place + 1}"
        numbers = [_get(entry, key, where) for key in ("image_id", "coco_id", "width", "height")]
        if numbers[1] is None:
            continue
        if any(type(number) is not int for number in numbers) or min(numbers[2:]) < 1:
            raise BuildError(
                f"{where} is {short_repr(entry)}; expected image_id, coco_id, width and height as whole numbers."
            )
        yield numbers[0], Shared(*numbers[1:])


def _of_images(file: Readable) -> Iterator[tuple[int, str, list[Any]]]:
    for place, entry in enumerate(entries(file)):
        where = f"{file}: entry {place + 1}"
        number, objects = _get(entry, "image_id", where), _get(entry, "objects", where)
        if type(number) is not int or not isinstance(objects, list):
            raise BuildError(f"{where} is {short_repr(entry)}; expected image_id, and a list of objects.")
        yield number, where, objects


def _object(given: Any, where: str) -> tuple[list[str], Box]:
    names = _get(given, "names", where)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BuildError(
            f"{where} has an object with the names {short_repr(names)}; expected a list of text."
        )
    plain = [sys.intern(" ".join(name.lower().split())) for name in names]
    return [name for name in plain if name], box_of([_get(given, key, where) for key in "xywh"], where)


def _scene(
    image: Shared, held: list[tuple[list[str], Box]], classes: set[str], fit: Fitting, where: str
) -> Scene:
    boxes = [
        (names[0], part)
        for names, box in held
        if names and (part := fit(box, image.width, image.height, where)) is not None
    ]
    named = frozenset(name for names, _ in held for name in names) & classes
    return Scene(listed(boxes, image.width, image.height), named)


def _get(entry: Any, key: str, where: str) -> Any:
    if not isinstance(entry, Mapping) or key not in entry:
        raise BuildError(f"{where} holds {short_repr(entry)}; expected an object with {key}.")
    return entry[key]
