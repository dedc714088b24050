"""Opens a benchmark's rows and their images, from a built folder or the Hub, to ask a model about them."""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL.Image import Image

from halluscope import registry
from halluscope.benchmark import Benchmark, Dataset
from halluscope.errors import HalluscopeError, NoImages
from halluscope.paths import path_of
from halluscope.reading import pictures
from halluscope.reading.datasets import Row, home, read_rows
from halluscope.reading.datasets import Source as Written
from halluscope.reading.datasets import configs as config_names
from halluscope.reading.pictures import Find
from halluscope.sanitize import short_repr

# The environment variable that names a folder with a folder per dataset, or an organisation of the Hub
DATASETS = "HALLUSCOPE_DATASETS"


@dataclass(frozen=True)
class Source:
    """The rows that an LVLM is asked about, in order, and their images."""

    benchmark: Benchmark  # the rows' benchmark
    dataset: Dataset  # the rows' dataset, one of the benchmark's
    name: str  # the dataset's name; never a path
    rows: Any  # a `datasets.Dataset` without images
    find: Find  # returns the image for a value of `key`
    key: str  # the column that identifies a row's image; null in a row without an image

    def image(self, row: Row) -> Image | None:
        """Return a row's image; None if the row has no image. Rows with the same image share one object."""
        return None if row[self.key] is None else self.find(row[self.key])

    def prompt(self, prompt: str | None = None) -> str:
        """Return the prompt of all rows, as the file of responses records it; "{prompt}" if the rows differ in it."""
        own = self.rows.unique("prompt") if "prompt" in self.rows.column_names else [None]
        found = {prompt} if prompt else {self.benchmark.prompt_of(one) for one in own}
        return found.pop() if len(found) == 1 else "{prompt}"

    def digest(self, prompt: str | None = None) -> str:
        """Return 8 hexadecimal digits that identify these questions in this order."""
        digest = hashlib.sha256()
        for row in self.rows:
            digest.update(f"{self.dataset.identity(row)}\0{self.benchmark.asked(row, prompt)}\0".encode())
        return digest.hexdigest()[:8]

    def only(self, wanted: Callable[[Row], bool]) -> "Source":
        kept = [place for place, row in enumerate(self.rows) if wanted(row)]
        return replace(self, rows=self.rows.select(kept))


def where(name: str) -> str:
    if given := os.environ.get(DATASETS):
        return f"{path_of(given)}/{name}"
    if (home(name) / "data").is_dir():
        return str(home(name))
    raise ValueError(
        f"The dataset {name} is not in {home(name)}. Build it (halluscope build {name}), or say where it is: "
        f"{DATASETS} names the folder that holds {name}, or an organisation of the Hub."
    )


def open_source(
    source: str, images: str | None = None, dataset: Dataset | None = None, keep: int | None = None
) -> Source:
    named, configs = Written.of(source), config_names(source)
    known = [dataset] if dataset else registry.datasets()
    config = named.config or next((one.config for one in known if one.config in configs), None)
    rows = _rows(replace(named, config=config))
    columns = rows.column_names
    benchmark, found = (
        (registry.benchmark(dataset.name), dataset) if dataset else registry.with_columns(columns)
    )
    if missing := {*found.id, *found.columns} - {*columns}:
        raise ValueError(
            f"The dataset {source} has no column {' or '.join(sorted(missing))}; expected the dataset {found.name}."
        )
    stored = _rows(replace(named, config=found.images)) if found.images and found.images in configs else rows
    name = named.folder.resolve().name if named.folder else named.name
    name = f"{name}:{config}" if config else name
    if "image" in columns:
        rows = rows.remove_columns("image")
    key = found.image_key
    wanted = set(rows.unique(key)) - {None}
    if images is not None:
        find = _in_folder(path_of(images), wanted, stored, found, name, keep)
    elif "image" in stored.column_names:
        find = pictures.of_table(stored, key, wanted, name, keep, named.folder)
    else:
        raise NoImages(
            f"{name} was built without images; build it with them, or name the folder that holds them (--images, in "
            "Python images)."
        )

    def find_or_name_row(value: Any) -> Image:
        try:
            return find(value)
        except HalluscopeError as error:
            row = list(rows[key]).index(value)
            raise type(error)(
                f"{key} {value!r:.80}, which row {row:,} of {name} asks about: {error}"
            ) from error

    return Source(benchmark, found, name, rows, find_or_name_row, key)


def _rows(source: Written) -> Any:
    rows = read_rows(str(source))
    if isinstance(rows, list):
        raise ValueError(f"{source.name} is a JSON file; expected a dataset: a folder or a Hub id.")
    return rows


def _in_folder(
    folder: Path, wanted: set[Any], stored: Any, dataset: Dataset, name: str, keep: int | None
) -> Find:
    if dataset.file in stored.column_names:
        names = dict(zip(stored[dataset.image_key], stored[dataset.file], strict=True))
    else:
        names = pictures.file_names(folder, wanted)
    names = {value: names.get(value, str(value)) for value in wanted}
    if odd := [value for value, file in names.items() if not isinstance(file, str)]:
        raise ValueError(f"The image {odd[0]} of {name} has no file name, but {short_repr(names[odd[0]])}.")
    find = pictures.of_folder(folder, {*names.values()}, keep)
    return lambda value: find(names[value])


def find_images(
    dataset: str | None, folder: str | None, wanted: set[str]
) -> tuple[Mapping[str, object], Find]:
    """Return keys of a dataset's images by their names, keys or file names, and what finds an image by its key.

    Without a dataset, the images are the files in a folder that have the wanted names.
    """
    if not dataset:
        path = path_of(folder or "")
        names = pictures.file_names(path, wanted)
        return names, pictures.of_folder(path, {*names.values()}, keep=0)
    source = open_source(dataset, folder, keep=0)
    keys, columns = source.rows[source.key], (source.key, source.dataset.file)
    named = [source.rows[column] for column in columns if column in source.rows.column_names]
    known = {str(name): key for names in named for key, name in zip(keys, names, strict=True)}
    return {name: key for name, key in known.items() if key is not None}, source.find
