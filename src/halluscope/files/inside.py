"""Finds files in a folder by names that come from elsewhere, such as a dataset's rows; none of them leads out of it."""

from pathlib import Path

from halluscope.errors import BuildError
from halluscope.files.opening import Readable
from halluscope.foreign import brief


def inside(folder: Path, name: str) -> Path:
    """A file's place in a folder, there or not.

    Args:
        folder: that the user named.
        name: a path below it.

    Raises:
        BuildError: for a name that no file can have, or that leads out of the folder, be it through a link.
    """
    try:
        leads_out = not (folder / name).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError) as error:  # a zero byte, half a character, links in a circle
        raise BuildError(
            f"{brief(name)} is no file's name ({error}); expected a path in {folder}."
        ) from error
    if leads_out:
        raise BuildError(
            f"The file name {brief(name)} leads out of {folder}; expected a file inside it, also behind a link."
        )
    return folder / name


def is_there(file: Readable) -> bool:
    """Whether there is a file at this place; no name is too long or too odd to ask."""
    try:
        return file.is_file()
    except OSError:  # such a long name
        return False
