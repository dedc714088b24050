"""How hard each row is, and how well it tells models apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.benchmark import LOWER, Benchmark
from halluscope.errors import RunError
from halluscope.reporting.printed import Printed
from halluscope.reporting.tables import Cell, Notes, Report, Table, Values, plain, share
from halluscope.runs.comparing import common_rows
from halluscope.runs.folder import checked, view
from halluscope.runs.run import Run, benchmark_of
from halluscope.sanitize import one_line, short_repr
from halluscope.stats import items as statistics
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools

SHOWN = 61  # how much of a question is shown in a table


@dataclass(frozen=True)
class Measured:
    """What the responses of several models say about each row."""

    difficulty: Floats  # the share of models that are wrong: [rows]
    discrimination: Floats  # NaN for too few models: [rows]

    @property
    def is_suspect(self) -> Bools:
        """Which rows all models get wrong, or good models more often than bad ones."""
        untold = np.isnan(self.discrimination)
        return np.where(untold, self.difficulty == 1, self.discrimination < 0)

    def row(self, row: int) -> dict[str, float]:
        """Return what is measured of a row."""
        return {
            "difficulty": float(self.difficulty[row]),
            "discrimination": float(self.discrimination[row]),
        }


def items(folders: Sequence[str | Path], score: str = "", top: int = 20, seed: int = 0) -> Printed:
    """Return what the answers of at least three models say about each row that all of them have.

    `score` is a share that each row has; "" for the principal score, or the first that rows have.

    Returns:
        `models`, `score`, `rows`; `items`, a dict per row with its id, `question`, `label`, `difficulty` (the share of
        models that are wrong), `discrimination` (NaN for fewer than 8 models) and `suspect`; and `subset`, the smallest
        random subset that gives the full ranking: `ids`, `kept`, `error`. None for no such subset.
    """
    runs = checked(folders)
    benchmark = benchmark_of(runs)
    rows = common_rows(runs)
    name = share_of_rows(benchmark, score)
    check_references(runs, rows)

    values = values_of(runs, rows, name)
    is_known: Bools = np.asarray(~np.isnan(values).any(axis=0))
    right = values[:, is_known]
    if benchmark.direction(name) == LOWER:
        right = 1 - right
    measured = Measured(statistics.difficulty(right), statistics.discrimination(right))
    first = next(iter(runs))
    known_rows = np.array(rows[first])[is_known].tolist()
    table = table_of(runs[first], known_rows, measured)
    result = {
        "models": list(runs),
        "score": name,
        "rows": len(is_known),
        "items": table,
        "subset": subset_of(right, seed, table),
    }
    return Printed(result, report(result, suspects_of(measured), top), table)


def share_of_rows(benchmark: Benchmark, score: str) -> str:
    """Return a score that each row has: this one, or by default the principal one if possible."""
    shares = []
    for name in benchmark.means:
        if benchmark.direction(name) and not benchmark.is_points(name):
            shares.append(name)
    if score and score not in shares:
        known = ", ".join(shares) or "there is none"
        raise RunError(
            f"--scores is {short_repr(score)}; expected a share that each row of {benchmark.title} has: {known}."
        )
    if not shares:
        raise RunError(
            f"The rows of {benchmark.title} have no score of their own; expected shares, as POPE's have."
        )
    if score:
        return score
    if benchmark.principal in shares:
        return benchmark.principal
    return shares[0]


def check_references(runs: Mapping[str, Run], rows: Mapping[str, Sequence[int]]) -> None:
    """Check that all runs are on the same version of a dataset."""
    first = next(iter(runs))
    expected = [runs[first].columns["references"][row] for row in rows[first]]
    for name, run in runs.items():
        if [run.columns["references"][row] for row in rows[name]] != expected:
            raise RunError(
                f"Rows with the same ids differ between the runs {short_repr(first)} and {short_repr(name)}; expected "
                "runs on the same version of one dataset."
            )


def values_of(runs: Mapping[str, Run], rows: Mapping[str, Sequence[int]], score: str) -> Floats:
    """Return each row's value of a score, NaN where a row has none: [models, rows]."""
    values = []
    for name, run in runs.items():
        values.append([run.found[row].get(score) for row in rows[name]])
    return np.array(values, dtype=np.float64)


def table_of(run: Run, rows: Sequence[int], measured: Measured) -> list[dict[str, Any]]:
    """Return what is known and measured of each row."""
    items = view(run)
    is_suspect = measured.is_suspect
    table = []
    for number, row in enumerate(rows):
        values = run.found[row]
        item: dict[str, Any] = {
            "id": items[row].id,
            "question": items[row].question,
            "label": values.get(run.benchmark.target, values.get("label")),
        }
        item.update(measured.row(number))
        item["suspect"] = bool(is_suspect[number])
        table.append(item)
    return table


def subset_of(right: Floats, seed: int, table: Sequence[Values]) -> dict[str, Any] | None:
    """Return the smallest random subset that gives the full ranking; None if there is none."""
    smallest = statistics.smallest(right, seed)
    if smallest is None:
        return None
    ids = [table[row]["id"] for row in smallest.rows]
    return {"ids": ids, "kept": smallest.kept, "error": smallest.error}


def suspects_of(measured: Measured) -> list[int]:
    """Return the suspect rows, the hardest first."""
    discrimination = np.nan_to_num(measured.discrimination)
    suspects: list[int] = np.flatnonzero(measured.is_suspect).tolist()
    return sorted(suspects, key=lambda row: (-measured.difficulty[row], discrimination[row]))


def report(result: Values, suspects: Sequence[int], top: int) -> Report:
    """Return a table of the suspects, at most so many, and notes."""
    rows = result["items"]
    cells: list[list[Cell]] = []
    for number in suspects[:top]:
        row = rows[number]
        label: Cell = None  # rows that a judge grades have none
        if row["label"] is not None:
            label = str(row["label"])
        cells.append(
            [
                row["id"],
                one_line(row["question"], SHOWN),
                label,
                share(row["difficulty"]),
                plain(row["discrimination"]),
            ]
        )
    header = ["suspect", "question", "label", "wrong", "discrimination"]
    return [Table("suspects", header, cells, left=3), Notes(remarks(result, len(suspects)))]


def remarks(result: Values, suspects: int) -> list[str]:
    """Return what is said below the table."""
    models = result["models"]
    rows = len(result["items"])
    lines = [f"{rows:,} rows, {len(models)} models: {', '.join(models)}"]
    lacking = result["rows"] - rows
    if lacking:
        lines.append(f"{lacking:,} rows are left out: a model has no {result['score']} there")
    enough = statistics.FEWEST_TO_CORRELATE
    why = ", or good models more often than bad ones"
    if len(models) < enough:
        why = f". Too few models to say how well a row tells them apart: expected {enough}"
    lines.append(f"{suspects:,} suspects: rows that all models get wrong{why}")
    lines.append(said_of_subset(result["subset"]))
    return lines


def said_of_subset(subset: Values | None) -> str:
    if subset is None:
        return "no smaller random subset gives the full ranking"
    return (
        f"{len(subset['ids']):,} random rows give the full ranking in {subset['kept']:.0%} of draws; their scores "
        f"differ from those of all rows by {100 * subset['error']:.1f} points (root mean square)"
    )
