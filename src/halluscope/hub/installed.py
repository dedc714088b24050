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
        target = home / _digest(source)
        home.mkdir(parents=True, exist_ok=True)
        for package in (home.parent, home):
            (package / "__init__.py").touch()
        if not target.is_dir():
            with new_folder(target) as new:
                (new / "__init__.py").touch()
                shutil.copyfile(source, new / source.name)
                (new / NOTE).write_text(json.dumps({"version": __version__}), encoding="utf-8")
        others = [copy for copy in _copies(home) if copy != target]
        newest = max([time.time(), *(_modified(copy) + 1 for copy in others)])
        os.utime(target / source.name, (newest, newest))
        for copy in filter(_version, others):
            shutil.rmtree(copy)
    return listed()


def remove() -> list[str]:
    """Remove our copies of any version, and return the metrics' names; other modules stay."""
    names = []
    for home in sorted(cache().glob("evaluate-metric--*")):
        if ours := [*filter(_version, _copies(home))]:
            names.append(home.name.rpartition("--")[2])
            # the whole folder goes if all copies in it are ours
            for copy in ours if ours != _copies(home) else [home]:
                shutil.rmtree(copy)
    return names


def listed() -> list[str]:
    """Return in a line per metric what its bare name leads to."""
    lines = []
    for home, source in _homes():
        state, copy = "not installed", max(_copies(home), key=_modified, default=None)
        if copy and (version := _version(copy)):
            is_current = copy.name == _digest(source)
            how = "this version" if is_current else "not this version; run halluscope install-metrics again"
            state = f"halluscope {version}, {how}"
        elif copy:
            state = f"another module, not from halluscope ({copy})"
        lines.append(f"{source.stem}: {state}")
    return lines


def _homes() -> list[tuple[Path, Path]]:
    """Return for each metric the folder of its copies, and the module that `evaluate` loads."""
    names = [benchmark.name for benchmark in registry.benchmarks()]
    return [(cache() / f"evaluate-metric--{name}", share("metrics", name, f"{name}.py")) for name in names]


def _copies(home: Path) -> list[Path]:
    """Return the folders that `evaluate` takes for copies of a module: their names are as long as a sha256."""
    return [copy for copy in sorted(home.glob("?" * 64)) if copy.is_dir() and not copy.is_symlink()]


def _digest(source: Path) -> str:
    return hashlib.sha256(__version__.encode() + b"\n" + source.read_bytes()).hexdigest()


def _modified(copy: Path) -> float:
    module = copy / f"{copy.parent.name.rpartition('--')[2]}.py"
    return module.stat().st_mtime if module.is_file() else 0.0


def _version(copy: Path) -> str:
    """Return the version of halluscope that put a copy there; "" if it is not ours."""
    return str(read_json(copy / NOTE)["version"]) if (copy / NOTE).is_file() else ""
