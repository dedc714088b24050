"""Presents CHAIR's results as text."""

from typing import Any

from halluscope.reporting import tables
from halluscope.reporting.tables import Named, Report, Table, label_names, labels, plain, score
from halluscope.responses.lengths import MEAN_WORDS

COLUMNS = ("chair_s", "chair_i", "recall")


def report(results: Named, **_: Any) -> Report:
    """Return one row per LVLM, in percent, with any intervals, and the signatures below."""
    rows = [
        [*label, *(score(result, name) for name in COLUMNS), plain(result[MEAN_WORDS], ".1f")]
        for label, (_, result) in zip(labels(results), results, strict=True)
    ]
    names = label_names(results)
    scores = Table("scores", [*names, *COLUMNS, MEAN_WORDS], rows, ranked=True, intervals=COLUMNS)
    return tables.report([scores], {name: [f"signature: {result['signature']}"] for name, result in results})
