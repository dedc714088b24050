"""`halluscope verify FOLDER`: checks that a run is unchanged, and that its scores follow from its rows."""

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from halluscope.errors import RunError
from halluscope.runs.results import verify
from halluscope.sanitize import one_line
from halluscope.terminal import say, tell_error

SHOWN = 10  # how many differences of one run are printed


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders",
        nargs="+",
        type=Path,
        metavar="FOLDER",
        help="what `halluscope score NAME ... --out FOLDER` wrote: a run, or a folder of runs",
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Score each run again from what its judges said; no judge is asked."""
    found = verify(given.folders)
    bad = [folder for folder, differences in found.items() if not _is_good(one_line(folder), differences)]
    if bad:
        raise RunError(f"{len(bad)} of {len(found)} runs did not pass.")


def _is_good(folder: str, differences: Iterator[str]) -> bool:
    first = list(islice(differences, SHOWN))
    for difference in first:
        tell_error(f"{folder}: {difference}")
    if more := sum(1 for _ in differences):
        tell_error(f"{folder}: {more:,} more")
    if not first:
        say(f"{folder}: unchanged, and its scores follow from its rows")
    return not first
