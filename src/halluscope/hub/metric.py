"""What a metric's Space shall hold."""

import re
from pathlib import Path

from halluscope import registry
from halluscope.errors import HubError
from halluscope.hub.publisher import CARD, Content, Publication, Release
from halluscope.paths import share
from halluscope.version import __version__

REQUIREMENTS = "requirements.txt"

ON_AN_INDEX = False
"""Whether `pip install halluscope` finds this package. CONTRIBUTING.md, "Releasing", says when that changes."""


def names() -> list[str]:
    """Return the names of this project's metrics."""
    return [benchmark.name for benchmark in registry.benchmarks()]


def module(folder: Path) -> Path:
    """Return the file in a metric's folder that `evaluate` loads."""
    return folder / f"{folder.name}.py"


def read(name: str, organization: str, package: str | None = None) -> Publication:
    """Return what to publish; `package` says, as pip takes it, where the Space installs this package from.

    The tag is "halluscope-<version>": `evaluate` looks for a tag of its own version, such as v0.4.6, before main.
    """
    if name not in names():
        raise HubError(f"There is no metric {name!r:.80} to publish; expected one of {', '.join(names())}.")
    folder = share("metrics", name)
    paths = (folder / CARD, module(folder), folder / "app.py", folder / REQUIREMENTS)
    files: dict[str, Content] = {path.name: path for path in paths}
    card = (folder / CARD).read_text("utf-8").replace(f'"metrics/{name}"', f'"{organization}/{name}"')
    files[CARD] = card.encode()
    files[REQUIREMENTS] = _requirements((folder / REQUIREMENTS).read_text("utf-8"), package).encode()
    return Publication(
        kind="space",
        sdk="gradio",
        repo_id=f"{organization}/{name}",
        message=f"{name} {__version__}",
        files=files,
        release=Release(__version__, f"halluscope-{__version__}", REQUIREMENTS, _version),
        notes=(f"The Space installs {package or f'halluscope {__version__} from an index'}.",),
    )


def _requirements(pinned: str, package: str | None) -> str:
    """Return the requirements of a Space: this version with the metric's extras, and where to install it from."""
    if package is None:
        if not ON_AN_INDEX:
            raise HubError(
                "halluscope is on no package index yet, so a Space that asks an index for it cannot start. Say where "
                "to install it from: --package URL, of a wheel or of a repository (git+https://...@v0.1.0)."
            )
        return pinned
    url = re.fullmatch(r"(?:halluscope\s*@\s*)?((?:git\+)?https://\S+)", package.strip())
    if not url:
        raise HubError(
            f"--package is {package!r:.120}; expected a URL (https://... or git+https://...), or 'halluscope @ URL'."
        )
    extras = "".join(re.findall(r"\[[\w,-]+\]", pinned))
    return f"# halluscope=={__version__}\nhalluscope{extras} @ {url[1]}\n"


def _version(text: str) -> str | None:
    """Return the version of this package that a requirements.txt pins; None if it pins none."""
    pin = re.search(r"^\s*(?:# )?halluscope(?:\[[\w,]+\])?==(\S+)\s*$", text, re.MULTILINE)
    return pin[1] if pin else None
