"""Writes a dataset's folder completely or not at all: Parquet shards, stats.json, spec.toml, the card and a manifest.

Only what an earlier build wrote is replaced (`halluscope.building.build_info`); every other file in the folder stays.
With the same version of pyarrow, the same rows give the same bytes: row groups have a fixed size, and no time is
written.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import DatasetInfo, Features, Image, SplitDict, SplitInfo
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCard
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from tqdm import tqdm

from halluscope import registry
from halluscope.building import build_info
from halluscope.building.build_info import CARD, DATA, SPEC, STATS, replaceable
from halluscope.building.fetch import Fetched, fetch, sha256_of
from halluscope.building.spec import Spec
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, inside, is_file, leads_out, read_bytes
from halluscope.files.pictures import open_picture
from halluscope.files.writing import new_folder, real
from halluscope.paths import share
from halluscope.reading.datasets import home
from halluscope.reading.rows import Row
from halluscope.sanitize import one_line, short_repr

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

    def write(self, folder: Path, split: str) -> dict[str, Any]:
        inside = "data" if self.config == "default" else f"data/{self.config}"
        (folder / inside).mkdir(parents=True, exist_ok=True)
        schema = self.features.arrow_schema
        groups = self._groups(schema)
        parts: list[Path] = []
        rows = size = 0
        while (group := next(groups, None)) is not None:
            parts.append(folder / inside / f"{split}-{len(parts):05d}")
            full = size + SHARD_BYTES
            with pq.ParquetWriter(parts[-1], schema) as writer:
                while group is not None:
                    writer.write_table(group)
                    rows += group.num_rows
                    size += group.nbytes
                    group = next(groups, None) if size < full else None
        if not parts:
            raise BuildError(f"Config {self.config!r} has no rows; expected at least one.")
        files = [part.rename(f"{part}-of-{len(parts):05d}.parquet") for part in parts]
        return {
            "config": self.config,
            "split": split,
            "columns": list(self.features),
            "rows": rows,
            "bytes": size,
            "shards": [
                {"file": f"{inside}/{file.name}", "bytes": file.stat().st_size, "sha256": sha256_of(file)}
                for file in files
            ],
        }

    def _groups(self, schema: pa.Schema) -> Iterator[pa.Table]:
        rows = iter(tqdm(self.rows, desc="writing", unit="row", disable=None))
        for number, first in enumerate(rows):
            if isinstance(first, pa.Table):
                yield first.cast(schema)
                continue
            group = [first, *islice(rows, GROUP_ROWS - 1)]
            if self.folder:
                group = [row | {"image": _stored(row["image"], self.folder)} for row in group]
            try:
                yield pa.Table.from_pylist(group, schema=schema)
            except _UNFIT as error:
                index = next(index for index, row in enumerate(group) if not _fits(row, schema))
                raise BuildError(
                    f"Row {number * GROUP_ROWS + index} (the first is 0) of config {self.config!r} cannot be written: "
                    f"{one_line(error, 200)}. Look at it in the source."
                ) from error


def _fits(row: Any, schema: pa.Schema) -> bool:
    try:
        return bool(pa.Table.from_pylist([row], schema=schema))
    except _UNFIT:
        return False


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
        """Return the folder to build, if nothing in it is in the way."""
        path = real(self.out or home(name or self.spec.name))
        if path.exists() and not path.is_dir():
            raise BuildError(f"--out {path} is a file; expected a folder.")
        replaced = replaceable(path, self.spec.file)
        if DATA in replaced and not self.force:
            raise BuildError(f"--out {path} holds a build already; pass --force to replace it.")
        if replaced and Path.cwd().resolve().is_relative_to(path):
            raise BuildError(
                f"--out {path} is or holds the working directory, and would be replaced as a whole. Change to another "
                "folder first."
            )
        return path

    def inside(self, folder: str) -> Path | None:
        """Return the folder of this name in `source`, or `source` itself."""
        inner = self.source / folder if self.source else None
        return inner if inner and inner.is_dir() else self.source

    def fetch(
        self, name: str, user_path: Path | None = None, option: str = "--source", alone: bool = False
    ) -> Fetched:
        """Get a source from where the user says, or by a download; it is not in `source` if it stands `alone`."""
        user_path = user_path or (None if alone else self.source)
        return fetch(self.spec.sources[name], option, user_path, self.cache, self.subset)

    def build_rows(
        self,
        read: Callable[[Readable], Sequence[Any]],
        image_of: Callable[[Any], str | None],
        features: Callable[..., Mapping[str, Any]],
        counts: Callable[[Sequence[Any]], Mapping[str, Any]],
    ) -> Path:
        """Build a dataset whose rows all stand in the source `questions`, as `read` returns them."""
        out = self.target()
        source = self.fetch("questions")
        rows = read(source.path)
        return self.write_rows(
            out,
            rows,
            image_of,
            columns=features(with_image=True),
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
        if self.with_images and self.images and "images" not in sources:
            sources = {**sources, "images": self.fetch("images", self.images, "--images")}
        folder = sources["images"].path if "images" in sources else None
        if folder:
            names = sorted({row["image"] for row in rows if row["image"]})
            check_images(names, folder, self.only_images_present, exact)
        there = {name: kind for name, kind in columns.items() if folder or not isinstance(kind, Image)}
        table = Table(Features(there), rows, folder=folder)
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
        spec, parts = self.spec, replaceable(out, self.spec.file)
        complete = spec.matches(counts, self.subset or not complete) and complete
        for source in sources.values():
            file = real(Path(str(source.path)))  # in a zip, a path below that of the zip
            if parts and (file == out or any(file.is_relative_to(out / name) for name in parts)):
                raise BuildError(
                    f"{file} is read for this build, and --out {out} would replace it; name another folder."
                )
        published = all(source.published is not False for source in sources.values())
        with new_folder(out, lambda: replaceable(out, spec.file)) as folder:
            stats = {
                "name": spec.name,
                "version": spec.version,
                "spec_sha256": sha256_of(spec.file),
                "subset": not (complete and published),
                "counts": counts,
                "sources": {
                    name: {"sha256": source.sha256, "published": source.published}
                    for name, source in sources.items()
                },
                "tables": [table.write(folder, spec.split) for table in tables],
                "written_by": f"pyarrow {pa.__version__}",
            }
            text = card(spec, stats, {table.config: table.features for table in tables})
            (folder / CARD).write_text(text, encoding="utf-8")
            (folder / STATS).write_text(
                json.dumps(stats, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
            )
            shutil.copyfile(spec.file, folder / SPEC)
            build_info.write_manifest(folder)
        return out


def missing(names: Iterable[str], folder: Readable, exact: bool = False) -> list[str]:
    return [name for name in names if not is_file(_file(name, folder, exact))]


def check_images(names: Sequence[str], folder: Readable, only_present: bool, exact: bool) -> None:
    """Decode every image; with `only_present`, some may be missing, but not all."""
    absent = missing(names, folder, exact)
    if absent and not (only_present and len(absent) < len(names)):
        shown = ", ".join(absent[:5]) + (", ..." if len(absent) > 5 else "")
        raise BuildError(
            f"{len(absent):,} of the {len(names):,} images are not in {folder}: {shown}. Name the folder that holds "
            "them all, or pass --only-images-present."
        )
    for name in tqdm(sorted({*names} - {*absent}), desc="checking images", unit="image", disable=None):
        file = _file(name, folder)
        open_picture(read_bytes(file, "image"), str(file))


def _stored(name: str | None, folder: Readable) -> dict[str, Any] | None:
    if name is None or missing([name], folder):
        return None
    return {"bytes": read_bytes(_file(name, folder), "image"), "path": name}


def _file(name: str, folder: Readable, exact: bool = False) -> Readable:
    """Find an image by its whole path, or by a shorter and shorter end of it if the path need not be `exact`.

    A folder that was unpacked without its outer folders may hold images/v1/patch8/a.jpg as patch8/a.jpg.
    """
    if leads_out(name):
        raise BuildError(
            f"The file name {short_repr(name)} leads out of {folder}; expected a path inside it."
        )
    parts = name.split("/")
    ends = ["/".join(parts[start:]) for start in range(1 if exact else len(parts))]
    files = [inside(folder, end) if isinstance(folder, Path) else folder / end for end in ends]
    return next(filter(is_file, files), files[0])


def card(spec: Spec, stats: Mapping[str, Any], features: Mapping[str, Features]) -> str:
    """Render the card, the prose of dataset_cards/<name>.md, from the spec, stats.json and each config's columns."""
    template = share("dataset_cards", f"{spec.name}.md")
    jinja = Environment(
        loader=FileSystemLoader(template.parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, not HTML
    )
    judges = registry.benchmark(spec.name).judges
    judged = judges.of_published if judges else ""
    card = DatasetCard(jinja.get_template(template.name).render(spec=spec, stats=stats, judged=judged))
    infos, configs, tables = {}, list[dict[str, Any]](), stats["tables"]
    for table in tables:
        name, shards = table["config"], table["shards"]
        path = f"{shards[0]['file'].rsplit('-', 3)[0]}-*"  # without -00000-of-00001.parquet
        data = [{"split": table["split"], "path": path}]
        configs.append({"config_name": name, "data_files": data})
        splits = SplitDict()
        splits.add(SplitInfo(table["split"], num_bytes=table["bytes"], num_examples=table["rows"]))
        infos[name] = DatasetInfo(
            features=features[name],
            splits=splits,
            download_size=sum(shard["bytes"] for shard in shards),
            dataset_size=table["bytes"],
        )
    if len(features) > 1:
        configs[0]["default"] = True
    card.data["size_categories"] = [size(sum(table["rows"] for table in tables))]
    card.data["configs"] = configs
    DatasetInfosDict(infos).to_dataset_card_data(card.data)
    return str(card)


def size(rows: int) -> str:
    """Return the Hub's size category for a number of rows, such as 1K<n<10K."""
    bounds = ["1K", "10K", "100K", "1M", "10M", "100M", "1B"]
    power = len(str(rows)) - len("1000")
    return "n<1K" if power < 0 else f"{bounds[power]}<n<{bounds[power + 1]}"
