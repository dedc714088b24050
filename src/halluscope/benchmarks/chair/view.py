"""Prepares CHAIR's rows for display: each word that stands for a class is marked as found or hallucinated."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.reporting.marking import KIND_OF, badness, outcomes, placed, told
from halluscope.reporting.shown import HALLUCINATED, MISSED, Item, said
from halluscope.reporting.tables import is_defined, percent


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Any = None
) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order.

    Args:
        rows: the rows of a run's items.jsonl.
        options: the metric's options.
        voters: unused, because no judge votes.
    """
    for row, text in zip(rows, said(rows, options), strict=True):
        classes, names = outcomes(row), [name for _, name in row["mentions"]]
        marks, words = placed(
            names, row["places"], [(KIND_OF[classes[name]], classes[name]) for name in names]
        )
        yield Item(
            id=str(row["image_id"]),
            text=text,
            image=str(row["image_id"]),
            marks=marks,
            facts=[*words, *told(row[MISSED], MISSED)],
            errors=[error for error in (HALLUCINATED, MISSED) if row[error]],
            classes=classes,
            badness=badness([mark for mark in marks if mark.kind == "bad"], row[MISSED]),
        )


def meaning(scores: Mapping[str, Any]) -> str:
    """Say in a sentence what CHAIR_i means."""
    if not is_defined(scores["chair_i"]):
        return "CHAIR_i is undefined: no caption mentions an object."
    share = percent(scores["chair_i"])
    return f"Of 100 mentions of objects in the captions, {share} name an object that is not in the image."
