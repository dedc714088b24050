"""A benchmark's rows and their images, from a built folder or the Hub: what is asked, and what it is about."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL.Image import Image

from halluscope.building.output import home
from halluscope.records import pictures
from halluscope.records.pictures import Find
from halluscope.records.rows import read_rows
from halluscope.tasks import benchmarks
from halluscope.tasks.benchmarks import Benchmark, Row

DATASETS = "HALLUSCOPE_DATASETS"
"""The variable that says where datasets lie: a folder that holds them by name, or an organisation of the Hub."""

QUESTIONS = ("questions", "coco")
"""The configs that are asked when none is named, if a dataset has several: those of `pope_c` and of `pope`."""

IMAGES = "images"
"""The config in which `pope_c` keeps its images."""


@dataclass(frozen=True)
class Source:
    """What an LVLM is asked, in order.

    Attributes:
        benchmark: whose rows these are.
        name: how the dataset is called; never a path.
        rows: a `datasets.Dataset` without images.
        find: the images, by `key`.
        key: the column that names a row's image; null where it has none.
    """

    benchmark: Benchmark
    name: str
    rows: Any
    find: Find
    key: str

    def image(self, row: Row) -> Image | None:
        """A row's image, or None for a question without one. Rows with the same image share it."""
        return None if row[self.key] is None else self.find(row[self.key])

    def digest(self, prompt: str | None = None) -> str:
        """8 hexadecimal digits that tell these questions, in this order, from others."""
        digest = hashlib.sha256()
        for row in self.rows:
            digest.update(f"{self.benchmark.identity(row)}\0{self.benchmark.asked(row, prompt)}\0".encode())
        return digest.hexdigest()[:8]

    def with_images_only(self) -> "Source":
        """Without the questions that have no image."""
        keys = self.rows[self.key]
        return replace(self, rows=self.rows.select([i for i, value in enumerate(keys) if value is not None]))


def where(name: str) -> str:
    """Where the dataset of this name is looked for, unless the user says.

    Raises:
        ValueError: if it was not built and `DATASETS` is not set.
    """
    if given := os.environ.get(DATASETS):
        return f"{given}/{name}"
    for folder in (home(name), Path("datasets", name)):
        if (folder / "data").is_dir():
            return str(folder)
    raise ValueError(
        f"The dataset {name} is not in {home(name)}. Build it (halluscope build {name}), or say where it is: "
        f"{DATASETS} names the folder that holds {name}, or an organisation of the Hub."
    )


def open_source(
    source: str, images: str | None = None, benchmark: Benchmark | None = None, keep: int | None = None
) -> Source:
    """Open a dataset.

    Args:
        source: a folder or a Hub id; "name:config" picks a config.
        images: the folder that holds the image files, if the dataset was built without them.
        benchmark: which one it must be; by default its columns tell.
        keep: how many images stay open; None for all.

    Raises:
        ValueError: if it cannot be loaded, is of another benchmark, or an image is missing.
    """
    from datasets import get_dataset_config_names

    place, _, config = source.partition(":")
    try:
        configs = get_dataset_config_names(place)
    except Exception:  # whatever it is, `read_rows` says it better
        configs = []
    config = config or next((name for name in QUESTIONS if name in configs), "")
    rows = _rows(place, config)
    columns = rows.column_names
    benchmark = benchmark or benchmarks.of(columns)
    if missing := {*benchmark.id, *benchmark.columns} - {*columns}:
        raise ValueError(
            f"The dataset {source} has no column {' or '.join(sorted(missing))}: not {benchmark.name}."
        )
    stored = _rows(place, IMAGES) if IMAGES in configs else rows
    name = Path(place).resolve().name if Path(place).is_dir() else place
    name = f"{name}:{config}" if config else name
    if "image" in columns:
        rows = rows.remove_columns("image")
    find, key = _find(rows, stored, images, benchmark, name, keep)
    return Source(benchmark, name, rows, find, key)


def _rows(place: str, config: str) -> Any:
    rows = read_rows(f"{place}:{config}" if config else place)
    if isinstance(rows, list):
        raise ValueError(f"{place} is a file of JSON; expected a dataset: a folder or an id of the Hub.")
    return rows


def _find(
    rows: Any, stored: Any, folder: str | None, benchmark: Benchmark, name: str, keep: int | None
) -> tuple[Find, str]:
    """Who finds images, and by what."""
    key = benchmark.picture
    wanted = set(rows.unique(key)) - {None}
    if folder is None:
        if "image" not in stored.column_names:
            raise ValueError(
                f"{name} was built without images; build it with them, or name the folder that holds them (images)."
            )
        return pictures.of_table(stored, key, wanted, name, keep), key
    named = benchmark.file in stored.column_names
    file = dict(zip(stored[key], stored[benchmark.file], strict=True)) if named else _by_stem(folder)
    inside = pictures.of_folder(Path(folder), {file.get(value, str(value)) for value in wanted}, keep)
    return lambda value: inside(file[value]), key


def _by_stem(folder: str) -> Mapping[Any, str]:
    """Files that are called after a number: "17.jpg" is the image 17."""
    files = (file.name for file in Path(folder).iterdir()) if Path(folder).is_dir() else ()
    return {int(name.partition(".")[0]): name for name in files if name.partition(".")[0].isdecimal()}
