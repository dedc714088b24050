"""Puts the metrics where `evaluate.load` looks for a bare name, such as "throne".

`evaluate` asks the Hub for `evaluate-metric/throne`; without such a Space, or without a network, it takes the newest
copy in its module cache. So a copy of each thin module is put there, with a note of the version that it belongs to.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from halluscope.errors import OutputError
from halluscope.files.opening import read_json
from halluscope.files.writing import new_folder
from halluscope.hub.metric import module, names
from halluscope.paths import share
from halluscope.version import __version__

NOTE = "halluscope.json"
"""The file that distinguishes our copies from those that `evaluate` made."""


@dataclass(frozen=True)
class Copy:
    """What the bare name of a metric leads to.

    Attributes:
        name: the name of the metric.
        folder: the folder of the module that `evaluate` would load; None if there is no such module.
        version: the version of halluscope that put it there; None if something else did.
        current: whether this version put it there.
    """

    name: str
    folder: Path | None
    version: str | None
    current: bool

    def __str__(self) -> str:
        if self.folder is None:
            return f"{self.name}: not installed"
        if self.version is None:
            return f"{self.name}: another module, not from halluscope ({self.folder})"
        state = "this version" if self.current else "not this version; run halluscope install-metrics again"
        return f"{self.name}: halluscope {self.version}, {state}"


def cache() -> Path:
    """Return the folder of evaluate's metrics, in the user's cache."""
    from evaluate import config

    return Path(config.HF_MODULES_CACHE, config.MODULE_NAME_FOR_DYNAMIC_MODULES, "metrics")


def install() -> list[Copy]:
    """Put this version's metrics into evaluate's module cache, in place of another version's.

    Raises:
        OutputError: for a copy of this version that was changed.
    """
    from evaluate.loading import init_dynamic_modules

    init_dynamic_modules()
    root = cache()
    for name in names():
        _place(root, name)
    return listed()


def remove() -> list[str]:
    """Remove our copies of any version; other modules stay.

    Returns:
        The names that were removed.
    """
    removed = []
    for home in sorted(cache().glob(f"{_home('*')}")):
        ours = [folder for folder in _copies(home) if _version(folder) is not None]
        for folder in ours:
            shutil.rmtree(folder)
        if ours:
            removed.append(home.name.rpartition("--")[2])
            if not any(_copies(home)):
                shutil.rmtree(home)
    return removed


def listed() -> list[Copy]:
    """Return what each metric's bare name leads to."""
    return [_leads_to(name) for name in names()]


def _home(name: str) -> str:
    return f"evaluate-metric--{name}"


def _place(root: Path, name: str) -> None:
    """Put one metric into the cache, whole or not at all, and make it the newest."""
    source = module(share("metrics", name))
    digest = _digest(source, __version__)
    home = root / _home(name)
    home.mkdir(parents=True, exist_ok=True)
    for package in (root, home):
        (package / "__init__.py").touch()
    if not (home / digest).is_dir():
        with new_folder(home / digest) as new:
            (new / "__init__.py").touch()
            shutil.copyfile(source, new / source.name)
            (new / NOTE).write_text(json.dumps({"version": __version__}), encoding="utf-8")
    elif _version(home / digest) is None:
        raise OutputError(
            f"{home / digest} is no longer what halluscope put there; remove it, and try again."
        )
    others = [_changed(folder, name) for folder in _copies(home) if folder.name != digest]
    newest = max([time.time(), *(when + 1 for when in others)])
    os.utime(home / digest / source.name, (newest, newest))
    for folder in list(_copies(home)):
        if folder.name != digest and _version(folder) is not None:
            shutil.rmtree(folder)


def _leads_to(name: str) -> Copy:
    copies = sorted(_copies(cache() / _home(name)), key=lambda folder: _changed(folder, name))
    if not copies:
        return Copy(name, None, None, current=False)
    version = _version(copies[-1])
    same = copies[-1].name == _digest(module(share("metrics", name)), __version__)
    return Copy(name, copies[-1], version, current=version == __version__ and same)


def _copies(home: Path) -> Iterator[Path]:
    """Yield the folders that `evaluate` takes for copies of a module: their names are as long as a sha256."""
    if home.is_dir():
        yield from (folder for folder in sorted(home.iterdir()) if folder.is_dir() and len(folder.name) == 64)


def _digest(source: Path, version: str) -> str:
    return hashlib.sha256(version.encode() + b"\n" + source.read_bytes()).hexdigest()


def _changed(folder: Path, name: str) -> float:
    file = folder / f"{name}.py"
    return file.stat().st_mtime if file.is_file() else 0.0


def _version(folder: Path) -> str | None:
    """Return the version of halluscope that put a copy there; None if it is not ours, or was changed."""
    name = folder.parent.name.rpartition("--")[2]
    try:
        version = str(read_json(folder / NOTE)["version"])
        same = not folder.is_symlink() and folder.name == _digest(folder / f"{name}.py", version)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    ours = {"__init__.py", f"{name}.py", NOTE, "__pycache__"}
    return version if same and {file.name for file in folder.iterdir()} <= ours else None
