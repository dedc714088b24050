"""Distinguishes a build's files from the user's: a mark in the folder lists each file of the build with its sha256.

Only files that the mark lists, and that are unchanged since the build, are ever replaced.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from halluscope.building import form
from halluscope.building.built import FILE, SHA256, STATS
from halluscope.building.fetch import sha256_of
from halluscope.errors import BuildError
from halluscope.files.opening import read_json

MARK, CARD, SPEC, DATA = ".halluscope-build.json", "README.md", "spec.toml", "data"

PARTS = {MARK, CARD, SPEC, STATS, DATA}
"""The names of the files and of the folder that a build writes."""

ABOUT = (
    "What `halluscope build` wrote here. It replaces only these files, and only if they are still the same."
)


def _named(value: object, where: str) -> None:
    if value not in (CARD, SPEC, STATS):
        FILE(value, where)


FORM = form.record(about=form.text(r".{0,200}", "a line of text"), files=form.named(_named, SHA256))


def write(folder: Path) -> None:
    """Mark all files in a folder as written by a build."""
    files = {_name(file, folder): sha256_of(file) for file in _below(folder) if file.is_file()}
    text = json.dumps({"about": ABOUT, "files": files}, indent=2) + "\n"
    (folder / MARK).write_text(text, encoding="utf-8")


def replaceable(folder: Path, facts: bytes) -> set[str]:
    """Return what a build may replace in a folder, which need not exist.

    Args:
        folder: the folder to build.
        facts: the content of the spec.toml that the build will write; an identical file may be there, as in a checkout.

    Returns:
        Names in the folder: of files, and of the folder `data`. Empty if the folder holds no earlier build.

    Raises:
        BuildError: if a file that the build would write is there, but is not listed in a mark, or was changed since.
    """
    there = {name for name in PARTS if os.path.lexists(folder / name)}
    listed = _read(folder / MARK) if MARK in there else {}
    for name in sorted(there - {MARK}):
        for path in (folder / name, *_below(folder / name)):
            _check(path, folder, listed, facts)
    return there if there != {SPEC} else set()


def _check(path: Path, folder: Path, listed: Mapping[str, str], facts: bytes) -> None:
    name = _name(path, folder)
    if path.is_dir() and not path.is_symlink():
        known = same = any(file.startswith(f"{name}/") for file in listed)
    elif name == SPEC and path.is_file() and path.read_bytes() == facts:
        known = same = True
    else:
        known = name in listed
        same = known and path.is_file() and not path.is_symlink() and sha256_of(path) == listed[name]
    if not known:
        raise BuildError(
            f"{path} is not listed in the mark of a build ({MARK}), so it is not replaced. Move it away, or name "
            "another folder with --out."
        )
    if not same:
        raise BuildError(
            f"{path} is no longer what the build wrote. Move it away or delete it, or name another folder with --out."
        )


def _read(mark: Path) -> Mapping[str, str]:
    """Return the files that a mark lists, with their sha256."""
    try:
        if mark.is_symlink():
            raise BuildError(f"{mark} is a link.")
        found = read_json(mark)
        FORM(found, str(mark))
    except (BuildError, FileNotFoundError) as error:
        raise BuildError(
            f"{error} It should list the files in {mark.parent} that a build wrote. Move it away, or name another "
            "folder with --out."
        ) from error
    files: Mapping[str, str] = found["files"]
    return files


def _below(path: Path) -> Iterator[Path]:
    """Return everything in a folder, at any depth; nothing for a file or a link."""
    return iter(sorted(path.rglob("*"))) if path.is_dir() and not path.is_symlink() else iter(())


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()
