"""Writes rows as Parquet shards in the Hub's layout.

With the same version of pyarrow, the same rows give the same bytes: row groups have a fixed size, and no time is
written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Features

from halluscope.building.fetch import sha256_of
from halluscope.errors import BuildError
from halluscope.sanitize import one_line, short_repr

GROUP_ROWS = 100
SHARD_BYTES = 250_000_000

# What Arrow raises for rows that do not fit the columns.
_UNFIT = (pa.ArrowException, ValueError, TypeError, OverflowError, AttributeError)


@dataclass(frozen=True)
class Table:
    """The content of one config and split of a dataset."""

    features: Features  # their metadata is written too, so that images are read back as images
    rows: Iterable[Mapping[str, Any] | pa.Table]  # one by one to save memory; or a table per row group
    split: str
    config: str = "default"

    @property
    def stem(self) -> str:
        """The beginning of its files' paths."""
        return f"data/{self.split}" if self.config == "default" else f"data/{self.config}/{self.split}"


def write(table: Table, folder: Path, shard_bytes: int = SHARD_BYTES) -> dict[str, Any]:
    """Write a table in shards of this size, and return its entry in stats.json."""
    (folder / table.stem).parent.mkdir(parents=True, exist_ok=True)
    schema = table.features.arrow_schema
    groups = _groups(table, schema)
    parts: list[Path] = []
    rows = size = 0
    while (group := next(groups, None)) is not None:
        parts.append(folder / f"{table.stem}-{len(parts):05d}")
        full = size + shard_bytes
        with pq.ParquetWriter(parts[-1], schema) as writer:
            while group is not None:
                writer.write_table(group)
                rows += group.num_rows
                size += group.nbytes
                group = next(groups, None) if size < full else None
    if not parts:
        raise BuildError(
            f"The split {table.split!r} of config {table.config!r} has no rows; expected at least one."
        )
    files = [part.rename(f"{part}-of-{len(parts):05d}.parquet") for part in parts]
    shards = [
        {
            "file": file.relative_to(folder).as_posix(),
            "bytes": file.stat().st_size,
            "sha256": sha256_of(file),
        }
        for file in files
    ]
    return {
        "config": table.config,
        "split": table.split,
        "columns": list(table.features),
        "rows": rows,
        "bytes": size,
        "shards": shards,
    }


def _groups(table: Table, schema: pa.Schema) -> Iterator[pa.Table]:
    remaining, done = iter(table.rows), 0
    for first in remaining:
        rows = [first] if isinstance(first, pa.Table) else [first, *islice(remaining, GROUP_ROWS - 1)]
        try:
            group = _group(rows, schema)
        except _UNFIT as error:
            index, why = next(_unfit(rows, schema), (0, error))
            raise BuildError(
                f"Row {done + index} (the first is 0) of the split {table.split!r}, config {table.config!r}, cannot be "
                f"written: {one_line(why, 200)}. Look at it in the source."
            ) from error
        yield group
        done += group.num_rows


def _group(rows: Sequence[Any], schema: pa.Schema) -> pa.Table:
    if isinstance(rows[0], pa.Table):
        return rows[0].cast(schema)
    if wrong := [row for row in rows if not isinstance(row, Mapping)]:
        raise TypeError(f"it is {short_repr(wrong[0])}; expected names and values")
    return pa.Table.from_pylist(rows, schema=schema)


def _unfit(rows: Sequence[Any], schema: pa.Schema) -> Iterator[tuple[int, Exception]]:
    for index, row in enumerate(rows):
        try:
            _group([row], schema)
        except _UNFIT as error:
            yield index, error
