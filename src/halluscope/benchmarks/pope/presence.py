"""Reads a presence dataset that this project built, to make POPE-Complete from it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from halluscope.building.build_info import compare, read_stats
from halluscope.building.fetch import Fetched, sha256_of
from halluscope.building.output import GROUP_ROWS
from halluscope.errors import BuildError


@dataclass(frozen=True)
class Presence:
    """A built `throne_*` dataset."""

    folder: Path  # the dataset's folder
    stats: Mapping[str, Any]  # the content of its stats.json, which agrees with its files

    @property
    def name(self) -> str:
        """The dataset's name, such as "throne_coco"."""
        return str(self.stats["name"])

    @property
    def classes(self) -> list[str]:
        """The annotated classes, in category order."""
        return list(self.stats["counts"]["images_per_class"])

    @property
    def has_images(self) -> bool:
        """Whether it was built with images."""
        return "image" in self.stats["tables"][0]["columns"]

    @property
    def source(self) -> Fetched:
        """This dataset as a source of the new one: the sha256 of its stats.json, which names the sha256 of each
        file."""
        return Fetched(self.folder, sha256_of(self.folder / "stats.json"), not self.stats["subset"])

    def read(self, *columns: str) -> pa.Table:
        """Read these columns of all rows."""
        return pa.concat_tables(pq.read_table(file, columns=list(columns)) for file in self._files)

    def groups(self, *columns: str) -> Iterator[pa.Table]:
        """Yield these columns, a few rows at a time, with the bytes of images unchanged."""
        for file in self._files:
            with pq.ParquetFile(file) as shard:
                for batch in shard.iter_batches(GROUP_ROWS, columns=list(columns)):
                    yield pa.Table.from_batches([batch]).select(list(columns))

    @property
    def _files(self) -> list[Path]:
        return [self.folder / shard["file"] for shard in self.stats["tables"][0]["shards"]]


def read(folder: Path, option: str, of: str) -> Presence:
    """Find a built presence dataset in a folder, and compare its files with its stats.json."""
    file = folder / "stats.json"
    if not file.is_file():
        raise BuildError(
            f"{option} {folder} is not a dataset that halluscope built: it has no stats.json. Build it first: "
            f"halluscope build {of}."
        )
    stats = read_stats(file)
    has_columns = {"image_id", "file_name", "objects"} <= set(stats["tables"][0]["columns"])
    if not has_columns or not isinstance(stats["counts"].get("images_per_class"), dict):
        raise BuildError(
            f"{option} {folder} holds {stats['name']!r}; expected a presence dataset, {of}, whose stats.json "
            "counts images_per_class."
        )
    compare(folder, stats["tables"][:1])
    return Presence(folder, stats)
