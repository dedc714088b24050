"""Scores that papers print, each file with its source, to put a model among them.

Who judged, with which prompts, and on which images differ between a paper and a user: compare with care.
"""

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

from halluscope.report import Named

_FACTS = ("name", "parameters", "benchmark", "task", "metric", "judged_by")


@dataclass(frozen=True)
class Published:
    """What one paper prints of one benchmark.

    Attributes:
        title: the benchmark.
        source: the paper and its tables.
        url: where the paper is.
        results: the rows, each with the model's name (in square brackets what else the table tells: its size, who
            judged it) and its figures, fractions as in a metric's result; what a table leaves out is absent. The
            rows of "hqm" are benchmarks, with their task and metric.
    """

    title: str
    source: str
    url: str
    results: Named


def names() -> list[str]:
    """The names that `load` knows."""
    files = resources.files(__package__).iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def load(name: str) -> Published:
    """Read published results, such as those of "hallusionbench", "throne_coco" or "throne_objects365".

    Raises:
        ValueError: if there are none of that name.
    """
    if name not in names():
        raise ValueError(f"There are no published results {name!r:.80}; known are {', '.join(names())}.")
    text = resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    facts = tomllib.loads(text)
    results = [(_label(row), _fractions(row, facts["plain"])) for row in facts["results"]]
    return Published(facts["title"], facts["source"], facts["url"], results)


def among(results: Named, name: str) -> Named:
    """A user's results, and after them the published ones, as the tables of `report` take them."""
    return [*results, *load(name).results]


def _label(row: dict[str, Any]) -> str:
    """The name, and in square brackets the row's other facts, such as "LLaVA-1.5 [13B, GPT-4]"."""
    return f"{row['name']} [{', '.join(row[fact] for fact in _FACTS[1:] if fact in row)}]"


def _fractions(row: dict[str, Any], plain: list[str]) -> dict[str, Any]:
    figures = {name: value for name, value in row.items() if name not in _FACTS}
    return {name: value if name in plain else value / 100 for name, value in figures.items()}
