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

from halluscope.benchmarks import LISTED
from halluscope.class_labels import with_names
from halluscope.errors import BuildError
from halluscope.files.opening import (
    check_once,
    file_key,
    is_file,
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

# The endings of files that are read as JSON
JSON = (".json", ".jsonl", ".gz")

# The folder of built datasets, in the working directory
FOLDER = "datasets"

# The files in a dataset's folder that say which files hold its data
CARD = "README.md"
ALSO_A_CARD = ".huggingface.yaml"

# What `save_to_disk` of the library datasets writes beside the rows, and beside the folders of several splits
STATE = "state.json"
STATES = "dataset_dict.json"

# The columns of POPE's authors
POPE_COLUMNS = ("text", "label")

# How many rows of a dataset become Python's objects at a time
ROWS_AT_ONCE = 2**14

# What is said of a dataset that is not the dataset as published
SUBSET = "is a part, another version or a changed copy"

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
        >>> Source.of("me@host/pope@test")
        Source(name='me@host/pope', config=None, split='test')

        Raises:
            ValueError: if it names a config or a split of a file of rows, which has none.
        """
        if written.startswith("~"):
            written = str(path_of(written))
        if is_there(written):
            return cls(written)
        folder, slash, last = written.rpartition("/")
        last, _, split = last.partition("@")
        last, _, config = last.partition(":")
        name = folder + slash + last
        if _is_bare(name) and not is_there(name) and home(name).is_dir():
            name = str(home(name))
        source = cls(name, config or None, split or None)
        if source != cls(name) and is_file(source.path) and not source.is_parquet:
            raise ValueError(
                f"{written} names a part of {name}, which is a file and has no configs or splits; expected its name "
                "alone."
            )
        return source

    def __str__(self) -> str:
        written = self.name
        if self.config:
            written += f":{self.config}"
        if self.split:
            written += f"@{self.split}"
        return written

    @property
    def is_json(self) -> bool:
        """Whether the dataset is read as a JSON file: by its ending, or because it is a file that is not Parquet."""
        return self.path.suffix in JSON or (self.path.is_file() and not self.is_parquet)

    @property
    def is_parquet(self) -> bool:
        """Whether the dataset is a Parquet file, by its ending."""
        return self.path.suffix.lower() == ".parquet"

    @property
    def folder(self) -> Path | None:
        """The dataset's folder, in which its rows may name files; None for a file, or a Hub id."""
        if self.path.is_dir():
            return self.path
        return None

    @property
    def path(self) -> Path:
        return Path(self.name)


def _is_bare(name: str) -> bool:
    return "/" not in name and "\\" not in name


@contextmanager
def sources(dataset: Any) -> Iterator[list[str]]:
    """Yield how datasets are written; a loaded one (`datasets.Dataset`) is saved in a folder for that time.

    Raises:
        ValueError: if it is neither a dataset nor a list of datasets.
    """
    from tempfile import TemporaryDirectory

    parts = dataset
    if isinstance(dataset, str | Path) or hasattr(dataset, "save_to_disk"):
        parts = [dataset]
    if not isinstance(parts, list | tuple) or not parts or not all(_is_dataset(part) for part in parts):
        raise ValueError(
            f"dataset is {short_repr(dataset)}; expected a folder, a Hub id, an upstream file, or a loaded dataset "
            "with one split (datasets.Dataset), or a list of these."
        )
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        written = []
        for number, part in enumerate(parts):
            if isinstance(part, str | Path):
                written.append(str(part))
                continue
            path = Path(folder, str(number))
            with naming(f"The folder for temporary files, {folder} ($TMPDIR),"):
                _save(without_pictures(part), path)
            written.append(str(path))
        yield written


def _is_dataset(value: Any) -> bool:
    if isinstance(value, str | Path):
        return True
    return hasattr(value, "save_to_disk") and hasattr(value, "features")


def _save(rows: Any, path: Path) -> None:
    """Save a loaded dataset, POPE's as its authors' file is written."""
    import datasets

    if all(name in rows.features for name in POPE_COLUMNS):
        lines = [json.dumps(row, default=str) + "\n" for row in with_names(rows)]
        path.write_text("".join(lines), encoding="utf-8")
        return
    shows_progress = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        rows.save_to_disk(path)
    finally:
        if shows_progress:
            datasets.enable_progress_bars()


def read_rows(written: str) -> Any:
    """Read the rows of a dataset: a list of objects for a JSON file, otherwise a `datasets.Dataset`.

    Warn if it was built as a subset.

    Raises:
        ValueError: if there is no such dataset, if it has no rows, or if one of several splits must be named.
        BuildError: if a file of it cannot be read.
    """
    source = Source.of(written)
    if source.is_json:
        rows: Any = [row for _, row in objects(json_rows(source.path))]
    else:
        rows = _dataset(source, written)
    if not len(rows):
        raise ValueError(f"{written} holds no rows.")
    if not source.is_json and is_subset(source.path):
        warnings.warn(
            f"{source.path} {SUBSET} of the published dataset, so its scores can only be compared with others about "
            "the same rows.",
            stacklevel=2,
        )
    return rows


def is_subset(folder: Path) -> bool:
    """Whether `halluscope build` made a part, another version or a changed copy of the dataset in a folder."""
    return in_stats(folder, "subset") is True


def in_stats(folder: Path, *keys: str) -> Any:
    """Return what a dataset's stats.json says under these keys; None if `halluscope build` did not write it."""
    try:
        value = read_json(folder / "stats.json")
        for key in keys:
            value = value[key]
        return value
    except (BuildError, OSError, LookupError, TypeError):
        return None


def check_distinct(sources: Sequence[str]) -> None:
    """Check that no dataset is given twice, through links of any kind."""
    check_once(sources, _dataset_key, "dataset")


def _dataset_key(written: str) -> Hashable:
    source = Source.of(written)
    return file_key(source.path), source.config, source.split


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
    written: str, names: Collection[str], needed: Collection[str] = (), kind: str = ""
) -> Iterable[Any]:
    """Read the rows of a file or a dataset as `read_rows` does, but of a dataset only the columns in `names`."""
    if Source.of(written).is_json:
        rows: list[Any] = read_rows(written)
        return rows
    return _rows_of(read_batches(written, names, needed, kind))


def _rows_of(batches: Iterable[Mapping[str, list[Any]]]) -> Iterator[dict[str, Any]]:
    for columns in batches:
        for cells in zip(*columns.values(), strict=True):
            yield dict(zip(columns, cells, strict=True))


def read_batches(
    written: str, names: Collection[str], needed: Collection[str], kind: str
) -> Iterator[dict[str, list[Any]]]:
    """Read columns of a dataset that is no file of JSON, some rows at a time.

    Args:
        written: the dataset, as users name it.
        names: the columns to read; those that it lacks are left out.
        needed: the columns that it must have.
        kind: what has these columns, for messages.
    """
    source = Source.of(written)
    schema = None
    if source.is_parquet and source.split is None:
        with parquet(source.path) as file:
            schema = file.schema_arrow
            rows = file.metadata.num_rows
    if schema is not None and not _has_class_labels(schema):
        if not rows:
            raise ValueError(f"{written} holds no rows.")
        _check_columns(schema.names, needed, written, kind)
        columns = _known_columns(source, schema.names, names)
        texts = [name for name in columns if str(schema.field(name).type) == "string"]
        opened = parquet(source.path, dictionaries=texts)
        batches = opened.iter_batches(ROWS_AT_ONCE, columns=columns)
    else:
        dataset = read_rows(written)
        _check_columns(dataset.column_names, needed, written, kind)
        columns = _known_columns(source, dataset.column_names, names)
        batches = dataset.select_columns(columns).with_format("arrow").iter(ROWS_AT_ONCE)
    return _cells_of_batches(batches, source.name)


def _has_class_labels(schema: Any) -> bool:
    """Whether the library that wrote a Parquet file says in its schema that a column holds class labels."""
    metadata = schema.metadata or {}
    return b"ClassLabel" in metadata.get(b"huggingface", b"")


def _check_columns(present: Collection[str], needed: Collection[str], written: str, kind: str) -> None:
    missing = set(needed) - set(present)
    if missing:
        raise ValueError(
            f"The dataset {written} has no column {' or '.join(sorted(missing))}; expected {kind}."
        )


def _known_columns(source: Source, present: Sequence[str], names: Collection[str]) -> list[str]:
    """Return the columns to read. A dataset must have one: the library also loads a folder of any texts."""
    columns = [name for name in names if name in present]
    if not columns:
        raise _not_loaded(source, f"its columns are {', '.join(present)}")
    return columns


def _cells_of_batches(batches: Iterable[Any], name: str) -> Iterator[dict[str, list[Any]]]:
    with damaged(name, PARQUET):
        for batch in batches:
            yield {column: cells_of(batch[column]) for column in batch.schema.names}


def read_once(located: Iterable[Located], read: Callable[[Any, str, int], Any], id: str = "id") -> list[Any]:
    """Read rows with their locations into records, and check that no id occurs twice."""
    first_places: dict[Hashable, str] = {}
    records = []
    for number, (where, row) in enumerate(located):
        record = read(row, where, number)
        key = getattr(record, id)
        if key in first_places:
            raise ValueError(
                f"{where} has the {id} {key}, which {first_places[key]} has too; expected each row once. Remove one of "
                "them."
            )
        first_places[key] = where
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
    columns = picture_columns(rows)
    if not columns:
        return rows
    return rows.remove_columns(columns)


def _dataset(source: Source, written: str) -> Any:
    """Load one split of a dataset."""
    splits = _load(source)
    split = source.split
    if split is None:
        split = next(iter(splits))
        if len(splits) != 1:
            raise ValueError(f"{written} has the splits {', '.join(splits)}; name one: {written}@{split}.")
    if split not in splits:
        raise ValueError(f"{written} has no split {short_repr(split)}; it has {', '.join(splits)}.")
    rows = splits[split]
    for column, feature in rows.features.items():
        as_stored = _as_stored(feature)
        if as_stored != feature:
            rows = rows.cast_column(column, as_stored)
    return with_names(rows)


def _as_stored(feature: Any) -> Any:
    """Return a column's type such that no image or file in it is decoded, or downloaded from a URL."""
    if isinstance(feature, dict):
        return {name: _as_stored(inner) for name, inner in feature.items()}
    if hasattr(feature, "feature"):
        return replace(feature, feature=_as_stored(feature.feature))
    if hasattr(feature, "embed_storage"):
        return replace(feature, decode=False)
    return feature


def _load(source: Source) -> Any:
    """Load the splits of a dataset, by their names."""
    import datasets

    path = source.path
    if source.is_parquet:
        parquet(path).close()
        with damaged(path, PARQUET):
            return datasets.load_dataset("parquet", data_files=escape(str(path)))
    _check_built(source)
    _check_folder(path)
    if not _may_be_loaded(source):
        raise _not_loaded(source, "it is neither a folder nor a Hub id")
    is_hub_there = True
    try:
        if (path / STATE).is_file() or (path / STATES).is_file():
            saved = datasets.load_from_disk(source.name)
            if isinstance(saved, dict):
                return saved
            return {str(saved.split or "all"): saved}
        if path.is_dir():
            cache = _cache_of(path, Path(datasets.config.HF_DATASETS_CACHE))
            return datasets.load_dataset(source.name, source.config, cache_dir=str(cache))
        with hub_or_cache() as is_hub_there:
            return datasets.load_dataset(source.name, source.config)
    except Exception as error:  # the library raises its own errors, and fsspec's, pyarrow's and the Hub's
        refused = refusal(error)
        if refused is not None:
            place = f"The cache of datasets, {datasets.config.HF_DATASETS_CACHE} ($HF_DATASETS_CACHE),"
            raise not_written(place, refused) from error
        names = configs(source.name) if source.config else []
        if names and source.config not in names:
            raise ValueError(
                f"{source.name} has no config {short_repr(source.config)}; it has {', '.join(names)}."
            ) from error
        why = "the Hub cannot be reached"
        if is_hub_there:
            why = f"{type(error).__name__}: {short_repr(str(error), 200)}"
        place = str(path.resolve())
        if path.is_dir() and place != escape(place):
            why = f"the library datasets takes [, * and ? in {place} for a pattern; give its folders other names"
        raise _not_loaded(source, why) from error


def _check_built(source: Source) -> None:
    """Check that a dataset that is named by a bare name has been built; the folder of a clone holds only its spec."""
    path = source.path
    is_only_spec = (path / "spec.toml").is_file() and not (path / "data").is_dir()
    is_missing = _is_bare(source.name) and not is_there(source.name)
    if not is_only_spec and not is_missing:
        return
    built = sorted(folder.name for folder in Path(FOLDER).glob("*") if (folder / "data").is_dir())
    hint = ""
    if not is_only_spec:
        hint = nearest(source.name, built)
    command = "`halluscope build NAME` makes one"
    if any(path.name in benchmark.datasets for benchmark in LISTED):
        command = f"`halluscope build {path.name}` makes it"
    raise ValueError(
        f"There is no dataset {short_repr(path.name)} in {Path(FOLDER).absolute()}.{hint} It holds "
        f"{', '.join(built) or 'no datasets'}; {command}. You may also name a folder, or a Hub id (org/name)."
    )


def _may_be_loaded(source: Source) -> bool:
    """Whether a source is a folder, or its name can be a Hub id. The library takes URLs too; we do not."""
    if source.path.is_dir():
        return True
    return _HUB_ID.fullmatch(source.name) is not None and not source.name.startswith(".")


def _not_loaded(source: Source, why: str) -> ValueError:
    return ValueError(
        f"{source.name} cannot be loaded as a dataset ({why}). Expected the folder that `halluscope build NAME` made, "
        "or a Hub id."
    )


def _check_folder(folder: Path) -> None:
    """Check that a dataset's card names only files in its folder, and that no Parquet file is too large."""
    if not folder.is_dir():
        return
    if (folder / ALSO_A_CARD).exists():
        raise BuildError(
            f"{folder / ALSO_A_CARD} is not supported; remove it, and name the data files in {CARD}."
        )
    _check_names(folder / CARD, _named_by(folder / CARD))
    for state in folder.rglob(STATE):
        _check_names(state, read_json(state).get("_data_files"))
    for file in folder.rglob("*.parquet"):
        if file.is_file():
            parquet(file).close()


def _named_by(card: Path) -> list[Any]:
    """Return the files and folders that a card names as data, as the library reads the card."""
    from huggingface_hub import DatasetCard

    if not card.is_file():
        return []
    text = read_text(card)
    if "---" not in text:
        return []
    named = []
    with damaged(card, "a dataset's card", "Correct the YAML at its beginning, or remove the YAML."):
        for config in DatasetCard(text).data.get("configs") or []:
            named.append(config.get("data_files"))
            named.append(config.get("data_dir"))
    return named


def _check_names(file: Path, named: Any) -> None:
    """Check that what a file in a dataset's folder names as data is in this folder."""
    for name in _texts(named):
        if "::" in name or "://" in name or leads_out(name):
            raise BuildError(
                f"{file} names {short_repr(name)} as data, which is outside the folder; expected names of files "
                f"inside it. Nothing was fetched. Copy the data into the folder, and correct {file.name}."
            )


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in lists and objects of any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _cache_of(folder: Path, cache: Path) -> Path:
    """Return a folder for the library's cache of a dataset's folder as its files are now.

    The library itself would mistake another folder of that name, or files that were rebuilt, for those in its cache.
    """
    import hashlib

    facts = []
    for file in sorted(folder.resolve().rglob("*")):
        if file.is_file():
            status = file.stat()
            facts.append((str(file), status.st_size, status.st_mtime_ns))
    digest = hashlib.sha256(repr(facts).encode(errors="replace")).hexdigest()
    return cache / f"halluscope-{digest[:16]}"
