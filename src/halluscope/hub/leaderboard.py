"""The results that stand on the Hub for a benchmark, beside the paper's and one's own."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from huggingface_hub import HfApi

from halluscope.hub.publisher import calling
from halluscope.reporting import published
from halluscope.reporting.tables import Cell, Notes, Table, plain
from halluscope.runs.results import beside
from halluscope.runs.run import Run
from halluscope.sanitize import one_line

NO_NOTES = "as by default"


def entries(repository: str) -> list[dict[str, Any]]:
    """Return the results for a dataset on the Hub, each with its source and how it was made."""
    with calling(f"reading the leaderboard of {repository}", ""):
        board = HfApi().get_dataset_leaderboard(repository, base_model_only=False)
        return [
            {
                "model": str(one.model_id),
                "value": float(one.value),
                "how": str(one.notes or ""),
                "source": str((one.source or {}).get("url") or one.filename),
                "verified": bool(one.verified),
                "proposed": one.pull_request is not None,
            }
            for one in board
        ]


def report(found: list[dict[str, Any]], repository: str, runs: Mapping[str, Run]) -> Iterator[Table | Notes]:
    """Yield a table per way of judging and asking, your own runs, and the paper's rows; none is ranked with another."""
    by_how: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in found:
        by_how[one["how"] or NO_NOTES].append(one)
    for how, of in by_how.items():
        rows: list[list[Cell]] = [
            [
                one_line(one["model"], 80) + (" (proposed)" if one["proposed"] else ""),
                plain(one["value"], ".2f"),
                one_line(one["source"], 120),
            ]
            for one in sorted(of, key=lambda one: -one["value"])
        ]
        yield Table(
            "leaderboard", [one_line(how, 80), "value", "source"], rows, of=f"{repository} on the Hub"
        )
    if not found:
        yield Notes([f"{repository} has no results on the Hub."])
    if not runs:
        return
    first = next(iter(runs.values()))
    benchmark, score = first.benchmark, first.benchmark.principal
    rows = []
    for name, run in runs.items():
        percent = published.in_percent(benchmark, run.options, score)
        rows.append(
            [name, plain(run.scores[score] * (100 if percent else 1), ".2f"), published.how(run.scores)]
        )
    yield Table("yours", ["your runs", score, "how"], rows)
    yield from beside(benchmark, [(name, run.scores) for name, run in runs.items()], first.options)
