"""Where things are: what lives beside the package (builders, cards, specs, metrics), and the user's cache."""

from pathlib import Path

PACKAGE = Path(__file__).parent


def checkout() -> Path | None:
    """The root of the checkout that this package runs from; None for an installed wheel."""
    root = PACKAGE.parent.parent
    return root if (root / "pyproject.toml").is_file() and not (PACKAGE / "_share").is_dir() else None


def cache_folder() -> Path:
    """Where downloads, answers and converted models are kept unless the user names another place."""
    import pooch

    return Path(pooch.os_cache("halluscope"))


def is_there(written: str) -> bool:
    """Whether there is a file or folder of this name; a name that none can have is none's."""
    try:
        return bool(written) and Path(written).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # too long, a nul in it, a home of nobody
        return False


def share(*parts: str) -> Path:
    """Find a file or folder such as share("builders", "throne_coco.py").

    It lies at the root of a checkout, and under halluscope/_share in an installed wheel (pyproject.toml,
    force-include).

    Raises:
        FileNotFoundError: when it is not there; the message names the place that was searched.
    """
    path = (checkout() or PACKAGE / "_share").joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(
            f"{Path(*parts)} is not in {path.parent}. Check the name; if it is right, "
            "this installation is incomplete: install halluscope again."
        )
    return path
