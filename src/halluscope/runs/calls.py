"""What Python gets: scores, comparisons of runs and tables that print as tables; and checks of runs."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from halluscope import scoring
from halluscope.benchmark import Benchmark
from halluscope.files.writing import check_new
from halluscope.paths import path_of
from halluscope.reporting.printed import Printed
from halluscope.reporting.tables import Named, Notes, Table, Values, flat, without_intervals
from halluscope.responses.given import check_no_columns, is_by_name
from halluscope.runs.caveats import of_thoughts
from halluscope.runs.comparing import Compared
from halluscope.runs.comparing import compare as compare_runs
from halluscope.runs.comparison_report import MOST, of_differences, of_parts
from halluscope.runs.folder import check_options, checked, folders, write
from halluscope.runs.results import of_scores, signatures
from halluscope.runs.run import benchmark_of
from halluscope.runs.run import score as scored_run
from halluscope.runs.verifying import differences
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap
from halluscope.validation import kind, listed


def score(name: str, responses: Any, dataset: Any, out: str | Path | None, options: Values) -> Printed:
    """Score responses; see `halluscope.score`."""
    if out is not None:
        kind("out", out, str | Path, "the name of a new folder")
        check_new(path_of(out))
    check_no_columns(responses)
    is_of_several = is_by_name(responses)
    if is_of_several:
        files = list(responses.items())
    elif isinstance(responses, tuple):
        files = [list(responses)]
    else:
        files = [responses]
    with_intervals = {"bootstrap": RESAMPLES} | dict(options)
    benchmark, ready, chosen = scoring.prepare_call(name, files, dataset, with_intervals)
    if out is not None:
        check_options(chosen)
    for model in ready:
        remark = scoring.remark(benchmark, model)
        if remark:
            warnings.warn(remark, stacklevel=3)
    facts = {"dataset": _named_datasets(dataset)}
    scored = [scored_run(benchmark, model, chosen, facts) for model in ready]
    if out is not None:
        write(scored, path_of(out))
    results = []
    by_name = {}
    for run in scored:
        result = dict(run.scores)
        if chosen.get(benchmark.items):
            result[benchmark.items] = run.found
        results.append((run.name, result))
        by_name[run.name] = _printed(benchmark, [(run.name, result)], result)
    if is_of_several:
        return _printed(benchmark, results, by_name)
    return by_name[scored[0].name]


def _named_datasets(dataset: Any) -> list[str]:
    """Return the datasets that a call names as text or path; a loaded one has no name."""
    if not isinstance(dataset, list | tuple):
        dataset = [dataset]
    return [str(entry) for entry in dataset if isinstance(entry, str | Path)]


def _printed(benchmark: Benchmark, results: Named, values: Values) -> Printed:
    """Return results that print as a table, with a row each for a DataFrame."""
    report: list[Table | Notes] = [of_scores(benchmark, results)]
    report += of_thoughts(results)
    report += without_intervals(benchmark, results)
    report += signatures(results)
    return Printed(values, report, [_row(name, result) for name, result in results])


def _row(name: str, result: Values) -> dict[str, Any]:
    """Return a result's scores, each followed by the ends of its interval."""
    known = dict(flat(result))
    row: dict[str, Any] = {"responses": name}
    for key, value in known.items():
        if not isinstance(value, str | int | float):
            continue
        row[key] = value
        ends = known.get(f"interval/{key}", ())
        if len(ends) == 2:
            row[f"{key} low"] = ends[0]
            row[f"{key} high"] = ends[1]
    return row


def compare(
    paths: Sequence[str | Path], scores: Sequence[str], resampling: Bootstrap, most: int | None = MOST
) -> Printed:
    """Compare runs; see `halluscope.compare`. Of groups and classes, `most` differences are printed, None for all."""
    names = listed("scores", scores, "a list of the names of scores, such as ['accuracy']")
    by_name = checked(paths)
    benchmark = benchmark_of(by_name)
    comparison = compare_runs(by_name, names, resampling)
    rows = []
    for pairs in (comparison.scores, comparison.groups, comparison.classes):
        rows += [_row_of(pair) for pair in pairs]
    report: list[Table | Notes] = list(of_differences(comparison, benchmark))
    report += of_parts(comparison, benchmark, most)
    values = asdict(comparison)
    values["scores"] += values.pop("groups")  # told from the others by the "/" in their names
    return Printed(values, report, rows)


def _row_of(pair: Compared) -> dict[str, Any]:
    """Return a difference as a row of a DataFrame."""
    row: dict[str, Any] = {
        "score": pair.score,
        "first": pair.names[0],
        "second": pair.names[1],
        "first value": pair.values[0],
        "second value": pair.values[1],
    }
    row.update(asdict(pair.by))
    row["holm"] = pair.holm
    row["better"] = pair.better
    return row


def verify(paths: Sequence[str | Path]) -> dict[str, Iterator[str]]:
    """Return what was changed in each run, or differs when it is scored again; nothing where all is well."""
    return {str(folder): differences(folder) for folder in folders(paths)}
