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
    options = [
        Option(**{**one, "type": {"float": float}.get(one.get("type"), str)})
        for one in table.get("options", ())
    ]
    if "judges" in table:
        from halluscope.judging.options import VOTES

        others = table.get("judges_help", {})
        options[:0] = [one._replace(help=others.get(one.name, one.help)) for one in VOTES]
        facts["judges"] = Judges(**table["judges"])
    facts["datasets"] = tuple(Dataset(**one) for one in table.get("datasets", ()))
    facts["options"] = tuple(options)
    return of_facts(facts)


def of_facts(facts: Mapping[str, Any]) -> Benchmark:
    """Return a benchmark of facts from a data file, by the names of its attributes."""
    benchmark = Benchmark()
    means, points = facts.get("means", ()), facts.get("points", ())
    for name, value in facts.items():
        if name not in ("scores", "extra_numbers", "means", "points"):
            setattr(benchmark, name, value)
    benchmark.scores = {
        name: Score(better, name in means, name in points) for name, better in facts.get("scores", {}).items()
    }
    benchmark.extra_numbers = {name: Score(better) for name, better in facts.get("extra_numbers", {}).items()}
    return benchmark


def records() -> list[Benchmark]:
    """Return all records, in the order of their names."""
    return list(_all().values())


def benchmarks() -> list[Benchmark]:
    """Return all benchmarks, which are the records with a metric, in the order of their names."""
    return [one for one in records() if one.has_metric]


def benchmark(name: str) -> Benchmark:
    """Return the record of this name, or of the dataset of this name."""
    return _named("benchmark", name, _known(), "throne")


def dataset(name: str) -> Dataset:
    """Return the dataset of this name."""
    return _named("dataset", name, {one.name: one for one in datasets()}, "throne_coco")


def _named(what: str, name: str, known: Mapping[str, T], example: str) -> T:
    kind(f"the {what}'s name", name, str, f"a name such as {example!r}")
    check_names(f"There is no {what}", [name], known)
    return known[name]


def first_dataset(of: Benchmark) -> Dataset:
    """Return the dataset whose ids identify a benchmark's rows."""
    return of.datasets[0] if of.datasets else dataset(of.reads[0])


def datasets() -> list[Dataset]:
    """Return all datasets, in the order of their packages."""
    return [dataset for one in records() for dataset in one.datasets]


def names() -> list[str]:
    """Return the names of all packages and datasets."""
    return list(_known())


def _known() -> dict[str, Benchmark]:
    return _all() | {dataset.name: one for one in records() for dataset in one.datasets}


def with_columns(columns: Sequence[str]) -> tuple[Benchmark, Dataset]:
    """Return the benchmark and the dataset whose rows have these columns."""
    known = ", ".join(dataset.name for one in benchmarks() for dataset in one.datasets)
    for one in sorted(records(), key=lambda record: record.has_metric):
        if not (found := one.dataset(columns)):
            continue
        if not one.has_metric:
            raise ValueError(
                f"A dataset with the columns {', '.join(columns)} is {found.name}, which is for training: no model is "
                f"asked about its rows. Expected one of {known}."
            )
        return one, found
    raise ValueError(f"No known dataset has the columns {', '.join(columns)}; expected one of {known}.")


@cache
def _all() -> dict[str, Benchmark]:
    packages = importlib.import_module(PACKAGES)
    found = {}
    for package in iter_modules(packages.__path__):
        module = importlib.import_module(f"{PACKAGES}.{package.name}")
        if not hasattr(module, "BENCHMARK"):
            module = importlib.import_module(f"{PACKAGES}.{package.name}.metric")
        found[package.name] = module.METRIC if hasattr(module, "METRIC") else module.BENCHMARK
    return found
