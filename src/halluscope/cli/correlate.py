"""`halluscope correlate A.json B.json`: tells whether two benchmarks rank the same models alike."""

import argparse
import warnings
from pathlib import Path

from halluscope.cli import common
from halluscope.files.writing import is_same
from halluscope.reliability.hqm import correlate
from halluscope.reporting.formats import aligned
from halluscope.reporting.results import read_results
from halluscope.reporting.tables import to_json
from halluscope.sanitize import one_line, short_repr
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import COEFFICIENTS
from halluscope.terminal import say


def add(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    option = parser.add_argument
    option("first", type=Path, help="what `halluscope score ... --json` printed for several models")
    option("second", type=Path, help="the same for another benchmark; models are matched by name")
    option("--by", nargs="+", default=["f0.5_cls"], help="the score, or one per file (default: f0.5_cls)")
    option("--leave-out", nargs="+", default=[], metavar="MODEL", help="models to leave out")
    common.add_intervals(parser, "resamples of the models; 0 for no intervals")
    option("--json", action="store_true", help="print JSON instead of a table")


def run(options: argparse.Namespace) -> None:
    if len(options.by) > 2:
        raise ValueError(
            f"--by names {len(options.by)} scores; expected one, or one for each of the two files."
        )
    by = (options.by[0], options.by[-1])
    first, second = read_results(options.first), read_results(options.second)
    if unknown := set(options.leave_out) - set(first):
        raise ValueError(f"--leave-out names {short_repr(min(unknown))}, which is not in {options.first}.")
    if is_same(options.first, options.second) and by[0] == by[1]:
        warnings.warn("Both files are the same: scores always agree with themselves.", stacklevel=2)
    found = correlate(first, second, by, options.leave_out, Bootstrap(options.bootstrap, options.seed))
    if options.json:
        say(to_json(found))
        return
    rows = [[name, *(f"{value:.3f}" for value in found[name].values())] for name in COEFFICIENTS]
    say(f"{len(found['models'])} models in both: {', '.join(map(one_line, found['models']))}\n")
    say(aligned(rows, ["", "correlation", "low", "high"], left=4))
    if found["turned"]:
        say(f"\nthe sign of {by[1]} is reversed: its better direction is opposite to that of {by[0]}")
    chance = f"probability of a Pearson correlation this strong by chance: {found['chance']:.3f}"
    say(f"\n{found['undefined'] or chance}\nsignature: {found['signature']}")
