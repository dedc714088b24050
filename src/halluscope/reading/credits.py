"""Reads the source and the licence of each image from COCO's annotation files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halluscope.files.opening import read_json
from halluscope.sanitize import short_repr

# COCO's licences by their ids, for files that leave them out
COCO = {
    1: "CC BY-NC-SA 2.0",
    2: "CC BY-NC 2.0",
    3: "CC BY-NC-ND 2.0",
    4: "CC BY 2.0",
    5: "CC BY-SA 2.0",
    6: "CC BY-ND 2.0",
    7: "no known copyright restrictions",
    8: "a work of the United States' government",
}


def credits(file: Path) -> dict[str, str]:
    """Read the licence and the source of each image."""
    data = read_json(file)
    if not isinstance(data, Mapping) or not isinstance(data.get("images"), list):
        raise ValueError(
            f"{file} is {short_repr(data)}; expected an annotation file in COCO's format, with `images`."
        )
    licenses = data.get("licenses")
    own = (
        {row["id"]: str(row["name"]) for row in _rows(licenses, "name")} if isinstance(licenses, list) else {}
    )
    return {str(row["id"]): _credit(row, own or COCO) for row in _rows(data["images"], "id")}


def _rows(rows: list[Any], needed: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if isinstance(row, Mapping) and "id" in row and needed in row]


def _credit(image: Mapping[str, Any], names: Mapping[int, str]) -> str:
    license = image.get("license")
    known = (
        names.get(license) if isinstance(license, int) else None,
        image.get("flickr_url") or image.get("coco_url"),
    )
    return ", ".join(str(part) for part in known if part)
