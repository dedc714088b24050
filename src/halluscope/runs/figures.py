"""Draws runs: those of each benchmark, and of two against each other."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from halluscope.benchmark import LOWER
from halluscope.errors import MissingExtra, RunError
from halluscope.options import check_names
from halluscope.reporting.figures import (
    Axis,
    Figure,
    ModelInTwo,
    Point,
    of_models,
    of_two_benchmarks,
    point_of,
)
from halluscope.reporting.tables import is_defined
from halluscope.runs.page import all_shown, by_own_name
from halluscope.runs.run import Run, benchmark_of
from halluscope.sanitize import one_line
from halluscope.stats.correlation import FEWEST_MODELS


def draw(runs: Mapping[str, Run], scores: Sequence[str] = ()) -> list[Figure]:
    """Draw runs, as `halluscope.runs.folder.checked` reads them.

    Runs of one benchmark give up to three figures: their scores, errors by class, and errors along the text; those
    whose data they lack are left out. Runs of several benchmarks, or of one on several datasets, give these figures of
    each, and those of two are also drawn against each other, if enough models have both.

    Args:
        runs: the runs, by their names.
        scores: the scores to draw, by default all of the principal score's kind. Of two benchmarks one score, or one
            for each in the order of the runs; they are then only drawn against each other.

    Raises:
        RunError: if scores are named for more than two benchmarks, or too few models have those of both.
        ValueError: if no run has a score that is named, or the scores have different scales.
        MissingExtra: if matplotlib is not installed.
    """
    groups = _groups(runs)
    if len(groups) == 1:
        for score in scores:
            _check_score(list(runs.values()), score)
        return of_models(all_shown(runs), benchmark_of(runs), scores)
    if len(groups) == 2 and scores:
        return [_of_two(groups, scores)]
    if scores:
        raise RunError(
            f"--scores is {' '.join(scores)}, and the runs are of {len(groups)} benchmarks: {', '.join(groups)}; "
            "expected runs of one or two. Leave --scores out, or draw each benchmark by itself: `halluscope report RUN "
            "--figures FOLDER --scores SCORE`."
        )
    figures = []
    if len(groups) == 2:
        with suppress(RunError):  # too few models have both
            figures.append(_of_two(groups, ()))
    for measured, several in groups.items():
        for figure in of_models(all_shown(several), benchmark_of(several)):
            name = f"{_file_name(measured)}-{figure.name}"
            figures.append(replace(figure, name=name, title=f"{measured}: {figure.title}"))
    return figures


def _file_name(measured: str) -> str:
    """Return what runs measure as the beginning of files' names.

    >>> _file_name("THRONE (throne_coco)"), _file_name("POPE (pope)")
    ('throne-throne_coco', 'pope')
    """
    words = re.findall("[a-z0-9_]+", measured.lower())
    return "-".join(dict.fromkeys(words))


def against_each_other(runs: Mapping[str, Run]) -> list[Figure]:
    """Draw runs of two benchmarks against each other; [] for others, or where too few models have both scores."""
    try:
        groups = _groups(runs)
        if len(groups) != 2:
            return []
        return [_of_two(groups, ())]
    except (RunError, MissingExtra):
        return []


def _groups(runs: Mapping[str, Run]) -> dict[str, dict[str, Run]]:
    """Return runs, by their names, by what they measure."""
    groups: dict[str, dict[str, Run]] = {}
    for name, run in runs.items():
        groups.setdefault(_measured(run), {})[name] = run
    return {measured: by_own_name(group) for measured, group in groups.items()}


def _measured(run: Run) -> str:
    """Return what a run measures: its benchmark, and the datasets that were built; such as "THRONE (throne_coco)"."""
    title = run.benchmark.title
    datasets = [build["name"] for build in run.ready.matched.built]
    if not datasets:
        return title
    return f"{title} ({', '.join(datasets)})"


def _check_score(runs: Sequence[Run], score: str) -> None:
    known: list[str] = []
    for run in runs:
        for name, value in run.scores.items():
            if isinstance(value, int | float) and name not in known:
                known.append(name)
    check_names("There is no score", [score], known)


def _of_two(groups: Mapping[str, Mapping[str, Run]], scores: Sequence[str]) -> Figure:
    if len(scores) > 2:
        raise ValueError(
            f"{len(scores)} scores are named for two benchmarks; expected one, or one for each of them."
        )
    axes: list[Axis] = []
    points = []
    for measured, by_name in groups.items():
        runs = list(by_name.values())
        benchmark = runs[0].benchmark
        score = benchmark.principal
        if scores:
            # the second benchmark has the last of one or two
            score = scores[-1] if axes else scores[0]
            _check_score(runs, score)
        is_lower_better = benchmark.direction(score) == LOWER
        axes.append(Axis(measured, score, benchmark.is_points(score), is_lower_better))
        points.append(_points(runs, score, measured))

    models = []
    for name, first in points[0].items():
        second = points[1].get(name)
        if second and is_defined(first.value) and is_defined(second.value):
            models.append(ModelInTwo(name, first, second))
    if len(models) < FEWEST_MODELS:
        names = ", ".join(one_line(model.name, 80) for model in models)
        raise RunError(
            f"Models that have these scores of both {' and '.join(groups)}: {names or 'none'}; expected at least "
            f"{FEWEST_MODELS}. They are told by the names of their responses; "
            "`halluscope score --responses NAME=FILE` gives one."
        )
    return of_two_benchmarks(axes[0], axes[1], models)


def _points(runs: Sequence[Run], score: str, measured: str) -> dict[str, Point]:
    """Return a score of runs by their names."""
    points: dict[str, Point] = {}
    for run in runs:
        if run.name in points:
            raise RunError(
                f"Several runs of {measured} are named {one_line(run.name, 80)}; expected one for each model, with a "
                "name of its own: `halluscope score --responses NAME=FILE`."
            )
        points[run.name] = point_of(run.scores, score)
    return points
