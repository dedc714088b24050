"""Presents POPE's results as text: one row per sampling, and one row for all questions."""

from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.reporting.tables import (
    Cell,
    Named,
    Notes,
    Number,
    Report,
    Table,
    class_table,
    share,
)

POOLED = "pooled"

# The scores shown, followed by the mean of the samplings' F1, which LLaVA reports.
COLUMNS = ("accuracy", "precision", "recall", "f1", "yes_ratio", "unparsed")


def report(results: Named, *, every: bool = False, **_: Any) -> Report:
    """Return tables of the results, in percent, and the signatures."""
    parts: list[Table | Notes] = [_table(results, every)]
    if any("corrected" in result for _, result in results):
        parts.append(_correction(results))
    for name, result in results:
        read = f"{name}, {result['parser']}"
        parts.append(Notes([f"signature: {result['signature']}"], read))
        if "classes" in result:
            parts.append(class_table(result, read))
    return parts


def _table(results: Named, pooled_only: bool) -> Table:
    rows: list[list[Cell]] = []
    for name, result in results:
        intervals, parser = result.get("interval", {}), result["parser"]
        for sampling, scores in ({} if pooled_only else result.get("samplings", {})).items():
            of_sampling = intervals.get("samplings", {}).get(sampling, {})
            rows.append([name, parser, sampling, *_row(scores, of_sampling)])
        rows.append([name, parser, POOLED, *_row(result, intervals)])
    header = ["responses", "parser", "sampling", "rows", *COLUMNS, "f1_mean"]
    return Table("scores", header, rows, left=3, ranked=True, intervals=("accuracy", "f1"))


def _correction(results: Named) -> Table:
    """Tabulate each sampling's F1 and rank by POPE's own right answers and by the corrected ones."""
    rows: list[list[Cell]] = []
    for sampling in dict.fromkeys(
        (*(name for _, result in results for name in result.get("samplings", ())), POOLED)
    ):
        pairs = [
            (_of(result, sampling)["f1"], _of(result["corrected"], sampling)["f1"]) for _, result in results
        ]
        ranks = zip(*(_ranks(scores) for scores in zip(*pairs, strict=True)), strict=True)
        rows += [
            [
                *(name, result["parser"], sampling, _of(result["corrected"], sampling)["rows"]),
                *(share(own), share(other), Number(other - own, "+.1f"), *rank),
            ]
            for (name, result), (own, other), rank in zip(results, pairs, ranks, strict=True)
        ]
    names = ("f1", "corrected f1", "moved", "rank", "corrected rank")
    return Table("corrected", ["responses", "parser", "sampling", "rows", *names], rows, left=3)


def _of(result: Mapping[str, Any], sampling: str) -> Mapping[str, Any]:
    """Return the scores of a sampling, or of all questions."""
    found: Mapping[str, Any] = result if sampling == POOLED else result["samplings"][sampling]
    return found


def _ranks(scores: Sequence[float]) -> list[int]:
    """Return each score's rank, the highest score first; equal scores share a rank."""
    return [1 + sum(other > score for other in scores) for score in scores]


def _row(scores: Mapping[str, Any], intervals: Mapping[str, Any]) -> list[Cell]:
    return [
        scores["rows"],
        *(share(scores.get(column), intervals.get(column, ())) for column in (*COLUMNS, "f1_mean")),
    ]
