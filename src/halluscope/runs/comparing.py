"""Compares runs of several models on the rows that all of them have: what is not due to chance, and tables of it.

Each run is cut to these rows, scored again, and resampled with the same draws as the others: differences are paired.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count, product
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
from halluscope.signature import keys_of
from halluscope.stats import bootstrap, tallies
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.paired import FEWEST, Difference, can_differ, difference, holm, ratio_differences
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Tally

# Keys of a signature that do not say how a run was scored, or that are the same once runs are compared.
NOT_HOW = ("data", "responses", "interval", "prompts", "part")

SAID_OF = ("found", "hallucinated", "missed")  # the lists of classes in a row about an image

FEW = 10  # up to this many differences between models are all shown; of more, only those from the best model

# The score's name, both values, and the difference
Tested = tuple[str, tuple[float, float], Difference]


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
    keys: Mapping[str, str]  # the keys of its signature, with their values
    scores: Mapping[str, float]  # name -> score; the names of nested scores are joined with "/"
    resampled: Mapping[str, Floats]  # name -> the score of each resample
    classes: Tally  # name of a class's score -> its counts per image
    clusters: int  # the number of clusters of rows that depend on each other, such as images

    def against(self, other: "Drawn", names: Collection[str], level: float) -> Iterator[Tested]:
        for name in names:
            values = self.scores[name], other.scores[name]
            resampled = self.resampled[name], other.resampled[name]
            yield name, values, difference(*values, *resampled, self.clusters, level)

    def classes_against(self, other: "Drawn", level: float) -> Iterator[Tested]:
        """Yield the difference in each class, by its counts, since some classes are rare."""
        if not (self.classes and other.classes):
            return
        ours, theirs = (tallies.scores([of.classes]) for of in (self, other))
        able = can_differ(self.classes, other.classes, 1 - level)
        names = [name for name in able if not math.isnan(ours[name] - theirs[name])]
        counted = [{name: of.classes[name] for name in names} for of in (self, other)]
        for name, by in ratio_differences(counted[0], counted[1], level).items():
            yield name, (ours[name], theirs[name]), by


def compare(
    runs: Mapping[str, Run], scores: Sequence[str], resampling: Bootstrap, in_parts: bool = True
) -> Comparison:
    if len(runs) < 2:
        raise ValueError(f"A comparison needs at least 2 runs; got {', '.join(runs) or 'none'}.")
    benchmark, level = benchmark_of(runs.values()), resampling.level
    drawn = draw(runs, resampling, in_parts)
    wanted = list(scores) or [benchmark.principal]
    known = known_scores(drawn.values(), wanted)
    groups = [
        name
        for name in (known if in_parts else ())
        if any(name.startswith(f"{of}/") or name.endswith(f"/{of}") for of in wanted)
    ]

    def paired(test: Callable[[Drawn, Drawn], Iterator[Tested]]) -> list[Compared]:
        found = [
            (names, *one)
            for names in combinations(drawn, 2)
            for one in test(drawn[names[0]], drawn[names[1]])
        ]
        corrected = holm([by.p for *_, by in found])
        return [
            Compared(
                score, names, values, by, p, _better(benchmark, score, names, by) if p < 1 - level else None
            )
            for (names, score, values, by), p in zip(found, corrected, strict=True)
        ]

    values = {
        key: [one.keys.get(key, "") for one in drawn.values()]
        for key in dict.fromkeys(key for one in drawn.values() for key in one.keys if key not in NOT_HOW)
    }
    return Comparison(
        len(next(iter(drawn.values())).run.found),
        {name: len(run.ready.matched.rows) for name, run in runs.items()},
        {key: of for key, of in values.items() if len({*of}) > 1},
        paired(lambda one, other: one.against(other, wanted, level)),
        paired(lambda one, other: one.against(other, groups, level)),
        paired(lambda one, other: one.classes_against(other, level)),
        resampling,
    )


def _better(benchmark: Benchmark, score: str, names: tuple[str, str], by: Difference) -> str | None:
    of = score.partition(" of ")[0]
    direction = HIGHER if of in ("precision", "recall") else benchmark.direction(of)
    return direction and names[(by.value > 0) != (direction == HIGHER)]


def known_scores(drawn: Collection[Drawn], wanted: Sequence[str]) -> list[str]:
    """Return the scores that all runs have, after a check that the wanted ones are among them."""
    first, *others = drawn
    known = [name for name in first.scores if all(name in other.scores for other in others)]
    if missing := [name for name in wanted if name not in known]:
        raise RunError(
            f"The runs have no score {short_repr(missing[0])} in common; expected one of {', '.join(known)}."
        )
    return known


def draw(runs: Mapping[str, Run], resampling: Bootstrap, in_parts: bool = False) -> dict[str, Drawn]:
    """Score runs again on the rows that all have, with resamples; each resample draws the same rows of all."""
    if not resampling.resamples:
        raise ValueError("A comparison needs at least 1 resample of the bootstrap; got 0.")
    drawn = {name: _drawn(runs[name], rows, resampling, in_parts) for name, rows in shared(runs).items()}
    if len({one.keys["data"] for one in drawn.values()}) > 1:
        each = ", ".join(f"{short_repr(name)} {short_repr(one.keys['data'])}" for name, one in drawn.items())
        raise RunError(
            f"Rows with the same ids differ between these runs ({each}); expected runs on the same version of one "
            "dataset."
        )
    return drawn


def shared(runs: Mapping[str, Run]) -> dict[str, list[int]]:
    """Return the indices of the rows that all runs have, in the same order: name of a run -> indices."""
    indices: dict[str, dict[tuple[Any, ...], int]] = {}
    for name, run in runs.items():
        key = registry.identity(run.benchmark).key
        rows = run.ready.matched.rows
        indices[name] = {tuple(getattr(row, part) for part in key): index for index, row in enumerate(rows)}
    first, *others = indices.values()
    common = [key for key in first if all(key in other for other in others)]
    if not common:
        raise RunError(
            f"The runs {', '.join(map(short_repr, runs))} have no row in common, so they cannot be compared."
        )
    return {name: [of[key] for key in common] for name, of in indices.items()}


def _drawn(run: Run, rows: Sequence[int], resampling: Bootstrap, in_parts: bool) -> Drawn:
    """Score some of a run's rows again, without options that need all rows, such as a certificate."""
    matched, columns, each = run.ready.matched, run.columns, run.benchmark.each
    inputs = {
        name: [value[row] for row in rows] if name in columns else value
        for name, value in run.ready.inputs.items()
        if name in columns or name not in each
    }
    part = replace(
        run,
        ready=Ready(matched.only(rows), inputs),
        options={name: value for name, value in run.options.items() if name not in each},
        record=run.record.finished(rows),
    )
    asked = {"bootstrap": resampling.resamples, "seed": resampling.seed, "level": resampling.level}
    with bootstrap.kept() as kept:
        made = again(part, **asked)
    resampled = dict(flat(next(scores for ends, scores in kept if ends is made.scores["interval"])))
    values = dict(flat(made.scores))
    of_rows = inputs.get("image_ids") or clusters(run.benchmark, inputs["references"])
    return Drawn(
        made,
        keys_of(made.scores["signature"]),
        {name: float(values[name]) for name in resampled},
        resampled,
        _classes(made) if in_parts else {},
        len({*of_rows}),
    )


def flat(scores: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each score; the names of nested ones are joined with "/"."""
    for name, values in scores.items():
        if isinstance(values, Mapping):
            yield from flat(values, f"{above}{name}/")
        else:
            yield f"{above}{name}", values


def _classes(run: Run) -> Tally:
    """Return counts per image for each class: of precision and recall, or of the score of questions about it."""
    objects, principal, found = run.ready.inputs.get("objects"), run.benchmark.principal, run.found
    tally: dict[str, tuple[Floats, Floats]] = {}
    if all({*SAID_OF} <= row.keys() for row in found):
        said = [[{*row[kind]} for row in found] for kind in SAID_OF]
        names = sorted({name for kind in said for row in kind for name in row})
        number = {name: index for index, name in enumerate(names)}
        counts = np.zeros((len(SAID_OF), len(names), len(found)))
        for kind, rows in enumerate(said):
            for row, classes in enumerate(rows):
                counts[kind, [number[name] for name in classes], row] = 1
        right = counts[0]
        for score, other in (("precision", counts[1]), ("recall", counts[2])):
            tally |= {f"{score} of {name}": (right[at], right[at] + other[at]) for name, at in number.items()}
    elif objects is not None and principal in run.benchmark.means:
        image, named = tallies.numbers(run.ready.inputs["image_ids"]), np.array(objects)
        values = np.array([row[principal] for row in found], dtype=float)
        for name in sorted({*objects}):
            rows = (named == name) & ~np.isnan(values)
            part, whole = (
                np.bincount(image[rows], of[rows], image.max() + 1).astype(float)
                for of in (values, np.ones(len(values)))
            )
            tally[f"{principal} of {name}"] = part, whole
    return tally


# What is printed


def of_differences(found: Comparison, benchmark: Benchmark, most: int = 0) -> tuple[Table, Table, Notes]:
    """Return tables of the runs, with a letter each, and of their differences, and what a reader has to know."""
    scores, resampling = found.scores, found.resampling
    lines = [f"Intervals and p values come from {resampling.resamples:,} paired resamples."]
    if cut := [f"{one_line(name)} has {rows:,}" for name, rows in found.of.items() if rows > found.rows]:
        lines.append(f"Compared on the {found.rows:,} rows that all runs have ({', '.join(cut)}).")
    for key, values in found.unlike.items():
        each = ", ".join(map(" ".join, zip(map(one_line, found.of), map(one_line, values), strict=True)))
        lines.append(f"The runs were not scored alike, which also changes differences: {key} is {each}.")
    for what in (found.scores, found.groups):
        needed = 2 * len(what) / (1 - resampling.level)
        if resampling.resamples + 1 <= needed:
            lines.append(
                f"{len(what):,} differences are corrected together, and {resampling.resamples:,} resamples tell no p "
                f"value small enough for one alone to hold; --bootstrap {int(needed) + 1} does."
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


def of_parts(found: Comparison, benchmark: Benchmark, most: int | None = None) -> Iterator[Table | Notes]:
    """Yield tables of the significant differences in groups and classes, at most so many of each, the surest first."""
    for what, compared in (("groups", found.groups), ("classes", found.classes)):
        significant = [one for one in compared if one.holm < 1 - found.resampling.level]
        surest = significant if most is None else sorted(significant, key=lambda one: one.holm)[:most]
        if surest:
            yield _table(what, surest, found, benchmark)
        few = sum(math.isnan(one.by.p) for one in compared)
        if compared:
            of = f"{len(compared) - few:,} differences in {what}"
            line = f"{len(significant):,} of {of} are significant, corrected together"
            if few:
                line += (
                    f"; not tested: {few:,}, for which fewer than {FEWEST} images count in one of the runs"
                )
            if len(surest) < len(significant):
                line += f"; the {most} with the smallest p are shown, all with --all"
            yield Notes([line])


def verdicts(found: Comparison, benchmark: Benchmark) -> Iterator[str]:
    """Say for the best run and each other one whether it is better."""
    for one in _with_the_best(found, benchmark):
        first, second = map(one_line, one.names)
        p, is_points = (
            "p < 0.001" if one.holm < 0.001 else f"p {plain(one.holm)}",
            benchmark.is_points(one.score),
        )
        if one.better is None:
            yield f"{first} and {second}: no difference in {one.score} beyond chance ({p})"
            continue
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
    of_score = [one for one in found.scores if one.score == score]
    values = {name: value for one in of_score for name, value in zip(one.names, one.values, strict=True)}
    known = {name: value for name, value in values.items() if not math.isnan(value)}
    best = (min if benchmark.direction(score) == LOWER else max)(known, key=known.__getitem__, default="")
    return [one for one in found.scores if best in one.names]


def _letters(found: Comparison) -> dict[str, str]:
    """Return a letter for each run, by its name: A, B, ... Z, AA, AB, ..."""
    words = ("".join(word) for length in count(1) for word in product(ascii_uppercase, repeat=length))
    return dict(zip(found.of, words, strict=False))


def _table(name: str, compared: Sequence[Compared], found: Comparison, benchmark: Benchmark) -> Table:
    letters = _letters(found)
    rows: list[list[Cell]] = [
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
