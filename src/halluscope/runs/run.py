"""A run: responses that were scored, what the judges said of them, and what came of it."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from halluscope import scoring
from halluscope.errors import RunError
from halluscope.judging.transcript import Absent, Transcript
from halluscope.registry import Benchmark
from halluscope.scoring import Ready

HERE = ("device", "store", "progress")
"""Options that say where and how judges run here; they move no score, and are not written down."""


@dataclass(frozen=True)
class Run:
    """What was scored, and what came of it.

    Attributes:
        benchmark: by which it was scored.
        ready: the responses, and what the metric takes of their rows.
        options: of the metric.
        said: what judges said.
        scores: the result, as `scoring.compute` gives it, without the table of rows.
        found: what was found in each row.
        about: who made it, of what, as the user wrote it; it moves nothing.
    """

    benchmark: Benchmark
    ready: Ready
    options: Mapping[str, Any]
    said: Transcript
    scores: Mapping[str, Any]
    found: Sequence[Mapping[str, Any]]
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the responses."""
        return self.ready.matched.name

    @property
    def columns(self) -> dict[str, Any]:
        """What the metric takes of each row: name -> a value per row."""
        rows = len(self.ready.matched.rows)
        return {
            name: value
            for name, value in self.ready.inputs.items()
            if isinstance(value, list | tuple | np.ndarray) and len(value) == rows
        }


def score(
    benchmark: Benchmark, ready: Ready, options: Mapping[str, Any], about: Mapping[str, Any] | None = None
) -> Run:
    """Score responses as `scoring.compute` does, and note what the judges say.

    Args:
        benchmark: whose rows these are.
        ready: the responses.
        options: of the metric, and of how its judges are asked.
        about: what is to be known of the run beside.
    """
    given = {name: options[name] for name in benchmark.given if options.get(name) is not None}
    inputs = {**{name: given[name] for name in given if name in benchmark.keywords}, **ready.inputs}
    return _scored(
        benchmark, Ready(ready.matched, inputs), options, Transcript(options.get("store")), about or {}
    )


def benchmark_of(scored: Iterable[Run]) -> Benchmark:
    """The one benchmark of runs, at least one.

    Raises:
        RunError: for runs of several.
    """
    of = {run.benchmark.name: run.benchmark for run in scored}
    if len(of) > 1:
        raise RunError(f"The runs are of {', '.join(of)}; expected runs of one benchmark.")
    (found,) = of.values()
    return found


def again(run: Run, **options: Any) -> Run:
    """Score a run once more by what its judges said; nobody is asked.

    Args:
        run: with responses to some of the rows, or all.
        options: of the metric, in place of those that it was scored with.

    Raises:
        ValueError: if it cannot be scored, because it was changed.
    """
    told, judges = replace(run.said, is_read=True), run.benchmark.judges
    options["progress"] = False
    if judges and judges.kind == "verdicts":
        named = run.options.get("judge", judges.default)
        if named and named not in judges.rules:
            options["judge"] = Absent(*(told.grader or ("nobody", True)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were told when it was scored first
        return _scored(run.benchmark, run.ready, {**run.options, **options}, told, run.about)


def _scored(
    benchmark: Benchmark,
    ready: Ready,
    options: Mapping[str, Any],
    said: Transcript,
    about: Mapping[str, Any],
) -> Run:
    result = scoring.compute(benchmark, ready, {**options, "store": said, benchmark.items: True})
    found = result.pop(benchmark.items)
    kept = {
        name: value
        for name, value in options.items()
        if name in benchmark.keywords - {*HERE, *ready.inputs, benchmark.items}
    }
    return Run(benchmark, ready, kept, said, result, found, about)
