"""Puts the metrics where `evaluate.load` looks for a bare name, such as "throne".

`evaluate` asks the Hub for `evaluate-metric/throne`; without such a Space, or without a network, it takes the newest
copy in its module cache. So a copy of each thin module is put there, with a note of the version that it belongs to.
"""

import hashlib
import json
import os
import shutil
import time
from pathlib import Path

from halluscope import registry
from halluscope.errors import OutputError
from halluscope.files.opening import read_json
from halluscope.files.writing import new_folder
from halluscope.paths import share
from halluscope.version import __version__

NOTE = "halluscope.json"  # distinguishes our copies from those that `evaluate` made
PREFIX = "evaluate-metric--"  # of the folder of a metric's copies, before its name


def cache() -> Path:
    """Return where `evaluate` keeps modules of metrics."""
    from evaluate import config

    return Path(config.HF_MODULES_CACHE, config.MODULE_NAME_FOR_DYNAMIC_MODULES, "metrics")


def install() -> list[str]:
    """Put this version's metrics into evaluate's module cache, in place of another version's; return `listed`.

    Each metric is put there whole or not at all, and becomes the newest of its name.
    """
    from evaluate.loading import init_dynamic_modules

    init_dynamic_modules()
    for name in _names():
        _install(name)
    return listed()


def _install(name: str) -> None:
    home = _home(name)
    source = _source(name)
    home.mkdir(parents=True, exist_ok=True)
    for package in (home.parent, home):
        (package / "__init__.py").touch()
    target = home / _digest(source, __version__)
    if not target.is_dir():
        with new_folder(target) as new:
            (new / "__init__.py").touch()
            shutil.copyfile(source, new / source.name)
            (new / NOTE).write_text(json.dumps({"version": __version__}), encoding="utf-8")
    elif _version(target) is None:
        raise OutputError(f"{target} is no longer what halluscope put there; remove it, and try again.")
    newest = time.time()
    others = [copy for copy in _copies(home) if copy != target]
    for copy in others:
        newest = max(newest, _modified(copy) + 1)
    os.utime(target / source.name, (newest, newest))
    _remove(others)


def remove() -> list[str]:
    """Remove our copies of any version, and return the metrics' names; other modules stay."""
    names = []
    for home in sorted(cache().glob(f"{PREFIX}*")):
        if _remove(_copies(home)):
            names.append(home.name.removeprefix(PREFIX))
            if not _copies(home):
                shutil.rmtree(home)
    return names


def listed() -> list[str]:
    """Return in a line per metric what its bare name leads to."""
    return [f"{name}: {_state(name)}" for name in _names()]


def _state(name: str) -> str:
    newest = max(_copies(_home(name)), key=_modified, default=None)
    if newest is None:
        return "not installed"
    version = _version(newest)
    if version is None:
        return f"another module, not from halluscope ({newest})"
    if newest.name == _digest(_source(name), __version__):
        return f"halluscope {version}, this version"
    return f"halluscope {version}, not this version; run halluscope install-metrics again"


def _names() -> list[str]:
    return [benchmark.name for benchmark in registry.benchmarks()]


def _home(name: str) -> Path:
    """Return the folder of a metric's copies."""
    return cache() / f"{PREFIX}{name}"


def _source(name: str) -> Path:
    """Return the thin module of a metric."""
    return share("metrics", name, f"{name}.py")


def _remove(copies: list[Path]) -> bool:
    """Remove those that are ours; whether there were any."""
    ours = [copy for copy in copies if _version(copy) is not None]
    for copy in ours:
        shutil.rmtree(copy)
    return bool(ours)


def _copies(home: Path) -> list[Path]:
    """Return the folders that `evaluate` takes for copies of a module: their names are as long as a sha256."""
    return [copy for copy in sorted(home.glob("?" * 64)) if copy.is_dir()]


def _digest(source: Path, version: str) -> str:
    return hashlib.sha256(version.encode() + b"\n" + source.read_bytes()).hexdigest()


def _module(copy: Path) -> Path:
    name = copy.parent.name.removeprefix(PREFIX)
    return copy / f"{name}.py"


def _modified(copy: Path) -> float:
    file = _module(copy)
    if not file.is_file():
        return 0.0
    return file.stat().st_mtime


def _version(copy: Path) -> str | None:
    """Return the version of halluscope that put a copy there; None if it is not ours, or was changed."""
    if copy.is_symlink():
        return None
    try:
        version = str(read_json(copy / NOTE)["version"])
        digest = _digest(_module(copy), version)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    ours = {"__init__.py", _module(copy).name, NOTE, "__pycache__"}
    files = {file.name for file in copy.iterdir()}
    if copy.name != digest or not files <= ours:
        return None
    return version
