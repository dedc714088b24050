"""Finds the files that come with the package (builders, cards, specs, metrics), and the user's cache."""

from pathlib import Path

PACKAGE = Path(__file__).parent


def checkout() -> Path | None:
    """Return the root of the checkout that this package runs from; None for an installed wheel."""
    root = PACKAGE.parent.parent
    is_installed = (PACKAGE / "_share").is_dir()
    if is_installed or not (root / "pyproject.toml").is_file():
        return None
    return root


def cache_folder() -> Path:
    """Return the folder that keeps downloads, responses and converted models unless the user names another."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("halluscope"))


def path_of(written: str | Path) -> Path:
    """Return the path that a user names; "~" at its beginning stands for the home folder, as in a shell."""
    path = Path(written)
    try:
        return path.expanduser()
    except RuntimeError:  # no user has that name: it is a file whose name begins with "~"
        return path


def is_there(written: str) -> bool:
    """Whether a file or folder of this name exists; an impossible name does not."""
    try:
        return bool(written) and path_of(written).exists()
    except (OSError, ValueError):  # too long, or with a null byte
        return False


def share(*parts: str) -> Path:
    """Find a file or folder such as share("builders", "throne_coco.py").

    It is in the root folder of a checkout, or in halluscope/_share of an installed wheel (pyproject.toml,
    force-include).

    Raises:
        FileNotFoundError: if it does not exist; the message names the folder that was searched.
    """
    root = checkout()
    folder = root or PACKAGE / "_share"
    path = folder.joinpath(*parts)
    if not path.exists():
        advice = "this installation is incomplete: install halluscope again."
        if root:
            advice = "add it: CONTRIBUTING.md lists the files of a benchmark."
        raise FileNotFoundError(
            f"{Path(*parts)} is not in {path.parent}. Check the name; if it is right, {advice}"
        )
    return path
