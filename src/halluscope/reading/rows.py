"""Rows of any dataset, wherever a user has it: a folder, the Hub, or a file.

A dataset is written `name[:config][@split]`. A bare name such as "throne_coco" means datasets/throne_coco under the
working directory, where `halluscope build` puts it.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from halluscope.files.opening import json_rows
from halluscope.network import hub_or_cache
from halluscope.options import nearest

Row = Mapping[str, Any]
JSON = (".json", ".jsonl", ".gz")
FOLDER = "datasets"
"""Where builds lie, under the working directory."""


@dataclass(frozen=True)
class Source:
    """A dataset as a user names it.

    Attributes:
        name: a file, a folder, or an id of the Hub.
        config: which of its configs; None for the only one.
        split: which of its splits; None for the only one.
    """

    name: str
    config: str | None = None
    split: str | None = None

    @classmethod
    def of(cls, written: str) -> "Source":
        """Read `name[:config][@split]`. What exists under its whole name is that.

        >>> Source.of("org/pope:coco@test")
        Source(name='org/pope', config='coco', split='test')
        """
        if Path(written).exists():
            return cls(written)
        name, _, split = written.partition("@")
        name, _, config = name.partition(":")
        built = Path(FOLDER, name)
        bare = "/" not in name and "\\" not in name and not Path(name).exists()
        return cls(str(built) if bare and built.is_dir() else name, config or None, split or None)

    @property
    def is_json(self) -> bool:
        """Whether it is a file of JSON, there or not."""
        path = Path(self.name)
        return path.suffix in JSON or (path.is_file() and path.suffix != ".parquet")

    @property
    def folder(self) -> Path | None:
        """The folder that it is, in which files may lie that its rows name; None for a file, or an id of the Hub."""
        return Path(self.name) if Path(self.name).is_dir() else None

    @property
    def path(self) -> Path:
        """It as a file.

        Raises:
            FileNotFoundError: if it is not there.
        """
        if not Path(self.name).is_file():
            raise FileNotFoundError(
                f"There is no file {self.name}; expected a dataset, or a file of its rows."
            )
        return Path(self.name)


def read_rows(written: str) -> Any:
    """Read the rows of a file or a dataset.

    Args:
        written: JSON lines or a JSON list (.gz too), a .parquet file, or a dataset (folder or Hub id), of which
            `name:config` picks a config and `name@split` a split.

    Returns:
        A list of objects for JSON, else a `datasets.Dataset` in which images stay as they are stored:
        {"bytes", "path"}.

    Raises:
        ValueError: for what is no such file or dataset, has several splits and none is named, or holds no row.
        FileNotFoundError: if a file does not exist.
    """
    source = Source.of(written)
    rows = _objects(source.path) if source.is_json else _dataset(source, written)
    if not len(rows):
        raise ValueError(f"{written} holds no row.")
    return rows


def read_columns(written: str, names: tuple[str, ...], needed: tuple[str, ...], what: str) -> Any:
    """Read the rows of a file or a dataset as `read_rows` does, of a dataset only the named columns that it has.

    Raises:
        ValueError: for a dataset without a column that is needed; `what` says whose rows these are to be.
    """
    rows = read_rows(written)
    if isinstance(rows, list):
        return rows
    if missing := set(needed) - set(rows.column_names):
        raise ValueError(f"The dataset {written} has no column {' or '.join(sorted(missing))}: not {what}.")
    return rows.select_columns([name for name in names if name in rows.column_names])


def picture_columns(rows: Any) -> list[str]:
    """The columns of a dataset that hold images; none for a list of objects."""
    if isinstance(rows, list):
        return []
    from datasets import Image

    return [name for name, feature in rows.features.items() if isinstance(feature, Image)]


def without_pictures(rows: Any) -> Any:
    """The rows without their images, which are not read."""
    pictures = picture_columns(rows)
    return rows.remove_columns(pictures) if pictures else rows


def _objects(path: Path) -> list[Row]:
    rows = list(json_rows(path))
    for where, row in rows:
        if not isinstance(row, dict):
            raise ValueError(f"{where} is {str(row)[:80]!r}; expected an object.")
    return [row for _, row in rows]


def _dataset(source: Source, written: str) -> Any:
    splits = _parquet(source.path) if Path(source.name).suffix == ".parquet" else _load(source)
    if source.split is None and len(splits) != 1:
        raise ValueError(
            f"{written} has the splits {', '.join(splits)}; name one: {written}@{next(iter(splits))}."
        )
    if source.split is not None and source.split not in splits:
        raise ValueError(f"{written} has no split {source.split!r:.80}; it has {', '.join(splits)}.")
    rows = splits[source.split or next(iter(splits))]
    for column, feature in rows.features.items():
        if (as_stored := _as_stored(feature)) != feature:
            rows = rows.cast_column(column, as_stored)
    return rows


def _as_stored(feature: Any) -> Any:
    """A column's type, of which images, sounds and other files stay as they are stored, also in lists and objects.

    The library would open them with whatever can, and fetch those that are called by an address.
    """
    if isinstance(feature, dict):
        return {name: _as_stored(inner) for name, inner in feature.items()}
    if hasattr(feature, "feature"):
        return replace(feature, feature=_as_stored(feature.feature))
    return replace(feature, decode=False) if hasattr(feature, "embed_storage") else feature


def _load(source: Source) -> Any:
    import datasets

    if "/" not in source.name and "\\" not in source.name and not Path(source.name).exists():
        built = sorted(folder.name for folder in Path(FOLDER).glob("*") if (folder / "data").is_dir())
        raise ValueError(
            f"There is no dataset {source.name!r:.80} in {Path(FOLDER).absolute()}.{nearest(source.name, built)} It "
            f"holds {', '.join(built) or 'none'}; `halluscope build NAME` makes one. A folder, or an id of the Hub "
            "(org/name), serves as well."
        )
    there = True
    try:
        if Path(source.name).is_dir():
            kept = _kept(Path(source.name), Path(datasets.config.HF_DATASETS_CACHE))
            return datasets.load_dataset(source.name, source.config, cache_dir=str(kept))
        with hub_or_cache() as there:
            return datasets.load_dataset(source.name, source.config)
    except Exception as error:  # the library raises its own, and fsspec's, pyarrow's and the Hub's
        why = f"{type(error).__name__}: {str(error)[:200]}" if there else "the Hub cannot be reached"
        raise ValueError(
            f"{source.name} is no dataset that can be loaded ({why}). Expected the folder that `halluscope build NAME` "
            "made, or an id of the Hub."
        ) from error


def _kept(folder: Path, cache: Path) -> Path:
    """Where the library keeps what it made of a folder.

    By itself it goes by the folder's name and its card: it takes another folder of that name, or files that were
    changed or built anew, for the one that it knows, if their sizes are the same.
    """
    files = sorted(file for file in folder.resolve().rglob("*") if file.is_file())
    facts = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return cache / f"halluscope-{hashlib.sha256(repr(facts).encode(errors='replace')).hexdigest()[:16]}"


def _parquet(path: Path) -> Any:
    import datasets

    try:
        return datasets.load_dataset("parquet", data_files=str(path))
    except Exception as error:  # the library raises its own, and pyarrow's
        raise ValueError(f"{path} is no Parquet file: {str(error)[:200]}.") from error
