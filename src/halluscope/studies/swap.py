"""What another judge of the same responses changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.benchmark import LOWER, Benchmark
from halluscope.errors import RunError
from halluscope.reporting.printed import Printed
from halluscope.reporting.tables import Cell, Notes, Report, Table, Values, estimate, plain
from halluscope.runs.comparing import OUTCOMES, Compared, Rescored, rescored, unlike, wanted_scores
from halluscope.runs.comparison_report import cells_of, p_value
from halluscope.runs.folder import checked
from halluscope.runs.run import Run, benchmark_of
from halluscope.sanitize import short_repr
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.intervals import LeftOut
from halluscope.stats.ratios import Floats, kappa, wilson

# The most values that a row's score may have for a kappa: verdicts and ratings have few, shares have many
MOST_VALUES = 10

# LVLM -> its responses by the first judge, and by the second
Pairs = Mapping[str, tuple[Rescored, Rescored]]


def swap(first: str | Path, second: str | Path, scores: Sequence[str], resampling: Bootstrap) -> Printed:
    """Compare two judges of the same responses, each by a run, or a folder with a run per LVLM.

    Returns:
        `rows`; `agreement`, for each LVLM and each score of a row the share `same` of the rows in which both judges
        give the same, with Wilson's interval, and Cohen's `kappa`; `scores`, each LVLM's score by both judges, and the
        difference with a paired interval; `ranks`, for two LVLMs or more, each one's rank by both judges, and
        Kendall's tau with an interval; `judges`, what differs in the two judges' signatures.
    """
    runs = runs_of(first, second)
    names = list(runs)
    benchmark, pairs = pairs_of(runs, resampling)
    parts = [part for pair in pairs.values() for part in pair]
    wanted = wanted_scores(benchmark, scores, parts)
    agreement = []
    for name in names:
        for row in agreement_of(benchmark, pairs[name]):
            agreement.append({"model": name, **row})
    differences = []
    for score in wanted:
        for name, (by_first, by_second) in pairs.items():
            differences.append(by_first.against(by_second, score, (name, name), resampling.level))
    ranks = []
    if len(pairs) > 1:
        ranks = [ranks_of(benchmark, score, pairs, resampling) for score in wanted]
    values: dict[str, Any] = {
        "rows": len(parts[0].run.found),
        "agreement": agreement,
        "scores": [score_of(compared) for compared in differences],
        "ranks": ranks,
        "judges": unlike(parts[:2]),
    }
    return Printed(values, report(values, differences, benchmark), values["scores"])


def runs_of(first: str | Path, second: str | Path) -> dict[str, tuple[Run, Run]]:
    """Return each LVLM's runs by both judges."""
    ours = checked([first])
    theirs = checked([second])
    if len(ours) == len(theirs) == 1:
        theirs = dict(zip(ours, theirs.values(), strict=True))
    alone = ours.keys() ^ theirs.keys()
    if alone:
        raise RunError(
            f"Only one of the two judges has a run of {short_repr(min(alone))}; expected runs of the same response "
            "files by both."
        )
    return {name: (run, theirs[name]) for name, run in ours.items()}


def pairs_of(runs: Mapping[str, tuple[Run, Run]], resampling: Bootstrap) -> tuple[Benchmark, Pairs]:
    """Return the runs on the rows that all of them have; both judges must have judged the same responses."""
    by_judge = {}
    for name, pair in runs.items():
        for judge, run in enumerate(pair, start=1):
            by_judge[f"{name}, judge {judge}"] = run
    parts = rescored(by_judge, resampling)
    pairs = {}
    for name in runs:
        pairs[name] = (parts[f"{name}, judge 1"], parts[f"{name}, judge 2"])
        check_responses(name, pairs[name])
    return benchmark_of(by_judge), pairs


def check_responses(name: str, pair: tuple[Rescored, Rescored]) -> None:
    """Check that both judges judged the same responses."""
    texts, others = (part.run.ready.matched.texts for part in pair)
    differing = sum(text != other for text, other in zip(texts, others, strict=True))
    if differing:
        raise RunError(
            f"{differing:,} of {len(texts):,} responses of {short_repr(name)} differ between the two runs; expected "
            "one file of responses, scored by two judges. `halluscope compare` compares LVLMs."
        )


def score_of(compared: Compared) -> dict[str, Any]:
    return {
        "model": compared.names[0],
        "score": compared.score,
        "values": compared.values,
        "by": asdict(compared.by),
    }


def agreement_of(benchmark: Benchmark, pair: tuple[Rescored, Rescored]) -> Iterator[dict[str, Any]]:
    """Yield how often rows have the same value, for each score of a row; for lists of classes, of all mentions."""
    rows, others = (part.run.found for part in pair)
    for name in benchmark.means:
        values = np.array([row.get(name) for row in rows], dtype=float)  # NaN for None
        other_values = np.array([row.get(name) for row in others], dtype=float)
        is_known = ~(np.isnan(values) | np.isnan(other_values))
        values = values[is_known]
        other_values = other_values[is_known]
        likeness = np.nan
        if len(np.unique(np.concatenate([values, other_values]))) <= MOST_VALUES:
            likeness = kappa(values, other_values)
        if len(values):
            yield share_of(name, int((values == other_values).sum()), len(values), likeness)
    mentioned = mentions_of(rows)
    also_mentioned = mentions_of(others)
    if mentioned is not None and also_mentioned is not None:
        either = len(mentioned | also_mentioned)
        if either:
            yield share_of("mentions", len(mentioned & also_mentioned), either, np.nan)


def mentions_of(rows: Sequence[Values]) -> set[tuple[int, str]] | None:
    """Return the classes that each row mentions; None if rows do not say it."""
    mentions = set()
    for number, row in enumerate(rows):
        if not row.keys() >= set(OUTCOMES):
            return None
        for name in [*row["found"], *row["hallucinated"]]:
            mentions.add((number, name))
    return mentions


def share_of(score: str, same: int, total: int, likeness: float) -> dict[str, Any]:
    low, high = wilson(same, total)
    return {"score": score, "of": total, "same": same / total, "low": low, "high": high, "kappa": likeness}


def ranks_of(benchmark: Benchmark, score: str, pairs: Pairs, resampling: Bootstrap) -> dict[str, Any]:
    """Return each LVLM's rank by both judges, from 1, and Kendall's tau of the two rankings with its interval."""
    sign = 1 if benchmark.direction(score) == LOWER else -1
    values = np.array([[sign * part.scores[score] for part in pair] for pair in pairs.values()])
    draws = np.array([[drawn(part.left_out[score], resampling) for part in pair] for pair in pairs.values()])
    low, high = resampling.interval(tau(draws))
    ranks = 1 + (values[:, None] > values[None]).sum(axis=1)
    return {
        "score": score,
        "ranks": dict(zip(pairs, ranks.tolist(), strict=True)),
        "tau": {"value": float(tau(values[..., None])[0]), "low": low, "high": high},
    }


def drawn(score: LeftOut, resampling: Bootstrap) -> Floats:
    """Return a score of resampled clusters [resamples]: what a cluster adds to it counts as often as it is drawn."""
    clusters = len(score.without)
    adds = (clusters - 1) / clusters * (score.moved - score.moved.mean())
    return np.concatenate([score.value + weights @ adds for weights in resampling.weights(clusters)])


def tau(values: Floats) -> Floats:
    """Return Kendall's tau-a of two rankings [LVLMs, 2, resamples], per resample."""
    signs = [np.sign(first - second).prod(axis=0) for first, second in combinations(values, 2)]
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
    judges = ["1st judge", "2nd judge"]
    header = ["responses", "score", *judges, "diff", "p"]
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
        rows = [[name, *ranks] for name, ranks in ranking["ranks"].items()]
        blocks.append(Table("ranks", [f"by {ranking['score']}", *judges], rows))
        shown = "{value:.2f} ({low:.2f} to {high:.2f})".format(**ranking["tau"])
        blocks.append(Notes([f"Kendall's tau of the two rankings is {shown}"]))
    lines = [f"{values['rows']:,} rows that all runs have."]
    for name, (by_first, by_second) in values["judges"].items():
        lines.append(f"{name} is {by_first} and {by_second}")
    lines.append(
        "Scores by two judges cannot be compared. To link them, mark a sample by hand: `halluscope study certify`."
    )
    blocks.append(Notes(lines))
    return blocks
