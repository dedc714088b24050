"""What a build says of itself: its stats.json, and the manifest that tells its files from the user's.

The manifest lists each file with its sha256. Only files that it lists, and that are unchanged since the build, are ever
replaced.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from halluscope.building.fetch import sha256_of
from halluscope.errors import BuildError
from halluscope.files.opening import read_json
from halluscope.sanitize import short_repr
from halluscope.terminal import hides_bars

STATS = "stats.json"
DATA = "data"
MANIFEST = ".halluscope-build.json"
CARD = "README.md"
SPEC = "spec.toml"

# All that a build writes
PARTS = {MANIFEST, CARD, SPEC, STATS, DATA}

# Of shards up to this size, in bytes, `changed_shards` compares the sha256 too, which takes some 10 ms
SMALL = 16 * 2**20

ABOUT = (
    "What `halluscope build` wrote here. It replaces only these files, and only if they are still the same."
)


# Each value is compared, as JSON, with a pattern. No text that fits can be Markdown, HTML or YAML, so a card may show
# every value unchanged.


def _list(item: str) -> str:
    return rf"\[{item}(?:, {item})*\]"


def _object(key: str, value: str) -> str:
    return rf"\{{(?:{key}: {value}(?:, {key}: {value})*)?\}}"


_NAME = r'"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"'
_SHA256 = r'"[0-9a-f]{64}"'
_FILE = r"data/(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)?[A-Za-z0-9_-][A-Za-z0-9_.-]*-[0-9]{5}-of-[0-9]{5}\.parquet"
_SHARD = rf'\{{"file": "{_FILE}", "bytes": [0-9]{{1,18}}, "sha256": {_SHA256}\}}'

# The keys of stats.json, each with the pattern of its value
SCHEMA = {
    "name": _NAME,
    "version": r'"[A-Za-z0-9.+-]{1,40}"',
    "spec_sha256": _SHA256,
    "subset": "true|false",
    # numbers, or further counts, by plain names
    "counts": r"""\{(?:[{}]|, |"\w[\w ,'&/()-]{0,99}": |-?[0-9]{1,18}(?:\.[0-9]+)?(?:e-[0-9]+)?)*\}""",
    "sources": _object(_NAME, rf'\{{"sha256": (?:{_SHA256}|null), "published": (?:true|false|null)\}}'),
    "tables": _list(
        rf'\{{"config": {_NAME}, "split": {_NAME}, "columns": {_list(_NAME)}, "rows": [0-9]{{1,18}}, '
        rf'"bytes": [0-9]{{1,18}}, "shards": {_list(_SHARD)}\}}'
    ),
    "written_by": r'"pyarrow [A-Za-z0-9.+-]{1,40}"',
}

# The keys of the manifest
LISTED = {
    "about": r'".{0,200}"',
    "files": _object(rf'"(?:README\.md|spec\.toml|stats\.json|{_FILE})"', _SHA256),
}


def check(content: Any, schema: Mapping[str, str], where: str) -> None:
    """Check that an object of JSON is as a build writes it: its values, as JSON, match the schema's patterns."""
    if not isinstance(content, dict) or content.keys() != schema.keys():
        raise BuildError(f"{where} is {short_repr(content)}; expected an object with {', '.join(schema)}.")
    for key, pattern in schema.items():
        value = json.dumps(content[key], ensure_ascii=False)
        if not re.fullmatch(pattern, value):
            raise BuildError(f"{where}: {key} is {short_repr(content[key])}; expected what a build writes.")


def read_stats(file: Path) -> dict[str, Any]:
    """Return the content of a build's stats.json.

    Raises:
        BuildError: if it is not as a build writes it.
    """
    try:
        stats: dict[str, Any] = read_json(file)
        check(stats, SCHEMA, str(file))
    except BuildError as error:
        raise BuildError(f"{error} Build {file.parent} again.") from error
    return stats


def changed_shards(folder: Path, tables: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the shards that differ from what a build wrote: by their size, and, if they are small, by their sha256.

    Args:
        folder: the build.
        tables: what its stats.json says of its tables.
    """
    changed = []
    for table in tables:
        for shard in table["shards"]:
            if not _is_as_built(folder / shard["file"], shard):
                changed.append(shard["file"])
    return changed


def _is_as_built(path: Path, shard: Mapping[str, Any]) -> bool:
    if not path.is_file() or path.stat().st_size != shard["bytes"]:
        return False
    return bool(shard["bytes"] > SMALL or sha256_of(path) == shard["sha256"])


def compare(folder: Path, tables: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Return the shards of a build, compared with what its builder wrote.

    Args:
        folder: the build.
        tables: what its stats.json says of its tables.

    Raises:
        BuildError: if a shard is missing, outside the folder, or another file than the builder's.
    """
    from tqdm import tqdm

    sha256_of_shard = {}
    for table in tables:
        for shard in table["shards"]:
            sha256_of_shard[folder / shard["file"]] = shard["sha256"]
    stats = folder / STATS
    data = folder / DATA
    real_data = folder.resolve() / DATA
    for path, expected in tqdm(sha256_of_shard.items(), desc="comparing", unit="file", disable=hides_bars()):
        # a link may lead out of the folder
        if not path.is_file() or not path.resolve().is_relative_to(real_data):
            raise BuildError(
                f"{path}, which {stats} names, is missing, or is outside {data}. Build {folder} again."
            )
        sha256 = sha256_of(path)
        if sha256 != expected:
            raise BuildError(
                f"{path} is not the file that its builder wrote: its sha256 is {sha256}, expected {expected} "
                f"({stats}). Build {folder} again."
            )
    return list(sha256_of_shard)


def write_manifest(folder: Path) -> None:
    content = {"about": ABOUT, "files": _sums_of_files(folder)}
    (folder / MANIFEST).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def replaceable(folder: Path, spec: Path) -> set[str]:
    """Return the `PARTS` of an earlier build that a build may replace in a folder, which need not exist.

    A copy of the spec.toml `spec` may be there without a build, as in a checkout.

    Raises:
        BuildError: if a file that the build would write is there, and the manifest does not list it as it is.
    """
    parts = {name for name in PARTS if os.path.lexists(folder / name)}
    listed = {}
    if MANIFEST in parts:
        listed = _read_manifest(folder)
    for name, sha256 in _sums_of_files(folder).items():
        if sha256 == listed.get(name):
            continue
        if name == SPEC and sha256 == sha256_of(spec):
            continue
        state = "was not written by a build"
        if name in listed:
            state = "is no longer what the build wrote"
        raise BuildError(
            f"{folder / name} {state} ({MANIFEST} lists what was), so it is not replaced. Move it away, or name "
            "another folder with --out."
        )
    if parts == {SPEC}:
        return set()
    return parts


def _read_manifest(folder: Path) -> dict[str, str]:
    """Return the sha256 of each file that a build wrote into a folder."""
    manifest = folder / MANIFEST
    try:
        if manifest.is_symlink():
            raise BuildError(f"{manifest} is a link.")
        content = read_json(manifest)
        check(content, LISTED, str(manifest))
    except (BuildError, FileNotFoundError) as error:
        raise BuildError(
            f"{error} It should list the files in {folder} that a build wrote. Move it away, or name another "
            "folder with --out."
        ) from error
    files: dict[str, str] = content["files"]
    return files


def _sums_of_files(folder: Path) -> dict[str, str]:
    """Return the sha256 of each file of `PARTS`; "" for a link, an empty folder, or no plain file."""
    paths = []
    for part in sorted(PARTS - {MANIFEST}):
        path = folder / part
        if os.path.lexists(path):
            paths.append(path)
        if path.is_dir() and not path.is_symlink():
            paths.extend(sorted(path.rglob("*")))
    sums = {}
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            sums[name] = ""
        elif path.is_file():
            sums[name] = sha256_of(path)
        elif not path.is_dir() or not any(path.iterdir()):
            sums[name] = ""
    return sums
