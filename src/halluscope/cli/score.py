"""`halluscope score NAME`: scores LVLMs' responses against a dataset, in the same way for each benchmark."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from halluscope import registry, scoring
from halluscope.cli import common
from halluscope.files.writing import check_no_folder
from halluscope.registry import Benchmark
from halluscope.reporting import published
from halluscope.reporting.formats import JSON, LATEX, LINE, TABLE
from halluscope.reporting.tables import Report, Table, listed
from halluscope.runs import folder as folders
from halluscope.runs import run as runs
from halluscope.runs.results import (
    comparable,
    lines,
    of_each,
    of_other_rows,
    of_printed,
    of_scores,
    report,
    signatures,
    with_choices,
)
from halluscope.runs.run import Run
from halluscope.sanitize import one_line
from halluscope.stats.bootstrap import Bootstrap
from halluscope.terminal import say, tell

Results = list[tuple[str, dict[str, Any]]]  # names of what was scored, each with its result


def add(parser: argparse.ArgumentParser) -> None:
    common.add_benchmarks(parser, lambda one: one.is_scored, _add, run)


def _add(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    common.add_scoring(parser, benchmark, LINE)
    parser.add_argument(
        "--intervals", action="store_true", help="show each score with its interval, if it has one"
    )
    parser.add_argument(
        "--scores", nargs="+", metavar="SCORE", help="show one table with these scores and their intervals"
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="show every table: with differences of models, and in LaTeX each one",
    )
    common.add_run(parser)


def run(given: argparse.Namespace) -> None:
    """Score one or more files of responses; all are read and matched before the first is scored."""
    benchmark = registry.benchmark(given.name)
    options = common.options_of(given, benchmark)
    if given.out:
        check_no_folder(given.out)
        common.check_output(given, "out")
    ready = common.ready(given, benchmark, options)
    for one in ready:
        common.remark(benchmark, one, given)
    shared = {"bootstrap": given.bootstrap, "seed": given.seed}
    about = {"command": given.words, "dataset": given.dataset}
    results: Results = []
    scored: list[Run] = []
    for one in ready:
        for chosen in scoring.variants(benchmark, options):
            scored.append(runs.score(benchmark, one, chosen | shared, about))
            result = scored[-1].scores
            if result["thoughts"]:
                tell(
                    f"{one_line(one.matched.name)}: {result['thoughts']:,} responses contained thoughts (text in "
                    "<think> or similar tags), which were removed."
                )
            results.append((one.matched.name, with_choices(benchmark, result, chosen)))
    if given.out:
        folders.write(scored, given.out)
        if len(scored) > 1:
            tell(f"`halluscope compare {one_line(given.out)}` compares groups and classes too.")
    if given.published and not published.of(benchmark, options):
        tell(f"No published results are known for {benchmark.title} with these options.")
    if given.format == JSON:
        notes = of_each(benchmark, results, options)
        each = [line for one in notes for line in one.lines]
        tell("\n".join([*each, *of_printed(benchmark, results), *of_other_rows(results)]))
    if given.format == LINE:
        say(lines(benchmark, results))
        return
    common.output(
        given,
        lambda: listed([*results, *(comparable(benchmark, results, options) if given.published else ())]),
        lambda: _report(given, benchmark, results, scored, options),
        benchmark,
        given.intervals,
    )


def _report(
    given: argparse.Namespace,
    benchmark: Benchmark,
    results: Results,
    scored: Sequence[Run],
    options: Mapping[str, Any],
) -> Report:
    resampling, everything = Bootstrap(given.bootstrap, given.seed), given.all
    if given.scores:
        return [of_scores(benchmark, results, given.scores), *signatures(results)]
    everything |= given.format not in (TABLE, LATEX)
    told = report(results, scored, given.published, options, resampling, given.format == TABLE, everything)
    if everything or given.format == TABLE:
        return told
    first = next((part for part in told if isinstance(part, Table)), None)
    return [part for part in told if part is first or not isinstance(part, Table)]
