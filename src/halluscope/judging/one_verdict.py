"""Hints that a judge gives nearly all responses one and the same verdict.

That may be right, where a model is very good or very bad, so it is a hint and no warning.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

# With fewer verdicts, or a lower share of them, one value is no sign of a broken judge.
LEAST_ROWS = 100
SHARE = 0.95

# Columns of rows that hold a judge's verdict. A number of extra claims is none: of a good model it is 0 nearly always.
COLUMNS = ("correct", "correctness", "rating", "relevancy", "accuracy")


def hints(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line per kind of verdict that nearly all rows share; missing ones do not count."""
    lines = []
    for column in COLUMNS:
        verdicts = []
        for row in rows:
            if row.get(column) is not None:
                verdicts.append(row[column])
        if len(verdicts) < LEAST_ROWS:
            continue
        verdict, times = Counter(verdicts).most_common(1)[0]
        if times > SHARE * len(verdicts):
            lines.append(
                f"{times:,} of {len(verdicts):,} responses have the verdict {column} {str(verdict).lower()}. Either "
                "the model earns it, or the judge gives it to everybody: read some of the judge's replies (--out "
                "FOLDER, then report FOLDER), or ask another judge (--judge)."
            )
    return lines
