"""Compares runs on the rows that all of them have: several models, two judges, or how hard each row is.

Each run is cut to these rows and scored again, also without each cluster of rows: differences are paired.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from operator import attrgetter
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np

from halluscope import registry
from halluscope.benchmark import HIGHER, LOWER, Benchmark
from halluscope.errors import RunError
from halluscope.reporting.formats import TABLE, written
from halluscope.reporting.tables import (
    ROWS,
    Cell,
    Notes,
    Number,
    Report,
    Table,
    Values,
    estimate,
    gap,
    plain,
    principal,
    scored,
    share,
)
from halluscope.runs.folder import Run, benchmark_of, checked, rescore, view
from halluscope.sanitize import one_line, short_repr
from halluscope.scoring import Ready
from halluscope.stats import items as statistics
from halluscope.stats import tallies
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.intervals import LeftOut, why_none
from halluscope.stats.paired import FEWEST, Difference, can_differ, difference, holm, ratio_differences
from halluscope.stats.ratios import Floats, kappa, wilson
from halluscope.stats.tallies import Bools, Tally

# Keys of a signature that do not say how a run was scored, or that are the same once runs are compared.
NOT_HOW = ("data", "responses", "interval", "prompts", "part")

OUTCOMES = ("found", "hallucinated", "missed")  # the lists of classes in a row about an image

FEW = 10  # up to this many differences between models are all shown; of more, only those from the best model

LEAST_P = 0.0001  # a p value that would be printed as 0.0000 is printed as less than this

MOST = 20  # of the significant differences in groups, and in classes, so many are shown


class Result(dict[str, Any]):
    """A dict that prints as tables."""

    def __init__(self, values: Values, report: Report, rows: Sequence[Values]) -> None:
        super().__init__(values)
        self.report = report  # what is printed
        self.rows = rows  # the rows of the DataFrame

    def __repr__(self) -> str:
        return written(self.report, TABLE, intervals=True)

    def to_pandas(self) -> Any:
        """Return a DataFrame with all digits: a row per LVLM, or per difference between two."""
        from pandas import DataFrame

        return DataFrame(list(self.rows))


@dataclass(frozen=True)
class Compared:
    score: str  # the name of the score; a group's score has a "/" in it
    names: tuple[str, str]  # the names of the two runs
    values: tuple[float, float]  # the score of each run
    by: Difference  # the difference
    holm: float = math.nan  # the p value by Holm's correction for all differences that were compared together
    # the better run, if the difference is significant and the score has a better direction
    better: str | None = None


@dataclass(frozen=True)
class Comparison:
    rows: int  # how many rows all runs have in common
    of: Mapping[str, int]  # name of a run -> how many rows it has
    unlike: Mapping[str, Sequence[str]]  # key of the signature in which runs differ -> the value of each run
    scores: Sequence[Compared]  # the requested scores, for each pair of runs
    groups: Sequence[Compared]  # the scores of each group, for each pair of runs
    # the scores of each class in which two runs differ often enough for a test to tell; p and interval are
    # NaN where too few images count for one of them (`halluscope.stats.paired.FEWEST`)
    classes: Sequence[Compared]
    level: float  # the level of the intervals
    untested: Mapping[str, str]  # score that has no interval in a run, and so no p value -> the reason


@dataclass(frozen=True)
class Rescored:
    """A run on the rows that all runs have, scored again."""

    run: Run
    # name -> score, as it is and without each cluster; the names of nested scores are joined with "/"
    left_out: Mapping[str, LeftOut]

    @property
    def scores(self) -> dict[str, float]:
        return {name: score.value for name, score in self.left_out.items()}

    def against(self, other: "Rescored", name: str, names: tuple[str, str], level: float) -> "Compared":
        """Compare a score with that of another run."""
        ours = self.left_out[name]
        theirs = other.left_out[name]
        values = (ours.value, theirs.value)
        return Compared(name, names, values, difference(ours, theirs, level))


def compare(
    runs: Mapping[str, Run], scores: Sequence[str], resampling: Bootstrap, in_parts: bool = True
) -> Comparison:
    if len(runs) < 2:
        raise ValueError(f"A comparison needs at least 2 runs; got {', '.join(runs) or 'none'}.")
    benchmark, level, parts = benchmark_of(runs), resampling.level, rescored(runs, resampling)
    wanted, known = wanted_scores(benchmark, scores, parts.values())
    groups = [
        name
        for name in known
        if any(name.startswith(f"{one}/") or name.endswith(f"/{one}") for one in wanted)
    ]

    def compared(names: Sequence[str]) -> list[Compared]:
        pairs = combinations(parts.items(), 2)
        return _corrected(
            benchmark,
            [
                part.against(other_part, score, (name, other), level)
                for (name, part), (other, other_part) in pairs
                for score in names
            ],
            level,
        )

    classes = {name: _classes(part.run) for name, part in parts.items()} if in_parts else {}
    return Comparison(
        len(next(iter(parts.values())).run.found),
        {name: len(run.ready.matched.rows) for name, run in runs.items()},
        _unlike(parts.values()),
        compared(wanted),
        compared(groups if in_parts else ()),
        _corrected(benchmark, [*_class_tests(classes, level)], level),
        level,
        _untested(wanted, parts.values()),
    )


def _untested(scores: Sequence[str], parts: Iterable[Rescored]) -> dict[str, str]:
    """Return why scores have no interval in a run: score -> the reason in the first run that has one."""
    found: dict[str, str] = {}
    for part in parts:
        for score in scores:
            reason = why_none(part.left_out[score])
            if reason:
                found.setdefault(score, reason)
    return found


def _corrected(benchmark: Benchmark, tested: Sequence[Compared], level: float) -> list[Compared]:
    """Correct p values for the number of differences, and say which run is better."""
    corrected = []
    for one, p in zip(tested, holm([one.by.p for one in tested]), strict=True):
        score = one.score.partition(" of ")[0]  # of a class
        direction = HIGHER if score in ("precision", "recall") else benchmark.direction(score)
        first_is_worse = (one.by.value > 0) != (direction == HIGHER)
        better = one.names[first_is_worse] if direction and p < 1 - level else None
        corrected.append(replace(one, holm=p, better=better))
    return corrected


def wanted_scores(
    benchmark: Benchmark, scores: Sequence[str], parts: Iterable[Rescored]
) -> tuple[list[str], list[str]]:
    """Return these scores, by default the one to show first, and all that the runs have in common."""
    each = [part.scores for part in parts]
    known = [name for name in each[0] if all(name in scores for scores in each)]
    wanted = [*scores] or [principal(benchmark, each)]
    if missing := [name for name in wanted if name not in known]:
        raise RunError(
            f"The runs have no score {short_repr(missing[0])} in common; expected one of {', '.join(known)}."
        )
    return wanted, known


def _unlike(parts: Iterable[Rescored]) -> dict[str, list[str]]:
    """Return the keys of the signature in which runs were scored differently, each with the value of each run."""
    keys = [part.run.keys for part in parts]
    values = {key: [of.get(key, "") for of in keys] for key in {name: 0 for of in keys for name in of}}
    return {key: of for key, of in values.items() if len({*of}) > 1 and key not in NOT_HOW}


def rescored(runs: Mapping[str, Run], resampling: Bootstrap) -> dict[str, Rescored]:
    """Score runs again on the rows that all have, also without each cluster of these rows."""
    if not resampling.resamples:
        raise ValueError("A comparison needs intervals; got bootstrap=0, which makes none.")
    parts = {name: _rescored(runs[name], rows, resampling) for name, rows in common_rows(runs).items()}
    data = {name: part.run.keys["data"] for name, part in parts.items()}
    if len({*data.values()}) > 1:
        each = ", ".join(f"{short_repr(name)} {short_repr(of)}" for name, of in data.items())
        raise RunError(
            f"Rows with the same ids differ between these runs ({each}); expected runs on the same version of one "
            "dataset."
        )
    return parts


def common_rows(runs: Mapping[str, Run]) -> dict[str, list[int]]:
    """Return the indices of the rows that all runs have, in the same order: name of a run -> indices."""
    key = attrgetter(*registry.first_dataset(benchmark_of(runs)).key)
    rows = {
        name: {key(row): at for at, row in enumerate(run.ready.matched.rows)} for name, run in runs.items()
    }
    first, *others = rows.values()
    common = [row for row in first if all(row in other for other in others)]
    if not common:
        raise RunError(
            f"The runs {', '.join(map(short_repr, runs))} have no row in common, so they cannot be compared."
        )
    return {name: [indices[row] for row in common] for name, indices in rows.items()}


def _rescored(run: Run, rows: Sequence[int], resampling: Bootstrap) -> Rescored:
    """Score some of a run's rows again, without options that need all rows, such as a certificate."""
    each = run.benchmark.each
    inputs, options = (
        {name: value for name, value in of.items() if name not in each}
        for of in (run.ready.inputs, run.options)
    )
    inputs |= {name: [value[row] for row in rows] for name, value in run.columns.items()}
    ready, record = Ready(run.ready.matched.only(rows), inputs), run.record.finished(rows)
    part = replace(run, ready=ready, options=options, record=record)
    made = rescore(part, bootstrap=1, level=resampling.level)
    return Rescored(made, made.scores.left_out)


def _classes(run: Run) -> Tally:
    """Return counts per image for each class: of precision and recall, or of the score of questions about it."""
    found, inputs, score = run.found, run.ready.inputs, run.benchmark.principal
    if all({*OUTCOMES} <= row.keys() for row in found):
        said = [
            (at, name, kind) for at, row in enumerate(found) for kind in OUTCOMES for name in {*row[kind]}
        ]
        if not said:
            return {}
        image, named, kinds = map(np.array, zip(*said, strict=True))
        right, images = kinds == "found", len(found)
        counts = {"precision": (right, kinds != "missed"), "recall": (right, kinds != "hallucinated")}
    elif inputs.get("objects") is not None and score in run.benchmark.means:
        image, named = tallies.numbers(inputs["image_ids"]), np.array(inputs["objects"])
        values, images = np.array([row[score] for row in found], dtype=float), image.max() + 1
        counts = {score: (np.nan_to_num(values), ~np.isnan(values))}
    else:
        return {}
    tally: dict[str, tuple[Floats, Floats]] = {}
    names, number = np.unique(named, return_inverse=True)
    for score, amounts in counts.items():
        each = [np.bincount(number * images + image, of, len(names) * images) for of in amounts]
        parts, wholes = (of.reshape(-1, images) for of in each)
        tally |= {f"{score} of {name}": (parts[at], wholes[at]) for at, name in enumerate(names)}
    return tally


def _class_tests(classes: Mapping[str, Tally], level: float) -> Iterator[Compared]:
    """Yield the difference in each class of each two runs, by its counts, since some classes are rare."""
    for names in combinations([name for name, tally in classes.items() if tally], 2):
        one, other = (classes[name] for name in names)
        able = can_differ(one, other, 1 - level)
        counts, others = ({score: tally[score] for score in able} for tally in (one, other))
        ours, theirs = (tallies.scores_of(tally) for tally in (one, other))
        for score, by in ratio_differences(counts, others, level).items():
            if not math.isnan(by.value):
                yield Compared(score, names, (ours[score], theirs[score]), by)


# What is printed


def of_differences(found: Comparison, benchmark: Benchmark, most: int = 0) -> tuple[Table, Table, Notes]:
    """Return tables of the runs, with a letter each, and of their differences, and what a reader has to know."""
    scores = found.scores
    lines = ["Intervals and p values are paired: both runs are scored without the same clusters of rows."]
    if longer := [f"{name} has {rows:,}" for name, rows in found.of.items() if rows > found.rows]:
        lines.append(f"Compared on the {found.rows:,} rows that all runs have ({', '.join(longer)}).")
    for key, values in found.unlike.items():
        each = ", ".join(map(" ".join, zip(found.of, values, strict=True)))
        lines.append(f"The runs were not scored alike, which also changes differences: {key} is {each}.")
    for score, reason in found.untested.items():
        lines.append(f"Differences in {score} are not tested. {reason}")
    if 0 < most < len(scores):
        scores = _with_the_best(found, benchmark)
        lines.append(
            f"{len(found.scores):,} differences are corrected together; those from the best run are shown"
        )
    letters = _letters(found)
    runs = Table(
        "runs",
        ["run", "responses", ROWS],
        [[letters[name], name, Number(rows, "d")] for name, rows in found.of.items()],
        left=2,
    )
    return runs, _table("differences", scores, found, benchmark), Notes(lines)


def of_parts(found: Comparison, benchmark: Benchmark, most: int | None = MOST) -> Iterator[Table | Notes]:
    """Yield tables of the significant differences in groups and classes, at most so many of each, the surest first."""
    for name, compared, why in (
        ("groups", found.groups, "which are undefined in one of the runs"),
        ("classes", found.classes, f"for which fewer than {FEWEST} images count in one of the runs"),
    ):
        significant = [one for one in compared if one.holm < 1 - found.level]
        surest = sorted(significant, key=attrgetter("holm"))[:most]
        if surest:
            yield _table(name, surest, found, benchmark)
        few = sum(math.isnan(one.by.p) for one in compared)
        line = f"{len(significant):,} of {len(compared) - few:,} differences in {name} are significant"
        line += ", corrected together"
        if few:
            line += f"; not tested: {few:,}, {why}"
        if len(surest) < len(significant):
            line += f"; the {most} with the smallest p are shown, all with --all or .to_pandas()"
        if compared:
            yield Notes([line])


def verdicts(found: Comparison, benchmark: Benchmark) -> Iterator[str]:
    """Say for the best run and each other one whether it is better."""
    for one in _with_the_best(found, benchmark):
        first, second = one.names
        p = "p < 0.001" if one.holm < 0.001 else f"p {plain(one.holm)}"
        if math.isnan(one.by.p) and one.score in found.untested:
            yield f"{first} and {second}: their {one.score} is not compared. {found.untested[one.score]}"
            continue
        if one.better is None:
            yield f"{first} and {second}: no difference in {one.score} beyond chance ({p})"
            continue
        is_points = benchmark.is_points(one.score)
        by = f"{scored(abs(one.by.value), is_points)}{'' if is_points else ' points'}"
        other = second if one.better == first else first
        yield f"{one.better} is better than {other}: {one.score} differs by {by} ({p})"


def winner(found: Comparison) -> str:
    """Return the run that is significantly better than each other one by the first of the scores; "" if none is, or if
    the runs are not about the same rows.
    """
    wins = Counter(one.better for one in found.scores if one.score == found.scores[0].score)
    best = next((name for name, count in wins.items() if name and count == len(found.of) - 1), "")
    return best if {*found.of.values()} == {found.rows} else ""


def _with_the_best(found: Comparison, benchmark: Benchmark) -> list[Compared]:
    """Return the differences from the best run by the first of the scores."""
    score = found.scores[0].score
    values = {
        name: value
        for one in found.scores
        for name, value in zip(one.names, one.values, strict=True)
        if one.score == score and not math.isnan(value)
    }
    best = (min if benchmark.direction(score) == LOWER else max)(values, key=values.__getitem__, default="")
    return [one for one in found.scores if best in one.names]


def _letters(found: Comparison) -> dict[str, str]:
    """Return a letter for each run, by its name: A, B, ... Z, A1, B1, ..."""
    return {name: f"{ascii_uppercase[at % 26]}{at // 26 or ''}" for at, name in enumerate(found.of)}


def _table(name: str, compared: Sequence[Compared], found: Comparison, benchmark: Benchmark) -> Table:
    letters = _letters(found)
    rows = [
        [
            one.score,
            "-".join(letters[name] for name in one.names),
            *_cells(one, benchmark),
            _p(one.holm),
            letters[one.better] if one.better else None,
        ]
        for one in compared
    ]
    header = ["score", "runs", "1st", "2nd", "diff", "Holm p", "better"]
    return Table(name, header, rows, left=2, intervals=("diff",))


def _p(value: float) -> Number:
    """Return a p value as it is printed: never 0."""
    if value < LEAST_P / 2:
        return plain(value)._replace(text=f"<{LEAST_P}")
    return plain(value, ".4f")


def _cells(one: Compared, benchmark: Benchmark) -> list[Cell]:
    by, is_points = one.by, benchmark.is_points(one.score)
    return [*(scored(value, is_points) for value in one.values), gap(by.value, is_points, (by.low, by.high))]


# Another judge of the same responses

# The most values that a row's score may have for a kappa: verdicts and ratings have few, shares have many
MOST_VALUES = 10

# LVLM -> its responses by the first judge, and by the second
Pairs = Mapping[str, tuple[Rescored, Rescored]]


def swap(first: str | Path, second: str | Path, scores: Sequence[str], resampling: Bootstrap) -> Result:
    """Compare two judges of the same responses, each by a run, or a folder with a run per LVLM.

    Returns:
        `rows`; `agreement`, for each LVLM and each score of a row the share `same` of the rows in which both judges
        give the same, with Wilson's interval, and Cohen's `kappa`; `scores`, each LVLM's score by both judges, and the
        difference with a paired interval; `ranks`, for two LVLMs or more, each one's rank by both judges, and
        Kendall's tau with an interval; `judges`, what differs in the two judges' signatures.
    """
    ours, theirs = checked([first]), checked([second])
    if len(ours) == len(theirs) == 1:
        theirs = dict(zip(ours, theirs.values(), strict=True))
    if alone := ours.keys() ^ theirs.keys():
        raise RunError(
            f"Only one of the two judges has a run of {short_repr(min(alone))}; expected runs of the same response "
            "files by both."
        )
    runs = {f"{name}, judge {judge}": of[name] for name in ours for judge, of in enumerate((ours, theirs), 1)}
    benchmark, parts = benchmark_of(runs), [*rescored(runs, resampling).values()]
    wanted, _ = wanted_scores(benchmark, scores, parts)
    pairs: Pairs = dict(zip(ours, zip(parts[::2], parts[1::2], strict=True), strict=True))
    for name, both in pairs.items():
        texts = [part.run.ready.matched.texts for part in both]
        if differing := sum(one != other for one, other in zip(*texts, strict=True)):
            raise RunError(
                f"{differing:,} of {len(texts[0]):,} responses of {short_repr(name)} differ between the two runs; "
                "expected one file of responses, scored by two judges. `halluscope compare` compares LVLMs."
            )
    agreement = [
        {"model": name, **row} for name, both in pairs.items() for row in _agreement(benchmark, *both)
    ]
    differences = [
        one.against(other, score, (name, name), resampling.level)
        for score in wanted
        for name, (one, other) in pairs.items()
    ]
    found: dict[str, Any] = {
        "rows": len(parts[0].run.found),
        "agreement": agreement,
        "scores": [
            {"model": one.names[0], "score": one.score, "values": one.values, "by": asdict(one.by)}
            for one in differences
        ],
        "ranks": [_ranks(benchmark, score, pairs, resampling) for score in wanted if len(pairs) > 1],
        "judges": _unlike(parts[:2]),
    }
    return Result(found, _swap_report(found, differences, benchmark), found["scores"])


def _agreement(benchmark: Benchmark, *both: Rescored) -> Iterator[dict[str, Any]]:
    """Yield how often rows have the same value, for each score of a row; for lists of classes, of all mentions."""
    rows = [part.run.found for part in both]
    same: list[tuple[str, int, int, float]] = []  # score, how many are the same, of how many, kappa
    for name in benchmark.means:
        values = np.array([[row.get(name) for row in found] for found in rows], dtype=float)  # NaN for None
        one, other = values[:, ~np.isnan(values).any(axis=0)]
        likeness = kappa(one, other) if len({*one, *other}) <= MOST_VALUES else np.nan
        same.append((name, int((one == other).sum()), len(one), likeness))
    if all({*OUTCOMES} <= row.keys() for found in rows for row in found):
        ours, theirs = (
            {(at, name) for at, row in enumerate(found) for name in (*row["found"], *row["hallucinated"])}
            for found in rows
        )
        same.append(("mentions", len(ours & theirs), len(ours | theirs), np.nan))
    for score, count, total, likeness in same:
        if total:
            low, high = wilson(count, total)
            share = {"same": count / total, "low": low, "high": high}
            yield {"score": score, "of": total, **share, "kappa": likeness}


def _ranks(benchmark: Benchmark, score: str, pairs: Pairs, resampling: Bootstrap) -> dict[str, Any]:
    """Return each LVLM's rank by both judges, from 1, and Kendall's tau of the two rankings with its interval."""
    sign = 1 if benchmark.direction(score) == LOWER else -1
    values = np.array([[sign * part.scores[score] for part in both] for both in pairs.values()])
    draws = np.array([[_drawn(part.left_out[score], resampling) for part in both] for both in pairs.values()])
    low, high = resampling.interval(_tau(draws))
    ranks = 1 + (values[:, None] > values[None]).sum(axis=1)
    return {
        "score": score,
        "ranks": dict(zip(pairs, ranks.tolist(), strict=True)),
        "tau": {"value": float(_tau(values[..., None])[0]), "low": low, "high": high},
    }


def _drawn(score: LeftOut, resampling: Bootstrap) -> Floats:
    """Return a score of resampled clusters [resamples]: what a cluster adds to it counts as often as it is drawn."""
    clusters = len(score.without)
    adds = (clusters - 1) / clusters * (score.moved - score.moved.mean())
    return np.concatenate([score.value + weights @ adds for weights in resampling.weights(clusters)])


def _tau(values: Floats) -> Floats:
    """Return Kendall's tau-a of two rankings [LVLMs, 2, resamples], per resample."""
    signs = [np.sign(one - other).prod(axis=0) for one, other in combinations(values, 2)]
    return np.asarray(np.mean(signs, axis=0), dtype=np.float64)


def _swap_report(found: Values, differences: Sequence[Compared], benchmark: Benchmark) -> Report:
    agreement: list[list[Cell]] = [
        [
            row["model"],
            row["score"],
            row["of"],
            estimate(row, "same"),
            plain(row["kappa"]),
        ]
        for row in found["agreement"]
    ]
    scores: list[list[Cell]] = [
        [one.names[0], one.score, *_cells(one, benchmark), _p(one.by.p)] for one in differences
    ]
    judges = ["1st judge", "2nd judge"]
    of_rows = ["responses", "of a row", "rows", "same", "kappa"]
    report: list[Table | Notes] = [
        Table("agreement", of_rows, agreement, left=2, intervals=("same",)),
        Table("scores", ["responses", "score", *judges, "diff", "p"], scores, left=2, intervals=("diff",)),
    ]
    for one in found["ranks"]:
        tau = "{value:.2f} ({low:.2f} to {high:.2f})".format(**one["tau"])
        rows = [[name, *ranks] for name, ranks in one["ranks"].items()]
        report.append(Table("ranks", [f"by {one['score']}", *judges], rows))
        report.append(Notes([f"Kendall's tau of the two rankings is {tau}"]))
    differing = [f"{name} is {one} and {other}" for name, (one, other) in found["judges"].items()]
    advice = (
        "Scores by two judges cannot be compared. To link them, mark a sample by hand: `halluscope certify`."
    )
    return [*report, Notes([f"{found['rows']:,} rows that all runs have.", *differing, advice])]


# What the rows say

# How much of a question is shown in a table
SHOWN = 61


def items(folders: Sequence[str | Path], score: str = "", top: int = 20, seed: int = 0) -> Result:
    """Return what the answers of at least three models say about each row that all of them have.

    `score` is a share that each row has; "" for the principal score, or the first that rows have.

    Returns:
        `models`, `score`, `rows`; `items`, a dict per row with its id, `question`, `label`, `difficulty` (the share of
        models that are wrong), `discrimination` (NaN for fewer than 8 models), `irt_difficulty`,
        `irt_discrimination` (from 20 models on) and `suspect`; and `subset`, the smallest random subset that gives the
        full ranking: `ids`, `kept`, `error`. None for no such subset.
    """
    runs = checked(folders)
    benchmark, rows, first = benchmark_of(runs), common_rows(runs), next(iter(runs))
    name = _share_of_rows(benchmark, score)
    labels = {of: [run.columns["references"][row] for row in rows[of]] for of, run in runs.items()}
    if other := next((of for of in runs if labels[of] != labels[first]), None):
        raise RunError(
            f"Rows with the same ids differ between the runs {short_repr(first)} and {short_repr(other)}; expected "
            "runs on the same version of one dataset."
        )
    each = [[run.found[row].get(name) for row in rows[of]] for of, run in runs.items()]
    values = np.array(each, dtype=np.float64)  # NaN for None
    known: Bools = np.asarray(~np.isnan(values).any(axis=0))
    right = 1 - values[:, known] if benchmark.direction(name) == LOWER else values[:, known]
    hard, telling = statistics.difficulty(right), statistics.discrimination(right)
    suspects = np.where(np.isnan(telling), hard == 1, telling < 0)
    columns = {"difficulty": hard, "discrimination": telling}
    if fit := statistics.fitted(right):
        columns |= {"irt_difficulty": fit[0], "irt_discrimination": fit[1]}
    shown, found = view(runs[first]), runs[first].found
    table: list[dict[str, Any]] = [
        {
            "id": shown[row].id,
            "question": shown[row].question,
            "label": found[row].get(benchmark.target, found[row].get("label")),
            **{column: float(value[at]) for column, value in columns.items()},
            "suspect": bool(suspects[at]),
        }
        for at, row in enumerate(np.array(rows[first])[known])
    ]
    small = statistics.smallest(right, seed)
    result = {
        "models": [*runs],
        "score": name,
        "rows": len(known),
        "items": table,
        "subset": small
        and {"ids": [table[at]["id"] for at in small.rows], "kept": small.kept, "error": small.error},
    }
    order = sorted(np.flatnonzero(suspects), key=lambda at: (-hard[at], np.nan_to_num(telling[at])))
    return Result(result, _items_report(result, [table[at] for at in order], top), table)


def _items_report(found: Values, suspects: Sequence[Values], top: int) -> Report:
    cells: list[list[Cell]] = [
        [
            row["id"],
            one_line(row["question"], SHOWN),
            str(row["label"]),
            share(row["difficulty"]),
            plain(row["discrimination"]),
        ]
        for row in suspects[:top]
    ]
    models, rows, subset = found["models"], found["items"], found["subset"]
    lines = [f"{len(rows):,} rows, {len(models)} models: {', '.join(models)}"]
    if lacking := found["rows"] - len(rows):
        lines.append(f"{lacking:,} rows are left out: a model has no {found['score']} there")
    enough = statistics.FEWEST_TO_CORRELATE
    few = f". Too few models to say how well a row tells them apart: expected {enough}"
    why = few if len(models) < enough else ", or good models more often than bad ones"
    lines.append(f"{len(suspects):,} suspects: rows that all models get wrong{why}")
    if len(models) < statistics.FEWEST_TO_FIT:
        lines.append(f"too few models for item response theory: expected {statistics.FEWEST_TO_FIT}")
    lines.append(
        f"{len(subset['ids']):,} random rows give the full ranking in {subset['kept']:.0%} of draws; their scores "
        f"differ from those of all rows by {100 * subset['error']:.1f} points (root mean square)"
        if subset
        else "no smaller random subset gives the full ranking"
    )
    return [
        Table("suspects", ["suspect", "question", "label", "wrong", "discrimination"], cells, left=3),
        Notes(lines),
    ]


def _share_of_rows(benchmark: Benchmark, score: str) -> str:
    """Return a score that each row has: this one, or by default the principal one if possible."""
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
