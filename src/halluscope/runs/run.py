"""A run: scored responses, what judges said about them, and the result."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from halluscope import scoring
from halluscope.benchmark import SIGNATURE, Benchmark
from halluscope.errors import RunError
from halluscope.judging.cache import Record, cache_of
from halluscope.judging.judge import KnownJudge
from halluscope.metric import Result
from halluscope.reporting.tables import Values
from halluscope.sanitize import one_line
from halluscope.scoring import Ready
from halluscope.signature import keys_of
from halluscope.validation import flags

# What is noted of a run's doubts: sentences, each on how responses were matched or a warning when they were scored
NOTES = "notes"

# Options that say where and how judges run on this machine; they change no score, and are not written.
HERE = ("device", "store", "progress")


@dataclass(frozen=True)
class Run:
    benchmark: Benchmark
    ready: Ready  # the responses, and what the metric takes from their rows
    options: Values  # the metric's options
    record: Record  # what the judges said
    scores: Result  # as `scoring.compute` gives it, without the table of rows
    found: Sequence[Values]  # what was found in each row
    # what else is noted, such as the command as the user wrote it; it changes no score
    about: Values = field(default_factory=dict)

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
        columns = {}
        for name, value in self.ready.inputs.items():
            if isinstance(value, list | tuple | np.ndarray) and len(value) == rows:
                columns[name] = value
        return columns


def score(
    benchmark: Benchmark,
    ready: Ready,
    options: Values,
    about: Values | None = None,
    *,
    items: bool = True,
) -> Run:
    """Score responses as `scoring.compute` does, and note what the judges say.

    Unless `items` is False, also note what is found in each row, which takes longer and more memory.
    """
    inputs = {}
    for name in benchmark.input_options:
        if name in benchmark.keywords and options.get(name) is not None:
            inputs[name] = options[name]
    inputs.update(ready.inputs)
    fresh = options.get("fresh", False)
    flags(fresh=fresh)
    cache = cache_of(options.get("store"), fresh)
    run = Run(
        benchmark,
        Ready(ready.matched, inputs),
        options={},
        record=Record(cache),
        scores=Result(),
        found=[],
        about=about or {},
    )
    notes = list(ready.notes)
    notes += [f"{doubt[:1].upper()}{doubt[1:]}." for doubt in scoring.doubts(benchmark, ready)]
    try:
        with scoring.noting(notes):
            scored = _computed(run, options, items)
    finally:
        if cache is not options.get("store"):
            cache.close()
    notes = [note.removeprefix(f"{one_line(run.name)}: ") for note in notes]
    return replace(scored, about=dict(scored.about) | {NOTES: notes})


def rescore(run: Run, **options: Any) -> Run:
    """Score a run from what its judges said; no judge is asked."""
    chosen = dict(run.options) | options
    chosen["progress"] = False
    judges = run.benchmark.judges
    if judges and judges.kind == "verdicts":
        judge = run.options.get("judge", judges.default)
        if judge and judge not in judges.rules:
            chosen["judge"] = run.record.judge or KnownJudge("nobody", greedy=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were shown when the run was first scored
        return _computed(replace(run, record=run.record.finished()), chosen)


def _computed(run: Run, options: Values, with_items: bool = True) -> Run:
    """Return a run with its scores, and with the options that can move them."""
    benchmark = run.benchmark
    arguments = dict(options) | {"store": run.record, benchmark.items: with_items}
    scores = scoring.compute(benchmark, run.ready, arguments)
    items = scores.pop(benchmark.items, [])
    moving = benchmark.keywords.difference(HERE, run.ready.inputs, [benchmark.items])
    kept_options = {name: value for name, value in options.items() if name in moving}
    return replace(run, options=kept_options, found=items, scores=scores)


def benchmark_of(runs: Mapping[str, Run]) -> Benchmark:
    """Return the benchmark of all runs."""
    benchmarks = {run.benchmark.name: run.benchmark for run in runs.values()}
    if len(benchmarks) > 1:
        raise RunError(
            f"The runs are of {', '.join(benchmarks)}; expected runs of one benchmark. Name only those of one; "
            "`halluscope table` shows several benchmarks side by side."
        )
    return next(iter(benchmarks.values()))
