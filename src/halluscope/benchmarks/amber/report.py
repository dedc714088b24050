"""AMBER's results as text: a row per LVLM for each task, a row per dimension, and what a reader has to know."""

from collections.abc import Mapping
from typing import Any

from halluscope.benchmarks.amber.scoring import GROUPS
from halluscope.reporting import tables
from halluscope.reporting.tables import (
    Cell,
    Named,
    Report,
    Shown,
    Table,
    interval,
    percent,
    ranked,
    score,
    table,
)

DESCRIPTIONS = ("chair", "cover", "hal", "cog")
ANSWERS = ("accuracy", "precision", "recall", "f1")


def report(results: Named, shown: Shown, **_: Any) -> Report:
    """Tables in percent and the signatures.

    Args:
        results: of the responses that were scored.
        shown: the same; nothing is published in this form.
    """
    named = [(_name(name, result), result) for name, result in results]
    of_all = table(ranked(named, "amber"), ("amber", *DESCRIPTIONS, *ANSWERS))
    return tables.report([of_all, _dimensions(named)], {name: _remarks(result) for name, result in named})


def _name(name: str, result: Mapping[str, Any]) -> str:
    """The responses, and the rule by which they were read if there are several."""
    return f"{name}, {result['parser']}" if result.get("parser") else name


def _dimensions(results: Named) -> Table:
    """A row for each dimension of the questions that were answered."""
    rows: list[list[Cell]] = [
        [responses, group.removeprefix("/"), *(score(result, f"{name}{group}") for name in ANSWERS)]
        for responses, result in results
        for group in GROUPS
        if group and result[f"accuracy{group}"] == result[f"accuracy{group}"]
    ]
    return Table("dimensions", ["responses", "dimension", *ANSWERS], rows, left=2, ranked=True)


def _remarks(result: Mapping[str, Any]) -> list[str]:
    lines = [
        f"{result['descriptions']:,} descriptions and {result['questions']:,} questions, {result['images']:,} images"
    ]
    if not result["descriptions"]:
        lines.append("no description is there: no chair, cover, hal and cog, and no one number")
    elif not result["questions"]:
        lines.append("no question is answered: no accuracy and F1, and no one number")
    elif result["f1"] != result["f1"]:
        lines.append("not all three dimensions are answered: no scores of all questions, and no one number")
    if result["unreadable"] > 0:
        lines.append(f"{percent(result['unreadable'])} % of the replies are unreadable, and count as wrong")
    for name in ("amber", "chair", "f1") if "interval" in result else ():
        if result[name] == result[name]:
            lines.append(f"interval of {name} over images: {interval(result['interval'][name])}")
    return [*lines, f"signature: {result['signature']}"]
