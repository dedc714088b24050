"""The images of a dataset or a folder: each opened once, upright, in RGB, and decoded when somebody looks at it."""

from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from PIL import Image as Pillow
from PIL import ImageOps
from PIL.Image import Image

ORIENTATION = Pillow.ExifTags.Base.Orientation  # type: ignore[attr-defined]

Find = Callable[[Any], Image]
"""Gives the image that a key stands for; the same object each time: change a copy of it."""


def open_picture(content: bytes) -> Image:
    """Open an image file. It is decoded now only if it has to be turned, or is not in RGB (greyscale, transparent)."""
    image: Image = Pillow.open(BytesIO(content))
    if image.getexif().get(ORIENTATION, 1) != 1:
        image = ImageOps.exif_transpose(image)
    return image if image.mode == "RGB" else image.convert("RGB")


def of_table(images: Any, key: str, wanted: set[Hashable], name: str, keep: int | None = None) -> Find:
    """The images of a dataset.

    Args:
        images: rows with the column `key`, and `image`; of rows with the same key the first that has an image counts.
        key: the column that tells images apart.
        wanted: the keys that will be asked for.
        name: of the dataset, for messages.
        keep: how many images stay open; None for all.

    Raises:
        ValueError: for a wanted image that is not there.
    """
    from datasets import Image as ImageFeature

    stored = images.select_columns(["image"]).cast_column("image", ImageFeature(decode=False))
    there = pc.is_valid(stored.data.column("image")).to_pylist()
    place: dict[Hashable, int] = {}
    for row, (value, valid) in enumerate(zip(images[key], there, strict=True)):
        if valid:
            place.setdefault(value, row)
    if missing := wanted - place.keys():
        raise ValueError(
            f"{len(missing):,} of the {len(wanted):,} images that {name} asks about are not in it, such as {key} "
            f"{min(map(str, missing))}. Build it with images, or name the folder that holds them (images)."
        )

    @lru_cache(keep)
    def find(value: Hashable) -> Image:
        image: Mapping[str, Any] = stored[place[value]]["image"]
        return open_picture(image["bytes"] or Path(image["path"]).read_bytes())

    return find


def of_folder(folder: Path, wanted: set[str], keep: int | None = None) -> Find:
    """The image files of a folder, `keep` of which stay open; None for all.

    Raises:
        ValueError: if there is no such folder, a wanted file is not there, or its name leads out.
    """
    if not folder.is_dir():
        raise ValueError(f"There is no folder {folder}; expected the one that holds the images.")
    inside = folder.resolve()
    if outside := [name for name in wanted if not (inside / name).resolve().is_relative_to(inside)]:
        raise ValueError(f"The file name {outside[0]!r} leads out of the folder of images.")
    if missing := [name for name in wanted if not (inside / name).is_file()]:
        raise ValueError(
            f"{len(missing):,} of the {len(wanted):,} images are not in {folder}, such as {min(missing)}."
        )
    return lru_cache(keep)(lambda name: open_picture((inside / name).read_bytes()))
