"""Reads a metric's folder for publishing as a Space."""

import re
from pathlib import Path

from halluscope import __version__, registry
from halluscope.errors import HubError
from halluscope.hub import card
from halluscope.hub.publication import CARD, Content, Publication
from halluscope.paths import share

APP, REQUIREMENTS = "app.py", "requirements.txt"

_PIN = re.compile(r"halluscope(?:\[[\w,]+\])?==(\S+)")


def names() -> list[str]:
    """The metrics of this project."""
    return [benchmark.name for benchmark in registry.benchmarks()]


def module(folder: Path) -> Path:
    """The file in a metric's folder that `evaluate` loads."""
    return folder / f"{folder.name}.py"


def read(name: str, organization: str) -> Publication:
    """Check a metric's folder, and say what its Space shall hold.

    The tag is "halluscope-<version>": `evaluate` looks for a tag of its own version, such as v0.4.6, before main.

    Raises:
        HubError: if there is no such metric, a file is missing, the requirements name another version than this one,
            or the card lacks what the Hub wants.
    """
    if name not in names():
        raise HubError(f"There is no metric {name!r:.80} to publish; expected one of {', '.join(names())}.")
    folder = share("metrics", name)
    paths = {path.name: path for path in (folder / CARD, module(folder), folder / APP, folder / REQUIREMENTS)}
    if missing := [file for file, path in paths.items() if not path.is_file()]:
        raise HubError(f"metrics/{name} has no {missing[0]}; a Space needs {', '.join(paths)}.")
    found = _version(paths[REQUIREMENTS].read_text(encoding="utf-8"))
    if found != __version__:
        raise HubError(
            f"metrics/{name}/{REQUIREMENTS} asks for halluscope {found or 'of any version'}; expected "
            f"halluscope=={__version__}, the version of this package."
        )
    text = paths[CARD].read_text(encoding="utf-8").replace(f'"metrics/{name}"', f'"{organization}/{name}"')
    card.check(text, "space", f"metrics/{name}/{CARD}")
    files: dict[str, Content] = {**paths, CARD: text.encode()}
    return Publication(
        kind="space",
        repository=f"{organization}/{name}",
        version=__version__,
        tag=f"halluscope-{__version__}",
        files=files,
        facts=REQUIREMENTS,
        version_in=_version,
        notes=(f"The Space installs halluscope {__version__} from PyPI: release that first.",),
    )


def _version(text: str) -> str | None:
    """The version of this package that a requirements.txt pins; None if it does not."""
    pin = next(filter(None, map(_PIN.fullmatch, map(str.strip, text.splitlines()))), None)
    return pin[1] if pin else None
