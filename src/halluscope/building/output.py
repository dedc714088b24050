"""Writes a dataset's folder completely or not at all: Parquet shards, stats.json, spec.toml, the card and a manifest.

Only what an earlier build wrote is replaced (`halluscope.building.build_info`); every other file in the folder stays.
With the same version of pyarrow, the same rows give the same bytes: row groups have a fixed size, and no time is
written.
"""

import json
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import DatasetInfo, Features, SplitDict, SplitInfo
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCard
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from tqdm import tqdm

from halluscope import registry
from halluscope.building import build_info, images
from halluscope.building.build_info import CARD, DATA, SPEC, STATS, replaceable
from halluscope.building.fetch import Fetched, sha256_of
from halluscope.building.spec import Spec
from halluscope.errors import BuildError
from halluscope.files.opening import Readable
from halluscope.files.writing import new_folder, real
from halluscope.paths import share
from halluscope.reading.datasets import home
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

    folder: Readable | None = None  # of the image files that `image` of each row names

    def write(self, folder: Path, shard_bytes: int = SHARD_BYTES) -> dict[str, Any]:
        inside = "data" if self.config == "default" else f"data/{self.config}"
        (folder / inside).mkdir(parents=True, exist_ok=True)
        schema = self.features.arrow_schema
        groups = self._groups(schema)
        parts: list[Path] = []
        rows = size = 0
        while (group := next(groups, None)) is not None:
            parts.append(folder / inside / f"{self.split}-{len(parts):05d}")
            full = size + shard_bytes
            with pq.ParquetWriter(parts[-1], schema) as writer:
                while group is not None:
                    writer.write_table(group)
                    rows += group.num_rows
                    size += group.nbytes
                    group = next(groups, None) if size < full else None
        if not parts:
            raise BuildError(
                f"The split {self.split!r} of config {self.config!r} has no rows; expected at least one."
            )
        files = [part.rename(f"{part}-of-{len(parts):05d}.parquet") for part in parts]
        return {
            "config": self.config,
            "split": self.split,
            "columns": list(self.features),
            "rows": rows,
            "bytes": size,
            "shards": [
                {"file": f"{inside}/{file.name}", "bytes": file.stat().st_size, "sha256": sha256_of(file)}
                for file in files
            ],
        }

    def _groups(self, schema: pa.Schema) -> Iterator[pa.Table]:
        remaining, done = map(self._with_image, tqdm(self.rows, desc="writing", unit="row", disable=None)), 0
        for first in remaining:
            rows = [first] if isinstance(first, pa.Table) else [first, *islice(remaining, GROUP_ROWS - 1)]
            try:
                group = _group(rows, schema)
            except _UNFIT as error:
                index, why = next(_unfit(rows, schema), (0, error))
                raise BuildError(
                    f"Row {done + index} (the first is 0) of the split {self.split!r}, config {self.config!r}, cannot "
                    f"be written: {one_line(why, 200)}. Look at it in the source."
                ) from error
            yield group
            done += group.num_rows

    def _with_image(self, row: Any) -> Any:
        return row | {"image": images.stored(row["image"], self.folder)} if self.folder else row


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


def target(spec: Spec, out: Path | None = None, force: bool = False, name: str | None = None) -> Path:
    """Return the folder to build, if nothing in it is in the way."""
    path = real(out or home(name or spec.name))
    if path.exists() and not path.is_dir():
        raise BuildError(f"--out {path} is a file; expected a folder.")
    replaced = replaceable(path, spec.file)
    if DATA in replaced and not force:
        raise BuildError(f"--out {path} holds a build already; pass --force to replace it.")
    if replaced and Path.cwd().resolve().is_relative_to(path):
        raise BuildError(
            f"--out {path} is or holds the working directory, and would be replaced as a whole. Change to another "
            "folder first."
        )
    return path


def write(
    spec: Spec,
    tables: Sequence[Table],
    counts: Mapping[str, Any],
    sources: Mapping[str, Fetched],
    complete: bool,
    out: Path,
) -> Path:
    replaced = replaceable(out, spec.file)
    for source in sources.values():
        path = source.path
        file = real(Path(str(path.root.filename)) if isinstance(path, zipfile.Path) else path)
        if replaced and (file == out or any(file.is_relative_to(out / name) for name in replaced)):
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
            "tables": [table.write(folder) for table in tables],
            "written_by": f"pyarrow {pa.__version__}",
        }
        text = json.dumps(stats, indent=2, ensure_ascii=False) + "\n"
        (folder / STATS).write_text(text, encoding="utf-8")
        shutil.copyfile(spec.file, folder / SPEC)
        text = card(spec, stats, {table.config: table.features for table in tables})
        (folder / CARD).write_text(text, encoding="utf-8")
        build_info.write_manifest(folder)
    return out


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
    infos: dict[str, DatasetInfo] = {}
    configs: list[dict[str, Any]] = []
    for name, columns in features.items():
        of = [table for table in stats["tables"] if table["config"] == name]
        files = [  # without -00000-of-00001.parquet
            {"split": one["split"], "path": f"{one['shards'][0]['file'].rsplit('-', 3)[0]}-*"} for one in of
        ]
        configs.append({"config_name": name, "data_files": files})
        splits = SplitDict()
        for one in of:
            splits.add(SplitInfo(one["split"], num_bytes=one["bytes"], num_examples=one["rows"]))
        infos[name] = DatasetInfo(
            features=columns,
            splits=splits,
            download_size=sum(shard["bytes"] for one in of for shard in one["shards"]),
            dataset_size=sum(one["bytes"] for one in of),
        )
    if len(features) > 1:
        configs[0]["default"] = True
    card.data["size_categories"] = [size(sum(table["rows"] for table in stats["tables"]))]
    card.data["configs"] = configs
    DatasetInfosDict(infos).to_dataset_card_data(card.data)
    return str(card)


def size(rows: int) -> str:
    """Return the Hub's size category for a number of rows, such as 1K<n<10K."""
    bounds = ["1K", "10K", "100K", "1M", "10M", "100M", "1B"]
    power = len(str(rows)) - len("1000")
    return "n<1K" if power < 0 else f"{bounds[power]}<n<{bounds[power + 1]}"
