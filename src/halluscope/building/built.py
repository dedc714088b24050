"""Reads the stats.json of a build, and compares the build's files with it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from halluscope.building import form
from halluscope.building.fetch import sha256_of
from halluscope.errors import BuildError
from halluscope.files.opening import read_json
from halluscope.foreign import brief

STATS = "stats.json"

SHA256 = form.text("[0-9a-f]{64}", "64 lower-case hexadecimal digits")
FILE = form.text(
    r"data/(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)?[A-Za-z0-9_-][A-Za-z0-9_.-]*-[0-9]{5}-of-[0-9]{5}\.parquet",
    "a file in data/ such as data/test-00000-of-00001.parquet",
)
_NAME = form.text(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", "a name of letters, digits, '_', '.' and '-'")
_VERSION = form.text(r"[A-Za-z0-9.+-]{1,40}", "a version such as 1.0.0")
_WRITER = form.text(r"pyarrow [A-Za-z0-9.+-]{1,40}", "pyarrow and its version")
_COUNTED = form.text(r"\w[\w ,'&/()-]{0,99}", "the plain name of a count")


def _counts(levels: int) -> form.Form:
    """Return the form of counts: names with numbers, or with further counts, at most `levels` deep."""
    deeper = _counts(levels - 1) if levels > 1 else form.number
    return form.named(
        _COUNTED, lambda value, where: (deeper if isinstance(value, dict) else form.number)(value, where)
    )


FORM = form.record(
    name=_NAME,
    version=_VERSION,
    spec_sha256=SHA256,
    subset=form.truth,
    counts=_counts(levels=6),
    sources=form.named(_NAME, form.record(sha256=form.maybe(SHA256), published=form.maybe(form.truth))),
    tables=form.each(
        form.record(
            config=_NAME,
            split=_NAME,
            columns=form.each(_NAME),
            rows=form.count,
            bytes=form.count,
            shards=form.each(form.record(file=FILE, bytes=form.count, sha256=SHA256)),
        )
    ),
    written_by=_WRITER,
)
"""The form of a stats.json. Its texts cannot be Markdown, HTML or YAML, so a card may show every value unchanged."""


def read_stats(file: Path) -> dict[str, Any]:
    """Read and check a stats.json.

    Raises:
        BuildError: if it is not what a build writes; the message names the file and the key.
    """
    try:
        stats: dict[str, Any] = read_json(file)
        FORM(stats, str(file))
    except BuildError as error:
        raise BuildError(f"{error} Build {file.parent} again.") from error
    return stats


def compare(folder: Path, tables: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Compare a dataset's files with the checksums in its stats.json.

    Args:
        folder: the dataset's folder.
        tables: the stats.json's `tables`.

    Returns:
        The files.

    Raises:
        BuildError: if a file is missing, is outside the folder, or is not the one that the builder wrote.
    """
    shards = [shard for table in tables for shard in table["shards"]]
    expected = {folder / shard["file"]: shard["sha256"] for shard in shards}
    if len(expected) < len(shards):
        raise BuildError(f"{folder / STATS} names a file twice. Build {folder} again.")
    for path, sha256 in tqdm(expected.items(), desc="comparing", unit="file", disable=None):
        _compare(path, sha256, folder)
    return list(expected)


def _compare(path: Path, expected: str, folder: Path) -> None:
    if not path.resolve().is_relative_to(folder.resolve() / "data"):
        raise BuildError(
            f"{folder / STATS} names {brief(str(path))}, which is outside {folder / 'data'}. Build {folder} again."
        )
    if not path.is_file():
        raise BuildError(f"{path}, which {folder / STATS} names, is missing. Build {folder} again.")
    if (found := sha256_of(path)) != expected:
        raise BuildError(
            f"{path} is not the file that its builder wrote: its sha256 is {found}, expected {expected} "
            f"({folder / STATS}). Build {folder} again."
        )
