"""Scores that papers print, to put a model among them: each room's published.toml.

Who judged, with which prompts, and on which images differ between a paper and a user: compare with care.
"""

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from halluscope import registry
from halluscope.registry import Benchmark
from halluscope.reporting.tables import Named
from halluscope.signature import keys_of

FILE = "published.toml"
LINE = "line"
"""The place of a row in its paper's table, where its rows stand in several rooms."""


@dataclass(frozen=True)
class Published:
    """What one paper prints of one benchmark.

    Attributes:
        title: the benchmark.
        source: the paper and its tables, or what else prints them.
        url: where it is.
        results: the rows, each with the model's name (in square brackets what else the table tells: its size, who
            judged it) and its scores, fractions as in a metric's result; what a table leaves out is absent. The
            rows of "hqm" are benchmarks, with their task, metric, and the `types` of hallucination that they ask for.
        most: the most that a score may be: 1 where scores are shares, more where they are points.
    """

    title: str
    source: str
    url: str
    results: Named
    most: float = 1


def names() -> list[str]:
    """The names that `load` knows."""
    return sorted(_tables())


def load(name: str) -> Published:
    """Read published results, by the name of a dataset such as "throne_coco", or of one of HQM's tables.

    A table's rows may stand in several rooms, each with its `line` in the paper's table.

    Raises:
        ValueError: if there are none of that name.
    """
    if name not in names():
        raise ValueError(f"There are no published results {name!r:.80}; known are {', '.join(names())}.")
    parts = _tables()[name]
    facts = next(part for part in parts if "title" in part)
    rows = sorted(
        (row for part in parts for row in part.get("results", ())), key=lambda row: row.get(LINE, 0)
    )
    results = [(_label(row), _scores(row, facts["plain"])) for row in rows]
    return Published(facts["title"], facts["source"], facts["url"], results, facts.get("most", 1))


def of(benchmark: Benchmark, options: Mapping[str, Any]) -> Published | None:
    """What is published of the dataset that goes with these options; None if there is nothing."""
    for dataset in benchmark.datasets:
        if all(options.get(name, value) == value for name, value in dataset.options.items()):
            return load(dataset.name) if dataset.name in _tables() else None
    return None


def judged_by(result: Mapping[str, Any]) -> str:
    """What sets a result apart from a paper's: who judged, and by which questions; "" where nobody did."""
    keys = keys_of(result["signature"])
    judges = [keys[key] for key in ("judges", "judge", "correctness") if key in keys]
    questions = [f"questions: {keys['questions']}"] if "questions" in keys else []
    return ", ".join([*(f"judged by {judge}" for judge in judges), *questions])


@cache
def _tables() -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {}
    for benchmark in registry.rooms():
        file = benchmark.folder / FILE
        if file.is_file():
            for table in tomllib.loads(file.read_text(encoding="utf-8"))["tables"]:
                tables.setdefault(table["name"], []).append(table)
    return tables


def _label(row: Mapping[str, Any]) -> str:
    """The name, and in square brackets the row's other texts, such as "LLaVA-1.5 [13B, GPT-4]"."""
    texts = [value for fact, value in row.items() if isinstance(value, str) and fact != "name"]
    return f"{row['name']} [{', '.join(texts)}]" if texts else str(row["name"])


def _scores(row: Mapping[str, Any], plain: Collection[str]) -> dict[str, Any]:
    """The row's numbers, and what it lists; those that are in percent as fractions."""
    found = {name: value for name, value in row.items() if not isinstance(value, str) and name != LINE}
    return {
        name: value if name in plain or isinstance(value, list) else value / 100
        for name, value in found.items()
    }
