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

STATS, DATA, MANIFEST, CARD, SPEC = "stats.json", "data", ".halluscope-build.json", "README.md", "spec.toml"
PARTS = {MANIFEST, CARD, SPEC, STATS, DATA}  # all that a build writes
ABOUT = (
    "What `halluscope build` wrote here. It replaces only these files, and only if they are still the same."
)


# Patterns of values as JSON. No text that fits can be Markdown, HTML or YAML, so a card may show every value unchanged.


def _list(item: str) -> str:
    return rf"\[{item}(?:, {item})*\]"


def _object(key: str, value: str) -> str:
    return rf"\{{(?:{key}: {value}(?:, {key}: {value})*)?\}}"


_NAME = r'"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"'
_SHA256 = r'"[0-9a-f]{64}"'
_FILE = r"data/(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)?[A-Za-z0-9_-][A-Za-z0-9_.-]*-[0-9]{5}-of-[0-9]{5}\.parquet"
_SHARD = rf'\{{"file": "{_FILE}", "bytes": [0-9]{{1,18}}, "sha256": {_SHA256}\}}'
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
LISTED = {
    "about": r'".{0,200}"',
    "files": _object(rf'"(?:README\.md|spec\.toml|stats\.json|{_FILE})"', _SHA256),
}


def check(content: Any, schema: Mapping[str, str], where: str) -> None:
    """Check that an object of JSON is as a build writes it: its values, as JSON, match the schema's patterns."""
    if not isinstance(content, dict) or content.keys() != schema.keys():
        raise BuildError(f"{where} is {short_repr(content)}; expected an object with {', '.join(schema)}.")
    for key, pattern in schema.items():
        if not re.fullmatch(pattern, json.dumps(content[key], ensure_ascii=False)):
            raise BuildError(f"{where}: {key} is {short_repr(content[key])}; expected what a build writes.")


def read_stats(file: Path) -> dict[str, Any]:
    try:
        stats: dict[str, Any] = read_json(file)
        check(stats, SCHEMA, str(file))
    except BuildError as error:
        raise BuildError(f"{error} Build {file.parent} again.") from error
    return stats


def compare(folder: Path, tables: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Return a build's files, if they are as the builder wrote them."""
    from tqdm import tqdm

    expected = {folder / shard["file"]: shard["sha256"] for table in tables for shard in table["shards"]}
    stats, again = folder / STATS, f"Build {folder} again."
    for path, published in tqdm(expected.items(), desc="comparing", unit="file", disable=None):
        # a link may lead out of the folder
        if not path.is_file() or not path.resolve().is_relative_to(folder.resolve() / DATA):
            raise BuildError(
                f"{path}, which {stats} names, is missing, or is outside {folder / DATA}. {again}"
            )
        if (sha256 := sha256_of(path)) != published:
            raise BuildError(
                f"{path} is not the file that its builder wrote: its sha256 is {sha256}, expected {published} "
                f"({stats}). {again}"
            )
    return list(expected)


def write_manifest(folder: Path) -> None:
    content = json.dumps({"about": ABOUT, "files": _files(folder)}, indent=2) + "\n"
    (folder / MANIFEST).write_text(content, encoding="utf-8")


def replaceable(folder: Path, spec: Path) -> set[str]:
    """Return the `PARTS` of an earlier build that a build may replace in a folder, which need not exist.

    A copy of the spec.toml `spec` may be there without a build, as in a checkout. Any other file that the build would
    write, and that the manifest does not list as it is, is refused.
    """
    there = {name for name in PARTS if os.path.lexists(folder / name)}
    manifest, listed = folder / MANIFEST, {}
    if MANIFEST in there:
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
        listed = content["files"]
    for name, sha256 in _files(folder).items():
        if sha256 not in (listed.get(name), sha256_of(spec) if name == SPEC else None):
            state = "is no longer what the build wrote" if name in listed else "was not written by a build"
            raise BuildError(
                f"{folder / name} {state} ({MANIFEST} lists what was), so it is not replaced. Move it away, or name "
                "another folder with --out."
            )
    return there if there != {SPEC} else set()


def _files(folder: Path) -> dict[str, str]:
    """Return the sha256 of each file of `PARTS`; "" for a link, an empty folder, or no plain file."""
    files = {}
    for part in sorted(PARTS - {MANIFEST}):
        top = folder / part
        below = sorted(top.rglob("*")) if top.is_dir() and not top.is_symlink() else []
        for path in (top, *below):
            is_plain = not path.is_symlink()
            if os.path.lexists(path) and not (is_plain and path.is_dir() and any(path.iterdir())):
                name = path.relative_to(folder).as_posix()
                files[name] = sha256_of(path) if is_plain and path.is_file() else ""
    return files
