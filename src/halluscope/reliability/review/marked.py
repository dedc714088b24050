"""Finds the rows of a dataset that people did not mark as valid."""

from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.reliability.review.making import identify
from halluscope.reliability.review.sheet import Sheet

UNMARKED = "it is not on the marked sheet, or has no mark there"
INVALID = "a person marked it as not valid"


def rejected(rows: Sequence[Mapping[str, Any]], sheet: Sheet) -> dict[int, str]:
    """Return the places of the rows that no person found valid, with the reasons.

    Args:
        rows: the rows from which the sheet was made, with unchanged questions.
        sheet: a sheet made with the marks "valid".

    Raises:
        ValueError: for a sheet with other marks, or a sheet that has none of the rows.
    """
    marks = {
        (entry["id"], _bare(entry["question"])): valid
        for entry, valid in zip(sheet.entries, sheet.valid(), strict=True)
    }
    named = (identify(row, place) for place, row in enumerate(rows))
    found = [marks.get((entry["id"], _bare(entry["question"]))) for entry in named]
    if not any(mark is not None for mark in found):
        raise ValueError(
            f"The sheet {sheet.name} has none of the {len(rows):,} rows; expected a sheet that `halluscope review "
            "make` made from this parallel form, with the same seed and model."
        )
    return {place: UNMARKED if mark is None else INVALID for place, mark in enumerate(found) if not mark}


def _bare(question: str) -> str:
    return " ".join(question.split())
