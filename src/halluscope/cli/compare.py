"""`halluscope compare RUN RUN...`: is one model better than another, on the rows that both have?"""

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import count, product
from pathlib import Path
from string import ascii_uppercase

from halluscope.arguments import number, whole
from halluscope.cli import common
from halluscope.foreign import one_line
from halluscope.registry import LOWER, Benchmark
from halluscope.reporting.formats import JSON
from halluscope.reporting.tables import ROWS, Cell, Notes, Number, Table, plain, scored, to_json
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
    runs = checked(given.folders)
    found = compare(runs, given.scores, resampling)
    if given.format == JSON:
        tell("\n".join(remarks(found, resampling)))
        say(to_json(asdict(found)))
        return
    benchmark = next(iter(runs.values())).benchmark
    letters = letters_of(found)
    common.show(
        [
            *told(found, benchmark, resampling),
            *_parts("groups", found.groups, letters, benchmark, resampling),
            *_parts("classes", found.classes, letters, benchmark, resampling),
        ],
        given,
    )


def told(
    found: Comparison, benchmark: Benchmark, resampling: Bootstrap, most: int = 0
) -> list[Table | Notes]:
    """Differences between runs, which have a letter each, and what a reader has to know of them.

    Args:
        found: the differences.
        benchmark: of the runs.
        resampling: how they were resampled.
        most: from more of them on, only those with the best run are shown; 0 for all.
    """
    letters = letters_of(found)
    rows: list[list[Cell]] = [
        [letter, name, Number(found.of[name], "d", 1)] for name, letter in letters.items()
    ]
    shown, lines = found.scores, remarks(found, resampling)
    if 0 < most < len(shown):
        shown = _with_the_best(found, benchmark)
        lines.append(
            f"{len(found.scores):,} differences are corrected together; those with the best are shown"
        )
    tables: list[Table | Notes] = [
        Table("runs", ["run", "responses", ROWS], rows, left=2),
        _table("differences", shown, letters, benchmark),
    ]
    return [*tables, *([Notes(lines)] if lines else [])]


def _with_the_best(found: Comparison, benchmark: Benchmark) -> list[Compared]:
    """The differences from the run whose score is the best, by the first of the scores."""
    score = found.scores[0].score
    values = {
        name: value
        for one in found.scores
        if one.score == score
        for name, value in zip(one.names, one.values, strict=True)
        if not math.isnan(value)
    }
    sign = -1 if benchmark.direction(score) == LOWER else 1
    best = max(values, key=lambda name: sign * values[name], default="")
    return [one for one in found.scores if best in one.names]


def letters_of(found: Comparison) -> dict[str, str]:
    """A letter for each run, by its name: A, B, ... Z, AA, AB, ..."""
    words = ("".join(word) for length in count(1) for word in product(ascii_uppercase, repeat=length))
    return dict(zip(found.of, words, strict=False))


def _parts(
    what: str,
    compared: Sequence[Compared],
    letters: Mapping[str, str],
    benchmark: Benchmark,
    resampling: Bootstrap,
) -> Iterator[Table | Notes]:
    """The differences of groups, or of classes, that hold."""
    held = [one for one in compared if one.holm < 1 - resampling.level]
    if compared:
        yield Notes([f"{len(held):,} of {len(compared):,} differences of {what} hold, corrected together"])
    if held:
        yield _table(what, held, letters, benchmark)


def remarks(found: Comparison, resampling: Bootstrap) -> list[str]:
    """What was cut, in what runs differ beside, and what so few resamples cannot tell."""
    lines = []
    cut = [f"{one_line(name)} has {rows:,}" for name, rows in found.of.items() if rows > found.rows]
    if cut:
        lines.append(f"Compared on the {found.rows:,} rows that all runs have ({', '.join(cut)}).")
    for key, values in found.unlike.items():
        shown = ", ".join(
            f"{one_line(name)} {one_line(value)}" for name, value in zip(found.of, values, strict=True)
        )
        lines.append(f"Not scored alike, which moves differences too: {key} is {shown}.")
    for what, least in ((found.scores, 2), (found.groups, 2), (found.classes, 1)):
        needed = least * len(what) / (1 - resampling.level)
        if resampling.resamples + 1 <= needed:
            lines.append(
                f"{len(what):,} differences are corrected together, and {resampling.resamples:,} resamples tell no p "
                f"value small enough for one alone to hold; --bootstrap {int(needed) + 1} does."
            )
    return lines


def _table(
    name: str, compared: Sequence[Compared], letters: Mapping[str, str], benchmark: Benchmark
) -> Table:
    header = ["score", "runs", "1st", "2nd", "diff", "Holm p", "better"]
    rows = [_row(one, letters, benchmark) for one in compared]
    return Table(name, header, rows, left=2, intervals=("diff",))


def _row(one: Compared, letters: Mapping[str, str], benchmark: Benchmark) -> list[Cell]:
    """A difference, with its scores as `halluscope score` prints them."""
    by, points = one.by, benchmark.is_points(one.score)
    form, times = ("+.3f", 1) if points else ("+.1f", 100)
    return [
        one.score,
        "-".join(letters[name] for name in one.names),
        *(scored(value, points) for value in one.values),
        Number(by.value, form, times, (by.low, by.high)),
        plain(one.holm, ".4f"),
        letters[one.better] if one.better else None,
    ]
