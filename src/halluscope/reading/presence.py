"""Which objects are in which image: a presence dataset, COCO's annotations, or a file of image id -> class names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.files.opening import json_rows, parse, read_text
from halluscope.reading.rows import Source, read_columns

Located = tuple[Any, str]
"""A row, and where it stands."""


@dataclass(frozen=True)
class ImageObjects:
    """A row: an image and what is in it.

    Attributes:
        image_id: unique.
        objects: class names.
        file_name: of the image; "" where it is not known.
    """

    image_id: int
    objects: Sequence[str]
    file_name: str = ""


def load(sources: Sequence[str]) -> list[ImageObjects]:
    """Read presence datasets (columns `image_id` and `objects`), COCO annotation files, or files of image id -> names.

    Raises:
        ValueError: for a file or dataset of another form, or an image id that comes twice.
        FileNotFoundError: if a file does not exist.
    """
    return _each_once(located for source in sources for located in _located(source))


def read_all(rows: Iterable[Any], where: str = "references") -> list[ImageObjects]:
    """Read rows of a presence dataset.

    Raises:
        ValueError: for a row that is none, or an image id that comes twice.
    """
    return _each_once((row, f"{where}[{number}]") for number, row in enumerate(rows))


def _located(written: str) -> Iterable[Located]:
    source = Source.of(written)
    if source.is_json and not source.name.endswith((".jsonl", ".jsonl.gz")):
        yield from _of_json(source.path)
    elif source.is_json:
        yield from ((row, where) for where, row in json_rows(source.path))
    else:
        names = ("image_id", "objects", "file_name")
        rows = read_columns(written, names, names[:2], "a presence dataset")
        yield from ((row, f"{written}, row {number}") for number, row in enumerate(rows))


def _of_json(path: Path) -> Iterable[Located]:
    content = parse(read_text(path), str(path))
    if isinstance(content, dict) and "annotations" in content:
        from halluscope.reading.coco import read_annotations

        for image in read_annotations(path).images:
            row = {"image_id": image.image_id, "objects": list(image.objects), "file_name": image.file_name}
            yield row, str(path)
    elif isinstance(content, dict):
        for key, names in content.items():
            yield {"image_id": key, "objects": names}, f"{path}, {key!r}"
    else:
        raise ValueError(
            f"{path} holds a {type(content).__name__}; expected image id -> class names, or COCO's form."
        )


def _each_once(located: Iterable[Located]) -> list[ImageObjects]:
    images: dict[int, ImageObjects] = {}
    for row, where in located:
        image = row if isinstance(row, ImageObjects) else _image(row, where)
        if image.image_id in images:
            raise ValueError(f"{where}: image_id {image.image_id} comes twice in the labels.")
        images[image.image_id] = image
    return list(images.values())


def _image(row: Any, where: str) -> ImageObjects:
    if not isinstance(row, Mapping) or "image_id" not in row or not isinstance(row.get("objects"), list):
        raise ValueError(
            f"{where}: expected image_id and objects, a list of class names; got {str(row)[:120]}."
        )
    value = row["image_id"]
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{where}: image_id is {value!r:.80}; expected a whole number.")
    return ImageObjects(value, row["objects"], str(row.get("file_name") or ""))
