"""`halluscope export RUN --to every-eval-ever`: writes a run in a format that others read."""

import argparse
from pathlib import Path

from halluscope.cli import common
from halluscope.runs.exporting import RELATIONS, export
from halluscope.runs.folder import check
from halluscope.sanitize import one_line
from halluscope.terminal import say

FORMATS = ("every-eval-ever",)


def add(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option("folder", type=Path, metavar="RUN", help="a run that `halluscope score --out` wrote")
    option(
        "--to",
        required=True,
        choices=FORMATS,
        help="the format: JSON of every-eval-ever, and a line per response",
    )
    option("--model", required=True, metavar="ORG/MODEL", help="who made the model, and its name")
    option("--by", required=True, metavar="WHO", help="the organization or person who evaluated")
    option(
        "--relation",
        choices=RELATIONS,
        default=RELATIONS[0],
        help=f"to the model's maker (default: {RELATIONS[0]})",
    )
    option("--out", required=True, **common.FOLDER, help="write data/... into this new folder")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    for file in export(check(given.folder), given.model, given.by, given.relation, given.out):
        say(one_line(file))
