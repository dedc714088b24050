"""`halluscope items RUN...`: shows how hard each row is, and how well it tells models apart."""

import argparse

from halluscope.cli import common
from halluscope.runs.items import items


def add(parser: argparse.ArgumentParser) -> None:
    common.add_runs(parser, ", or folders of runs; at least three")
    parser.add_argument(
        "--score", default="", help="the score of a row (default: the principal score, if rows have one)"
    )
    parser.add_argument("--top", **common.COUNT, default=20, help="show this many suspects (default: 20)")
    common.add_seed(parser, "the random subsets")
    common.add_format(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    found = items(given.folders, given.score, given.top, given.seed)
    common.output(given, lambda: found, lambda: found.report)
