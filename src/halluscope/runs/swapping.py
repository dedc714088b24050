"""Says what another judge of the same responses changes: how often two judges agree, the scores, and the ranks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.errors import RunError
from halluscope.registry import LOWER, Benchmark
from halluscope.reporting.tables import Cell, Notes, Number, Table, plain, share
from halluscope.runs.comparing import SAID_OF, Drawn, difference_cells, draw, known_scores
from halluscope.runs.folder import checked
from halluscope.runs.results import Result
from halluscope.runs.run import benchmark_of
from halluscope.sanitize import one_line, short_repr
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.paired import Difference
from halluscope.stats.ratios import Floats, kappa, wilson

# The most values that a row's score may have for a kappa: verdicts and ratings have few, shares have many
MOST_VALUES = 10

Pairs = Mapping[str, tuple[Drawn, Drawn]]  # LVLM -> its responses by the first judge, and by the second


def swap(
    first: str | Path, second: str | Path, scores: Sequence[str] = (), resampling: Bootstrap | None = None
) -> Result:
    """Compare two judges of the same responses, each by a run, or a folder with a run per LVLM.

    Returns:
        `rows`; `agreement`, for each LVLM and each score of a row the share `same` of the rows in which both judges
        give the same, with Wilson's interval, and Cohen's `kappa`; `scores`, each LVLM's score by both judges, and the
        difference with a paired interval; `ranks`, for two LVLMs or more, each one's rank by both judges, and
        Kendall's tau with an interval; `judges`, what differs in the two judges' signatures.
    """
    resampling = resampling or Bootstrap()
    ours, theirs = checked([Path(first)]), checked([Path(second)])
    if len(ours) == len(theirs) == 1:
        theirs = dict(zip(ours, theirs.values(), strict=True))
    if alone := ours.keys() ^ theirs.keys():
        raise RunError(
            f"Only one of the two judges has a run of {short_repr(min(alone))}; expected runs of the same response "
            "files by both."
        )
    runs = {f"{name}, judge {judge}": of[name] for name in ours for judge, of in enumerate((ours, theirs), 1)}
    benchmark, drawn = benchmark_of(runs.values()), draw(runs, resampling)
    wanted, each = [*scores] or [benchmark.principal], [*drawn.values()]
    known_scores(each, wanted)
    pairs: Pairs = dict(zip(ours, zip(each[::2], each[1::2], strict=True), strict=True))
    for name, both in pairs.items():
        texts = [one.run.ready.matched.texts for one in both]
        if differing := sum(one != other for one, other in zip(*texts, strict=True)):
            raise RunError(
                f"{differing:,} of {len(texts[0]):,} responses of {short_repr(name)} differ between the two runs; "
                "expected one file of responses, scored by two judges. `halluscope compare` compares LVLMs."
            )
    one, other = (of.keys for of in next(iter(pairs.values())))
    keys = {key: (one.get(key, ""), other.get(key, "")) for key in {**one, **other}}
    found: dict[str, Any] = {
        "rows": len(each[0].run.found),
        "agreement": [
            {"model": name, **of} for name, both in pairs.items() for of in _agreement(benchmark, *both)
        ],
        "scores": [
            {"model": name, "score": score, "values": values, "by": asdict(by)}
            for of in wanted
            for name, (one_judge, other_judge) in pairs.items()
            for score, values, by in one_judge.against(other_judge, [of], resampling.level)
        ],
        "ranks": [_ranks(benchmark, score, pairs, resampling) for score in wanted if len(pairs) > 1],
        "judges": {key: values for key, values in keys.items() if values[0] != values[1]},
    }
    return Result(found, [*_report(found, benchmark)], found["scores"])


def _agreement(benchmark: Benchmark, *both: Drawn) -> Iterator[dict[str, Any]]:
    """Yield how often rows have the same value, for each score of a row; for lists of classes, of all mentions."""
    rows = [one.run.found for one in both]
    for name in benchmark.means:
        values = np.array([[row.get(name) for row in of] for of in rows], dtype=float)  # NaN for None
        one, other = values[:, ~np.isnan(values).any(axis=0)]
        if len(one):
            yield {"score": name, **_same(int((one == other).sum()), len(one)), "kappa": _kappa(one, other)}
    if all({*SAID_OF} <= row.keys() for of in rows for row in of):
        named = [
            {(place, name) for place, row in enumerate(of) for name in (*row["found"], *row["hallucinated"])}
            for of in rows
        ]
        if either := named[0] | named[1]:
            yield {"score": "mentions", **_same(len(named[0] & named[1]), len(either)), "kappa": np.nan}


def _same(count: int, total: int) -> dict[str, Any]:
    low, high = wilson(count, total)
    return {"of": total, "same": count / total, "low": low, "high": high}


def _kappa(one: Floats, other: Floats) -> float:
    values, places = np.unique([one, other], return_inverse=True)
    if len(values) > MOST_VALUES:
        return float("nan")
    table = np.zeros((len(values), len(values)), dtype=np.int64)
    np.add.at(table, tuple(places.reshape(2, -1)), 1)
    return kappa(table)


def _ranks(benchmark: Benchmark, score: str, pairs: Pairs, resampling: Bootstrap) -> dict[str, Any]:
    """Return each LVLM's rank by both judges, from 1, and Kendall's tau of the two rankings with its interval."""
    sign = 1 if benchmark.direction(score) == LOWER else -1
    values = np.array([[sign * of.scores[score] for of in both] for both in pairs.values()])
    ranks = 1 + (values[:, None] > values[None]).sum(axis=1)
    low, high = resampling.interval(
        _tau(np.array([[of.resampled[score] for of in both] for both in pairs.values()]))
    )
    return {
        "score": score,
        "ranks": dict(zip(pairs, map(tuple, ranks.tolist()), strict=True)),
        "tau": {"value": float(_tau(values[..., None])[0]), "low": low, "high": high},
    }


def _tau(values: Floats) -> Floats:
    """Return Kendall's tau-a of two rankings [LVLMs, 2, resamples], per resample."""
    signs = [np.sign(values[one] - values[other]) for one, other in combinations(range(len(values)), 2)]
    return np.asarray(np.mean([of[0] * of[1] for of in signs], axis=0), dtype=np.float64)


def _report(found: Mapping[str, Any], benchmark: Benchmark) -> Iterator[Table | Notes]:
    rows: list[list[Cell]] = [
        [
            one["model"],
            one["score"],
            Number(one["of"], "d", 1),
            share(one["same"], (one["low"], one["high"])),
            plain(one["kappa"]),
        ]
        for one in found["agreement"]
    ]
    header = ["responses", "of a row", "rows", "same", "kappa"]
    yield Table("agreement", header, rows, left=2, intervals=("same",))
    rows = [
        [
            one["model"],
            one["score"],
            *difference_cells(one["values"], Difference(**one["by"]), benchmark.is_points(one["score"])),
            plain(one["by"]["p"]),
        ]
        for one in found["scores"]
    ]
    header = ["responses", "score", "1st judge", "2nd judge", "diff", "p"]
    yield Table("scores", header, rows, left=2, intervals=("diff",))
    for one in found["ranks"]:
        rows = [[name, *(Number(rank, "d", 1) for rank in both)] for name, both in one["ranks"].items()]
        yield Table("ranks", [f"by {one['score']}", "1st judge", "2nd judge"], rows)
        tau = "{value:.2f} ({low:.2f} to {high:.2f})".format(**one["tau"])
        yield Notes([f"Kendall's tau of the two rankings is {tau}"])
    yield Notes(
        [
            f"{found['rows']:,} rows that all runs have.",
            *(
                f"{name} is {one_line(one)} and {one_line(other)}"
                for name, (one, other) in found["judges"].items()
            ),
            "Scores by two judges cannot be compared. To link them, mark a sample by hand: `halluscope certify`.",
        ]
    )
