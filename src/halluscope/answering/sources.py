"""Opens a benchmark's rows and their images, from a built folder or the Hub, to ask a model about them."""

import hashlib
import os
from collections.abc import Callable, Collection, Mapping
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

# What a user who asks a model, or makes a report, does about missing images
NAME_IMAGES = "Build it with images, or name the folder that holds them (--images, in Python images)."


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
        if row[self.key] is None:
            return None
        return self.find(row[self.key])

    def prompt(self, prompt: str | None = None) -> str:
        """Return the prompt of all rows, as the file of responses records it; "{prompt}" if the rows differ in it."""
        if prompt:
            return prompt
        if "prompt" not in self.rows.column_names:
            return self.benchmark.prompt_of(None)
        prompts = {self.benchmark.prompt_of(in_row) for in_row in self.rows.unique("prompt")}
        if len(prompts) == 1:
            return prompts.pop()
        return "{prompt}"

    def digest(self, prompt: str | None = None) -> str:
        """Return 8 hexadecimal digits that identify these questions in this order."""
        digest = hashlib.sha256()
        for row in self.rows:
            digest.update(f"{self.dataset.identity(row)}\0{self.benchmark.asked(row, prompt)}\0".encode())
        return digest.hexdigest()[:8]

    def only(self, wanted: Callable[[Row], bool]) -> "Source":
        kept = [index for index, row in enumerate(self.rows) if wanted(row)]
        return replace(self, rows=self.rows.select(kept))


def where(name: str) -> str:
    """Return where a dataset of this name is: its folder, or its Hub id.

    Raises:
        ValueError: if it is not built.
    """
    place = os.environ.get(DATASETS)
    if place:
        return f"{path_of(place)}/{name}"
    if (home(name) / "data").is_dir():
        return str(home(name))
    raise ValueError(
        f"The dataset {name} is not in {home(name)}. Build it (halluscope build {name}), or say where it is: "
        f"{DATASETS} names the folder that holds {name}, or an organisation of the Hub."
    )


def open_source(
    source: str,
    images: str | None = None,
    dataset: Dataset | None = None,
    keep: int | None = None,
    advice: str = NAME_IMAGES,
) -> Source:
    """Open a dataset to ask about its rows.

    Args:
        source: the dataset as a user names it, a folder or a Hub id.
        images: the folder of the images; None for those that the dataset holds.
        dataset: which dataset it is; None to tell it by its columns.
        keep: how many images stay open; None for all.
        advice: what errors say to do about missing images.

    Raises:
        ValueError: if it is no dataset of a benchmark, or is not the named one.
        NoImages: if it was built without images, and no folder is named.
    """
    named = Written.of(source)
    configs = config_names(source)
    config = named.config
    if config is None:
        config = _config_of_rows(configs, dataset)
    rows = _rows(replace(named, config=config))
    if dataset is None:
        benchmark, dataset = registry.with_columns(rows.column_names)
    else:
        benchmark = registry.benchmark(dataset.name)
    absent = set(dataset.id).union(dataset.columns).difference(rows.column_names)
    if absent:
        raise ValueError(
            f"The dataset {source} has no column {' or '.join(sorted(absent))}; expected the dataset {dataset.name}."
        )
    name = _name_of(named, config)
    stored = rows  # those that hold the images, if any do
    if dataset.images and dataset.images in configs:
        stored = _rows(replace(named, config=dataset.images))
    if "image" in rows.column_names:
        rows = rows.remove_columns("image")
    key = dataset.image_key
    wanted = set(rows.unique(key)) - {None}
    if images is not None:
        find = _in_folder(path_of(images), wanted, stored, dataset, name, keep=keep)
    elif "image" in stored.column_names:
        find = pictures.of_table(stored, key, wanted, name, keep, folder=named.folder, advice=advice)
    else:
        raise NoImages(f"{name} was built without images. {advice}")
    return Source(benchmark, dataset, name, rows, find=_naming_rows(find, rows, key, name), key=key)


def _name_of(source: Written, config: str | None) -> str:
    """Return the name of a dataset, never its path, with its config if it has several."""
    name = source.name
    if source.folder is not None:
        name = source.folder.resolve().name
    if config:
        name = f"{name}:{config}"
    return name


def _naming_rows(find: Find, rows: Any, key: str, name: str) -> Find:
    """Return a function that finds images as `find` does, and whose errors name the row that asks about the image."""

    def find_or_name_row(value: Any) -> Image:
        try:
            return find(value)
        except HalluscopeError as error:
            index = list(rows[key]).index(value)
            raise type(error)(
                f"{key} {value!r:.80}, which row {index:,} of {name} asks about: {error}"
            ) from error

    return find_or_name_row


def _config_of_rows(configs: Collection[str], dataset: Dataset | None) -> str | None:
    """Return the config that holds the rows of the dataset, or of any dataset; None for the only config."""
    datasets = registry.datasets() if dataset is None else [dataset]
    for known in datasets:
        if known.config in configs:
            return known.config
    return None


def _rows(source: Written) -> Any:
    rows = read_rows(str(source))
    if isinstance(rows, list):
        raise ValueError(f"{source.name} is a JSON file; expected a dataset: a folder or a Hub id.")
    return rows


def _in_folder(
    folder: Path, wanted: set[Any], stored: Any, dataset: Dataset, name: str, keep: int | None
) -> Find:
    """Return a function that finds a dataset's images in a folder, by the file names of `stored` or by their keys."""
    if dataset.file in stored.column_names:
        keys = stored[dataset.image_key]
        names = dict(zip(keys, stored[dataset.file], strict=True))
    else:
        names = pictures.file_names(folder, wanted)
    file_of_key = {}
    for value in wanted:
        file = names.get(value, str(value))
        if not isinstance(file, str):
            raise ValueError(f"The image {value} of {name} has no file name, but {short_repr(file)}.")
        file_of_key[value] = file
    find = pictures.of_folder(folder, set(file_of_key.values()), keep)
    return lambda value: find(file_of_key[value])


def find_images(
    dataset: str | None, folder: str | None, wanted: set[str]
) -> tuple[Mapping[str, object], Find]:
    """Return keys of a dataset's images by their names, keys or file names, and what finds an image by its key.

    Without a dataset, the images are the files in a folder that have the wanted names.
    """
    if not dataset:
        path = path_of(folder or "")
        file_of_name = pictures.file_names(path, wanted)
        return file_of_name, pictures.of_folder(path, set(file_of_name.values()), keep=0)
    source = open_source(dataset, folder, keep=0)
    key_of_name = {}
    for column in (source.key, source.dataset.file):
        if column not in source.rows.column_names:
            continue
        for key, name in zip(source.rows[source.key], source.rows[column], strict=True):
            if key is not None:
                key_of_name[str(name)] = key
    return key_of_name, source.find
