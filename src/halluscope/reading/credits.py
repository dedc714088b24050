"""Whose an image is, and under which licence, as COCO's annotation files tell it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halluscope.files.opening import read_json
from halluscope.foreign import brief


def credits(file: Path) -> dict[str, str]:
    """Read the licence and the source of each image.

    Args:
        file: an annotation file of COCO's form, with `images` (id, license, and flickr_url or coco_url) and `licenses`
            (id, name, and maybe url).

    Returns:
        The image's id as text -> the licence's name, and where the image comes from, as far as they are there.

    Raises:
        ValueError: for another form.
        FileNotFoundError: if there is no such file.
    """
    data = read_json(file)
    if not isinstance(data, Mapping) or not all(
        isinstance(data.get(name), list) for name in ("images", "licenses")
    ):
        raise ValueError(
            f"{file} is {brief(data)}; expected an annotation file of COCO's form, with `images` and `licenses`."
        )
    names = {row["id"]: str(row["name"]) for row in _rows(data["licenses"], "name")}
    return {str(row["id"]): _credit(row, names) for row in _rows(data["images"], "id")}


def _rows(rows: list[Any], needed: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if isinstance(row, Mapping) and "id" in row and needed in row]


def _credit(image: Mapping[str, Any], names: Mapping[Any, str]) -> str:
    known = (names.get(image.get("license")), image.get("flickr_url") or image.get("coco_url"))
    return ", ".join(str(part) for part in known if part)
