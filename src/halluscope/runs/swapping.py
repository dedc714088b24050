"""Says what another judge of the same responses changes: how often two judges agree, the scores, and the ranks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.errors import RunError
from halluscope.registry import LOWER, Benchmark
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table, plain, share
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
    benchmark, each = benchmark_of(runs.values()), [*draw(runs, resampling).values()]
    wanted = [*scores] or [benchmark.principal]
    known_scores(each, wanted)
    pairs: Pairs = dict(zip(ours, zip(each[::2], each[1::2], strict=True), strict=True))
    found: dict[str, Any] = {"rows": len(each[0].run.found), "agreement": [], "scores": []}
    for name, (one, other) in pairs.items():
        texts = [of.run.ready.matched.texts for of in (one, other)]
        if differing := sum(ours != theirs for ours, theirs in zip(*texts, strict=True)):
            raise RunError(
                f"{differing:,} of {len(texts[0]):,} responses of {short_repr(name)} differ between the two runs; "
                "expected one file of responses, scored by two judges. `halluscope compare` compares LVLMs."
            )
        found["agreement"] += ({"model": name, **of} for of in _agreement(benchmark, one, other))
    for score in wanted:
        for name, (one, other) in pairs.items():
            values, by = one.against(other, score, resampling.level)
            found["scores"].append({"model": name, "score": score, "values": values, "by": asdict(by)})
    found["ranks"] = [_ranks(benchmark, score, pairs, resampling) for score in wanted if len(pairs) > 1]
    keys = [of.run.keys for of in each[:2]]
    both = {key: tuple(of.get(key, "") for of in keys) for key in {**keys[0], **keys[1]}}
    found["judges"] = {key: values for key, values in both.items() if values[0] != values[1]}
    return Result(found, _report(found, benchmark), found["scores"])


def _agreement(benchmark: Benchmark, *both: Drawn) -> Iterator[dict[str, Any]]:
    """Yield how often rows have the same value, for each score of a row; for lists of classes, of all mentions."""
    rows = [one.run.found for one in both]
    same: list[tuple[str, int, int, float]] = []  # score, how many are the same, of how many, kappa
    for name in benchmark.means:
        values = np.array([[row.get(name) for row in of] for of in rows], dtype=float)  # NaN for None
        one, other = values[:, ~np.isnan(values).any(axis=0)]
        same.append((name, int((one == other).sum()), len(one), _kappa(one, other)))
    if all({*SAID_OF} <= row.keys() for of in rows for row in of):
        ours, theirs = (
            {(at, name) for at, row in enumerate(of) for name in (*row["found"], *row["hallucinated"])}
            for of in rows
        )
        same.append(("mentions", len(ours & theirs), len(ours | theirs), np.nan))
    for score, count, total, likeness in same:
        if total:
            ends = dict(zip(("low", "high"), wilson(count, total), strict=True))
            yield {"score": score, "of": total, "same": count / total, **ends, "kappa": likeness}


def _kappa(one: Floats, other: Floats) -> float:
    values, numbers = np.unique([one, other], return_inverse=True)
    size, (ours, theirs) = len(values), numbers.reshape(2, -1)
    if not 0 < size <= MOST_VALUES:
        return float("nan")
    return kappa(np.bincount(size * ours + theirs, minlength=size**2).reshape(size, size))


def _ranks(benchmark: Benchmark, score: str, pairs: Pairs, resampling: Bootstrap) -> dict[str, Any]:
    """Return each LVLM's rank by both judges, from 1, and Kendall's tau of the two rankings with its interval."""
    sign = 1 if benchmark.direction(score) == LOWER else -1
    values = np.array([[sign * of.scores[score] for of in both] for both in pairs.values()])
    resampled = np.array([[of.resampled[score] for of in both] for both in pairs.values()])
    low, high = resampling.interval(_tau(resampled))
    ranks = 1 + (values[:, None] > values[None]).sum(axis=1)
    return {
        "score": score,
        "ranks": dict(zip(pairs, map(tuple, ranks.tolist()), strict=True)),
        "tau": {"value": float(_tau(values[..., None])[0]), "low": low, "high": high},
    }


def _tau(values: Floats) -> Floats:
    """Return Kendall's tau-a of two rankings [LVLMs, 2, resamples], per resample."""
    signs = [np.sign(one - other).prod(axis=0) for one, other in combinations(values, 2)]
    return np.asarray(np.mean(signs, axis=0), dtype=np.float64)


def _report(found: Mapping[str, Any], benchmark: Benchmark) -> Report:
    agreement: list[list[Cell]] = [
        [
            one["model"],
            one["score"],
            Number(one["of"], "d", 1),
            share(one["same"], (one["low"], one["high"])),
            plain(one["kappa"]),
        ]
        for one in found["agreement"]
    ]
    scores: list[list[Cell]] = [
        [
            one["model"],
            one["score"],
            *difference_cells(one["values"], Difference(**one["by"]), benchmark.is_points(one["score"])),
            plain(one["by"]["p"]),
        ]
        for one in found["scores"]
    ]
    report: list[Table | Notes] = [
        Table(
            "agreement",
            ["responses", "of a row", "rows", "same", "kappa"],
            agreement,
            left=2,
            intervals=("same",),
        ),
        Table(
            "scores",
            ["responses", "score", "1st judge", "2nd judge", "diff", "p"],
            scores,
            left=2,
            intervals=("diff",),
        ),
    ]
    for one in found["ranks"]:
        rows = [[name, *(Number(rank, "d", 1) for rank in both)] for name, both in one["ranks"].items()]
        tau = "{value:.2f} ({low:.2f} to {high:.2f})".format(**one["tau"])
        report += [
            Table("ranks", [f"by {one['score']}", "1st judge", "2nd judge"], rows),
            Notes([f"Kendall's tau of the two rankings is {tau}"]),
        ]
    differing = [
        f"{name} is {one_line(one)} and {one_line(other)}" for name, (one, other) in found["judges"].items()
    ]
    advice = (
        "Scores by two judges cannot be compared. To link them, mark a sample by hand: `halluscope certify`."
    )
    return [*report, Notes([f"{found['rows']:,} rows that all runs have.", *differing, advice])]
