"""Writes a dataset's folder completely or not at all: Parquet shards, stats.json, spec.toml, the card and a manifest.

Only what an earlier build wrote is replaced (`halluscope.building.build_info`); every other file in the folder stays.
With the same version of pyarrow, the same rows give the same bytes: row groups have a fixed size, and no time is
written.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Features, Image
from tqdm import tqdm

from halluscope.building.build_info import CARD, DATA, SPEC, STATS, replaceable, write_manifest
from halluscope.building.card import card
from halluscope.building.fetch import Fetched, fetch, sha256_of
from halluscope.building.images import check_images, stored_image
from halluscope.building.spec import UNKNOWN, Spec
from halluscope.errors import BuildError
from halluscope.files.opening import Readable
from halluscope.files.writing import new_folder, real
from halluscope.reading.datasets import home
from halluscope.reading.rows import Row, Rows
from halluscope.sanitize import one_line
from halluscope.terminal import hides_bars

GROUP_ROWS = 100
SHARD_BYTES = 250_000_000

# What Arrow raises for rows that do not fit the columns.
_UNFIT = (pa.ArrowException, ValueError, TypeError, OverflowError, AttributeError)


@dataclass(frozen=True)
class Table:
    """The content of one config of a dataset."""

    features: Features  # their metadata is written too, so that images are read back as images
    rows: Iterable[Any]  # mappings, one by one to save memory; or a `pyarrow.Table` per row group
    config: str = "default"
    folder: Readable | None = None  # of the image files that `image` of each row names
    exact: bool = False  # whether these are found by their whole paths alone

    def write(self, folder: Path, split: str) -> dict[str, Any]:
        """Write the table's shards into the folder of a build; return what stats.json says of it.

        Raises:
            BuildError: if there are no rows, or one does not fit the columns.
        """
        place = DATA
        if self.config != "default":
            place = f"{DATA}/{self.config}"
        (folder / place).mkdir(parents=True, exist_ok=True)
        schema = self.features.arrow_schema
        parts: list[Path] = []
        rows = 0
        size = 0
        groups = self._groups(schema)
        group = next(groups, None)
        while group is not None:
            part = folder / place / f"{split}-{len(parts):05d}"
            parts.append(part)
            size_of_part = 0
            with pq.ParquetWriter(part, schema) as writer:
                while group is not None and size_of_part < SHARD_BYTES:
                    writer.write_table(group)
                    rows += group.num_rows
                    size_of_part += group.nbytes
                    group = next(groups, None)
            size += size_of_part
        if not parts:
            raise BuildError(f"Config {self.config!r} has no rows; expected at least one.")
        shards = []
        for part in parts:
            # only now is it known how many there are
            file = part.rename(f"{part}-of-{len(parts):05d}.parquet")
            shard = {
                "file": f"{place}/{file.name}",
                "bytes": file.stat().st_size,
                "sha256": sha256_of(file),
            }
            shards.append(shard)
        return {
            "config": self.config,
            "split": split,
            "columns": list(self.features),
            "rows": rows,
            "bytes": size,
            "shards": shards,
        }

    def _groups(self, schema: pa.Schema) -> Iterator[pa.Table]:
        start = 0
        rows: list[Any] = []
        for row in tqdm(self.rows, desc="writing", unit="row", disable=hides_bars()):
            if isinstance(row, pa.Table):
                yield row.cast(schema)
                continue
            rows.append(row)
            if len(rows) == GROUP_ROWS:
                yield self._group(rows, start, schema)
                start += len(rows)
                rows = []
        if rows:
            yield self._group(rows, start, schema)

    def _group(self, rows: list[Any], start: int, schema: pa.Schema) -> pa.Table:
        """Return rows as a row group; `start` is the number of the first of them."""
        if self.folder:
            rows = [row | {"image": stored_image(row["image"], self.folder, self.exact)} for row in rows]
        try:
            return pa.Table.from_pylist(rows, schema=schema)
        except _UNFIT as error:
            for number, row in enumerate(rows, start):
                if not _fits(row, schema):
                    raise BuildError(
                        f"Row {number} (the first is 0) of config {self.config!r} cannot be written: "
                        f"{one_line(error, 200)}. Look at it in the source."
                    ) from error
            raise


def _fits(row: Any, schema: pa.Schema) -> bool:
    try:
        pa.Table.from_pylist([row], schema=schema)
    except _UNFIT:
        return False
    return True


@dataclass(frozen=True)
class Order:
    """What a user asks to be built, and how."""

    spec: Spec
    source: Path | None = None  # the upstream file, or a folder that holds it; None downloads it
    images: Path | None = None  # the folder or the zip; None downloads them, or leaves out the column `image`
    out: Path | None = None  # the folder to build; None is datasets/NAME
    with_images: bool = True  # False leaves out the column `image`
    only_images_present: bool = False  # leave out images, or rows, whose files are missing
    subset: bool = False  # accept files and counts that are not the published ones
    force: bool = False  # replace an existing build
    cache: Path | None = None  # the folder that keeps downloads; None is the user's cache

    def target(self, name: str | None = None) -> Path:
        """Return the folder to build, `out` or that of the dataset `name`.

        Raises:
            BuildError: if something in the folder is in the way.
        """
        folder = real(self.out or home(name or self.spec.name))
        if folder.exists() and not folder.is_dir():
            raise BuildError(f"--out {folder} is a file; expected a folder.")
        replaced = replaceable(folder, self.spec.file)
        if DATA in replaced and not self.force:
            raise BuildError(
                f"--out {folder} holds a build already; pass --force (force=True) to replace it."
            )
        if replaced and Path.cwd().resolve().is_relative_to(folder):
            raise BuildError(
                f"--out {folder} is or holds the working directory, and would be replaced as a whole. Change to "
                "another folder first."
            )
        return folder

    def inside(self, folder: str) -> Path | None:
        """Return the folder of this name in `source`, or `source` itself."""
        if self.source is not None and (self.source / folder).is_dir():
            return self.source / folder
        return self.source

    def fetch(
        self, name: str, user_path: Path | None = None, option: str = "--source", alone: bool = False
    ) -> Fetched:
        """Get a source from where the user says, or by a download; it is not in `source` if it stands `alone`."""
        if user_path is None and not alone:
            user_path = self.source
        source = self.spec.sources.get(name)
        if source is None:
            raise BuildError(
                f"{self.spec.file} has no [sources.{name}], which {option} needs; add it, with its url and its sha256 "
                f'("{UNKNOWN}" if the file could not be had).'
            )
        return fetch(source, option, user_path, self.cache, self.subset)

    def fetch_all(self, *names: str) -> dict[str, Fetched]:
        """Get several sources from the folder that the user names, or by downloads."""
        self.check_source_is_folder(*names)
        return {name: self.fetch(name) for name in names}

    def check_source_is_folder(self, *names: str) -> None:
        """Check that what the user names for several sources is no file, which would be read as each of them."""
        if self.source is None or not self.source.is_file():
            return
        files = [self.spec.sources[name].url.rpartition("/")[2] for name in names]
        raise BuildError(
            f"--source {self.source} is a file; expected the folder that holds {', '.join(files[:-1])} and {files[-1]}."
        )

    def build_rows(
        self,
        table: Rows[Any],
        image_of: Callable[[Any], str | None],
        counts: Callable[[Sequence[Any]], Mapping[str, Any]],
    ) -> Path:
        """Build a dataset whose rows all stand in the source `questions`."""
        out = self.target()
        source = self.fetch("questions")
        rows = table.read_upstream(source.path)
        return self.write_rows(
            out,
            rows,
            image_of,
            columns=table.features(with_image=True),
            counts=counts(rows),
            sources={"questions": source},
        )

    def write_rows(
        self,
        out: Path,
        rows: Iterable[Row],
        image_of: Callable[[Any], str | None],
        columns: Mapping[str, Any],
        counts: Mapping[str, Any],
        sources: Mapping[str, Fetched],
        exact: bool = False,
        others: Sequence[Table] = (),
    ) -> Path:
        """Write a dataset into `out`; `image_of` returns the name of the file of a row's image, or None."""
        written = []
        for row in rows:
            columns_of_row = row.row
            columns_of_row["image"] = image_of(row)
            written.append(columns_of_row)
        return self.write(out, written, columns, counts, sources, exact=exact, others=others)

    def write(
        self,
        out: Path,
        rows: Sequence[Mapping[str, Any]],
        columns: Mapping[str, Any],
        counts: Mapping[str, Any],
        sources: Mapping[str, Fetched],
        exact: bool = False,
        others: Sequence[Table] = (),
        complete: bool = True,
    ) -> Path:
        """Write a dataset into `out`: rows whose `image` names a file or is None, and other tables.

        Images are among the sources, or those that the user has, if any. They are found by their whole paths if these
        are `exact`.
        """
        self.spec.matches(counts, self.subset)
        sources = dict(sources)
        if self.with_images and self.images and "images" not in sources:
            sources["images"] = self.fetch("images", self.images, "--images")
        if "images" in sources:
            folder = sources["images"].path
            names = {row["image"] for row in rows if row["image"]}
            check_images(sorted(names), folder, self.only_images_present, exact)
            table = Table(Features(columns), rows, folder=folder, exact=exact)
        else:
            others_than_images = {name: kind for name, kind in columns.items() if not isinstance(kind, Image)}
            table = Table(Features(others_than_images), rows)
        return self.save(out, [table, *others], counts, sources, complete)

    def save(
        self,
        out: Path,
        tables: Sequence[Table],
        counts: Mapping[str, Any],
        sources: Mapping[str, Fetched],
        complete: bool = True,
    ) -> Path:
        """Write a dataset into `out`; it is no subset if it is `complete`, and its counts are the published ones."""
        has_published_counts = self.spec.matches(counts, self.subset or not complete)
        has_published_sources = all(source.published is not False for source in sources.values())
        self._check_not_replaced(out, sources)
        with new_folder(out, lambda: replaceable(out, self.spec.file)) as folder:
            stats = {
                "name": self.spec.name,
                "version": self.spec.version,
                "spec_sha256": sha256_of(self.spec.file),
                "subset": not (complete and has_published_counts and has_published_sources),
                "counts": counts,
                "sources": {
                    name: {"sha256": source.sha256, "published": source.published}
                    for name, source in sources.items()
                },
                "tables": [table.write(folder, self.spec.split) for table in tables],
                "written_by": f"pyarrow {pa.__version__}",
            }
            features = {table.config: table.features for table in tables}
            stats_as_json = json.dumps(stats, indent=2, ensure_ascii=False) + "\n"
            (folder / CARD).write_text(card(self.spec, stats, features), encoding="utf-8")
            (folder / STATS).write_text(stats_as_json, encoding="utf-8")
            shutil.copyfile(self.spec.file, folder / SPEC)
            write_manifest(folder)
        return out

    def _check_not_replaced(self, out: Path, sources: Mapping[str, Fetched]) -> None:
        """Check that no source is in what the build would replace in its folder."""
        parts = replaceable(out, self.spec.file)
        if not parts:
            return
        for source in sources.values():
            file = real(Path(str(source.path)))  # in a zip, a path below that of the zip
            if file == out or any(file.is_relative_to(out / name) for name in parts):
                raise BuildError(
                    f"{file} is read for this build, and --out {out} would replace it; name another folder."
                )
