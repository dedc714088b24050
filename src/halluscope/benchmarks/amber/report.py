"""Presents AMBER's results as text: one row per LVLM, one row per dimension, and notes."""

from collections.abc import Mapping
from typing import Any

from halluscope.benchmarks.amber.scoring import GROUPS
from halluscope.reporting import tables
from halluscope.reporting.tables import (
    Cell,
    Named,
    Report,
    Table,
    interval,
    percent,
    ranked,
    score,
    table,
)
from halluscope.signature import keys_of

DESCRIPTIONS = ("chair", "cover", "hal", "cog")
ANSWERS = ("accuracy", "precision", "recall", "f1")


def report(results: Named, **_: Any) -> Report:
    """Return tables in percent, and the signatures.

    Args:
        results: the results of the scored responses.
    """
    named = [(_name(name, result), result) for name, result in results]
    of_all = table(ranked(named, "amber"), ("amber", *DESCRIPTIONS, *ANSWERS))
    return tables.report([of_all, _dimensions(named)], {name: _remarks(result) for name, result in named})


def _name(name: str, result: Mapping[str, Any]) -> str:
    """Return the name of the responses, with their parser if there are several parsers."""
    return f"{name}, {result['parser']}" if result.get("parser") else name


def _dimensions(results: Named) -> Table:
    """Return one row per dimension of the answered questions."""
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
        lines.append("no descriptions: chair, cover, hal, cog and amber are undefined")
    elif not result["questions"]:
        lines.append("no responses to questions: accuracy, precision, recall, f1 and amber are undefined")
    elif result["f1"] != result["f1"]:
        lines.append("a dimension has no responses: the scores over all questions and amber are undefined")
    choices = keys_of(result["signature"])
    if choices["convention"] == "official" and choices["nouns"].startswith(("nouns-", "spacy-")):
        lines.append("its nouns are not those of the authors' script: add --reader nltk (extra nltk)")
    if result["unreadable"] > 0:
        lines.append(
            f"{percent(result['unreadable'])} % of the responses to questions are unreadable, and count as wrong"
        )
    for name in ("amber", "chair", "f1") if "interval" in result else ():
        if result[name] == result[name]:
            lines.append(f"interval of {name} over images: {interval(result['interval'][name])}")
    return [*lines, f"signature: {result['signature']}"]
