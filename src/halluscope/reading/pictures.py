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

_LAST_NUMBER = re.compile(r"(?:.*[^0-9])?([0-9]{1,18})")

# Returns the image for a key. It may be the same object each time, so change only a copy.
Find = Callable[[Any], Image]


def open_stored(stored: Mapping[str, Any] | None, folder: Path | None, name: str) -> Image:
    """Open the image that a row holds, or whose file it names."""
    if stored and stored["bytes"] is not None:
        if stored["path"]:
            name = f"{name}, {short_repr(stored['path'])},"
        return open_picture(stored["bytes"], name)
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
    values: set[Hashable],
    name: str,
    keep: int | None = None,
    folder: Path | None = None,
    advice: str = "Build it with images.",
) -> Find:
    """Return a function that finds the images that a dataset stores in its column `image`.

    Args:
        images: the dataset (`datasets.Dataset`).
        key: the column by which an image is asked for; the first row with an image counts.
        values: those of that column that will be asked for.
        name: what errors call the dataset.
        keep: how many images stay open; None keeps all open.
        folder: the folder in which a row may name a file.
        advice: what an error about missing images says to do.
    """
    from datasets import Image as ImageFeature

    try:
        stored = images.select_columns(["image"]).cast_column("image", ImageFeature(decode=False))
    except Exception as error:  # the library raises its own errors, and pyarrow's
        kind = short_repr(images.features["image"])
        raise ValueError(f"The column image of {name} holds {kind}; expected images.") from error
    has_image = pc.is_valid(stored.data.column("image")).to_pylist()
    row_of: dict[Hashable, int] = {}
    for row, value in enumerate(images[key]):
        if has_image[row]:
            row_of.setdefault(value, row)
    missing = values - row_of.keys()
    if missing:
        example = min(str(value) for value in missing)
        raise ValueError(
            f"{len(missing):,} of the {len(values):,} images that {name} asks about are missing, such as {key} "
            f"{example}. {advice}"
        )

    @lru_cache(keep)
    def find(value: Hashable) -> Image:
        row = row_of[value]
        return open_stored(stored[row]["image"], folder, f"The image in row {row:,} of {name}")

    return find


def of_folder(folder: Path, names: set[str], keep: int | None = None) -> Find:
    """Return a function that finds the image files of a folder, of which `keep` stay open; None keeps all open."""
    if not folder.is_dir():
        raise ValueError(f"There is no folder {folder}; expected the one that holds the images.")
    paths = {name: inside(folder, name) for name in names}
    missing = [name for name, path in paths.items() if not is_file(path)]
    if missing:
        example = one_line(min(missing), 200)
        raise ValueError(
            f"{len(missing):,} of the {len(names):,} images are not in {folder}, such as {example}."
        )

    @lru_cache(keep)
    def find(name: str) -> Image:
        return open_picture(read_bytes(paths[name], "image"), str(paths[name]))

    return find


def file_names(folder: Path, images: Collection[Any]) -> dict[Any, str]:
    """Find the image files of a folder by the numbers or the names of images.

    The image 17 is "17.jpg", or, if that does not exist, "COCO_val2014_000000000017.jpg"; the image "a.jpg" is "a.jpg".
    """
    if not folder.is_dir():
        return {}
    image_of = {str(image): image for image in images}
    candidates: dict[Any, list[list[str]]] = {}  # for each image, the files of that name, from the surest on
    for name in sorted(file.name for file in folder.iterdir()):
        if not name.lower().endswith(ENDINGS):
            continue
        for rank, meaning in enumerate(_meanings(name)):
            if meaning in image_of:
                ranks = candidates.setdefault(image_of[meaning], [[], [], []])
                ranks[rank].append(name)
                break
    names = {}
    for image, ranks in candidates.items():
        surest = next(files for files in ranks if files)
        if len(surest) > 1:
            raise ValueError(
                f"{folder} holds {' and '.join(surest[:2])}; keep only the one that is the image {image}."
            )
        names[image] = surest[0]
    return names


def _meanings(file_name: str) -> tuple[str, str, str]:
    """Return what an image file's name may mean, the surest first: itself, its number, the number at its end."""
    stem = file_name.rpartition(".")[0]
    number = ""
    if stem.isdecimal():
        number = str(int(stem))
    last_number = ""
    match = _LAST_NUMBER.fullmatch(stem)
    if match:
        last_number = str(int(match[1]))
    return file_name, number, last_number
