"""Scores that papers print, from each package's published.toml, shown in a table of their own.

Compare with care: a paper may have used other judges, prompts, and images.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from halluscope import registry
from halluscope.benchmark import Benchmark, Dataset
from halluscope.reporting.tables import Cell, Named, Table, plain, scored
from halluscope.signature import keys_of

FILE = "published.toml"
REFERENCE = "reference.toml"  # scores of public files under this package, which perf/wild.py writes
# The head of the column with the names of published rows, and the key of their source in JSON.
HEAD = "published"

# Keys of a signature that `how` shows besides the judges.
_HOW = ("questions", "prompts", "protocol", "reading")

# The key for a row's place in its paper's table, where several packages hold rows of that table.
LINE = "line"


class Published(NamedTuple):
    """What one paper prints about one benchmark."""

    source: str  # the paper and its tables, or what else prints the scores
    # the rows, each with the model's name (in square brackets the table's other facts, such as its size or
    # judge) and its scores, as fractions like in a metric's result; a score that the table leaves out is
    # absent. The rows of "hqm" are benchmarks, with their task, metric, and the `types` of hallucination they
    # ask for
    results: Named


def load(name: str, chosen: Mapping[str, str] | None = None) -> Published:
    """Read published results, by the name of a dataset such as "throne_coco", or of one of HQM's tables.

    A table's rows may come from several packages; each row then has its `line` in the paper's table. Of rows with the
    facts in `chosen`, those with other values are left out.
    """
    parts = tables()[name]
    facts = next(part for part in parts if "title" in part)
    rows = sorted(
        (row for part in parts for row in part.get("results", ())), key=lambda row: row.get(LINE, 0)
    )
    results = []
    for row in rows:
        if all(row.get(fact, of) == of for fact, of in (chosen or {}).items()):
            texts = [value for fact, value in row.items() if isinstance(value, str) and fact != "name"]
            label = f"{row['name']} [{', '.join(texts)}]" if texts else str(row["name"])
            scores = {
                # numbers in percent are turned into fractions
                name: value if name in facts["plain"] or isinstance(value, list) else value / 100
                for name, value in row.items()
                if not isinstance(value, str) and name != LINE
            }
            results.append((label, scores))
    return Published(facts["source"], results)


def of(benchmark: Benchmark, options: Mapping[str, Any]) -> Published | None:
    """Return the published results on the dataset that these options choose; None if there are no results."""
    if not (dataset := dataset_of(benchmark, options)):
        return None
    by = [name for part in tables()[dataset.name] for name in part.get("by", ())]
    usual = {option.name: option.choices[0] for option in benchmark.options if option.name in by}
    return load(dataset.name, {name: options.get(name) or value for name, value in usual.items()})


def dataset_of(benchmark: Benchmark, options: Mapping[str, Any]) -> Dataset | None:
    """Return the dataset that these options choose; None if there are no published results on it."""
    for dataset in benchmark.datasets:
        if all(options.get(name, value) == value for name, value in dataset.options.items()):
            return dataset if dataset.name in tables() else None
    return None


def in_percent(benchmark: Benchmark, options: Mapping[str, Any], score: str) -> bool:
    """Whether a score is printed in percent: where its paper prints it so, or else if it is a share."""
    dataset = dataset_of(benchmark, options)
    plain = [name for part in tables()[dataset.name] for name in part.get("plain", ())] if dataset else []
    return score not in plain and not benchmark.is_points(score)


def table(paper: Published, benchmark: Benchmark) -> Table:
    """Return published results as a table, in the paper's order; none is ranked."""
    columns = list(dict.fromkeys(name for _, row in paper.results for name in row))
    rows: list[list[Cell]] = [
        [
            name,
            *(
                # a count, such as a length, is printed as the paper prints it
                plain(row[column], "d")
                if isinstance(row.get(column), int)
                else scored(row.get(column), benchmark.is_points(column))
                for column in columns
            ),
        ]
        for name, row in paper.results
    ]
    return Table("published", [HEAD, *columns], rows, of=heading(paper))


def computed(benchmark: Benchmark, results: Named) -> Table | None:
    """Return scores that were computed here from public files about the same rows as a result; None for no such."""
    file = benchmark.folder / REFERENCE
    if not file.is_file():
        return None
    data = {keys_of(result["signature"])["data"] for _, result in results}
    same = [one for one in tomllib.loads(file.read_text(encoding="utf-8"))["files"] if one["data"] in data]
    columns = list(dict.fromkeys(score for one in same for score in one["scores"]))
    rows: list[list[Cell]] = [
        [
            f"{one['repository']}: {one['path'].rpartition('/')[2]}",
            *(scored(one["scores"].get(column), benchmark.is_points(column)) for column in columns),
            one["printed"],
        ]
        for one in same
    ]
    header, of = ["file", *columns, "printed there"], "computed here from public files (docs/results.md)"
    return Table("computed", header, rows, of=of) if rows else None


def heading(paper: Published) -> str:
    """Return what stands above published results."""
    return f"as printed, where judge, prompt and images may differ: {paper.source}"


def how(result: Mapping[str, Any]) -> list[str]:
    """Say how a result was judged and asked for, as its signature tells it, to set it apart from a paper's."""
    keys = keys_of(result["signature"])
    ways = ", ".join([*judges(keys), *(f"{key}: {keys[key]}" for key in _HOW if key in keys)])
    return [f"here {ways}"] if ways else []


def judges(keys: Mapping[str, str]) -> list[str]:
    """Return who judged, by the keys of a signature."""
    return [f"judged by {keys[key]}" for key in ("judges", "judge", "correctness") if key in keys]


@cache
def tables() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for benchmark in registry.records():
        file = benchmark.folder / FILE
        if file.is_file():
            for table in tomllib.loads(file.read_text(encoding="utf-8")).get("tables", ()):
                found.setdefault(table["name"], []).append(table)
    return found
