"""Scores that papers print, and scores of public files computed here: each shown in a table of its own.

Compare with care: a paper may have used other judges, prompts, and images.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from halluscope import registry
from halluscope.benchmark import Benchmark, Dataset
from halluscope.reporting import public_files
from halluscope.reporting.published_table import PublishedRow, PublishedTable
from halluscope.reporting.tables import Cell, Named, Table, scored
from halluscope.signature import keys_of

# The head of the column with the names of published rows, and the key of their source in JSON.
HEAD = "published"

# Keys of a signature that name who judged
JUDGES = ("judges", "judge", "correctness")

# Keys of a signature that `how` shows besides the judges
QUESTIONS = ("questions", "prompts", "protocol", "reading")


@dataclass(frozen=True)
class Published:
    """What one paper prints about one benchmark."""

    source: str  # the paper and its tables, or what else prints the scores
    # the rows, each with its label (`PublishedRow`) and its scores, as fractions like in a metric's result; a score
    # that is not printed is absent. The rows of "hqm" are benchmarks
    results: Named


@cache
def tables() -> dict[str, PublishedTable]:
    """Return the published tables of all benchmarks, by name."""
    by_name = {}
    for benchmark in registry.records():
        module_name = f"halluscope.benchmarks.{benchmark.name}.published"
        if find_spec(module_name) is None:
            continue
        module = import_module(module_name)
        for printed in module.TABLES:
            by_name[printed.name] = printed
    return by_name


def load(name: str, chosen: Mapping[str, str] | None = None) -> Published:
    """Read published results, by the name of a dataset such as "throne_coco", or "hqm".

    Of the rows that state a fact in `chosen`, those that state another value are left out.
    """
    printed = tables()[name]
    results = []
    for row in printed.rows():
        if chosen and not _fits(row, chosen):
            continue
        scores = printed.scores(row)
        results.append((row.label, scores))
    return Published(printed.source, results)


def _fits(row: PublishedRow, chosen: Mapping[str, str]) -> bool:
    return all(row.facts.get(fact, value) == value for fact, value in chosen.items())


def of(benchmark: Benchmark, options: Mapping[str, Any]) -> list[Published]:
    """Return the published results on the dataset that these options choose, the paper's first; [] for none."""
    dataset = dataset_of(benchmark, options)
    if dataset is None:
        return []
    papers = []
    for name, printed in tables().items():
        if dataset.name not in (name, printed.dataset):
            continue
        chosen = {}
        for option in benchmark.options:
            if option.name in printed.chosen_by:
                usual = option.choices[0]
                chosen[option.name] = options.get(option.name) or usual
        papers.append(load(name, chosen))
    return papers


def dataset_of(benchmark: Benchmark, options: Mapping[str, Any]) -> Dataset | None:
    """Return the dataset that these options choose; None if there are no published results on it."""
    for dataset in benchmark.datasets:
        if not _is_chosen(dataset, options):
            continue
        if dataset.name in tables():
            return dataset
        return None
    return None


def _is_chosen(dataset: Dataset, options: Mapping[str, Any]) -> bool:
    return all(options.get(name, value) == value for name, value in dataset.options.items())


def in_percent(benchmark: Benchmark, options: Mapping[str, Any], score: str) -> bool:
    """Whether a score is printed in percent: where its paper prints it so, or else if it is a share."""
    dataset = dataset_of(benchmark, options)
    if dataset is not None:
        printed = tables()[dataset.name]
        if score in printed.not_in_percent:
            return False
    return not benchmark.is_points(score)


def table(paper: Published, benchmark: Benchmark) -> Table:
    """Return published results as a table, in the paper's order; none is ranked."""
    columns: list[str] = []
    for _, scores in paper.results:
        _add_new(columns, scores)
    rows = []
    for label, scores in paper.results:
        row: list[Cell] = [label]
        for column in columns:
            value = scores.get(column)
            is_points = benchmark.is_points(column)
            row.append(scored(value, is_points))
        rows.append(row)
    header = [HEAD]
    header.extend(columns)
    return Table("published", header, rows, of=heading(paper))


def computed(benchmark: Benchmark, results: Named) -> Table | None:
    """Return scores that were computed here from public files about the same rows as a result; None for no such."""
    data = set()
    for _, result in results:
        keys = keys_of(result["signature"])
        data.add(keys["data"])
    files = [file for file in public_files.read(benchmark.name) if file.data in data]
    if not files:
        return None
    columns: list[str] = []
    for file in files:
        _add_new(columns, file.scores)
    rows = []
    for file in files:
        file_name = file.path.rpartition("/")[2]
        label = f"{file.repository}: {file_name}"
        row: list[Cell] = [label]
        for column in columns:
            value = file.scores.get(column)
            is_points = benchmark.is_points(column)
            row.append(scored(value, is_points))
        row.append(file.printed)
        rows.append(row)
    header = ["file"]
    header.extend(columns)
    header.append("printed there")
    return Table("computed", header, rows, of="computed here from public files (docs/results.md)")


def _add_new(columns: list[str], scores: Mapping[str, Any]) -> None:
    """Add the scores that are not among the columns yet."""
    for score in scores:
        if score not in columns:
            columns.append(score)


def heading(paper: Published) -> str:
    """Return what stands above published results."""
    return f"as printed, where judge, prompt and images may differ: {paper.source}"


def how(result: Mapping[str, Any]) -> list[str]:
    """Say how a result was judged and asked for, as its signature tells it, to set it apart from a paper's."""
    keys = keys_of(result["signature"])
    ways = judges(keys)
    for key in QUESTIONS:
        if key in keys:
            ways.append(f"{key}: {keys[key]}")
    if not ways:
        return []
    line = ", ".join(ways)
    return [f"here {line}"]


def judges(keys: Mapping[str, str]) -> list[str]:
    """Return who judged, by the keys of a signature."""
    named = []
    for key in JUDGES:
        if key in keys:
            named.append(f"judged by {keys[key]}")
    return named
