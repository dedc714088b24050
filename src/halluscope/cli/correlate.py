"""`halluscope correlate A.json B.json`: tells whether two benchmarks rank the same models alike."""

import argparse
import warnings
from pathlib import Path

from halluscope.arguments import whole
from halluscope.files.writing import is_same
from halluscope.reliability.indicators import direction, turn, turned
from halluscope.reporting.formats import aligned
from halluscope.reporting.results import read_results, scores
from halluscope.reporting.tables import to_json
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import data_of, signature
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap
from halluscope.stats.correlation import by_chance, correlations, undefined
from halluscope.terminal import say


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(run=run)
    option = parser.add_argument
    option("first", type=Path, help="what `halluscope score ... --json` printed for several models")
    option("second", type=Path, help="the same for another benchmark; models are matched by name")
    option("--by", nargs="+", default=["f0.5_cls"], help="the score, or one per file (default: f0.5_cls)")
    option("--leave-out", nargs="+", default=[], metavar="MODEL", help="models to leave out")
    option(
        "--bootstrap",
        type=whole,
        default=RESAMPLES,
        metavar="N",
        help=f"resamples of the models; 0 for no intervals (default: {RESAMPLES:,})",
    )
    option("--seed", type=whole, default=0, help="seed of the bootstrap (default: 0)")
    option("--json", action="store_true", help="print JSON instead of a table")


def run(options: argparse.Namespace) -> None:
    """Correlate and print."""
    if len(options.by) > 2:
        raise ValueError(
            f"--by names {len(options.by)} scores; expected one, or one for each of the two files."
        )
    by = [options.by[0], options.by[-1]]
    first, second = read_results(options.first), read_results(options.second)
    if unknown := set(options.leave_out) - set(first):
        raise ValueError(f"--leave-out names {short_repr(min(unknown))}, which is not in {options.first}.")
    models = [model for model in first if model in second and model not in options.leave_out]
    x, y = (scores(file, models, name) for file, name in zip((first, second), by, strict=True))
    if is_same(options.first, options.second) and by[0] == by[1]:
        warnings.warn("Both files are the same: scores always agree with themselves.", stacklevel=2)
    opposed = turned(direction(first, by[0]), direction(second, by[1]))
    y = turn(y) if opposed else y
    resampling = Bootstrap(options.bootstrap, options.seed)
    coefficients = correlations(x, y, resampling)
    chance, why = by_chance(x, y), undefined(x, y)
    line = signature(
        "correlation",
        data=data_of("models", zip(models, x, y, strict=True)),
        by=by,
        **({"turned": by[1]} if opposed else {}),
        left_out=options.leave_out or "no",
        interval=resampling,
    )
    if options.json:
        facts = {"chance": chance, "undefined": why, "turned": opposed, "signature": line}
        say(to_json({"models": models, **coefficients, **facts}))
        return
    rows = [[name, *(f"{value:.3f}" for value in each.values())] for name, each in coefficients.items()]
    say(f"{len(models)} models in both: {', '.join(map(one_line, models))}\n")
    say(aligned(rows, ["", "correlation", "low", "high"], left=4))
    if opposed:
        say(f"\nthe sign of {by[1]} is reversed: its better direction is opposite to that of {by[0]}")
    say(
        f"\n{why or f'probability of a Pearson correlation this strong by chance: {chance:.3f}'}\nsignature: {line}"
    )
