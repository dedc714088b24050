"""What people's marks leave of a dataset's rows: those that they found valid."""

from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.reliability.review.making import identify
from halluscope.reliability.review.sheet import Sheet

UNMARKED = "it is not on the marked sheet, or has no mark there"
INVALID = "a person marked it as not valid"


def rejected(rows: Sequence[Mapping[str, Any]], sheet: Sheet) -> dict[int, str]:
    """The places of the rows that no person found valid, and why.

    Args:
        rows: those that the sheet was made of, with the questions that they had then.
        sheet: made with the marks "valid".

    Raises:
        ValueError: for a sheet with other marks, or one that is about none of the rows.
    """
    marks = {
        (entry["id"], _bare(entry["question"])): valid
        for entry, valid in zip(sheet.entries, sheet.valid(), strict=True)
    }
    named = (identify(row, place) for place, row in enumerate(rows))
    found = [marks.get((entry["id"], _bare(entry["question"]))) for entry in named]
    if not any(mark is not None for mark in found):
        raise ValueError(
            f"The sheet {sheet.name} is about none of the {len(rows):,} rows; expected one that `halluscope review "
            "make` made of this parallel form, of the same seed and model."
        )
    return {place: UNMARKED if mark is None else INVALID for place, mark in enumerate(found) if not mark}


def _bare(question: str) -> str:
    return " ".join(question.split())
