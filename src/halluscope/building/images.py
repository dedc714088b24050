"""Reads and checks image files, in a folder on disk or in a zip.

An image is looked for by its whole name, then by less and less of its path: a folder that was unpacked without the
outer folders may hold patch8/a.jpg for images/v1/patch8/a.jpg.
"""

import io
from collections.abc import Iterable, Sequence
from typing import Any

from PIL import Image
from tqdm import tqdm

from halluscope.errors import BuildError
from halluscope.files.opening import Readable


def missing(names: Iterable[str], folder: Readable) -> list[str]:
    """The file names that the folder lacks.

    Raises:
        BuildError: for a name that leads out of the folder.
    """
    return [name for name in names if not _file(name, folder).is_file()]


def check(names: Sequence[str], folder: Readable, hint: str = "Name the folder that holds them all.") -> None:
    """Decode every image: Pillow's verify() does not notice a JPEG that is cut off.

    Args:
        names: the images' file names.
        folder: where they lie.
        hint: what to do when some are missing.

    Raises:
        BuildError: for an image that is missing or cannot be decoded, with its name.
    """
    if absent := missing(names, folder):
        shown = ", ".join(absent[:5]) + (", ..." if len(absent) > 5 else "")
        raise BuildError(f"{len(absent):,} of the {len(names):,} images are not in {folder}: {shown}. {hint}")
    for name in tqdm(names, desc="checking images", unit="image", disable=None):
        try:
            Image.open(io.BytesIO(read(name, folder))).load()
        except Exception as error:  # Pillow's decoders raise errors of many kinds
            raise BuildError(
                f"{_file(name, folder)} is not a readable image: {error}. Get it again."
            ) from error


def stored(name: str | None, folder: Readable) -> dict[str, Any] | None:
    """An image as a row holds it; None where there is none, or its file is not there."""
    if name is None or missing([name], folder):
        return None
    return {"bytes": read(name, folder), "path": name}


def read(name: str, folder: Readable) -> bytes:
    """An image file's bytes, untouched."""
    return _file(name, folder).read_bytes()


def _file(name: str, folder: Readable) -> Readable:
    if name.startswith("/") or "\\" in name or ".." in name.split("/"):
        raise BuildError(f"The file name {name!r} leads out of {folder}; expected a path inside it.")
    parts = name.split("/")
    places = (folder / "/".join(parts[start:]) for start in range(len(parts)))
    return next((place for place in places if place.is_file()), folder / name)
