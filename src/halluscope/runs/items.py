"""Says of each row that several models answered how hard it is, and how well it tells good models from bad."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.errors import RunError
from halluscope.registry import LOWER, Benchmark
from halluscope.reporting.tables import Cell, Notes, Table, plain, share
from halluscope.runs.comparing import shared
from halluscope.runs.folder import checked
from halluscope.runs.page import shown
from halluscope.runs.results import Result
from halluscope.runs.run import benchmark_of
from halluscope.sanitize import one_line, short_repr
from halluscope.stats import items as statistics
from halluscope.stats.tallies import Bools

# How much of a question is shown in a table
SHOWN = 60


def items(given: Sequence[str | Path], score: str = "", top: int = 20, seed: int = 0) -> Result:
    """Return what the answers of at least three models say about each row that all of them have.

    `score` is a share that each row has; "" for the principal score, or the first that rows have.

    Returns:
        `models`, `score`, `rows`; `items`, a dict per row with its id, `question`, `label`, `difficulty` (the share of
        models that are wrong), `discrimination` (NaN for fewer than 8 models), `irt_difficulty`,
        `irt_discrimination` (from 20 models on) and `suspect`; and `subset`, the smallest random subset that gives the
        full ranking: `ids`, `kept`, `error`. None for no such subset.
    """
    runs = checked([Path(folder) for folder in given])
    benchmark, places = benchmark_of(runs.values()), shared(runs)
    name, first = _score(benchmark, score), next(iter(runs))
    labels = {of: [run.columns["references"][place] for place in places[of]] for of, run in runs.items()}
    if other := next((of for of in runs if labels[of] != labels[first]), None):
        raise RunError(
            f"Rows with the same ids differ between the runs {short_repr(first)} and {short_repr(other)}; expected "
            "runs on the same version of one dataset."
        )
    each = [[run.found[place].get(name) for place in places[of]] for of, run in runs.items()]
    values = np.array(each, dtype=np.float64)  # NaN for None
    known: Bools = np.asarray(~np.isnan(values).any(axis=0))
    right = 1 - values[:, known] if benchmark.direction(name) == LOWER else values[:, known]
    hard, telling = statistics.difficulty(right), statistics.discrimination(right)
    suspects = np.where(np.isnan(telling), hard == 1, telling < 0)
    columns = {"difficulty": hard, "discrimination": telling}
    if fit := statistics.fitted(right):
        columns |= {"irt_difficulty": fit[0], "irt_discrimination": fit[1]}
    rows, run = shown(runs[first]).items, runs[first]
    kept = [place for place, is_known in zip(places[first], known, strict=True) if is_known]
    found = [
        {
            "id": rows[of].id,
            "question": rows[of].question,
            "label": run.found[of].get(benchmark.target, run.found[of].get("label")),
            **{column: float(value[place]) for column, value in columns.items()},
            "suspect": bool(suspects[place]),
        }
        for place, of in enumerate(kept)
    ]
    small = statistics.smallest(right, seed)
    result = {
        "models": [*runs],
        "score": name,
        "rows": len(known),
        "items": found,
        "subset": small
        and {"ids": [found[of]["id"] for of in small.rows], "kept": small.kept, "error": small.error},
    }
    order = sorted(np.flatnonzero(suspects), key=lambda place: (-hard[place], np.nan_to_num(telling[place])))
    table: list[list[Cell]] = [
        [
            one["id"],
            f"{one['question'][:SHOWN]}{'...' * (len(one['question']) > SHOWN)}",
            str(one["label"]),
            share(one["difficulty"]),
            plain(one["discrimination"]),
        ]
        for one in (found[place] for place in order[:top])
    ]
    header = ["suspect", "question", "label", "wrong", "discrimination"]
    notes = Notes([*_notes(result, len(order))])
    return Result(result, [Table("suspects", header, table, left=3), notes], found)


def _score(benchmark: Benchmark, score: str) -> str:
    shares = [one for one in benchmark.means if benchmark.direction(one) and not benchmark.is_points(one)]
    if score and score not in shares:
        raise RunError(
            f"--score is {short_repr(score)}; expected a share that each row of {benchmark.title} has: "
            f"{', '.join(shares) or 'there is none'}."
        )
    if not shares:
        raise RunError(
            f"The rows of {benchmark.title} have no score of their own; expected shares, as POPE's have."
        )
    return score or (benchmark.principal if benchmark.principal in shares else shares[0])


def _notes(result: Mapping[str, Any], suspects: int) -> Iterator[str]:
    models, small = len(result["models"]), result["subset"]
    yield f"{len(result['items']):,} rows, {models} models: {', '.join(map(one_line, result['models']))}"
    if lacking := result["rows"] - len(result["items"]):
        yield f"{lacking:,} rows are left out: a model has no {result['score']} there"
    if models < statistics.FEWEST_TO_CORRELATE:
        yield (
            f"{suspects:,} suspects: rows that all models get wrong. Too few models to say how well a row tells them "
            f"apart: expected {statistics.FEWEST_TO_CORRELATE}"
        )
    else:
        yield f"{suspects:,} suspects: rows that all models get wrong, or good models more often than bad ones"
    if models < statistics.FEWEST_TO_FIT:
        yield f"too few models for item response theory: expected {statistics.FEWEST_TO_FIT}"
    yield (
        f"{len(small['ids']):,} random rows give the full ranking in {small['kept']:.0%} of draws; their scores "
        f"differ from those of all rows by {100 * small['error']:.1f} points (root mean square)"
        if small
        else "no smaller random subset gives the full ranking"
    )
