"""What another judge of the same responses changes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.benchmark import LOWER, Benchmark
from halluscope.errors import RunError
from halluscope.reporting.printed import Printed
from halluscope.reporting.tables import Cell, Notes, Report, Table, Values, estimate, plain
from halluscope.runs import folder
from halluscope.runs.comparing import (
    OUTCOMES,
    Compared,
    Rescored,
    of_unlike_rows,
    rescored,
    rows_by_run,
    unlike,
    wanted_scores,
)
from halluscope.runs.comparison_report import cells_of, p_value
from halluscope.runs.folder import checked
from halluscope.runs.run import Run, benchmark_of
from halluscope.sanitize import short_repr
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.intervals import LeftOut
from halluscope.stats.ratios import Floats, kappa
from halluscope.stats.strata import share_by_cluster
from halluscope.stats.tallies import Bools, Ints, numbers

# The most values that a row's score may have for a kappa: verdicts and ratings have few, shares have many
MOST_VALUES = 10

# What names of runs end in
BY_FIRST = ", judge 1"
BY_SECOND = ", judge 2"


@dataclass(frozen=True)
class Both:
    """The responses of an LVLM by both judges."""

    first: Rescored
    second: Rescored


Pairs = Mapping[str, Both]  # by LVLM


def swap(first: str | Path, second: str | Path, scores: Sequence[str], resampling: Bootstrap) -> Printed:
    """Compare two judges of the same responses, each by a run, or a folder with a run per LVLM.

    Returns:
        `rows`; `agreement`, for each LVLM and each score of a row the share `same` of the rows in which both judges
        give the same, with an interval, and Cohen's `kappa`; `scores`, each LVLM's score by both judges, and the
        difference with a paired interval; `ranks`, for two LVLMs or more with a defined score, each one's rank by both
        judges, and Kendall's tau with an interval; `judges`, what differs in the two judges' signatures; `unlike_rows`,
        for each LVLM the scores that are not of the same rows by both judges, for lack of verdicts, and of how many.
    """
    runs = runs_by_judge(first, second)
    parts = rescored(runs, resampling)
    pairs = pairs_of(parts)
    benchmark = benchmark_of(runs)
    agreement = []
    for name, pair in pairs.items():
        for row in agreement_of(benchmark, pair, resampling.level):
            agreement.append({"model": name, **row})
    differences = []
    ranks = []
    compared_scores = wanted_scores(benchmark, scores, list(parts.values()))
    for score in compared_scores:
        for name, pair in pairs.items():
            differences.append(pair.first.against(pair.second, score, (name, name), resampling.level))
        defined = with_score(pairs, score)
        if len(defined) > 1:
            ranks.append(ranks_of(benchmark, score, defined, resampling))
    pair = next(iter(pairs.values()))
    unlike_rows = []
    for model, both in pairs.items():
        by_judge = {model + BY_FIRST: both.first, model + BY_SECOND: both.second}
        unlike_rows.append(rows_by_run(benchmark, compared_scores, by_judge))
    values: dict[str, Any] = {
        "rows": len(pair.first.run.found),
        "agreement": agreement,
        "scores": [score_of(compared) for compared in differences],
        "ranks": ranks,
        "judges": unlike([pair.first, pair.second]),
        "unlike_rows": unlike_rows,
    }
    return Printed(values, report(values, differences, benchmark), values["scores"])


def runs_by_judge(first: str | Path, second: str | Path) -> dict[str, Run]:
    """Return the runs by both judges, each by the name of its LVLM and judge."""
    by_first = checked([first])
    by_second = checked([second])
    if len(by_first) == len(by_second) == 1:
        by_second = dict(zip(by_first, by_second.values(), strict=True))
    alone = by_first.keys() ^ by_second.keys()
    if alone:
        raise RunError(
            f"Only one of the two judges has a run of {short_repr(min(alone))}; expected runs of the same response "
            "files by both."
        )
    runs = {}
    for name, run in by_first.items():
        runs[name + BY_FIRST] = run
        runs[name + BY_SECOND] = by_second[name]
    return runs


def pairs_of(parts: Mapping[str, Rescored]) -> Pairs:
    """Pair runs on the same rows; both judges must have judged the same responses."""
    pairs = {}
    for name, part in parts.items():
        if not name.endswith(BY_FIRST):
            continue
        model = name.removesuffix(BY_FIRST)
        pairs[model] = Both(part, parts[model + BY_SECOND])
        check_responses(model, pairs[model])
    return pairs


def check_responses(model: str, pair: Both) -> None:
    """Check that both judges judged the same responses."""
    texts = pair.first.run.ready.matched.texts
    texts_of_second = pair.second.run.ready.matched.texts
    differing = 0
    for text, text_of_second in zip(texts, texts_of_second, strict=True):
        differing += text != text_of_second
    if differing:
        raise RunError(
            f"{differing:,} of {len(texts):,} responses of {short_repr(model)} differ between the two runs; expected "
            "one file of responses, scored by two judges. `halluscope compare` compares LVLMs."
        )


def score_of(compared: Compared) -> dict[str, Any]:
    """Return a score by both judges, as JSON has it."""
    return {
        "model": compared.names[0],
        "score": compared.score,
        "values": compared.values,
        "by": asdict(compared.by),
    }


def agreement_of(benchmark: Benchmark, pair: Both, level: float) -> Iterator[dict[str, Any]]:
    """Yield how often rows have the same value, for each score of a row; for lists of classes, of all mentions."""
    cluster = numbers([item.image or item.id for item in folder.view(pair.first.run)])
    for name in benchmark.means:
        by_first = values_of(pair.first, name)
        by_second = values_of(pair.second, name)
        is_known = ~(np.isnan(by_first) | np.isnan(by_second))
        same = is_known & (by_first == by_second)
        likeness = np.nan
        if len(np.unique(np.concatenate([by_first[is_known], by_second[is_known]]))) <= MOST_VALUES:
            likeness = kappa(by_first[is_known], by_second[is_known])
        if is_known.any():
            agreed = share_of(same, is_known, cluster, level)
            yield {"score": name, **agreed, "kappa": likeness}
    mentions = mentions_of(pair.first.run.found)
    mentions_by_second = mentions_of(pair.second.run.found)
    if mentions is not None and mentions_by_second is not None:
        both = []
        either = []
        for by_first_judge, by_second_judge in zip(mentions, mentions_by_second, strict=True):
            both.append(len(by_first_judge & by_second_judge))
            either.append(len(by_first_judge | by_second_judge))
        if any(either):
            agreed = share_of(np.array(both), np.array(either), cluster, level)
            yield {"score": "mentions", **agreed, "kappa": np.nan}


def values_of(part: Rescored, score: str) -> Floats:
    """Return each row's value of a score, NaN where it has none: [rows]."""
    return np.array([row.get(score) for row in part.run.found], dtype=np.float64)


def mentions_of(rows: Sequence[Values]) -> list[set[str]] | None:
    """Return the classes that each row mentions; None if rows do not say it."""
    mentions = []
    for row in rows:
        if not row.keys() >= set(OUTCOMES):
            return None
        mentions.append(set(row["found"] + row["hallucinated"]))
    return mentions


def share_of(same: Bools | Ints, of: Bools | Ints, cluster: Ints, level: float) -> dict[str, Any]:
    """Return in how many of some things [rows] both judges give the same."""
    share = share_by_cluster(np.bincount(cluster, weights=same), np.bincount(cluster, weights=of), level)
    return {"of": int(of.sum()), "same": share["value"], "low": share["low"], "high": share["high"]}


def with_score(pairs: Pairs, score: str) -> Pairs:
    """Return the LVLMs whose score is defined by both judges."""
    defined = {}
    for name, pair in pairs.items():
        values = [pair.first.scores[score], pair.second.scores[score]]
        if not np.isnan(values).any():
            defined[name] = pair
    return defined


def ranks_of(benchmark: Benchmark, score: str, pairs: Pairs, resampling: Bootstrap) -> dict[str, Any]:
    """Return each LVLM's rank by both judges, from 1, and Kendall's tau of the two rankings with its interval."""
    sign = -1
    if benchmark.direction(score) == LOWER:
        sign = 1
    rows = []
    draws = []
    for pair in pairs.values():
        rows.append([sign * pair.first.scores[score], sign * pair.second.scores[score]])
        draws.append(
            [
                resampled(pair.first.left_out[score], resampling),
                resampled(pair.second.left_out[score], resampling),
            ]
        )
    values = np.array(rows)
    low, high = resampling.interval(tau(np.array(draws)))
    ranks = 1 + (values[:, None] > values[None]).sum(axis=1)
    return {
        "score": score,
        "ranks": dict(zip(pairs, ranks.tolist(), strict=True)),
        "tau": {"value": float(tau(values[..., None])[0]), "low": low, "high": high},
    }


def resampled(score: LeftOut, resampling: Bootstrap) -> Floats:
    """Return a score of resampled clusters [resamples]: what a cluster adds to it counts as often as it is drawn."""
    clusters = len(score.without)
    adds = (clusters - 1) / clusters * (score.moved - score.moved.mean())
    return score.value + resampling.sums(adds)


def tau(values: Floats) -> Floats:
    """Return Kendall's tau-a of two rankings [LVLMs, 2, resamples], per resample."""
    signs = []
    for first, second in combinations(values, 2):
        signs.append(np.sign(first - second).prod(axis=0))
    return np.asarray(np.mean(signs, axis=0), dtype=np.float64)


def report(values: Values, differences: Sequence[Compared], benchmark: Benchmark) -> Report:
    """Return tables of agreement, scores and ranks, and notes."""
    agreement: list[list[Cell]] = []
    for row in values["agreement"]:
        agreement.append([row["model"], row["score"], row["of"], estimate(row, "same"), plain(row["kappa"])])
    scores: list[list[Cell]] = []
    for compared in differences:
        line: list[Cell] = [compared.names[0], compared.score]
        line += cells_of(compared, benchmark)
        line.append(p_value(compared.by.p))
        scores.append(line)
    header = ["responses", "score", "1st judge", "2nd judge", "diff", "p"]
    blocks: list[Table | Notes] = [
        Table(
            "agreement",
            ["responses", "of a row", "rows", "same", "kappa"],
            agreement,
            left=2,
            intervals=("same",),
        ),
        Table("scores", header, scores, left=2, intervals=("diff",)),
    ]
    for ranking in values["ranks"]:
        rows: list[list[Cell]] = []
        for name, (rank, rank_by_second) in ranking["ranks"].items():
            rows.append([name, rank, rank_by_second])
        blocks.append(Table("ranks", [f"by {ranking['score']}", "1st judge", "2nd judge"], rows))
        blocks.append(Notes([f"Kendall's tau of the two rankings is {tau_line(ranking['tau'])}"]))
    lines = [f"{values['rows']:,} rows that all runs have."]
    for counts in values["unlike_rows"]:
        lines += of_unlike_rows(counts)
    for name, (by_first, by_second) in values["judges"].items():
        lines.append(f"{name} is {by_first} and {by_second}")
    lines.append(
        "Scores by two judges cannot be compared. To link them, mark a sample by hand: `halluscope study certify`."
    )
    blocks.append(Notes(lines))
    return blocks


def tau_line(rank_correlation: Mapping[str, float]) -> str:
    """Return Kendall's tau and its interval, or what stands in for an interval without a width."""
    value = rank_correlation["value"]
    low = rank_correlation["low"]
    high = rank_correlation["high"]
    if math.isnan(low):
        return f"{value:.2f}"
    if low == high:
        return f"{value:.2f}, as in every resample"
    return f"{value:.2f} ({low:.2f} to {high:.2f})"
