"""Opens the images of a dataset or a folder, each when it is first asked for, and checks that they are complete."""

import re
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from PIL.Image import Image

from halluscope.errors import BuildError
from halluscope.files.opening import inside, is_file, read_bytes
from halluscope.files.pictures import open_picture
from halluscope.sanitize import one_line, short_repr

# The endings of image files' names, in lower case
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")

# Matches a name that ends in a number
_NUMBER = re.compile(r"(?:.*[^0-9])?([0-9]{1,18})")

# Returns the image for a key. It may be the same object each time, so change only a copy.
Find = Callable[[Any], Image]


def open_stored(stored: Mapping[str, Any] | None, folder: Path | None, name: str) -> Image:
    """Open the image that a row holds, or whose file it names."""
    if stored and stored["bytes"] is not None:
        path = stored["path"]
        return open_picture(stored["bytes"], f"{name}, {short_repr(path)}," if path else name)
    if stored is None or folder is None:
        raise BuildError(
            f"{name} is not in its row, and image files are opened only in a folder that you name."
        )
    return open_named(stored["path"], folder, name)


def open_named(file: Any, folder: Path, name: str) -> Image:
    """Open the image file that a row names, in a folder; raises the errors of `open_stored`."""
    if not isinstance(file, str):
        raise BuildError(f"{name} is called {short_repr(file)}; expected the name of a file in {folder}.")
    try:
        path = inside(folder, file)
    except BuildError as error:
        raise BuildError(f"{name} cannot be opened: {error}") from error
    if not is_file(path):
        raise BuildError(f"{name} is called {short_repr(file)}, which is not in {folder}.")
    return open_picture(read_bytes(path, "image"), f"{name}, {path},")


def of_table(
    images: Any,
    key: str,
    wanted: set[Hashable],
    name: str,
    keep: int | None = None,
    folder: Path | None = None,
) -> Find:
    from datasets import Image as ImageFeature

    try:
        stored = images.select_columns(["image"]).cast_column("image", ImageFeature(decode=False))
    except Exception as error:  # the library raises its own errors, and pyarrow's
        kind = short_repr(images.features["image"])
        raise ValueError(f"The column image of {name} holds {kind}; expected images.") from error
    there = pc.is_valid(stored.data.column("image")).to_pylist()
    row_of: dict[Hashable, int] = {}
    for row, (value, valid) in enumerate(zip(images[key], there, strict=True)):
        if valid:
            row_of.setdefault(value, row)
    if missing := wanted - row_of.keys():
        raise ValueError(
            f"{len(missing):,} of the {len(wanted):,} images that {name} asks about are missing, such as {key} "
            f"{min(map(str, missing))}. Build it with images, or name the folder that holds them (--images, in "
            "Python images)."
        )

    @lru_cache(keep)
    def find(value: Hashable) -> Image:
        row = row_of[value]
        return open_stored(stored[row]["image"], folder, f"The image in row {row:,} of {name}")

    return find


def of_folder(folder: Path, wanted: set[str], keep: int | None = None) -> Find:
    """Return a function that finds the image files of a folder, of which `keep` stay open; None keeps all open."""
    if not folder.is_dir():
        raise ValueError(f"There is no folder {folder}; expected the one that holds the images.")
    paths = {name: inside(folder, name) for name in wanted}
    if missing := [name for name, path in paths.items() if not is_file(path)]:
        shown = one_line(min(missing), 200)
        raise ValueError(
            f"{len(missing):,} of the {len(wanted):,} images are not in {folder}, such as {shown}."
        )
    return lru_cache(keep)(lambda name: open_picture(read_bytes(paths[name], "image"), str(paths[name])))


def called(folder: Path, wanted: Collection[Any]) -> dict[Any, str]:
    """Find the image files of a folder by wanted numbers or names.

    The image 17 is "17.jpg", or, if that does not exist, "COCO_val2014_000000000017.jpg"; the image "a.jpg" is "a.jpg".
    """
    known = {str(value): value for value in wanted}
    found: dict[Any, dict[int, list[str]]] = {}
    names = sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []
    for name in (name for name in names if name.lower().endswith(ENDINGS)):
        stem = name.rpartition(".")[0]
        number = _NUMBER.fullmatch(stem)
        # what a name may mean, the surest first: itself, its number, the number at its end
        meant = name, str(int(stem)) if stem.isdecimal() else "", str(int(number[1])) if number else ""
        if rank := next((rank for rank, value in enumerate(meant, 1) if value in known), 0):
            found.setdefault(known[meant[rank - 1]], {}).setdefault(rank, []).append(name)
    best = {value: ranks[min(ranks)] for value, ranks in found.items()}
    for value, alike in best.items():
        if len(alike) > 1:
            raise ValueError(
                f"{folder} holds {' and '.join(alike[:2])}; keep only the one that is the image {value}."
            )
    return {value: alike[0] for value, alike in best.items()}
