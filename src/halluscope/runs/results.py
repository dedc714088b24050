"""What Python gets: results that print as tables, of scoring, of comparing runs, and of checking them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from halluscope import scoring
from halluscope.files.writing import check_no_folder
from halluscope.inputs import kind
from halluscope.registry import Benchmark
from halluscope.reporting.formats import TABLE, written
from halluscope.reporting.tables import Named, Report
from halluscope.responses.files import is_by_name
from halluscope.runs import folder as folders
from halluscope.runs import run as runs
from halluscope.runs.comparing import Comparison, flat
from halluscope.runs.comparing import compare as compare_runs
from halluscope.runs.comparison_tables import of_differences, of_parts
from halluscope.runs.result_tables import of_scores, signatures
from halluscope.runs.verifying import checked, differences
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap


class Result(dict[str, Any]):
    """A dict that prints as tables."""

    def __init__(
        self, values: Mapping[str, Any], report: Report = (), rows: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__(values)
        self.report = report  # what is printed
        self.rows = rows  # the rows of the DataFrame

    def __repr__(self) -> str:
        return written(self.report, TABLE, intervals=True)[0] or super().__repr__()

    def to_pandas(self) -> Any:
        """Return a DataFrame with all digits: a row per LVLM, or per difference between two."""
        from pandas import DataFrame

        return DataFrame(list(self.rows))


def score(
    name: str, responses: Any, dataset: Any, out: str | Path | None, options: Mapping[str, Any]
) -> Result:
    """Score as `halluscope.score` does."""
    if out is not None:
        kind("out", out, str | Path, "the name of a new folder")
        check_no_folder(Path(out))
    several = is_by_name(responses)
    given = (
        [*responses.items()] if several else [list(responses) if isinstance(responses, tuple) else responses]
    )
    benchmark, ready, chosen = scoring.matched(name, given, dataset, {"bootstrap": RESAMPLES, **options})
    if out is None:
        results = [(one.matched.name, scoring.compute(benchmark, one, chosen)) for one in ready]
    else:
        folders.check_options(chosen)
        scored = [runs.score(benchmark, one, chosen) for one in ready]
        folders.write(scored, Path(out))
        table = benchmark.items if chosen.get(benchmark.items) else ""
        results = [(run.name, {**run.scores, **({table: run.found} if table else {})}) for run in scored]
    if not several:
        return _result(benchmark, results, results[0][1])
    return _result(
        benchmark, results, {name: _result(benchmark, [(name, one)], one) for name, one in results}
    )


def _result(benchmark: Benchmark, results: Named, values: Mapping[str, Any]) -> Result:
    return Result(values, [of_scores(benchmark, results), *signatures(results)], [*map(_row, results)])


def _row(result: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    name, scores = result
    ends = dict(flat(scores.get("interval", {})))
    row: dict[str, Any] = {"responses": name}
    for score, value in flat({key: one for key, one in scores.items() if key != "interval"}):
        if isinstance(value, str | int | float):
            row[score] = value
            row |= zip((f"{score} low", f"{score} high"), ends.get(score, ()), strict=False)
    return row


def compare(given: Sequence[str | Path], scores: Sequence[str], resampling: Bootstrap) -> Result:
    """Compare runs as `halluscope.compare` does."""
    of = checked([Path(folder) for folder in given])
    found, benchmark = compare_runs(of, scores, resampling), next(iter(of.values())).benchmark
    report = [*of_differences(found, benchmark), *of_parts(found, benchmark)]
    return Result(asdict(found), report, [*_differences(found)])


def _differences(found: Comparison) -> Iterator[dict[str, Any]]:
    for one in (*found.scores, *found.groups, *found.classes):
        about = {"score": one.score, "first": one.names[0], "second": one.names[1]}
        values = zip(("first value", "second value"), one.values, strict=True)
        yield {**about, **dict(values), **asdict(one.by), "holm": one.holm, "better": one.better}


def verify(given: Sequence[str | Path]) -> dict[str, Iterator[str]]:
    """Return what was changed in each run, or differs when it is scored again; nothing where all is well."""
    return {str(folder): differences(folder) for folder in folders.folders([*map(Path, given)])}
