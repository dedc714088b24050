"""Puts runs of several benchmarks into one table, as papers print them."""

from typing import Annotated

from cyclopts import Parameter

from halluscope.cli.parameters import OUTPUT, Runs, Scores
from halluscope.cli.printing import Output
from halluscope.runs import table as tables
from halluscope.sanitize import one_line


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
        intervals: show each score with its interval, if it has one
    """
    output.show(tables.table(runs, preset, scores), with_intervals=intervals)
    folders = one_line(" ".join(map(str, runs)))
    output.tell_next(f"`halluscope table {folders} --format latex` for a paper.")
