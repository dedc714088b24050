"""`halluscope compare RUN RUN...`: tells whether one model is better than another, on the rows that all runs have."""

import argparse
from dataclasses import asdict
from pathlib import Path

from halluscope.arguments import number, whole
from halluscope.cli import common
from halluscope.reporting.formats import JSON
from halluscope.reporting.tables import to_json
from halluscope.runs.comparing import compare
from halluscope.runs.comparison_tables import of_differences, of_parts, remarks
from halluscope.runs.verifying import checked
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap
from halluscope.terminal import say, tell


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    option = parser.add_argument
    option(
        "folders",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="runs of `halluscope score NAME ... --out FOLDER`, or folders of runs; at least two",
    )
    option(
        "--scores",
        nargs="+",
        default=[],
        metavar="SCORE",
        help="the scores to compare (default: the principal score)",
    )
    option(
        "--bootstrap", type=whole, default=RESAMPLES, metavar="N", help=f"resamples (default: {RESAMPLES:,})"
    )
    option("--seed", type=whole, default=0, help="seed of the bootstrap (default: 0)")
    option(
        "--level",
        type=number,
        default=0.95,
        help="level of the intervals, and 1 minus the significance level (default: 0.95)",
    )
    common.add_format(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Compare each run with each other."""
    resampling = Bootstrap(given.bootstrap, given.seed, given.level)
    runs = checked(given.folders)
    found = compare(runs, given.scores, resampling)
    if given.format == JSON:
        tell("\n".join(remarks(found)))
        say(to_json(asdict(found)))
        return
    benchmark = next(iter(runs.values())).benchmark
    told = [*of_differences(found, benchmark), *of_parts(found, benchmark)]
    common.show(told, given)
