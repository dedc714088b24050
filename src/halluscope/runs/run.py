"""A run: scored responses, what the judges said about them, and the result."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from halluscope import scoring
from halluscope.errors import RunError
from halluscope.judging.cache import Record, cache_of
from halluscope.judging.judge import KnownJudge
from halluscope.registry import SIGNATURE, Benchmark
from halluscope.scoring import Ready
from halluscope.signature import keys_of

# Options that say where and how judges run on this machine; they change no score, and are not written.
HERE = ("device", "store", "progress")


@dataclass(frozen=True)
class Run:
    benchmark: Benchmark
    ready: Ready  # the responses, and what the metric takes from their rows
    options: Mapping[str, Any]  # the metric's options
    record: Record  # what the judges said
    scores: Mapping[str, Any]  # the result, as `scoring.compute` gives it, without the table of rows
    found: Sequence[Mapping[str, Any]]  # what was found in each row
    # what else is noted, such as the command as the user wrote it; it changes no score
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.ready.matched.name

    @property
    def keys(self) -> dict[str, str]:
        """The keys of its signature, with their values."""
        return keys_of(self.scores[SIGNATURE])

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
    """Score responses as `scoring.compute` does, and note what the judges say."""
    given = {name: options[name] for name in benchmark.input_options if options.get(name) is not None}
    inputs = {**{name: given[name] for name in given if name in benchmark.keywords}, **ready.inputs}
    cache = cache_of(options.get("store"), bool(options.get("fresh")))
    try:
        return _scored(benchmark, Ready(ready.matched, inputs), options, Record(cache), about or {})
    finally:
        if cache is not options.get("store"):
            cache.close()


def benchmark_of(scored: Iterable[Run]) -> Benchmark:
    of = {run.benchmark.name: run.benchmark for run in scored}
    if len(of) > 1:
        raise RunError(f"The runs are of {', '.join(of)}; expected runs of one benchmark.")
    (found,) = of.values()
    return found


def again(run: Run, **options: Any) -> Run:
    """Score a run again from what its judges said; no judge is asked."""
    options["progress"], judges = False, run.benchmark.judges
    if judges and judges.kind == "verdicts":
        named = run.options.get("judge", judges.default)
        if named and named not in judges.rules:
            options["judge"] = run.record.judge or KnownJudge("nobody", greedy=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were shown when the run was first scored
        return _scored(run.benchmark, run.ready, {**run.options, **options}, run.record.finished(), run.about)


def _scored(
    benchmark: Benchmark,
    ready: Ready,
    options: Mapping[str, Any],
    record: Record,
    about: Mapping[str, Any],
) -> Run:
    result = scoring.compute(benchmark, ready, {**options, "store": record, benchmark.items: True})
    found = result.pop(benchmark.items)
    kept = {
        name: value
        for name, value in options.items()
        if name in benchmark.keywords - {*HERE, *ready.inputs, benchmark.items}
    }
    return Run(benchmark, ready, kept, record, result, found, about)
