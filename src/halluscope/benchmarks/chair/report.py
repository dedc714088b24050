"""Presents CHAIR's results as text, and its rows with each word that stands for a class marked."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.benchmarks.chair.metric import finished
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
from halluscope.reporting.tables import Declared

VIEW = Declared(__file__)
report, meaning = VIEW.report, VIEW.meaning


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Any = None
) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order."""
    read = finished if options.get("drop_unfinished") else str
    for row, text in zip(rows, map(read, judged_texts(rows, options)), strict=True):
        classes, names = outcomes(row), [name for _, name in row["mentions"]]
        kinds = [(KIND_OF[classes[name]], classes[name]) for name in names]
        marks, words = placed(names, row["places"], kinds)
        yield Item(
            id=str(row["image_id"]),
            text=text,
            image=str(row["image_id"]),
            marks=marks,
            facts=[*words, *word_facts(row[MISSED], MISSED)],
            errors=[error for error in (HALLUCINATED, MISSED) if row[error]],
            classes=classes,
            badness=badness([mark for mark in marks if mark.kind == "bad"], row[MISSED]),
        )
