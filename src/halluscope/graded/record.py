"""Makes the record of a benchmark from its data file."""

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from halluscope.judging import options
from halluscope.judging.judge import MAX_TOKENS
from halluscope.options import Option
from halluscope.registry import Benchmark, Dataset, Judges


@cache
def data(package: str) -> dict[str, Any]:
    return tomllib.loads(Path(import_module(package).__path__[0], "benchmark.toml").read_text("utf-8"))


def ids(dataset: Mapping[str, Any]) -> tuple[str, ...]:
    named = dataset.get("id", "id")
    return (named,) if isinstance(named, str) else tuple(named)


def _tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}


def _directions(scores: Mapping[str, str]) -> dict[str, Any]:
    """Return which direction of each score is better; "" stands for neither."""
    return {name: direction or None for name, direction in scores.items()}


def record(package: str) -> Benchmark:
    table = data(package)
    about, columns, of = table["benchmark"], table["columns"], _tuples(table["dataset"])
    known = {field.name for field in fields(Dataset)} - {"id", "columns", "own", "upstream", "file"}
    needed = (name for name, column in columns.items() if column.get("needed", True))
    dataset = Dataset(
        about["name"],
        id=ids(of),
        columns=tuple(name for name in needed if name not in ids(of)),
        own=tuple(name for name, column in columns.items() if column.get("own")),
        upstream=tuple(column["upstream"] for column in columns.values() if "upstream" in column),
        file=of.get("image_file", "file_name"),
        builder="metric:GRADED.builder",
        **{name: value for name, value in of.items() if name in known},
    )
    chosen = tuple(
        Option(name, one["help"], choices=tuple(one["choices"]), every=one.get("every", False))
        for name, one in table.get("options", {}).items()
    )
    judged: dict[str, Any] = {"options": chosen}
    if "judge" in table:
        judge, verdict = table["judge"], table["verdict"]
        named = verdict.get("option")
        given = [options.given(named, verdict["columns"], verdict["does"])] if named else []
        judged = {
            "judges": Judges("verdicts", judge["default"], tuple(judge["rules"]), judge["published"]),
            "options": (
                *options.for_verdicts(judge["about"], judge.get("max_tokens", MAX_TOKENS)),
                *chosen,
                *given,
            ),
            "input_options": (named,) if named else tuple(verdict["given"]),
        }
    return Benchmark(
        **(_tuples(about) | {"scores": _directions(about["scores"])}),
        extra_numbers={"questions": None, "images": None} | _directions(of.get("extra_numbers", {})),
        datasets=(dataset,),
        items="per_question",
        engine={"rows": "GRADED", "report": "VIEW"},
        **judged,
    )
