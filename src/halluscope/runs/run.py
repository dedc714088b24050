"""A run: scored responses, what the judges said about them, and the result."""

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
"""Options that say where and how judges run on this machine; they change no score, and are not written."""


@dataclass(frozen=True)
class Run:
    """What was scored, and the result.

    Attributes:
        benchmark: the benchmark.
        ready: the responses, and what the metric takes from their rows.
        options: the metric's options.
        said: what the judges said.
        scores: the result, as `scoring.compute` gives it, without the table of rows.
        found: what was found in each row.
        about: what else is noted, such as the command as the user wrote it; it changes no score.
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
        """The name of the responses."""
        return self.ready.matched.name

    @property
    def columns(self) -> dict[str, Any]:
        """What the metric takes from each row: name -> a value per row."""
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
        benchmark: the benchmark of the rows.
        ready: the responses with their rows.
        options: options of the metric, and of how its judges are asked.
        about: what else to note about the run.
    """
    given = {name: options[name] for name in benchmark.given if options.get(name) is not None}
    inputs = {**{name: given[name] for name in given if name in benchmark.keywords}, **ready.inputs}
    return _scored(
        benchmark, Ready(ready.matched, inputs), options, Transcript(options.get("store")), about or {}
    )


def benchmark_of(scored: Iterable[Run]) -> Benchmark:
    """Return the benchmark of runs; there must be at least one run.

    Raises:
        RunError: for runs of several benchmarks.
    """
    of = {run.benchmark.name: run.benchmark for run in scored}
    if len(of) > 1:
        raise RunError(f"The runs are of {', '.join(of)}; expected runs of one benchmark.")
    (found,) = of.values()
    return found


def again(run: Run, **options: Any) -> Run:
    """Score a run again from what its judges said; no judge is asked.

    Args:
        run: a run, or a run that was cut to some of its rows.
        options: options of the metric that replace those of the run.

    Raises:
        ValueError: if the run cannot be scored, because it was changed.
    """
    told, judges = replace(run.said, is_read=True), run.benchmark.judges
    options["progress"] = False
    if judges and judges.kind == "verdicts":
        named = run.options.get("judge", judges.default)
        if named and named not in judges.rules:
            options["judge"] = Absent(*(told.grader or ("nobody", True)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were shown when the run was first scored
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
