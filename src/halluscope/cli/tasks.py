"""`halluscope tasks HARNESS`: writes our tasks for a harness, and prints their folder."""

import argparse
from pathlib import Path

from halluscope.harness import tasks
from halluscope.terminal import say


def add(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    parser.add_argument(
        "harness",
        choices=tasks.HARNESSES,
        help='the harness; use as in --include_path "$(halluscope tasks lm-eval)"',
    )
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="where to write the tasks (default: the user's cache)"
    )


def run(options: argparse.Namespace) -> None:
    say(tasks.write(options.harness, options.out))
