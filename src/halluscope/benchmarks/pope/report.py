"""POPE's results as text: a row for each sampling, and one for all questions."""

from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.reporting.tables import Named, aligned, class_table, interval, percent

POOLED = "pooled"

COLUMNS = ("accuracy", "precision", "recall", "f1", "yes_ratio", "unparsed")
"""Scores; beside them stands the mean of the samplings' F1, which LLaVA reports."""


def report(results: Named, shown: Named, style: str, *, every: bool = False, **_: Any) -> str:
    """Tables of results, in percent, and the signatures.

    Args:
        results: of the responses that were scored, each with the `parser` that read them.
        shown: the same; nothing is published in this form.
        style: of the tables.
        every: whether each parser has a row; then the samplings have none.
    """
    parts = [_table(shown, style, every)]
    if any("corrected" in result for _, result in results):
        parts += ["", _correction(results, style)]
    for name, result in results:
        parts.append(f"\n{name}, {result['parser']}\n  signature: {result['signature']}")
        if "classes" in result:
            parts.append(class_table(result, style))
    return "\n".join(parts)


def _table(results: Named, style: str, pooled_only: bool) -> str:
    rows = []
    for name, result in results:
        intervals, parser = result.get("interval", {}), result["parser"]
        for sampling, scores in ({} if pooled_only else result.get("samplings", {})).items():
            of_sampling = intervals.get("samplings", {}).get(sampling, {})
            rows.append([name, parser, sampling, *_row(scores, of_sampling)])
        rows.append([name, parser, POOLED, *_row(result, intervals)])
    header = ["responses", "parser", "sampling", "questions", *COLUMNS, "f1 interval", "f1_mean"]
    return aligned(rows, header, style, left=3)


def _correction(results: Named, style: str) -> str:
    """What corrected answers move: each sampling's F1 and rank by POPE's own answers and by the others."""
    rows = []
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
                *(percent(own), percent(other), f"{100 * (other - own):+.1f}", *rank),
            ]
            for (name, result), (own, other), rank in zip(results, pairs, ranks, strict=True)
        ]
    header = [
        "responses",
        "parser",
        "sampling",
        "questions",
        "f1",
        "corrected f1",
        "moved",
        "rank",
        "corrected rank",
    ]
    return aligned(rows, header, style, left=3)


def _of(result: Mapping[str, Any], sampling: str) -> Mapping[str, Any]:
    """The scores of a sampling, or of all questions."""
    found: Mapping[str, Any] = result if sampling == POOLED else result["samplings"][sampling]
    return found


def _ranks(scores: Sequence[float]) -> list[int]:
    """Each score's place, the highest first; equal ones share it."""
    return [1 + sum(other > score for other in scores) for score in scores]


def _row(scores: Mapping[str, Any], intervals: Mapping[str, Any]) -> list[Any]:
    return [
        scores["rows"],
        *(percent(scores[column]) for column in COLUMNS),
        interval(intervals.get("f1", ())),
        percent(scores["f1_mean"]) if "f1_mean" in scores else "",
    ]
