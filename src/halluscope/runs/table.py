"""The table of a paper: a row per model, a column per score of each benchmark.

What a preset shows of a benchmark is declared in the benchmark's class (`Benchmark.presets`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.benchmark import HIGHER, LOWER, Benchmark, Column
from halluscope.errors import RunError
from halluscope.options import check_names
from halluscope.reporting.printed import Printed
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table, is_defined, scored
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.runs.comparing import Rescored, compare_each_two, corrected, rescored
from halluscope.runs.folder import check, folders
from halluscope.runs.run import Run
from halluscope.sanitize import short_repr
from halluscope.stats.bootstrap import Bootstrap

# Keys of a signature that may differ between models in one column
MAY_DIFFER = ("responses", "interval", "seeds", "unfinished", "version")

ARROWS = {HIGHER: " \u2191", LOWER: " \u2193", None: ""}


@dataclass(frozen=True)
class Columns:
    """A benchmark's columns, and its runs."""

    benchmark: Benchmark
    columns: Sequence[Column]
    runs: Mapping[str, Run]  # by the model's name

    def head(self, column: Column) -> str:
        """Return a column's name, with the arrow that says which direction is better."""
        name = f"{self.benchmark.title} {column.head}"
        if column.head.startswith(self.benchmark.title):
            name = column.head
        return name + ARROWS[self.benchmark.better(column.score)]

    def number(self, column: Column, model: str) -> Number:
        """Return a model's score; undefined without a run."""
        if model not in self.runs:
            return Number(None)
        scores = self.runs[model].scores
        ends = scores.get("interval", {}).get(column.score, ())
        number = scored(scores.get(column.score), self.benchmark.is_points(column.score), ends)
        if column.form:
            return number._replace(form=column.form)
        return number


def table(paths: Sequence[str | Path], preset: str = "", scores: Sequence[str] = ()) -> Printed:
    """Put runs into one table.

    Args:
        paths: folders of runs, or folders of such folders; a row per model, in this order.
        preset: which scores are shown: "decoding" or "preference", as benchmarks declare them; "" for each benchmark's
            principal score.
        scores: the scores to show instead, each as "benchmark/score".

    Returns:
        Model -> the scores by "benchmark/score", fractions in [0, 1] or points. A score is highlighted if it is the
        best of its column, and better than the next one beyond chance (paired, p corrected by Holm for the column).

    Raises:
        RunError: for runs that cannot stand in one column, or two runs of one model and benchmark.
        ValueError: for an unknown preset or score.
    """
    if preset and scores:
        raise ValueError(f"preset is {preset!r}, but scores name what is shown; leave one of them out.")
    if preset:
        check_names("There is no preset", [preset], presets())
    runs = [check(folder) for folder in folders(paths)]
    by_benchmark = runs_of(runs)
    models = list(dict.fromkeys(run.name for run in runs))
    parts = list(parts_of(by_benchmark, preset, scores))
    for part in parts:
        check_alike(part)

    header = ["model"]
    rows: list[list[Cell]] = [[model] for model in models]
    values: dict[str, dict[str, Any]] = {model: {} for model in models}
    for part in parts:
        compared = on_common_rows(part)
        for column in part.columns:
            header.append(part.head(column))
            best = best_of(part, column, compared)
            for row, model in zip(rows, models, strict=True):
                number = part.number(column, model)
                values[model][f"{part.benchmark.name}/{column.score}"] = number.value
                row.append(number._replace(best=model == best))
    shown = Table("scores", header, rows, ranked=True, intervals=header[1:])
    report: Report = [shown, Notes(list(notes(parts, by_benchmark, preset)))]
    return Printed(values, report, [{"model": model, **values[model]} for model in models])


# Which runs, which columns


def runs_of(runs: Sequence[Run]) -> dict[str, dict[str, Run]]:
    """Return runs by the names of their benchmarks and of their models."""
    by_benchmark: dict[str, dict[str, Run]] = {}
    for run in runs:
        of_benchmark = by_benchmark.setdefault(run.benchmark.name, {})
        if run.name in of_benchmark:
            raise RunError(
                f"Two runs are of {run.benchmark.title} by {short_repr(run.name)}; expected one. Leave one out, or "
                "score it under another name: --responses NAME=FILE."
            )
        of_benchmark[run.name] = run
    return by_benchmark


def parts_of(
    by_benchmark: Mapping[str, Mapping[str, Run]], preset: str, scores: Sequence[str]
) -> Iterator[Columns]:
    """Yield the columns of each benchmark, in the order in which they are shown."""
    if scores:
        yield from named(by_benchmark, scores)
        return
    if preset:
        yield from of_preset(by_benchmark, preset)
        return
    for name, runs in by_benchmark.items():
        benchmark = registry.benchmark(name)
        yield Columns(benchmark, [Column(benchmark.principal, benchmark.principal)], runs)


def presets() -> dict[str, list[Benchmark]]:
    """Return the benchmarks that each preset shows, in the order of their columns."""
    benchmarks: dict[str, list[Benchmark]] = {}
    for benchmark in registry.benchmarks():
        for name in benchmark.presets:
            benchmarks.setdefault(name, []).append(benchmark)
    for name, shown in benchmarks.items():
        shown.sort(key=lambda benchmark: benchmark.presets[name].place)
    return benchmarks


def of_preset(by_benchmark: Mapping[str, Mapping[str, Run]], preset: str) -> Iterator[Columns]:
    """Yield the columns that a preset shows."""
    shown = presets()[preset]
    if not any(benchmark.name in by_benchmark for benchmark in shown):
        names = ", ".join(benchmark.name for benchmark in shown)
        raise RunError(
            f"No run is of a benchmark that the preset {preset!r} shows; expected runs of {names}."
        )
    for benchmark in shown:
        if benchmark.name in by_benchmark:
            yield Columns(benchmark, benchmark.presets[preset].columns, by_benchmark[benchmark.name])


def named(by_benchmark: Mapping[str, Mapping[str, Run]], scores: Sequence[str]) -> Iterator[Columns]:
    """Yield the columns that the user names."""
    columns: dict[str, list[Column]] = {}
    for text in scores:
        name, _, score = text.partition("/")
        if name not in by_benchmark:
            raise ValueError(
                f"There is no run of {short_repr(name)}, of which {short_repr(text)} names a score; expected "
                f"BENCHMARK/SCORE with one of {', '.join(by_benchmark)}."
            )
        known = next(iter(by_benchmark[name].values())).scores
        if not isinstance(known.get(score), int | float):
            numbers = [key for key, value in known.items() if isinstance(value, float)]
            raise ValueError(
                f"{name} has no score {short_repr(score)}; expected one of {', '.join(numbers)}."
            )
        columns.setdefault(name, []).append(Column(score, score))
    for name, of_benchmark in columns.items():
        yield Columns(registry.benchmark(name), of_benchmark, by_benchmark[name])


# What may stand in one column


def check_alike(part: Columns) -> None:
    """Refuse models that were asked or scored in different ways."""
    for first, second in combinations(part.runs.values(), 2):
        keys = first.keys
        others = second.keys
        differing = []
        for key in keys | others:
            if key not in MAY_DIFFER and keys.get(key) != others.get(key):
                differing.append(f"{key} is {keys.get(key, 'not set')} and {others.get(key, 'not set')}")
        if differing:
            raise RunError(
                f"The runs of {part.benchmark.title} by {short_repr(first.name)} and {short_repr(second.name)} cannot "
                f"stand in one column: {'; '.join(differing)}. Score the same images and questions with the same "
                "options, or make two tables."
            )


# Which is best


def on_common_rows(part: Columns) -> dict[str, Rescored]:
    """Return the runs with their scores without each cluster; {} for a single run."""
    if len(part.runs) < 2:
        return {}
    return rescored(part.runs, Bootstrap(1))


def best_of(part: Columns, column: Column, compared: Mapping[str, Rescored]) -> str:
    """Return the model whose score is better than the next one's beyond chance; "" if there is none."""
    direction = part.benchmark.better(column.score)
    if direction is None:
        return ""
    known = {}
    for model in compared:
        value = part.number(column, model).value
        if column.score in compared[model].left_out and is_defined(value):
            known[model] = value
    if len(known) < 2:
        return ""
    ranking = sorted(known, key=lambda model: known[model], reverse=direction == HIGHER)
    runs = {model: compared[model] for model in ranking}
    pairs = compare_each_two(runs, [column.score], level=0.95)
    for pair in corrected(part.benchmark, pairs, level=0.95):
        if pair.names == (ranking[0], ranking[1]) and pair.better == ranking[0]:
            return ranking[0]
    return ""


# What is said below


def notes(
    parts: Sequence[Columns], by_benchmark: Mapping[str, Mapping[str, Run]], preset: str
) -> Iterator[str]:
    """Yield for each benchmark how its scores were made, and what the table lacks."""
    for part in parts:
        run = next(iter(part.runs.values()))
        how = []
        for key, value in run.keys.items():
            if key not in MAY_DIFFER:
                how.append(f"{key} {value}")
        yield f"{part.benchmark.title}: {', '.join(how)}"
        lengths = []
        others = []
        for model, scored_run in part.runs.items():
            words = scored_run.scores.get(MEAN_WORDS)
            if is_defined(words):
                lengths.append(f"{model} {words:.1f}")
            count = scored_run.scores.get("other_prompts")
            if count:
                others.append(f"{model} {count:,}")
        if lengths:
            yield f"  words per response: {', '.join(lengths)}"
        if others:
            yield f"  responses to other prompts than the dataset's, which may differ: {', '.join(others)}"
    if preset:
        shown = [benchmark.name for benchmark in presets()[preset]]
        lacking = [name for name in shown if name not in by_benchmark]
        if lacking:
            yield f"There are no runs of {', '.join(lacking)}."
        left_out = [name for name in by_benchmark if name not in shown]
        if left_out:
            yield f"The preset {preset} does not show the runs of {', '.join(left_out)}."
    yield (
        "A score is highlighted if it is the best of its column, and better than the next beyond chance (paired, "
        "Holm)."
    )
