"""Reads the rows of any dataset, from a folder, the Hub, or a file.

A dataset is written `name[:config][@split]`. A bare name such as "throne_coco" means datasets/throne_coco under the
working directory, where `halluscope build` puts it.
"""

import json
import re
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from typing import Any

from halluscope.errors import BuildError
from halluscope.files.opening import (
    check_once,
    file_key,
    json_rows,
    leads_out,
    read_json,
    read_text,
)
from halluscope.files.writing import naming, not_written, refusal
from halluscope.network import hub_or_cache
from halluscope.options import nearest
from halluscope.paths import is_there, path_of
from halluscope.reading.tables import PARQUET, Located, cells_of, damaged, objects, parquet
from halluscope.sanitize import short_repr

Row = Mapping[str, Any]
JSON = (".json", ".jsonl", ".gz")
# The folder of built datasets, in the working directory
FOLDER = "datasets"

# The files in a dataset's folder that say which files hold its data
CARD, ALSO_A_CARD = "README.md", ".huggingface.yaml"

# What `save_to_disk` of the library datasets writes beside the rows, and beside the folders of several splits
STATE, STATES = "state.json", "dataset_dict.json"

# How many rows of a dataset become Python's objects at a time
ROWS_AT_ONCE = 2**14

# What is said of a dataset that is not the dataset as published
SUBSET = "was built with --subset: it is a part or a changed copy"

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def home(name: str) -> Path:
    """Return the folder in the working directory where `halluscope build` puts a dataset."""
    return Path(FOLDER, name)


@dataclass(frozen=True)
class Source:
    """A dataset as a user names it."""

    name: str  # a file, a folder, or a Hub id
    config: str | None = None  # which of its configs; None for the only one
    split: str | None = None  # which of its splits; None for the only one

    @classmethod
    def of(cls, written: str) -> "Source":
        """Parse `name[:config][@split]`; if a file or folder has the whole text as its name, it is the dataset.

        >>> Source.of("org/pope:coco@test")
        Source(name='org/pope', config='coco', split='test')
        """
        written = str(path_of(written)) if written.startswith("~") else written
        if is_there(written):
            return cls(written)
        name, _, split = written.partition("@")
        name, _, config = name.partition(":")
        built = Path(FOLDER, name)
        bare = "/" not in name and "\\" not in name and not is_there(name)
        return cls(str(built) if bare and built.is_dir() else name, config or None, split or None)

    def __str__(self) -> str:
        config, split = f":{self.config}" if self.config else "", f"@{self.split}" if self.split else ""
        return f"{self.name}{config}{split}"

    @property
    def is_json(self) -> bool:
        """Whether the dataset is read as a JSON file: by its ending, or because it is a file that is not Parquet."""
        return self.path.suffix in JSON or (self.path.is_file() and self.path.suffix != ".parquet")

    @property
    def folder(self) -> Path | None:
        """The dataset's folder, in which its rows may name files; None for a file, or a Hub id."""
        return self.path if self.path.is_dir() else None

    @property
    def path(self) -> Path:
        return Path(self.name)


@contextmanager
def sources(given: Any) -> Iterator[list[str]]:
    """Yield how datasets are written; a loaded one (`datasets.Dataset`) is saved in a folder for that time."""
    from tempfile import TemporaryDirectory

    def is_source(one: Any) -> bool:
        return isinstance(one, str | Path) or (hasattr(one, "save_to_disk") and hasattr(one, "features"))

    each = [given] if isinstance(given, str | Path) or hasattr(given, "save_to_disk") else given
    if not isinstance(each, list | tuple) or not each or not all(map(is_source, each)):
        raise ValueError(
            f"dataset is {short_repr(given)}; expected a folder, a Hub id, an upstream file, or a loaded dataset with "
            "one split (datasets.Dataset), or a list of these."
        )
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        written = []
        for number, one in enumerate(each):
            if isinstance(one, str | Path):
                written.append(str(one))
            else:
                with naming(f"The folder for temporary files, {folder} ($TMPDIR),"):
                    written.append(_saved(without_pictures(one), Path(folder, str(number))))
        yield written


def _saved(rows: Any, path: Path) -> str:
    import datasets

    if {"text", "label"} <= {*rows.features}:  # the columns of POPE's authors: written as their file is
        path.write_text("".join(f"{json.dumps(row, default=str)}\n" for row in rows), encoding="utf-8")
        return str(path)
    noisy = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        rows.save_to_disk(path)
    finally:
        if noisy:
            datasets.enable_progress_bars()
    return str(path)


def read_rows(written: str) -> Any:
    source = Source.of(written)
    if source.is_json:
        rows: Any = [row for _, row in objects(json_rows(source.path))]
    else:
        rows = _dataset(source, written)
    if not len(rows):
        raise ValueError(f"{written} holds no rows.")
    if not source.is_json and is_subset(source.path):
        warnings.warn(
            f"{source.path} {SUBSET} of the dataset, so its scores cannot be compared with published ones.",
            stacklevel=2,
        )
    return rows


def is_subset(folder: Path) -> bool:
    return in_stats(folder, "subset") is True


def in_stats(folder: Path, *keys: str) -> Any:
    """Return what a dataset's stats.json says under these keys; None if `halluscope build` did not write it."""
    try:
        found = read_json(folder / "stats.json")
        for key in keys:
            found = found[key]
        return found
    except (BuildError, OSError, LookupError, TypeError):
        return None


def check_distinct(sources: Sequence[str]) -> None:
    """Check that no dataset is given twice, through links of any kind."""

    def key(written: str) -> Hashable:
        source = Source.of(written)
        return file_key(source.path), source.config, source.split

    check_once(sources, key, "dataset")


def configs(written: str) -> list[str]:
    """Return the names of a dataset's configs; [] if it cannot be loaded, which `read_rows` reports in full."""
    from datasets import get_dataset_config_names

    source = Source.of(written)
    _check_folder(source.path)
    if not _may_be_loaded(source):
        return []
    try:
        with hub_or_cache():
            return list(get_dataset_config_names(source.name))
    except Exception:  # the library raises its own errors, and fsspec's, pyarrow's and the Hub's
        return []


def read_columns(
    written: str, names: Collection[str], needed: Collection[str] = (), what: str = ""
) -> Iterable[Any]:
    """Read the rows of a file or a dataset as `read_rows` does, but of a dataset only the columns in `names`."""
    if Source.of(written).is_json:
        rows: list[Any] = read_rows(written)
        return rows
    return _rows_of(read_batches(written, names, needed, what))


def _rows_of(batches: Iterable[Mapping[str, list[Any]]]) -> Iterator[dict[str, Any]]:
    for columns in batches:
        for cells in zip(*columns.values(), strict=True):
            yield dict(zip(columns, cells, strict=True))


def read_batches(
    written: str, names: Collection[str], needed: Collection[str] = (), what: str = ""
) -> Iterator[dict[str, list[Any]]]:
    """Read columns of a dataset that is no file of JSON, some rows at a time.

    Args:
        written: the dataset, as users name it.
        names: the columns to read; those that it lacks are left out.
        needed: the columns that it must have.
        what: what has these columns, for messages.
    """
    source = Source.of(written)
    is_plain = source.path.suffix == ".parquet" and source.split is None
    if is_plain:
        with parquet(source.path) as opened:
            schema = opened.schema_arrow
            rows = opened.metadata.num_rows
        if not rows:
            raise ValueError(f"{written} holds no rows.")
        present = schema.names
    else:
        dataset = read_rows(written)
        present = dataset.column_names
    missing = set(needed) - set(present)
    if missing:
        raise ValueError(
            f"The dataset {written} has no column {' or '.join(sorted(missing))}; expected {what}."
        )
    columns = [name for name in names if name in present]
    if is_plain:
        return _batches_of_file(source, columns, schema)
    batches = dataset.select_columns(columns).with_format("arrow").iter(ROWS_AT_ONCE)
    return _cells_of_batches(batches, source.name)


def _batches_of_file(source: Source, columns: Sequence[str], schema: Any) -> Iterator[dict[str, list[Any]]]:
    texts = [name for name in columns if str(schema.field(name).type) == "string"]
    opened = parquet(source.path, dictionaries=texts)
    return _cells_of_batches(opened.iter_batches(ROWS_AT_ONCE, columns=columns), source.name)


def _cells_of_batches(batches: Iterable[Any], name: str) -> Iterator[dict[str, list[Any]]]:
    with damaged(name, PARQUET):
        for batch in batches:
            yield {column: cells_of(batch[column]) for column in batch.schema.names}


def read_once(located: Iterable[Located], read: Callable[[Any, str, int], Any], id: str = "id") -> list[Any]:
    """Read rows with their locations into records, and check that no id occurs twice."""
    first, records = dict[Hashable, str](), []
    for number, (where, row) in enumerate(located):
        record = read(row, where, number)
        if (key := getattr(record, id)) in first:
            raise ValueError(
                f"{where} has the {id} {key}, which {first[key]} has too; expected each row once. Remove one of them."
            )
        first[key] = where
        records.append(record)
    return records


def picture_columns(rows: Any) -> list[str]:
    """Return the columns of a dataset that hold images; [] for a list of objects."""
    if isinstance(rows, list):
        return []
    from datasets import Image

    return [name for name, feature in rows.features.items() if isinstance(feature, Image)]


def without_pictures(rows: Any) -> Any:
    """Return the rows without their images, which are never read."""
    pictures = picture_columns(rows)
    return rows.remove_columns(pictures) if pictures else rows


def _dataset(source: Source, written: str) -> Any:
    splits = _load(source)
    if source.split is None and len(splits) != 1:
        raise ValueError(
            f"{written} has the splits {', '.join(splits)}; name one: {written}@{next(iter(splits))}."
        )
    if source.split is not None and source.split not in splits:
        raise ValueError(f"{written} has no split {short_repr(source.split)}; it has {', '.join(splits)}.")
    rows = splits[source.split or next(iter(splits))]
    for column, feature in rows.features.items():
        if (as_stored := _as_stored(feature)) != feature:
            rows = rows.cast_column(column, as_stored)
    return rows


def _as_stored(feature: Any) -> Any:
    """Return a column's type such that no image or file in it is decoded, or downloaded from a URL."""
    if isinstance(feature, dict):
        return {name: _as_stored(inner) for name, inner in feature.items()}
    if hasattr(feature, "feature"):
        return replace(feature, feature=_as_stored(feature.feature))
    return replace(feature, decode=False) if hasattr(feature, "embed_storage") else feature


def _load(source: Source) -> Any:
    import datasets

    folder = source.path
    if folder.suffix == ".parquet":
        parquet(folder).close()
        with damaged(folder, PARQUET):
            return datasets.load_dataset("parquet", data_files=escape(str(folder)))
    is_unbuilt = (folder / "spec.toml").is_file() and not (folder / "data").is_dir()  # of a clone
    if is_unbuilt or ("/" not in source.name and "\\" not in source.name and not is_there(source.name)):
        built = sorted(folder.name for folder in Path(FOLDER).glob("*") if (folder / "data").is_dir())
        raise ValueError(
            f"There is no dataset {short_repr(folder.name)} in "
            f"{Path(FOLDER).absolute()}.{'' if is_unbuilt else nearest(source.name, built)} It "
            f"holds {', '.join(built) or 'no datasets'}; `halluscope build NAME` makes one. You may also name a "
            "folder, or a Hub id (org/name)."
        )
    _check_folder(folder)
    there = True
    try:
        if not _may_be_loaded(source):
            raise ValueError("it is neither a folder nor a Hub id")
        if any((folder / name).is_file() for name in (STATE, STATES)):
            saved = datasets.load_from_disk(source.name)
            return saved if isinstance(saved, dict) else {str(saved.split or "all"): saved}
        if folder.is_dir():
            kept = _kept(folder, Path(datasets.config.HF_DATASETS_CACHE))
            return datasets.load_dataset(source.name, source.config, cache_dir=str(kept))
        with hub_or_cache() as there:
            return datasets.load_dataset(source.name, source.config)
    except Exception as error:  # the library raises its own errors, and fsspec's, pyarrow's and the Hub's
        refused = refusal(error)
        if refused is not None:
            place = f"The cache of datasets, {datasets.config.HF_DATASETS_CACHE} ($HF_DATASETS_CACHE),"
            raise not_written(place, refused) from error
        why = (
            f"{type(error).__name__}: {short_repr(str(error), 200)}" if there else "the Hub cannot be reached"
        )
        raise ValueError(
            f"{source.name} cannot be loaded as a dataset ({why}). Expected the folder that `halluscope build NAME` "
            "made, or a Hub id."
        ) from error


def _may_be_loaded(source: Source) -> bool:
    """Whether a source is a folder, or its name can be a Hub id. The library takes URLs too; we do not."""
    return source.path.is_dir() or bool(_HUB_ID.fullmatch(source.name) and not source.name.startswith("."))


def _check_folder(folder: Path) -> None:
    """Check that a dataset's card names only files in its folder, and that no Parquet file is too large."""
    if not folder.is_dir():
        return
    if (folder / ALSO_A_CARD).exists():
        raise BuildError(
            f"{folder / ALSO_A_CARD} is not supported; remove it, and name the data files in {CARD}."
        )
    states = {state: read_json(state).get("_data_files") for state in folder.rglob(STATE)}
    for file, names in {folder / CARD: [*_named_by(folder / CARD)], **states}.items():
        for name in _texts(names):
            if "::" in name or "://" in name or leads_out(name):
                raise BuildError(
                    f"{file} names {short_repr(name)} as data, which is outside the folder; expected names of files "
                    f"inside it. Nothing was fetched. Copy the data into the folder, and correct {file.name}."
                )
    for file in folder.rglob("*.parquet"):
        if file.is_file():
            parquet(file).close()


def _named_by(card: Path) -> Iterator[Any]:
    """Yield the files and folders that a card names as data, as the library reads the card."""
    from huggingface_hub import DatasetCard

    if card.is_file() and "---" in (text := read_text(card)):
        with damaged(card, "a dataset's card", "Correct the YAML at its beginning, or remove the YAML."):
            for config in DatasetCard(text).data.get("configs") or []:
                yield from (config.get("data_files"), config.get("data_dir"))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | Mapping):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)


def _kept(folder: Path, cache: Path) -> Path:
    """Return a folder for the library's cache of a dataset's folder as its files are now.

    The library itself would mistake another folder of that name, or files that were rebuilt, for those in its cache.
    """
    import hashlib

    files = sorted(file for file in folder.resolve().rglob("*") if file.is_file())
    facts = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return cache / f"halluscope-{hashlib.sha256(repr(facts).encode(errors='replace')).hexdigest()[:16]}"
