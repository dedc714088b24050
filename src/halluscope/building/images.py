"""Finds, checks and reads the images of a build, in a folder or a zip that is not unpacked."""

import zipfile
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from tqdm import tqdm

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, inside, is_file, leads_out, read_bytes
from halluscope.files.pictures import open_picture
from halluscope.sanitize import short_repr
from halluscope.terminal import hides_bars

SHOWN = 5  # how many names or ids of missing images an error shows


def _find_image(name: str, folder: Readable, exact: bool = False) -> Readable | None:
    """Find an image by its whole path, or by a shorter and shorter end of it if the path need not be `exact`.

    A folder that was unpacked without its outer folders may hold images/v1/patch8/a.jpg as patch8/a.jpg.

    Raises:
        BuildError: if the name leads out of the folder.
    """
    if leads_out(name):
        raise BuildError(
            f"The file name {short_repr(name)} leads out of {folder}; expected a path inside it."
        )
    parts = name.split("/")
    ends = 1 if exact else len(parts)
    for start in range(ends):
        end = "/".join(parts[start:])
        file = folder / end if isinstance(folder, zipfile.Path) else inside(folder, end)
        if is_file(file):
            return file
    return None


def missing(names: Iterable[str], folder: Readable, exact: bool = False) -> list[str]:
    """Return the names of the images that are not in a folder."""
    return [name for name in names if _find_image(name, folder, exact) is None]


def check_images(names: Collection[str], folder: Readable, only_present: bool, exact: bool) -> None:
    """Decode every image; with `only_present`, some may be missing, but not all.

    Raises:
        BuildError: if an image is missing or cannot be decoded, or if a file would be two of them.
    """
    absent = missing(names, folder, exact)
    some_may_be_absent = only_present and len(absent) < len(names)
    if absent and not some_may_be_absent:
        raise BuildError(
            f"{len(absent):,} of the {len(names):,} images are not in {folder}: {_listed(absent)}. Name the folder "
            "that holds them all, or pass --only-images-present."
        )
    present = sorted(set(names) - set(absent))
    name_of: dict[str, str] = {}  # file -> the image that it is
    for name in tqdm(present, desc="checking images", unit="image", disable=hides_bars()):
        file = _find_image(name, folder, exact)
        assert file is not None, "those that are missing were left out"
        other = name_of.setdefault(str(file), name)
        if other != name:
            raise BuildError(
                f"{file} would be both {short_repr(other)} and {short_repr(name)}, because {folder} does not hold "
                "their folders; expected a file for each. Name the folder in which their whole names are paths."
            )
        open_picture(read_bytes(file, "image"), str(file))


def stored_image(name: str | None, folder: Readable, exact: bool = False) -> dict[str, Any] | None:
    """Return an image as a dataset stores it; None if there is none."""
    if name is None:
        return None
    file = _find_image(name, folder, exact)
    if file is None:
        return None
    return {"bytes": read_bytes(file, "image"), "path": name}


def check_described(images: Collection[int], described: Collection[int], file: Readable, advice: str) -> None:
    """Check that a file which describes images knows all of a dataset's.

    Args:
        images: the ids of the dataset's images.
        described: the ids of the images that the file describes.
        file: the file, for the message.
        advice: what to do if it lacks some, as a sentence.

    Raises:
        BuildError: if it lacks some.
    """
    absent = sorted(set(images) - set(described))
    if absent:
        raise BuildError(
            f"{file} says nothing of {len(absent):,} of the {len(images):,} images: image id {_listed(absent)}. "
            f"{advice}"
        )


def _listed(names: Sequence[object]) -> str:
    text = ", ".join(str(name) for name in names[:SHOWN])
    if len(names) > SHOWN:
        text += ", ..."
    return text
