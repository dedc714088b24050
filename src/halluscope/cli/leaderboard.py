"""`halluscope leaderboard ORG/NAME`: the results on the Hub for a benchmark, beside your runs and the paper's rows."""

import argparse
from pathlib import Path

from halluscope.cli import common
from halluscope.runs.folder import checked


def add(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option("repository", metavar="ORG/NAME", help="the benchmark's dataset on the Hub")
    option(
        "--runs",
        nargs="+",
        type=Path,
        default=[],
        metavar="RUN",
        help="your runs of `halluscope score --out`, to show beside, with the paper's rows",
    )
    common.add_format(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    from halluscope.hub import leaderboard

    runs = checked(given.runs) if given.runs else {}
    found = leaderboard.entries(given.repository)
    common.output(given, lambda: found, lambda: list(leaderboard.report(found, given.repository, runs)))
