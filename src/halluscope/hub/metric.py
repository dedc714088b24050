"""Reads a metric's folder for publishing as a Space."""

import re
from pathlib import Path

from halluscope import registry
from halluscope.errors import HubError
from halluscope.hub import card
from halluscope.hub.publication import CARD, Content, Publication
from halluscope.paths import share
from halluscope.version import __version__

APP, REQUIREMENTS = "app.py", "requirements.txt"

ON_AN_INDEX = False
"""Whether `pip install halluscope` finds this package. CONTRIBUTING.md, "Releasing", says when that changes."""

_PIN = re.compile(r"(?:# )?halluscope(?:\[[\w,]+\])?==(\S+)")
_EXTRAS = re.compile(r"\[[\w,-]+\]")
_PACKAGE = re.compile(r"(?:halluscope\s*@\s*)?(?P<url>(?:git\+)?https://\S+)")


def names() -> list[str]:
    """Return the names of this project's metrics."""
    return [benchmark.name for benchmark in registry.benchmarks()]


def module(folder: Path) -> Path:
    """Return the file in a metric's folder that `evaluate` loads."""
    return folder / f"{folder.name}.py"


def read(name: str, organization: str, package: str | None = None) -> Publication:
    """Check a metric's folder, and say what its Space shall hold.

    The tag is "halluscope-<version>": `evaluate` looks for a tag of its own version, such as v0.4.6, before main.

    Args:
        name: the name of the metric.
        organization: who publishes it.
        package: where the Space installs this package from, as pip takes it: a URL, or "halluscope @ URL". The
            metric's own extras are added. None asks an index for this version.

    Raises:
        HubError: if there is no such metric, a file is missing, the requirements name another version than this one,
            the card lacks what the Hub wants, or nothing says where to install the package from.
    """
    if name not in names():
        raise HubError(f"There is no metric {name!r:.80} to publish; expected one of {', '.join(names())}.")
    folder = share("metrics", name)
    paths = {path.name: path for path in (folder / CARD, module(folder), folder / APP, folder / REQUIREMENTS)}
    if missing := [file for file, path in paths.items() if not path.is_file()]:
        raise HubError(f"metrics/{name} has no {missing[0]}; a Space needs {', '.join(paths)}.")
    pinned = paths[REQUIREMENTS].read_text(encoding="utf-8")
    if (found := _version(pinned)) != __version__:
        raise HubError(
            f"metrics/{name}/{REQUIREMENTS} asks for halluscope {found or 'of any version'}; expected "
            f"halluscope=={__version__}, the version of this package."
        )
    text = paths[CARD].read_text(encoding="utf-8").replace(f'"metrics/{name}"', f'"{organization}/{name}"')
    card.check(text, "space", f"metrics/{name}/{CARD}")
    files: dict[str, Content] = {**paths, CARD: text.encode(), REQUIREMENTS: _requirements(pinned, package)}
    return Publication(
        kind="space",
        repository=f"{organization}/{name}",
        version=__version__,
        tag=f"halluscope-{__version__}",
        files=files,
        facts=REQUIREMENTS,
        version_in=_version,
        notes=(f"The Space installs {package or f'halluscope {__version__} from an index'}.",),
    )


def _requirements(pinned: str, package: str | None) -> bytes:
    """Return the requirements of a Space: this version, and where to install it from.

    Raises:
        HubError: if the package cannot be installed from anywhere, or `package` is no requirement of it.
    """
    if package is None:
        if not ON_AN_INDEX:
            raise HubError(
                "halluscope is on no package index yet, so a Space that asks an index for it cannot start. Say where "
                "to install it from: --package URL, of a wheel or of a repository (git+https://...@v0.1.0)."
            )
        return pinned.encode()
    found = _PACKAGE.fullmatch(package.strip())
    if not found:
        raise HubError(
            f"--package is {package!r:.120}; expected a URL (https://... or git+https://...), or 'halluscope @ URL'."
        )
    extras = "".join(_EXTRAS.findall(pinned))
    return f"# halluscope=={__version__}\nhalluscope{extras} @ {found['url']}\n".encode()


def _version(text: str) -> str | None:
    """Return the version of this package that a requirements.txt pins; None if it pins none."""
    pin = next(filter(None, map(_PIN.fullmatch, map(str.strip, text.splitlines()))), None)
    return pin[1] if pin else None
