"""The stats.json of a build: its schema, its reader, and the comparison with the build's files."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from halluscope.building.fetch import sha256_of
from halluscope.errors import BuildError
from halluscope.files.opening import read_json
from halluscope.sanitize import short_repr

STATS, DATA = "stats.json", "data"


class Leaf(NamedTuple):
    """Which values of JSON fit, in code and in words."""

    fits: Callable[[Any], Any]
    what: str


def text(pattern: str, what: str) -> Leaf:
    """Return the schema of a text that a pattern matches as a whole."""
    return Leaf(lambda value: isinstance(value, str) and re.fullmatch(pattern, value), what)


def check(value: Any, schema: Any, where: str) -> None:
    """Check a value of a JSON file.

    A schema is a `Leaf`; a list of one schema, for a list that is not empty; an object with exactly its keys, or with
    any keys that fit a `Leaf`; or a function that returns the schema of the value.
    """
    if isinstance(schema, Leaf):
        _expect(schema.fits(value), value, where, schema.what)
    elif isinstance(schema, list):
        _expect(isinstance(value, list) and value, value, where, "a list that is not empty")
        for index, item in enumerate(value):
            check(item, schema[0], f"{where}[{index}]")
    elif not isinstance(schema, dict):
        check(value, schema(value), where)
    else:
        _expect(isinstance(value, dict), value, where, "a JSON object")
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


def _expect(fits: Any, value: Any, where: str, what: str) -> None:
    if not fits:
        raise BuildError(f"{where} is {short_repr(value)}; expected {what}.")


def _or_null(schema: Leaf) -> Leaf:
    return Leaf(lambda value: value is None or schema.fits(value), f"{schema.what}, or null")


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


def read_stats(file: Path) -> dict[str, Any]:
    """Read and check a stats.json."""
    try:
        stats: dict[str, Any] = read_json(file)
        check(stats, SCHEMA, str(file))
    except BuildError as error:
        raise BuildError(f"{error} Build {file.parent} again.") from error
    return stats


def compare(folder: Path, tables: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Return a build's files, if they are as the builder wrote them."""
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
