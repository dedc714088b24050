"""`halluscope verify FOLDER`: checks that a run is unchanged, and that its scores follow from its rows."""

import argparse
from itertools import islice
from pathlib import Path

from halluscope.errors import RunError
from halluscope.runs import folder as folders
from halluscope.runs.verifying import differences
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
    meant = folders.folders(given.folders)
    bad = [folder for folder in meant if not _is_good(folder)]
    if bad:
        raise RunError(f"{len(bad)} of {len(meant)} runs did not pass.")


def _is_good(folder: Path) -> bool:
    found = differences(folder)
    told = list(islice(found, SHOWN))
    for difference in told:
        tell_error(f"{one_line(folder)}: {difference}")
    if more := sum(1 for _ in found):
        tell_error(f"{one_line(folder)}: {more:,} more")
    if not told:
        say(f"{one_line(folder)}: unchanged, and its scores follow from its rows")
    return not told
