"""Reads and checks image files, in a folder on disk or in a zip.

An image is looked for by its whole path, then by shorter and shorter ends of it: a folder that was unpacked without its
outer folders may hold images/v1/patch8/a.jpg as patch8/a.jpg.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, inside, is_there, leads_out, read_bytes
from halluscope.files.pictures import open_picture
from halluscope.sanitize import short_repr


def missing(names: Iterable[str], folder: Readable) -> list[str]:
    return [name for name in names if not is_there(_file(name, folder))]


def check(names: Sequence[str], folder: Readable, only_present: bool = False) -> None:
    """Decode every image; with `only_present`, some may be missing, but not all."""
    absent = missing(names, folder)
    if absent and not (only_present and len(absent) < len(names)):
        shown = ", ".join(absent[:5]) + (", ..." if len(absent) > 5 else "")
        raise BuildError(
            f"{len(absent):,} of the {len(names):,} images are not in {folder}: {shown}. Name the folder that holds "
            "them all, or pass --only-images-present."
        )
    for name in tqdm(sorted({*names} - {*absent}), desc="checking images", unit="image", disable=None):
        open_picture(read(name, folder), str(_file(name, folder)))


def stored(name: str | None, folder: Readable) -> dict[str, Any] | None:
    if name is None or missing([name], folder):
        return None
    return {"bytes": read(name, folder), "path": name}


def read(name: str, folder: Readable) -> bytes:
    return read_bytes(_file(name, folder), "image")


def _file(name: str, folder: Readable) -> Readable:
    if leads_out(name):
        raise BuildError(
            f"The file name {short_repr(name)} leads out of {folder}; expected a path inside it."
        )
    parts = name.split("/")
    ends = ["/".join(parts[start:]) for start in range(len(parts))]
    files = [inside(folder, end) if isinstance(folder, Path) else folder / end for end in ends]
    return next(filter(is_there, files), files[0])
