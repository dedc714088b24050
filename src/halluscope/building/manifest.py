"""Distinguishes a build's files from the user's: a manifest in the folder lists each of them with its sha256.

Only files that the manifest lists, and that are unchanged since the build, are ever replaced.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from halluscope.building.build_info import DATA, FILE, SHA256, STATS, Leaf, check, text
from halluscope.building.fetch import sha256_of
from halluscope.errors import BuildError
from halluscope.files.opening import read_json

MANIFEST, CARD, SPEC = ".halluscope-build.json", "README.md", "spec.toml"
PARTS = {MANIFEST, CARD, SPEC, STATS, DATA}  # all that a build writes
ABOUT = (
    "What `halluscope build` wrote here. It replaces only these files, and only if they are still the same."
)
SCHEMA = {
    "about": text(r".{0,200}", "a line of text"),
    "files": {Leaf(lambda name: name in (CARD, SPEC, STATS) or FILE.fits(name), FILE.what): SHA256},
}


def write(folder: Path) -> None:
    """List all files in a folder as written by a build."""
    text = json.dumps({"about": ABOUT, "files": _files(folder)}, indent=2) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def replaceable(folder: Path, spec: Path) -> set[str]:
    """Return the `PARTS` of an earlier build that a build may replace in a folder, which need not exist.

    A copy of the spec.toml `spec` may be there without a build, as in a checkout. Any other file that the build would
    write, and that the manifest does not list as it is, is refused.
    """
    there = {name for name in PARTS if os.path.lexists(folder / name)}
    listed = _read(folder / MANIFEST) if MANIFEST in there else {}
    for name, sha256 in _files(folder).items():
        if sha256 not in (listed.get(name), sha256_of(spec) if name == SPEC else None):
            state = "is no longer what the build wrote" if name in listed else "was not written by a build"
            raise BuildError(
                f"{folder / name} {state} ({MANIFEST} lists what was), so it is not replaced. Move it away, or name "
                "another folder with --out."
            )
    return there if there != {SPEC} else set()


def _read(manifest: Path) -> Mapping[str, str]:
    try:
        if manifest.is_symlink():
            raise BuildError(f"{manifest} is a link.")
        content = read_json(manifest)
        check(content, SCHEMA, str(manifest))
    except (BuildError, FileNotFoundError) as error:
        raise BuildError(
            f"{error} It should list the files in {manifest.parent} that a build wrote. Move it away, or name another "
            "folder with --out."
        ) from error
    files: Mapping[str, str] = content["files"]
    return files


def _files(folder: Path) -> dict[str, str]:
    """Return the sha256 of each file of `PARTS`; "" for a link, an empty folder, or no plain file."""
    files = {}
    for path in (
        path for part in sorted(PARTS - {MANIFEST}) for path in (folder / part, *_below(folder / part))
    ):
        is_plain = not path.is_symlink()
        if os.path.lexists(path) and not (is_plain and path.is_dir() and any(path.iterdir())):
            name = path.relative_to(folder).as_posix()
            files[name] = sha256_of(path) if is_plain and path.is_file() else ""
    return files


def _below(path: Path) -> list[Path]:
    return sorted(path.rglob("*")) if path.is_dir() and not path.is_symlink() else []
