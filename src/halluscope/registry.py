"""Finds the benchmarks and their datasets by name.

Each benchmark has a package in `halluscope.benchmarks`, whose `__init__` holds the benchmark: `BENCHMARK`.
tests/test_contract.py checks that each is complete.
"""

import importlib
from collections.abc import Mapping, Sequence
from functools import cache
from pkgutil import iter_modules
from typing import TypeVar

from halluscope.benchmark import PACKAGES, Benchmark, Dataset
from halluscope.options import check_names
from halluscope.validation import kind

T = TypeVar("T")


def records() -> list[Benchmark]:
    """Return all records, in the order of their names."""
    return list(_all().values())


def benchmarks() -> list[Benchmark]:
    """Return all benchmarks, which are the records with a metric, in the order of their names."""
    return [record for record in records() if record.has_metric]


def benchmark(name: str) -> Benchmark:
    """Return the record of this name, or of the dataset of this name."""
    return _named("benchmark", name, _known(), "throne")


def dataset(name: str) -> Dataset:
    """Return the dataset of this name."""
    known = {dataset.name: dataset for dataset in datasets()}
    return _named("dataset", name, known, "throne_coco")


def _named(noun: str, name: str, known: Mapping[str, T], example: str) -> T:
    kind(f"the {noun}'s name", name, str, f"a name such as {example!r}")
    check_names(f"There is no {noun}", [name], known)
    return known[name]


def first_dataset(record: Benchmark) -> Dataset:
    """Return the dataset whose ids identify a benchmark's rows."""
    if record.datasets:
        return record.datasets[0]
    return dataset(record.reads[0])


def datasets() -> list[Dataset]:
    """Return all datasets, in the order of their packages."""
    return _datasets_of(records())


def _datasets_of(records: Sequence[Benchmark]) -> list[Dataset]:
    datasets: list[Dataset] = []
    for record in records:
        datasets += record.datasets
    return datasets


def names() -> list[str]:
    """Return the names of all packages and datasets."""
    return list(_known())


def _known() -> dict[str, Benchmark]:
    """Return all records by their names and by those of their datasets."""
    known = dict(_all())
    for record in records():
        for dataset in record.datasets:
            known[dataset.name] = record
    return known


def with_columns(columns: Sequence[str]) -> tuple[Benchmark, Dataset]:
    """Return the benchmark and the dataset whose rows have these columns."""
    expected = ", ".join(dataset.name for dataset in _datasets_of(benchmarks()))
    for record in sorted(records(), key=lambda record: record.has_metric):
        dataset = record.dataset(columns)
        if dataset is None:
            continue
        if not record.has_metric:
            raise ValueError(
                f"A dataset with the columns {', '.join(columns)} is {dataset.name}, which is for training: no model "
                f"is asked about its rows. Expected one of {expected}."
            )
        return record, dataset
    raise ValueError(f"No known dataset has the columns {', '.join(columns)}; expected one of {expected}.")


@cache
def _all() -> dict[str, Benchmark]:
    packages = importlib.import_module(PACKAGES)
    by_name = {}
    for package in iter_modules(packages.__path__):
        by_name[package.name] = _record(f"{PACKAGES}.{package.name}")
    return by_name


def _record(package: str) -> Benchmark:
    """Return the record of a package: `BENCHMARK`, or `METRIC` of its module `metric`."""
    module = importlib.import_module(package)
    if not hasattr(module, "BENCHMARK"):
        module = importlib.import_module(f"{package}.metric")
    record: Benchmark = module.METRIC if hasattr(module, "METRIC") else module.BENCHMARK
    return record
