"""Finds the benchmarks and their datasets by name; a benchmark is imported when it is first used.

`halluscope.benchmarks` lists the names. tests/test_contract.py checks that each benchmark is complete.
"""

import importlib
from collections.abc import Sequence
from functools import cache

from halluscope.benchmark import PACKAGES, Benchmark, Dataset
from halluscope.benchmarks import LISTED, listed
from halluscope.options import check_names
from halluscope.validation import kind


def records() -> list[Benchmark]:
    """Return all records, in the order of their names."""
    return [_record(benchmark.name) for benchmark in LISTED]


def benchmarks() -> list[Benchmark]:
    """Return all benchmarks, which are the records with a metric, in the order of their names."""
    return [record for record in records() if record.has_metric]


def benchmark(name: str) -> Benchmark:
    """Return the record of this name, or of the dataset of this name."""
    kind("the benchmark's name", name, str, "a name such as 'throne'")
    check_names("There is no benchmark", [name], names())
    entry = listed(name)
    assert entry is not None, "a name that is known is listed"
    return _record(entry.name)


def dataset(name: str) -> Dataset:
    """Return the dataset of this name."""
    kind("the dataset's name", name, str, "a name such as 'throne_coco'")
    check_names("There is no dataset", [name], dataset_names())
    return next(dataset for dataset in benchmark(name).datasets if dataset.name == name)


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
    """Return the names of all packages, and then those of their datasets that are not such a name."""
    packages = [benchmark.name for benchmark in LISTED]
    return list(dict.fromkeys(packages + dataset_names()))


def dataset_names() -> list[str]:
    """Return the names of all datasets, in the order of their packages."""
    datasets: list[str] = []
    for benchmark in LISTED:
        datasets += benchmark.datasets
    return datasets


def with_columns(columns: Sequence[str]) -> tuple[Benchmark, Dataset]:
    """Return the benchmark and the dataset whose rows have these columns."""
    expected = ", ".join(dataset.name for dataset in _datasets_of(benchmarks()))
    # the dataset for training comes first: it has the columns of others, and more
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
def _record(name: str) -> Benchmark:
    """Import the record of a package: `METRIC` of its module `metric`, or its own `BENCHMARK` if it has no metric."""
    package = importlib.import_module(f"{PACKAGES}.{name}")
    record: Benchmark
    if hasattr(package, "BENCHMARK"):
        record = package.BENCHMARK
    else:
        record = importlib.import_module(f"{PACKAGES}.{name}.metric").METRIC
    return record
