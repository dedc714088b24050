"""Compares runs of several models on the rows that all of them have.

Each run is cut to these rows, scored again from what its judges said, and resampled with the same draws as the others;
so differences are paired, for every benchmark that gives intervals.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from halluscope import registry
from halluscope.errors import RunError
from halluscope.foreign import brief
from halluscope.runs.run import Run, again, benchmark_of
from halluscope.scoring import Ready, clusters
from halluscope.signature import keys_of
from halluscope.stats import bootstrap, tallies
from halluscope.stats.bootstrap import Bootstrap, Scores
from halluscope.stats.paired import Difference, by_swapping, can_differ, difference, holm
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Tally

RESAMPLES = 5000
"""The default number of resamples; the smallest possible p value is then 0.0004, or 0.0002 for a class."""

NOT_HOW = ("data", "responses", "interval", "prompts", "part")
"""Keys of a signature that do not say how a run was scored, or that are the same once runs are compared."""

SAID_OF = ("found", "hallucinated", "missed")
"""The lists of classes in a row about an image."""

OF_CLASS = {"precision": registry.HIGHER, "recall": registry.HIGHER}
"""The scores of each class that is mentioned in a row, and whether a higher or a lower value is better."""


@dataclass(frozen=True)
class Compared:
    """A score of two runs, compared.

    Attributes:
        score: the name of the score; a group's score has a "/" in it.
        names: the names of the two runs.
        values: the score of each run.
        by: the difference.
        holm: the p value by Holm's correction for all differences that were compared together.
        better: the name of the better run, if the difference is significant and the score has a better direction.
    """

    score: str
    names: tuple[str, str]
    values: tuple[float, float]
    by: Difference
    holm: float
    better: str | None


@dataclass(frozen=True)
class Comparison:
    """The outcome of a comparison.

    Attributes:
        rows: how many rows all runs have in common.
        of: name of a run -> how many rows it has.
        unlike: key of the signature in which runs differ -> the value of each run.
        scores: the requested scores, for each pair of runs.
        groups: the scores of each group, for each pair of runs.
        classes: the scores of each class in which two runs differ often enough for a test to tell, tested by swapping
            images.
        resampling: how differences were resampled.
    """

    rows: int
    of: Mapping[str, int]
    unlike: Mapping[str, Sequence[str]]
    scores: Sequence[Compared]
    groups: Sequence[Compared]
    classes: Sequence[Compared]
    resampling: Bootstrap


@dataclass(frozen=True)
class _Drawn:
    """A run on the rows that all runs have.

    Attributes:
        keys: the keys of its signature, with their values.
        scores: name -> score, also for classes; the names of nested scores are joined with "/".
        resampled: name -> the score of each resample.
        classes: name of a class's score -> its counts per image.
        clusters: the number of clusters of rows that depend on each other, such as images.
    """

    keys: Mapping[str, str]
    scores: Mapping[str, float]
    resampled: Mapping[str, Floats]
    classes: Tally
    clusters: int


def compare(
    runs: Mapping[str, Run], scores: Sequence[str], resampling: Bootstrap, in_parts: bool = True
) -> Comparison:
    """Compare each pair of runs.

    Args:
        runs: at least two runs, by name.
        scores: the names of the scores to compare; [] for the benchmark's principal score.
        resampling: how differences are resampled.
        in_parts: whether groups and classes are compared too.

    Raises:
        RunError: for runs of different benchmarks, runs without a row in common, runs whose rows with the same id
            differ, or a score that they do not have.
        ValueError: for fewer than two runs, or no resamples.
    """
    if len(runs) < 2:
        raise ValueError(f"A comparison needs at least 2 runs; got {', '.join(runs) or 'none'}.")
    if not resampling.resamples:
        raise ValueError("A comparison needs at least 1 resample of the bootstrap; got 0.")
    benchmark = benchmark_of(runs.values())
    cut, rows = _cut(runs)
    drawn = {name: _drawn(run, resampling, in_parts) for name, run in cut.items()}
    _check_data(drawn)
    classes = {name for one in drawn.values() for name in one.classes}
    known = [name for name in _in_all([one.scores for one in drawn.values()]) if name not in classes]
    wanted = list(scores) or [benchmark.principal]
    if missing := [name for name in wanted if name not in known]:
        raise RunError(
            f"The runs have no score {brief(missing[0])} in common; expected one of {', '.join(known)}."
        )
    groups = [
        name
        for name in (known if in_parts else ())
        for of in wanted
        if name.startswith(f"{of}/") or name.endswith(f"/{of}")
    ]
    return Comparison(
        rows,
        {name: len(run.ready.matched.rows) for name, run in runs.items()},
        _unlike([one.keys for one in drawn.values()]),
        _corrected(benchmark, resampling, _of_scores(drawn, wanted, resampling)),
        _corrected(benchmark, resampling, _of_scores(drawn, groups, resampling)),
        _corrected(benchmark, resampling, _of_classes(drawn, resampling)),
        resampling,
    )


_Found = tuple[str, tuple[str, str], tuple[float, float], Difference]
"""The fields of `Compared` before the p value is corrected."""


def _corrected(
    benchmark: registry.Benchmark, resampling: Bootstrap, found: Iterable[_Found]
) -> list[Compared]:
    """Correct the p values of differences together."""
    rows = list(found)
    corrected = zip(rows, holm([by.p for *_, by in rows]), strict=True)
    return [
        Compared(*row, p, _better(benchmark, row) if p < 1 - resampling.level else None)
        for row, p in corrected
    ]


def _better(benchmark: registry.Benchmark, found: _Found) -> str | None:
    name, names, _, by = found
    score = name.partition(" of ")[0]
    direction = OF_CLASS.get(score) or benchmark.direction(score)
    return direction and names[(by.value > 0) != (direction == registry.HIGHER)]


def _of_scores(drawn: Mapping[str, _Drawn], names: Sequence[str], resampling: Bootstrap) -> Iterator[_Found]:
    """Yield the difference in each score for each pair of runs, by their resamples."""
    for (one, first), (other, second) in combinations(drawn.items(), 2):
        for name in names:
            values = first.scores[name], second.scores[name]
            resampled = first.resampled[name], second.resampled[name]
            by = difference(*values, *resampled, first.clusters, resampling.level)
            yield name, (one, other), values, by


def _of_classes(drawn: Mapping[str, _Drawn], resampling: Bootstrap) -> Iterator[_Found]:
    """Yield the difference in each class for each pair of runs, by swapping images, since some classes are rare."""
    for (one, first), (other, second) in combinations(drawn.items(), 2):
        names = [
            name
            for name in can_differ(first.classes, second.classes, 1 - resampling.level)
            if not np.isnan(first.scores[name] - second.scores[name])
        ]
        ours, theirs = ({name: of.classes[name] for name in names} for of in (first, second))
        p = by_swapping(ours, theirs, resampling)
        for score, both, values, by in _of_scores({one: first, other: second}, names, resampling):
            yield score, both, values, replace(by, p=p[score])


def _in_all(of: Sequence[Mapping[str, Any]]) -> list[str]:
    first, *others = of
    return [name for name in first if all(name in other for other in others)]


def _drawn(run: Run, resampling: Bootstrap, with_classes: bool) -> _Drawn:
    """Score a run, and each resample of it."""
    asked = {"bootstrap": resampling.resamples, "seed": resampling.seed, "level": resampling.level}
    with bootstrap.kept() as kept:
        made = again(run, **asked)
    resampled = dict(_flat(next(scores for ends, scores in kept if ends is made.scores["interval"])))
    scores = {name: _value(made.scores, name) for name in resampled}
    if classes := _classes(made) if with_classes else {}:
        weights = resampling.weights(len(next(iter(classes.values()))[0]), len(classes))
        parts = [tallies.resampled([classes], part) for part in weights]
        resampled |= {name: np.concatenate([part[name] for part in parts]) for name in classes}
        scores |= tallies.scores([classes])
    return _Drawn(keys_of(made.scores["signature"]), scores, resampled, classes, _clusters(run))


def _clusters(run: Run) -> int:
    """Return the number of clusters of rows that depend on each other: images, or what `cluster_of` returns."""
    inputs = run.ready.inputs
    return len({*(inputs.get("image_ids") or clusters(run.benchmark, inputs["references"]))})


def _flat(scores: Scores, above: str = "") -> Iterator[tuple[str, Floats]]:
    for name, values in scores.items():
        if isinstance(values, Mapping):
            yield from _flat(values, f"{above}{name}/")
        else:
            yield f"{above}{name}", values


def _value(result: Mapping[str, Any], name: str) -> float:
    """Return a score of a result by its name in `_flat`; the parts of a name may hold a "/" themselves."""
    if name in result:
        return float(result[name])
    first, _, rest = name.partition("/")
    return _value(result[first], rest)


def _classes(run: Run) -> Tally:
    """Return counts per image for each class: of precision and recall if it is mentioned in rows about images.

    If questions ask about classes, the counts are of the principal score.
    """
    objects = run.ready.inputs.get("objects")
    if all({*SAID_OF} <= row.keys() for row in run.found):
        return _mentioned(run.found)
    if objects is not None and run.benchmark.principal in run.benchmark.means:
        return _answered(run, objects)
    return {}


def _mentioned(found: Sequence[Mapping[str, Any]]) -> Tally:
    """Return the counts of classes that are mentioned or present, from rows with one image each."""
    names = sorted({name for row in found for kind in SAID_OF for name in row[kind]})
    number = {name: place for place, name in enumerate(names)}
    counts = {kind: np.zeros((len(names), len(found)), dtype=np.int64) for kind in SAID_OF}
    for row, said in enumerate(found):
        for kind in SAID_OF:
            counts[kind][[number[name] for name in {*said[kind]}], row] = 1
    right, wrong, missed = (counts[kind] for kind in SAID_OF)
    return {
        f"{score} of {name}": (right[place], right[place] + other[place])
        for score, other in zip(OF_CLASS, (wrong, missed), strict=True)
        for place, name in enumerate(names)
    }


def _answered(run: Run, objects: Sequence[str]) -> Tally:
    """Return the counts of the classes that questions ask about."""
    image, score = tallies.numbers(run.ready.inputs["image_ids"]), run.benchmark.principal
    values = np.array([row[score] for row in run.found], dtype=float)
    named, images = np.array(objects), int(image.max()) + 1

    def count(name: str) -> tuple[Floats, Floats]:
        rows = (named == name) & ~np.isnan(values)
        part, whole = (np.bincount(image[rows], of[rows], images) for of in (values, np.ones(len(values))))
        return part.astype(float), whole.astype(float)

    return {f"{score} of {name}": count(name) for name in sorted({*objects})}


# What is compared


def _cut(runs: Mapping[str, Run]) -> tuple[dict[str, Run], int]:
    """Return each run cut to the rows that all runs have, in the same order, and the number of these rows."""
    places = {name: _places(run) for name, run in runs.items()}
    first, *others = places.values()
    common = [key for key in first if all(key in other for other in others)]
    if not common:
        raise RunError(
            f"The runs {', '.join(map(brief, runs))} have no row in common, so they cannot be compared."
        )
    cut = {name: _only(run, [places[name][key] for key in common]) for name, run in runs.items()}
    return cut, len(common)


def _places(run: Run) -> dict[tuple[Any, ...], int]:
    """Return the place of each row, by its id."""
    key = registry.identity(run.benchmark).key
    return {
        tuple(getattr(row, part) for part in key): place for place, row in enumerate(run.ready.matched.rows)
    }


def _only(run: Run, places: Sequence[int]) -> Run:
    """Return a run cut to some of its rows, without options that need all rows, such as a certificate."""
    matched, columns = run.ready.matched, run.columns
    inputs = {
        name: [value[place] for place in places] if name in columns else value
        for name, value in run.ready.inputs.items()
        if name in columns or name not in run.benchmark.each
    }
    voted = run.said.voted and replace(run.said.voted, votes=run.said.voted.votes[[*places]])
    return replace(
        run,
        ready=Ready(matched.only(places), inputs),
        options={name: value for name, value in run.options.items() if name not in run.benchmark.each},
        said=replace(run.said, voted=voted),
    )


def _check_data(drawn: Mapping[str, _Drawn]) -> None:
    data = {name: one.keys["data"] for name, one in drawn.items()}
    if len({*data.values()}) > 1:
        raise RunError(
            "Rows with the same ids differ between these runs "
            f"({', '.join(f'{brief(name)} {brief(of)}' for name, of in data.items())}); expected runs on the "
            "same version of one dataset."
        )


def _unlike(signatures: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """Return the keys in which signatures differ, each with the value of every run."""
    names = dict.fromkeys(name for keys in signatures for name in keys if name not in NOT_HOW)
    values = {name: [keys.get(name, "") for keys in signatures] for name in names}
    return {name: of for name, of in values.items() if len({*of}) > 1}
