"""What a build says of itself: its stats.json, and the manifest that tells its files from the user's.

The manifest lists each file with its sha256. Only files that it lists, and that are unchanged since the build, are ever
replaced.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from halluscope.building.fetch import sha256_of
from halluscope.errors import BuildError
from halluscope.files.opening import read_json
from halluscope.sanitize import short_repr

STATS, DATA, MANIFEST, CARD, SPEC = "stats.json", "data", ".halluscope-build.json", "README.md", "spec.toml"
PARTS = {MANIFEST, CARD, SPEC, STATS, DATA}  # all that a build writes
ABOUT = (
    "What `halluscope build` wrote here. It replaces only these files, and only if they are still the same."
)


class Leaf(NamedTuple):
    """Which values of JSON fit, in code and in words."""

    fits: Callable[[Any], Any]
    what: str


def text(pattern: str, what: str) -> Leaf:
    return Leaf(lambda value: isinstance(value, str) and re.fullmatch(pattern, value), what)


def check(value: Any, schema: Any, where: str) -> None:
    """Check a value of a JSON file.

    A schema is a `Leaf`; a list of one schema, for a list that is not empty; an object with exactly its keys, or with
    any keys that fit a `Leaf`; or a function that returns the schema of the value.
    """
    if callable(schema):
        schema = schema(value)
    leaf: Leaf = _LIST if isinstance(schema, list) else _OBJECT if isinstance(schema, dict) else schema
    if not leaf.fits(value):
        raise BuildError(f"{where} is {short_repr(value)}; expected {leaf.what}.")
    if isinstance(schema, list):
        for index, item in enumerate(value):
            check(item, schema[0], f"{where}[{index}]")
    elif isinstance(schema, dict):
        (key_schema, of_each), *_ = schema.items()
        if isinstance(key_schema, Leaf):
            for key in value:
                check(key, key_schema, f"{where}, a name")
            schema = dict.fromkeys(value, of_each)
        for wrong in sorted(schema.keys() ^ value.keys()):
            state = "missing" if wrong in schema else "unknown"
            raise BuildError(f"{where}: {short_repr(wrong)} is {state}; expected {', '.join(schema)}.")
        for key, inner in schema.items():
            check(value[key], inner, f"{where}.{key}" if where.endswith("]") else f"{where}: {key}")


def _or_null(schema: Leaf) -> Leaf:
    return Leaf(lambda value: value is None or schema.fits(value), f"{schema.what}, or null")


_LIST = Leaf(lambda value: isinstance(value, list) and value, "a list that is not empty")
_OBJECT = Leaf(lambda value: isinstance(value, dict), "a JSON object")
_BOOL = Leaf(lambda value: isinstance(value, bool), "true or false")
_WHOLE = Leaf(lambda value: type(value) is int and 0 <= value < 2**63, "a whole number of at least 0")
_NUMBER = Leaf(lambda value: type(value) in (int, float) and abs(value) < 2**63, "a number")
SHA256 = text("[0-9a-f]{64}", "64 lower-case hexadecimal digits")
_FILE = r"data/(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)?[A-Za-z0-9_-][A-Za-z0-9_.-]*-[0-9]{5}-of-[0-9]{5}\.parquet"
FILE = text(_FILE, "a file in data/ such as data/test-00000-of-00001.parquet")
_NAME = text(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", "a name of letters, digits, '_', '.' and '-'")
_COUNT = text(r"\w[\w ,'&/()-]{0,99}", "the plain name of a count")


def _count(depth: int) -> Any:
    return lambda value: {_COUNT: _count(depth - 1)} if depth and isinstance(value, dict) else _NUMBER


# No text that fits can be Markdown, HTML or YAML, so a card may show every value unchanged.
SCHEMA = {
    "name": _NAME,
    "version": text(r"[A-Za-z0-9.+-]{1,40}", "a version such as 1.0.0"),
    "spec_sha256": SHA256,
    "subset": _BOOL,
    "counts": {_COUNT: _count(5)},
    "sources": {_NAME: {"sha256": _or_null(SHA256), "published": _or_null(_BOOL)}},
    "tables": [
        {
            "config": _NAME,
            "split": _NAME,
            "columns": [_NAME],
            "rows": _WHOLE,
            "bytes": _WHOLE,
            "shards": [{"file": FILE, "bytes": _WHOLE, "sha256": SHA256}],
        }
    ],
    "written_by": text(r"pyarrow [A-Za-z0-9.+-]{1,40}", "pyarrow and its version"),
}
LISTED = {
    "about": text(r".{0,200}", "a line of text"),
    "files": {Leaf(lambda name: name in (CARD, SPEC, STATS) or FILE.fits(name), FILE.what): SHA256},
}


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

    shards = [shard for table in tables for shard in table["shards"]]
    expected = {folder / shard["file"]: shard["sha256"] for shard in shards}
    stats, again = folder / STATS, f"Build {folder} again."
    if len(expected) < len(shards):
        raise BuildError(f"{stats} names a file twice. {again}")
    for path, published in tqdm(expected.items(), desc="comparing", unit="file", disable=None):
        if not path.resolve().is_relative_to(folder.resolve() / DATA):
            raise BuildError(
                f"{stats} names {short_repr(str(path))}, which is outside {folder / DATA}. {again}"
            )
        if not path.is_file():
            raise BuildError(f"{path}, which {stats} names, is missing. {again}")
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
