"""Presents CHAIR's results as text, and its rows with each word that stands for a class marked."""

from collections.abc import Iterator, Sequence
from typing import Any

from halluscope.benchmarks.chair.metric import METRIC
from halluscope.benchmarks.chair.sentences import whole_sentences
from halluscope.reporting import tables
from halluscope.reporting.report_items import (
    HALLUCINATED,
    KIND_OF,
    MISSED,
    Item,
    badness,
    judged_texts,
    outcomes,
    placed,
    word_facts,
)
from halluscope.reporting.tables import Named, Report, Values, best_first, filled, is_defined, table

COLUMNS = ("chair_s", "chair_i", "recall", "mean_words:.1f")
INTERVALS = ("chair_s", "chair_i", "recall")

UNDEFINED = "CHAIR_i is undefined: no caption mentions an object."
MEANING = "Of 100 mentions of objects in the captions, {chair_i} name an object that is not in the image."


def meaning(scores: Values) -> str:
    """Say in a sentence what CHAIR_i means."""
    if not is_defined(scores[METRIC.principal]):
        return UNDEFINED
    return filled(MEANING, scores)


def report(results: Named, **_: Any) -> Report:
    """Return a table of the results, with notes on each result; the best CHAIR_i comes first."""
    scores = table(best_first(METRIC, results), COLUMNS, intervals=INTERVALS)
    remarks = {}
    for name, result in results:
        remarks[name] = notes(result)
    return tables.report([scores], remarks)


def notes(result: Values) -> list[str]:
    """Return what is said of a result below the table."""
    lines = []
    if "image_list" in result:
        lines.append(f"images: {result['image_list']}")
    if "unfinished" in result:
        lines.append(f"responses that lost an unfinished sentence: {result['unfinished']:,}")
    lines.append(f"signature: {result['signature']}")
    return lines


def items(rows: Sequence[Values], options: Values, voters: object = None) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order."""
    for row, response in zip(rows, judged_texts(rows, options), strict=True):
        text = response
        if options.get("drop_unfinished"):
            text = whole_sentences(response)
        classes = outcomes(row)
        names = []
        kinds = []
        for _, name in row["mentions"]:
            outcome = classes[name]
            names.append(name)
            kinds.append((KIND_OF[outcome], outcome))
        marks, facts = placed(names, row["places"], kinds)
        facts += word_facts(row[MISSED], MISSED)
        yield Item(
            id=str(row["image_id"]),
            text=text,
            image=str(row["image_id"]),
            marks=marks,
            facts=facts,
            errors=[error for error in (HALLUCINATED, MISSED) if row[error]],
            classes=classes,
            badness=badness([mark for mark in marks if mark.kind == "bad"], row[MISSED]),
        )
