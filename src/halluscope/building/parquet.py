"""Writes rows as Parquet shards in the Hub's layout.

With the same version of pyarrow, the same rows give the same bytes: row groups have a fixed size, and no time is
written.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Features

from halluscope.errors import BuildError
from halluscope.foreign import brief, one_line

GROUP_ROWS = 100
SHARD_BYTES = 250_000_000

_ODD = (pa.ArrowException, ValueError, TypeError, OverflowError, AttributeError)
"""The errors that Arrow raises for rows that do not fit the columns."""


@dataclass(frozen=True)
class Table:
    """The content of one config and split of a dataset.

    Attributes:
        features: the columns; their metadata is written to the files, so that images are read back as images.
        rows: the rows, one by one to save memory; or Arrow tables, each of which becomes a row group.
        split: the split's name.
        config: the config's name.
    """

    features: Features
    rows: Iterable[Mapping[str, Any] | pa.Table]
    split: str
    config: str = "default"

    @property
    def stem(self) -> str:
        """The beginning of its files' paths."""
        return f"data/{self.split}" if self.config == "default" else f"data/{self.config}/{self.split}"


def write(table: Table, folder: Path, shard_bytes: int = SHARD_BYTES) -> dict[str, Any]:
    """Write a table's shards into a folder and describe them.

    Args:
        table: what to write.
        folder: the dataset's folder.
        shard_bytes: a shard that has reached this size is closed.

    Returns:
        config, split, columns, rows, bytes (in memory) and shards, a list of {file, bytes, sha256}.

    Raises:
        BuildError: if there is no row, or a row does not fit the columns.
    """
    (folder / table.stem).parent.mkdir(parents=True, exist_ok=True)
    schema = table.features.arrow_schema
    groups = _groups(table, schema)
    parts: list[Path] = []
    rows = size = 0
    while (group := next(groups, None)) is not None:
        part = folder / f"{table.stem}-{len(parts):05d}"
        parts.append(part)
        held = 0
        with pq.ParquetWriter(part, schema) as writer:
            while group is not None:
                writer.write_table(group)
                rows += group.num_rows
                held += group.nbytes
                group = next(groups, None) if held < shard_bytes else None
        size += held
    if not parts:
        raise BuildError(
            f"The split {table.split!r} of config {table.config!r} has no rows; expected at least one."
        )
    files = [part.rename(f"{part}-of-{len(parts):05d}.parquet") for part in parts]
    return {
        "config": table.config,
        "split": table.split,
        "columns": list(table.features),
        "rows": rows,
        "bytes": size,
        "shards": [_describe(file, folder) for file in files],
    }


def _groups(table: Table, schema: pa.Schema) -> Iterator[pa.Table]:
    remaining, done = iter(table.rows), 0
    for first in remaining:
        rows = [first] if isinstance(first, pa.Table) else [first, *islice(remaining, GROUP_ROWS - 1)]
        try:
            group = _group(rows, schema)
        except _ODD as error:
            place, why = next(_odd(rows, schema), (0, error))
            raise BuildError(
                f"Row {done + place} (the first is 0) of the split {table.split!r}, config {table.config!r}, cannot be "
                f"written: {one_line(why, 200)}. Look at it in the source."
            ) from error
        yield group
        done += group.num_rows


def _group(rows: Sequence[Any], schema: pa.Schema) -> pa.Table:
    if isinstance(rows[0], pa.Table):
        return rows[0].cast(schema)
    if wrong := [row for row in rows if not isinstance(row, Mapping)]:
        raise TypeError(f"it is {brief(wrong[0])}; expected names and values")
    return pa.Table.from_pylist(rows, schema=schema)


def _odd(rows: Sequence[Any], schema: pa.Schema) -> Iterator[tuple[int, Exception]]:
    """Yield the rows that cannot be written: each one's number and its error."""
    for place, row in enumerate(rows):
        try:
            _group([row], schema)
        except _ODD as error:
            yield place, error


def _describe(file: Path, folder: Path) -> dict[str, Any]:
    with file.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"file": file.relative_to(folder).as_posix(), "bytes": file.stat().st_size, "sha256": sha256}
