"""`halluscope compare RUN RUN...`: is one model better than another, on the rows that both have?"""

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import count, product
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from halluscope.arguments import number, whole
from halluscope.cli import common
from halluscope.foreign import one_line
from halluscope.reporting.tables import aligned, to_json
from halluscope.runs.comparing import Compared, Comparison, compare
from halluscope.runs.verifying import checked
from halluscope.stats.bootstrap import Bootstrap
from halluscope.terminal import say, tell

RESAMPLES = 5000
"""By default: a p value is then no smaller than 0.0004."""


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
        help="what is compared (default: the principal score)",
    )
    option(
        "--bootstrap", type=whole, default=RESAMPLES, metavar="N", help=f"resamples (default: {RESAMPLES:,})"
    )
    option("--seed", type=whole, default=0, help="of the bootstrap")
    option("--level", type=number, default=0.95, help="of intervals, and 1 less what may be by chance (0.95)")
    common.add_format(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Compare each run with each other.

    Raises:
        RunError: for runs that were changed, or cannot be compared.
    """
    resampling = Bootstrap(given.bootstrap, given.seed, given.level)
    found = compare(checked(given.folders), given.scores, resampling)
    _remark(found, resampling)
    if given.format == common.JSON:
        say(to_json(asdict(found)))
        return
    letters = dict(zip(found.of, _letters(), strict=False))
    say("\n".join(f"{letter}  {one_line(name)}" for name, letter in letters.items()))
    say(f"\n{_table(found.scores, letters, given.format)}")
    for what, compared in (("groups", found.groups), ("classes", found.classes)):
        if compared:
            held = [one for one in compared if one.holm < 1 - resampling.level]
            say(f"\n{len(held):,} of {len(compared):,} differences of {what} hold, corrected together")
            say(_table(held, letters, given.format))


def _letters() -> Iterator[str]:
    """A, B, ... Z, AA, AB, ..."""
    return ("".join(word) for length in count(1) for word in product(ascii_uppercase, repeat=length))


def _remark(found: Comparison, resampling: Bootstrap) -> None:
    """Say what was cut, in what runs differ beside, and what so few resamples cannot tell."""
    cut = [f"{one_line(name)} has {rows:,}" for name, rows in found.of.items() if rows > found.rows]
    if cut:
        tell(f"Compared on the {found.rows:,} rows that all runs have ({', '.join(cut)}).")
    for key, values in found.unlike.items():
        shown = ", ".join(
            f"{one_line(name)} {one_line(value)}" for name, value in zip(found.of, values, strict=True)
        )
        tell(f"Not scored alike, which moves differences too: {key} is {shown}.")
    for what, least in ((found.scores, 2), (found.groups, 2), (found.classes, 1)):
        needed = least * len(what) / (1 - resampling.level)
        if resampling.resamples + 1 <= needed:
            tell(
                f"{len(what):,} differences are corrected together, and {resampling.resamples:,} resamples tell no p "
                f"value small enough for one alone to hold; --bootstrap {int(needed) + 1} does."
            )


def _table(compared: Sequence[Compared], letters: Mapping[str, str], style: str) -> str:
    header = ["score", "runs", "1st", "2nd", "by", "interval", "Holm p", "better"]
    return aligned([_row(one, letters) for one in compared], header, style, left=2)


def _row(one: Compared, letters: Mapping[str, str]) -> list[Any]:
    by = one.by
    return [
        one.score,
        "-".join(letters[name] for name in one.names),
        *(_shown(value, ".3f") for value in one.values),
        _shown(by.value, "+.3f"),
        f"{_shown(by.low, '+.3f')} to {_shown(by.high, '+.3f')}",
        _shown(one.holm, ".4f"),
        letters[one.better] if one.better else "-",
    ]


def _shown(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)
