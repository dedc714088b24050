"""Reads what a build wrote of itself, and compares its files with it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from halluscope.building.fetch import sha256_of
from halluscope.errors import BuildError


def read_stats(file: Path) -> dict[str, Any]:
    """The content of a stats.json.

    Raises:
        BuildError: when it is no JSON object.
    """
    try:
        stats = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BuildError(f"{file} is not JSON: {error}. Build {file.parent} again.") from error
    if not isinstance(stats, dict):
        raise BuildError(f"{file} holds {stats!r:.80}; expected a JSON object. Build {file.parent} again.")
    return stats


def compare(folder: Path, tables: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Compare a dataset's files with what its stats.json says of them.

    Args:
        folder: where they lie.
        tables: of the stats.json.

    Returns:
        The files.

    Raises:
        BuildError: when one is missing, or is not the one that the builder wrote.
    """
    shards = {folder / shard["file"]: shard["sha256"] for table in tables for shard in table["shards"]}
    for path, expected in tqdm(shards.items(), desc="comparing", unit="file", disable=None):
        if not path.is_file():
            raise BuildError(f"{path} is missing, which {folder / 'stats.json'} names. Build {folder} again.")
        if (found := sha256_of(path)) != expected:
            raise BuildError(
                f"{path} is not the file that its builder wrote: its sha256 is {found}, expected {expected} "
                f"({folder / 'stats.json'}). Build {folder} again."
            )
    return list(shards)
