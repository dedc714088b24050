"""Compares runs of several models on the rows that all of them have: what is not due to chance, and tables of it.

Each run is cut to these rows, scored again, and resampled with the same draws as the others: differences are paired.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from operator import attrgetter
from string import ascii_uppercase
from typing import Any

import numpy as np

from halluscope import registry
from halluscope.errors import RunError
from halluscope.registry import HIGHER, LOWER, Benchmark
from halluscope.reporting.tables import ROWS, Cell, Notes, Number, Table, plain, scored
from halluscope.runs.run import Run, again, benchmark_of
from halluscope.sanitize import one_line, short_repr
from halluscope.scoring import Ready, clusters
from halluscope.stats import bootstrap, tallies
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.paired import FEWEST, Difference, can_differ, difference, holm, ratio_differences
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Tally

# Keys of a signature that do not say how a run was scored, or that are the same once runs are compared.
NOT_HOW = ("data", "responses", "interval", "prompts", "part")

SAID_OF = ("found", "hallucinated", "missed")  # the lists of classes in a row about an image

FEW = 10  # up to this many differences between models are all shown; of more, only those from the best model

MOST = 20  # of the significant differences in groups, and in classes, so many are shown

# The score's name, the names of two runs, both values, and the difference
Tested = tuple[str, tuple[str, str], tuple[float, float], Difference]


@dataclass(frozen=True)
class Compared:
    score: str  # the name of the score; a group's score has a "/" in it
    names: tuple[str, str]  # the names of the two runs
    values: tuple[float, float]  # the score of each run
    by: Difference  # the difference
    holm: float  # the p value by Holm's correction for all differences that were compared together
    better: (
        str | None
    )  # the better run, if the difference is significant and the score has a better direction


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
    resampling: Bootstrap  # how differences were resampled


@dataclass(frozen=True)
class Drawn:
    """A run on the rows that all runs have, scored again."""

    run: Run
    scores: Mapping[str, float]  # name -> score; the names of nested scores are joined with "/"
    resampled: Mapping[str, Floats]  # name -> the score of each resample
    clusters: int  # the number of clusters of rows that depend on each other, such as images

    def against(self, other: "Drawn", name: str, level: float) -> tuple[tuple[float, float], Difference]:
        """Return both values of a score, and their difference."""
        values, draws = (self.scores[name], other.scores[name]), (self.resampled[name], other.resampled[name])
        return values, difference(*values, *draws, self.clusters, level)


def compare(
    runs: Mapping[str, Run], scores: Sequence[str], resampling: Bootstrap, in_parts: bool = True
) -> Comparison:
    if len(runs) < 2:
        raise ValueError(f"A comparison needs at least 2 runs; got {', '.join(runs) or 'none'}.")
    drawn, level = draw(runs, resampling), resampling.level
    benchmark, pairs = benchmark_of(runs.values()), [*combinations(drawn, 2)]
    wanted = list(scores) or [benchmark.principal]
    known = known_scores(drawn.values(), wanted)
    groups = [
        name for name in known if any(name.startswith(f"{of}/") or name.endswith(f"/{of}") for of in wanted)
    ]
    classes = {name: _classes(of.run) for name, of in drawn.items()} if in_parts else {}

    def compared(names: Sequence[str]) -> list[Compared]:
        tested = [
            (name, pair, *drawn[pair[0]].against(drawn[pair[1]], name, level))
            for pair in pairs
            for name in names
        ]
        return _corrected(benchmark, tested, level)

    keys = {name: of.run.keys for name, of in drawn.items()}
    how = dict.fromkeys(key for of in keys.values() for key in of if key not in NOT_HOW)
    values = {key: [of.get(key, "") for of in keys.values()] for key in how}
    return Comparison(
        len(next(iter(drawn.values())).run.found),
        {name: len(run.ready.matched.rows) for name, run in runs.items()},
        {key: of for key, of in values.items() if len({*of}) > 1},
        compared(wanted),
        compared(groups if in_parts else ()),
        _corrected(benchmark, _class_tests(classes, level), level),
        resampling,
    )


def _corrected(benchmark: Benchmark, tested: Sequence[Tested], level: float) -> list[Compared]:
    corrected = []
    for (score, names, values, by), p in zip(tested, holm([by.p for *_, by in tested]), strict=True):
        of = score.partition(" of ")[0]
        direction = HIGHER if of in ("precision", "recall") else benchmark.direction(of)
        better = names[(by.value > 0) != (direction == HIGHER)] if direction and p < 1 - level else None
        corrected.append(Compared(score, names, values, by, p, better))
    return corrected


def known_scores(drawn: Collection[Drawn], wanted: Sequence[str]) -> list[str]:
    """Return the scores that all runs have, after a check that the wanted ones are among them."""
    known = [name for name in next(iter(drawn)).scores if all(name in of.scores for of in drawn)]
    if missing := [name for name in wanted if name not in known]:
        raise RunError(
            f"The runs have no score {short_repr(missing[0])} in common; expected one of {', '.join(known)}."
        )
    return known


def draw(runs: Mapping[str, Run], resampling: Bootstrap) -> dict[str, Drawn]:
    """Score runs again on the rows that all have, with resamples; each resample draws the same rows of all."""
    if not resampling.resamples:
        raise ValueError("A comparison needs at least 1 resample of the bootstrap; got 0.")
    drawn = {name: _drawn(runs[name], rows, resampling) for name, rows in shared(runs).items()}
    data = {name: of.run.keys["data"] for name, of in drawn.items()}
    if len({*data.values()}) > 1:
        each = ", ".join(f"{short_repr(name)} {short_repr(of)}" for name, of in data.items())
        raise RunError(
            f"Rows with the same ids differ between these runs ({each}); expected runs on the same version of one "
            "dataset."
        )
    return drawn


def shared(runs: Mapping[str, Run]) -> dict[str, list[int]]:
    """Return the indices of the rows that all runs have, in the same order: name of a run -> indices."""
    own = attrgetter(*registry.identity(benchmark_of(runs.values())).key)
    rows = {
        name: {own(row): at for at, row in enumerate(run.ready.matched.rows)} for name, run in runs.items()
    }
    first, *others = rows.values()
    common = [key for key in first if all(key in other for other in others)]
    if not common:
        raise RunError(
            f"The runs {', '.join(map(short_repr, runs))} have no row in common, so they cannot be compared."
        )
    return {name: [of[key] for key in common] for name, of in rows.items()}


def _drawn(run: Run, rows: Sequence[int], resampling: Bootstrap) -> Drawn:
    """Score some of a run's rows again, without options that need all rows, such as a certificate."""
    each = run.benchmark.each
    inputs, options = (
        {name: value for name, value in of.items() if name not in each}
        for of in (run.ready.inputs, run.options)
    )
    inputs |= {name: [value[row] for row in rows] for name, value in run.columns.items()}
    part = replace(
        run,
        ready=Ready(run.ready.matched.only(rows), inputs),
        options=options,
        record=run.record.finished(rows),
    )
    with bootstrap.kept() as kept:
        made = again(part, bootstrap=resampling.resamples, seed=resampling.seed, level=resampling.level)
    resampled = dict(flat(next(scores for ends, scores in kept if ends is made.scores["interval"])))
    values = dict(flat(made.scores))
    of_rows = inputs.get("image_ids") or clusters(run.benchmark, inputs["references"])
    return Drawn(made, {name: float(values[name]) for name in resampled}, resampled, len({*of_rows}))


def flat(scores: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each score; the names of nested ones are joined with "/"."""
    for name, values in scores.items():
        if isinstance(values, Mapping):
            yield from flat(values, f"{above}{name}/")
        else:
            yield f"{above}{name}", values


def _classes(run: Run) -> Tally:
    """Return counts per image for each class: of precision and recall, or of the score of questions about it."""
    found, inputs, score = run.found, run.ready.inputs, run.benchmark.principal
    if all({*SAID_OF} <= row.keys() for row in found):
        said = [(at, name, kind) for at, row in enumerate(found) for kind in SAID_OF for name in {*row[kind]}]
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
    return {
        f"{score} of {name}": (
            np.bincount(image, part * (named == name), images),
            np.bincount(image, whole * (named == name), images),
        )
        for score, (part, whole) in counts.items()
        for name in np.unique(named)
    }


def _class_tests(classes: Mapping[str, Tally], level: float) -> list[Tested]:
    """Return the difference in each class of each two runs, by its counts, since some classes are rare."""
    tested: list[Tested] = []
    for names in combinations([name for name, tally in classes.items() if tally], 2):
        one, other = (classes[name] for name in names)
        ours, theirs = (tallies.scores([tally]) for tally in (one, other))
        able = [
            score
            for score in can_differ(one, other, 1 - level)
            if not math.isnan(ours[score] - theirs[score])
        ]
        counts, others = ({score: tally[score] for score in able} for tally in (one, other))
        by = ratio_differences(counts, others, level)
        tested += [(score, names, (ours[score], theirs[score]), by[score]) for score in able]
    return tested


# What is printed


def of_differences(found: Comparison, benchmark: Benchmark, most: int = 0) -> tuple[Table, Table, Notes]:
    """Return tables of the runs, with a letter each, and of their differences, and what a reader has to know."""
    scores, resamples = found.scores, found.resampling.resamples
    lines = [f"Intervals and p values come from {resamples:,} paired resamples."]
    if cut := [f"{one_line(name)} has {rows:,}" for name, rows in found.of.items() if rows > found.rows]:
        lines.append(f"Compared on the {found.rows:,} rows that all runs have ({', '.join(cut)}).")
    for key, values in found.unlike.items():
        each = ", ".join(
            f"{one_line(name)} {one_line(value)}" for name, value in zip(found.of, values, strict=True)
        )
        lines.append(f"The runs were not scored alike, which also changes differences: {key} is {each}.")
    for what in (found.scores, found.groups):
        needed = 2 * len(what) / (1 - found.resampling.level)
        if resamples + 1 <= needed:
            lines.append(
                f"{len(what):,} differences are corrected together, and {resamples:,} resamples tell no p value small "
                f"enough for one alone to hold; --bootstrap {int(needed) + 1} does."
            )
    if 0 < most < len(scores):
        scores = _with_the_best(found, benchmark)
        lines.append(
            f"{len(found.scores):,} differences are corrected together; those from the best run are shown"
        )
    rows: list[list[Cell]] = [
        [letter, name, Number(found.of[name], "d", 1)] for name, letter in _letters(found).items()
    ]
    runs = Table("runs", ["run", "responses", ROWS], rows, left=2)
    return runs, _table("differences", scores, found, benchmark), Notes(lines)


def of_parts(found: Comparison, benchmark: Benchmark, most: int | None = MOST) -> Iterator[Table | Notes]:
    """Yield tables of the significant differences in groups and classes, at most so many of each, the surest first."""
    for what, compared in (("groups", found.groups), ("classes", found.classes)):
        significant = sorted(
            (one for one in compared if one.holm < 1 - found.resampling.level), key=lambda one: one.holm
        )
        if surest := significant[:most]:
            yield _table(what, surest, found, benchmark)
        few = sum(math.isnan(one.by.p) for one in compared)
        line = f"{len(significant):,} of {len(compared) - few:,} differences in {what} are significant"
        line += ", corrected together"
        if few:
            line += f"; not tested: {few:,}, for which fewer than {FEWEST} images count in one of the runs"
        if len(surest) < len(significant):
            line += f"; the {most} with the smallest p are shown, all with --all or .to_pandas()"
        if compared:
            yield Notes([line])


def verdicts(found: Comparison, benchmark: Benchmark) -> Iterator[str]:
    """Say for the best run and each other one whether it is better."""
    for one in _with_the_best(found, benchmark):
        first, second = map(one_line, one.names)
        p = "p < 0.001" if one.holm < 0.001 else f"p {plain(one.holm)}"
        if one.better is None:
            yield f"{first} and {second}: no difference in {one.score} beyond chance ({p})"
            continue
        is_points = benchmark.is_points(one.score)
        by = f"{scored(abs(one.by.value), is_points)}{'' if is_points else ' points'}"
        other = second if one.better == one.names[0] else first
        yield f"{one_line(one.better)} is better than {other}: {one.score} differs by {by} ({p})"


def winner(found: Comparison) -> str:
    """Return the run that is significantly better than each other one by the first of the scores; "" if none is, or if
    the runs are not about the same rows.
    """
    wins = Counter(one.better for one in found.scores if one.score == found.scores[0].score)
    best = [name for name, count in wins.items() if name and count == len(found.of) - 1]
    return best[0] if best and {*found.of.values()} == {found.rows} else ""


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
            *difference_cells(one.values, one.by, benchmark.is_points(one.score)),
            plain(one.holm, ".4f"),
            letters[one.better] if one.better else None,
        ]
        for one in compared
    ]
    header = ["score", "runs", "1st", "2nd", "diff", "Holm p", "better"]
    return Table(name, header, rows, left=2, intervals=("diff",))


def difference_cells(values: tuple[float, float], by: Difference, is_points: bool) -> list[Cell]:
    form, times = ("+.3f", 1) if is_points else ("+.1f", 100)
    return [*(scored(value, is_points) for value in values), Number(by.value, form, times, (by.low, by.high))]
