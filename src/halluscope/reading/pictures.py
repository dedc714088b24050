"""The images of a dataset or a folder: each opened once, when it is asked for, and seen to be whole."""

import re
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from PIL.Image import Image

from halluscope.errors import BuildError
from halluscope.files.inside import inside, is_there
from halluscope.files.opening import read_bytes
from halluscope.files.pictures import open_picture
from halluscope.foreign import brief, one_line

ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
"""What the name of an image file ends in, in lower case."""

_NUMBER = re.compile(r"(?:.*[^0-9])?([0-9]{1,18})")
"""A name that ends in a number."""

Find = Callable[[Any], Image]
"""Gives the image that a key stands for; the same object each time: change a copy of it."""


def open_stored(stored: Mapping[str, Any] | None, folder: Path | None, name: str) -> Image:
    """Open the image that a row holds, or whose file it names.

    Args:
        stored: "bytes", and if these are None "path".
        folder: where a file may lie that a row names; None for nowhere. No other is opened, and nothing is fetched.
        name: what the image is called in errors; the beginning of a sentence.

    Raises:
        BuildError: for neither, a path out of the folder, one where no file is, or what cannot be opened.
        LimitExceeded: for an image that is too large.
    """
    if stored and stored["bytes"] is not None:
        path = stored["path"]
        return open_picture(stored["bytes"], f"{name}, {brief(path)}," if path else name)
    if stored is None or folder is None:
        raise BuildError(
            f"{name} is not in its row, and one in a file is opened only in a folder that you name."
        )
    return open_named(stored["path"], folder, name)


def open_named(file: Any, folder: Path, name: str) -> Image:
    """Open the image file that a row names, in a folder; raises what `open_stored` does.

    Args:
        file: its name, as the row has it.
        folder: where it lies.
        name: as `open_stored` has it.
    """
    if not isinstance(file, str):
        raise BuildError(f"{name} is called {brief(file)}; expected the name of a file in {folder}.")
    try:
        place = inside(folder, file)
    except BuildError as error:
        raise BuildError(f"{name} cannot be opened: {error}") from error
    if not is_there(place):
        raise BuildError(f"{name} is called {brief(file)}, which is not in {folder}.")
    return open_picture(read_bytes(place, "image"), f"{name}, {place},")


def of_table(
    images: Any,
    key: str,
    wanted: set[Hashable],
    name: str,
    keep: int | None = None,
    folder: Path | None = None,
) -> Find:
    """The images of a dataset.

    Args:
        images: rows with the column `key`, and `image`; of rows with the same key the first that has an image counts.
        key: the column that tells images apart.
        wanted: the keys that will be asked for.
        name: of the dataset, for messages.
        keep: how many images stay open; None for all.
        folder: the dataset's own, in which files may lie that its rows name; None for nowhere.

    Raises:
        ValueError: for a wanted image that is not there, or a column of something else.
    """
    from datasets import Image as ImageFeature

    try:
        stored = images.select_columns(["image"]).cast_column("image", ImageFeature(decode=False))
    except Exception as error:  # the library raises its own, and pyarrow's
        kind = brief(images.features["image"])
        raise ValueError(f"The column image of {name} is of {kind}; expected images.") from error
    there = pc.is_valid(stored.data.column("image")).to_pylist()
    place: dict[Hashable, int] = {}
    for row, (value, valid) in enumerate(zip(images[key], there, strict=True)):
        if valid:
            place.setdefault(value, row)
    if missing := wanted - place.keys():
        raise ValueError(
            f"{len(missing):,} of the {len(wanted):,} images that {name} asks about are not in it, such as {key} "
            f"{min(map(str, missing))}. Build it with images, or name the folder that holds them (--images, in "
            "Python images)."
        )

    @lru_cache(keep)
    def find(value: Hashable) -> Image:
        row = place[value]
        return open_stored(stored[row]["image"], folder, f"The image in row {row:,} of {name}")

    return find


def of_folder(folder: Path, wanted: set[str], keep: int | None = None) -> Find:
    """The image files of a folder, `keep` of which stay open; None for all.

    Raises:
        ValueError: if there is no such folder, a wanted file is not there, or its name leads out.
    """
    if not folder.is_dir():
        raise ValueError(f"There is no folder {folder}; expected the one that holds the images.")
    places = {name: inside(folder, name) for name in wanted}
    if missing := [name for name, place in places.items() if not is_there(place)]:
        shown = one_line(min(missing), 200)
        raise ValueError(
            f"{len(missing):,} of the {len(wanted):,} images are not in {folder}, such as {shown}."
        )
    return lru_cache(keep)(lambda name: open_picture(read_bytes(places[name], "image"), str(places[name])))


def called(folder: Path, wanted: Collection[Any]) -> dict[Any, str]:
    """The image files of a folder that are called after a wanted number or text.

    The image 17 is "17.jpg", or if there is none, "COCO_val2014_000000000017.jpg"; the image "a.jpg" is "a.jpg".

    Returns:
        What is wanted, as far as there is a file -> the file's name.

    Raises:
        ValueError: for two files of the same number.
    """
    known = {str(value): value for value in wanted}
    found: dict[Any, dict[int, list[str]]] = {}
    names = sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []
    for name in (name for name in names if name.lower().endswith(ENDINGS)):
        for rank, meant in enumerate(_meant(name)):
            if meant in known:
                found.setdefault(known[meant], {}).setdefault(rank, []).append(name)
                break
    best = {value: ranks[min(ranks)] for value, ranks in found.items()}
    if twice := next(((value, alike) for value, alike in best.items() if len(alike) > 1), None):
        value, alike = twice
        raise ValueError(
            f"{folder} holds {' and '.join(alike[:2])}; leave there the one that is the image {value}."
        )
    return {value: alike[0] for value, alike in best.items()}


def _meant(name: str) -> tuple[str, str, str]:
    """What images a file's name may mean, the surest first: its name, its number, the number at its end."""
    stem = name.rpartition(".")[0]
    number = _NUMBER.fullmatch(stem)
    return name, str(int(stem)) if stem.isdecimal() else "", str(int(number[1])) if number else ""
