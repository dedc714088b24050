"""`halluscope compare RUN RUN...`: tells whether one model is better than another, on the rows that all runs have."""

import argparse

from halluscope.arguments import number
from halluscope.cli import common
from halluscope.reporting.formats import JSON
from halluscope.reporting.tables import Notes
from halluscope.runs.results import compare
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
    found = compare(given.folders, given.scores, Bootstrap(given.bootstrap, given.seed, given.level))
    if given.format == JSON:
        tell("\n".join(line for part in found.report if isinstance(part, Notes) for line in part.lines))
    common.output(given, lambda: found, lambda: found.report)
