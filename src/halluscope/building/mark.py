"""Tells what a build wrote from what is the user's: a mark in the folder lists each file of the build with its sha256.

Only what the mark lists, and is as the build wrote it, is ever replaced.
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
"""What a build writes into its folder."""

ABOUT = (
    "What `halluscope build` wrote here. It replaces only these files, and only if they are still the same."
)


def _named(value: object, where: str) -> None:
    if value not in (CARD, SPEC, STATS):
        FILE(value, where)


FORM = form.record(about=form.text(r".{0,200}", "a line of text"), files=form.named(_named, SHA256))


def write(folder: Path) -> None:
    """Mark all that lies in a folder as written by a build."""
    files = {_name(file, folder): sha256_of(file) for file in _below(folder) if file.is_file()}
    text = json.dumps({"about": ABOUT, "files": files}, indent=2) + "\n"
    (folder / MARK).write_text(text, encoding="utf-8")


def replaceable(folder: Path, facts: bytes) -> set[str]:
    """What a build may replace in a folder, which need not be there.

    Args:
        folder: where the build is to go.
        facts: the content of the spec.toml that it will write; the same may be there, as in a checkout.

    Returns:
        Names in the folder, of files or of the folder `data`; none, if there is nothing of an earlier build.

    Raises:
        BuildError: for a file that a build would write, and that lies there without being listed in a mark, or is
            no longer what the build wrote.
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
            f"{path} is there, and no build that left its mark ({MARK}) wrote it. Move it away, or name another "
            "folder with --out."
        )
    if not same:
        raise BuildError(
            f"{path} is no longer what the build wrote. Move it away or delete it, or name another folder with --out."
        )


def _read(mark: Path) -> Mapping[str, str]:
    """The files that a mark lists, with their sha256."""
    try:
        if mark.is_symlink():
            raise BuildError(f"{mark} is a link.")
        found = read_json(mark)
        FORM(found, str(mark))
    except (BuildError, FileNotFoundError) as error:
        raise BuildError(
            f"{error} So nobody knows what of {mark.parent} a build wrote. Move it away, or name another folder with "
            "--out."
        ) from error
    files: Mapping[str, str] = found["files"]
    return files


def _below(path: Path) -> Iterator[Path]:
    """What lies in a folder, however deep; nothing, for a file or a link."""
    return iter(sorted(path.rglob("*"))) if path.is_dir() and not path.is_symlink() else iter(())


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()
