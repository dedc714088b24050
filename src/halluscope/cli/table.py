"""Puts runs of several benchmarks into one table, as papers print them."""

from typing import Annotated

from cyclopts import Parameter

from halluscope.cli.parameters import OUTPUT, Runs, Scores
from halluscope.cli.printing import Output
from halluscope.reporting.tables import Notes, Report, Table
from halluscope.runs import table as tables
from halluscope.sanitize import typed


def table(
    runs: Runs,
    /,
    *,
    preset: Annotated[str, Parameter(metavar="PRESET", group=OUTPUT)] = "",
    scores: Annotated[Scores, Parameter(metavar="BENCHMARK/SCORE...", group=OUTPUT)] = (),
    intervals: Annotated[bool, Parameter(group=OUTPUT)] = False,
    output: Output = Output(),
) -> None:
    """Print a row per model, and a column per score of each benchmark.

    Args:
        runs: runs of `halluscope score NAME ... --out FOLDER`, or folders of runs; the models are in this order
        preset: what papers print: decoding or preference (default: each benchmark's principal score)
        scores: the scores to show instead
        intervals: show each score with its interval, if it has one (csv: always)
    """
    result = tables.table(runs, preset, scores)
    report: Report = result.report
    if not intervals:
        report = without_intervals(report)
    output.show(result, lambda: report, with_intervals=intervals)
    output.tell_of_long_names(result)
    words = ["table"]
    words += map(str, runs)
    if preset:
        words += ["--preset", preset]
    if scores:
        words += ["--scores"]
        words += scores
    words += ["--format", "latex"]
    output.tell_next(f"`{typed(words)}` for a paper.")


def without_intervals(report: Report) -> Report:
    """Return a report whose tables show no intervals."""
    parts: list[Table | Notes] = []
    for part in report:
        if isinstance(part, Table):
            part = part._replace(intervals=())
        parts.append(part)
    return parts
