"""Data for the tests of harnesses: a small copy of each dataset, and images for those built without."""

import json
import math
from itertools import permutations
from pathlib import Path
from typing import Any

from PIL import Image

from halluscope import registry
from halluscope.benchmark import Dataset
from halluscope.reading.datasets import read_rows
from halluscope.signature import changed
from tests import small_datasets

DATASETS = [dataset for benchmark in registry.benchmarks() for dataset in benchmark.datasets]
"""What an LVLM is asked about; other rooms hold what it is trained on."""

TASKS = [dataset.name for dataset in DATASETS]
WITH_IMAGES = ("throne_coco", "pope_c")
"""The datasets that are built with their images."""


def build_all(folder: Path) -> Path:
    """Build the datasets as folder/<name>; folder/pictures holds the images that they lack."""
    small_datasets.build("throne_coco", folder, with_images=True)
    small_datasets.builder("pope_c").build(folder / "throne_coco", out=folder / "pope_c", subset=True)
    without = [dataset for dataset in DATASETS if dataset.name not in WITH_IMAGES]
    for dataset in without:
        small_datasets.build(dataset.name, folder)
    names = {name for dataset in without for name in file_names(folder, dataset)}
    for number, name in enumerate(sorted(names)):
        draw(folder / "pictures" / name, number)
    return folder


def pictures(folder: Path, name: str) -> str | None:
    """The folder of images that a dataset needs, if it needs one."""
    return None if name in WITH_IMAGES else str(folder / "pictures")


def score_command(folder: Path, name: str, *files: str) -> list[str]:
    """Return the arguments of `halluscope` that score a dataset's responses or samples as a harness does."""
    dataset = registry.dataset(name)
    options = {**_offline(name), **dataset.harness}
    words = [word for option, value in options.items() for word in (f"--{option}", str(value))]
    return ["score", name, *files, "--dataset", _place(folder, dataset, dataset.config), *words]


def as_scored(name: str, line: str) -> str:
    """Return a harness's signature as `halluscope score` gives it for the samples, which have ids."""
    return changed(line, responses=",".join(["id", *registry.dataset(name).also]))


def clustered_error(values: list[float], clusters: list[Any]) -> float:
    """The standard error of a mean by its definition, pair by pair: Miller (arXiv:2411.00640), equation 4."""
    if len(set(clusters)) < 2:
        return math.nan
    rows, mean = len(values), sum(values) / len(values)
    away = [value - mean for value in values]
    squared = sum(one**2 for one in away) / (rows - 1) / rows
    pairs = permutations(range(rows), 2)
    squared += sum(away[i] * away[j] for i, j in pairs if clusters[i] == clusters[j]) / rows**2
    return math.sqrt(max(0.0, squared))


def environment(folder: Path) -> dict[str, str]:
    """Return the environment that tells a harness in another process where the datasets are, without a network."""
    return {
        "HALLUSCOPE_DATASETS": str(folder),
        "HALLUSCOPE_TASKS": json.dumps(settings(folder)),
        "HF_HUB_OFFLINE": "1",
    }


def settings(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the settings of the tasks."""
    images = {name: {"images": place} for name in TASKS if (place := pictures(folder, name))}
    return {name: _offline(name) | images.get(name, {}) for name in TASKS}


def _offline(name: str) -> dict[str, str]:
    """Return the options by which a benchmark needs neither a language model nor a download."""
    benchmark = registry.benchmark(name)
    judges = benchmark.judges
    if judges and not judges.default:
        return {"judge": judges.rules[0]}
    if judges and judges.kind == "votes":
        return {"judges": "lexical"}
    if any(option.name == "synonyms" for option in benchmark.options):
        return {"synonyms": "names"}
    return {}


def _place(folder: Path, dataset: Dataset, config: str) -> str:
    return f"{folder / dataset.name}{f':{config}' if config else ''}"


def file_names(folder: Path, dataset: Dataset) -> list[str]:
    """Return a dataset's image files, by their column or by the images' ids."""
    rows = read_rows(_place(folder, dataset, dataset.images or dataset.config))
    named = dataset.file in rows.column_names
    names = rows[dataset.file] if named else [f"{key}.jpg" for key in rows[dataset.image_key]]
    return [name for name in names if name]


def draw(file: Path, number: int) -> None:
    """Make an image; every fourth is grey."""
    file.parent.mkdir(parents=True, exist_ok=True)
    gradient = Image.linear_gradient("L").resize((40, 30)).rotate(100 * number)
    colours = [gradient, gradient, gradient.rotate(90)]
    (gradient if number % 4 == 0 else Image.merge("RGB", colours)).save(file)
