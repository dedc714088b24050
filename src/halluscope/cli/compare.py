"""`halluscope compare RUN RUN...`: tells whether one model is better than another, on the rows that all runs have."""

import argparse
from dataclasses import asdict

from halluscope.arguments import number
from halluscope.cli import common
from halluscope.reporting.formats import JSON
from halluscope.runs.comparing import compare
from halluscope.runs.comparison_tables import of_differences, of_parts, remarks
from halluscope.runs.verifying import checked
from halluscope.stats.bootstrap import Bootstrap
from halluscope.terminal import tell


def add(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    common.add_runs(parser, ", or folders of runs; at least two")
    option(
        "--scores",
        nargs="+",
        default=[],
        metavar="SCORE",
        help="the scores to compare (default: the principal score)",
    )
    common.add_intervals(parser, "resamples")
    option(
        "--level",
        type=number,
        default=0.95,
        help="level of the intervals, and 1 minus the significance level (default: 0.95)",
    )
    common.add_format(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    resampling = Bootstrap(given.bootstrap, given.seed, given.level)
    runs = checked(given.folders)
    found = compare(runs, given.scores, resampling)
    if given.format == JSON:
        tell("\n".join(remarks(found)))
    benchmark = next(iter(runs.values())).benchmark
    common.output(
        given,
        lambda: asdict(found),
        lambda: [*of_differences(found, benchmark), *of_parts(found, benchmark)],
    )
