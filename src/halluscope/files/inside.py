"""Finds files in a folder by untrusted names, such as those in a dataset's rows; no name may lead out of the folder."""

from pathlib import Path

from halluscope.errors import BuildError
from halluscope.files.opening import Readable
from halluscope.foreign import brief


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder, whether or not the file exists.

    Args:
        folder: the folder that the user named.
        name: a path relative to the folder.

    Raises:
        BuildError: for a name that no file can have, or that leads out of the folder, also through a link.
    """
    try:
        leads_out = not (folder / name).resolve().is_relative_to(folder.resolve())
    except (
        OSError,
        ValueError,
        RuntimeError,
    ) as error:  # a null byte, half a character, or links in a circle
        raise BuildError(
            f"{brief(name)} cannot be a file's name ({error}); expected a path in {folder}."
        ) from error
    if leads_out:
        raise BuildError(
            f"The file name {brief(name)} leads out of {folder}; expected a file inside it, also if it is a link."
        )
    return folder / name


def is_there(file: Readable) -> bool:
    """Whether a file exists; False, not an error, for a name that is too long or invalid."""
    try:
        return file.is_file()
    except OSError:  # the name is too long
        return False
