"""Finds the benchmarks and their datasets by name.

Each benchmark has a package in `halluscope.benchmarks`, whose `__init__` holds the benchmark: `BENCHMARK`.
tests/test_contract.py checks that each is complete.
"""

import importlib
from collections.abc import Mapping, Sequence
from functools import cache
from pkgutil import iter_modules
from typing import Any, TypeVar

from halluscope.benchmark import PACKAGES, Benchmark, Dataset, Judges, Score
from halluscope.options import Option, check_names
from halluscope.validation import kind
from halluscope.vocabularies import read_toml

T = TypeVar("T")


def declared(module: str) -> Benchmark:
    """Return what the benchmark.toml beside a module, given by its `__file__`, declares; judges' options come first."""
    table = read_toml(module, "benchmark.toml")
    facts = dict(table["benchmark"])
    options = []
    if "judges" in table:
        from halluscope.judging.options import VOTES

        facts["judges"] = Judges(**table["judges"])
        helps = table.get("judges_help", {})
        for option in VOTES:
            options.append(option._replace(help=helps.get(option.name, option.help)))
    for fields in table.get("options", ()):
        options.append(_option(fields))
    facts["options"] = tuple(options)
    facts["datasets"] = tuple(Dataset(**fields) for fields in table.get("datasets", ()))
    return of_facts(facts)


def _option(fields: Mapping[str, Any]) -> Option:
    """Return an option of a data file; its value is a text unless the file says that it is a float."""
    arguments = dict(fields)
    arguments["type"] = str
    if fields.get("type") == "float":
        arguments["type"] = float
    return Option(**arguments)


def of_facts(facts: Mapping[str, Any]) -> Benchmark:
    """Return a benchmark of facts from a data file, by the names of its attributes."""
    record = Benchmark()
    for name, value in facts.items():
        if name not in ("scores", "extra_numbers", "means", "points"):
            setattr(record, name, value)
    means = facts.get("means", ())
    points = facts.get("points", ())
    scores = {}
    for name, better in facts.get("scores", {}).items():
        scores[name] = Score(better, is_mean=name in means, is_points=name in points)
    record.scores = scores
    extra_numbers = {}
    for name, better in facts.get("extra_numbers", {}).items():
        extra_numbers[name] = Score(better)
    record.extra_numbers = extra_numbers
    return record


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
