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


def cache() -> Path:
    from evaluate import config

    return Path(config.HF_MODULES_CACHE, config.MODULE_NAME_FOR_DYNAMIC_MODULES, "metrics")


def install() -> list[str]:
    """Put this version's metrics into evaluate's module cache, in place of another version's; return `listed`.

    Each metric is put there whole or not at all, and becomes the newest of its name.
    """
    from evaluate.loading import init_dynamic_modules

    init_dynamic_modules()
    for home, source in _homes():
        target = home / _digest(source, __version__)
        home.mkdir(parents=True, exist_ok=True)
        for package in (home.parent, home):
            (package / "__init__.py").touch()
        if not target.is_dir():
            with new_folder(target) as new:
                (new / "__init__.py").touch()
                shutil.copyfile(source, new / source.name)
                (new / NOTE).write_text(json.dumps({"version": __version__}), encoding="utf-8")
        elif _version(target) is None:
            raise OutputError(f"{target} is no longer what halluscope put there; remove it, and try again.")
        others = [copy for copy in _copies(home) if copy != target]
        newest = max([time.time(), *(_modified(copy) + 1 for copy in others)])
        os.utime(target / source.name, (newest, newest))
        _remove(others)
    return listed()


def remove() -> list[str]:
    """Remove our copies of any version, and return the metrics' names; other modules stay."""
    removed = [home for home in sorted(cache().glob("evaluate-metric--*")) if _remove(_copies(home))]
    for home in removed:
        if not _copies(home):
            shutil.rmtree(home)
    return [home.name.rpartition("--")[2] for home in removed]


def listed() -> list[str]:
    """Return in a line per metric what its bare name leads to."""
    lines = []
    for home, source in _homes():
        state, copy = "not installed", max(_copies(home), key=_modified, default=None)
        if copy and (version := _version(copy)) is None:
            state = f"another module, not from halluscope ({copy})"
        elif copy:
            is_current = copy.name == _digest(source, __version__)
            how = "this version" if is_current else "not this version; run halluscope install-metrics again"
            state = f"halluscope {version}, {how}"
        lines.append(f"{source.stem}: {state}")
    return lines


def _homes() -> list[tuple[Path, Path]]:
    """Return for each metric the folder of its copies, and the module that `evaluate` loads."""
    names = [benchmark.name for benchmark in registry.benchmarks()]
    return [(cache() / f"evaluate-metric--{name}", share("metrics", name, f"{name}.py")) for name in names]


def _remove(copies: list[Path]) -> bool:
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
    return copy / f"{copy.parent.name.rpartition('--')[2]}.py"


def _modified(copy: Path) -> float:
    file = _module(copy)
    return file.stat().st_mtime if file.is_file() else 0.0


def _version(copy: Path) -> str | None:
    """Return the version of halluscope that put a copy there; None if it is not ours, or was changed."""
    try:
        version = str(read_json(copy / NOTE)["version"])
        same = not copy.is_symlink() and copy.name == _digest(_module(copy), version)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    ours = {"__init__.py", _module(copy).name, NOTE, "__pycache__"}
    return version if same and {file.name for file in copy.iterdir()} <= ours else None
