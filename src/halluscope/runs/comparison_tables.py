"""Shows differences between models as tables and notes, for commands and for a report's page."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, product
from string import ascii_uppercase

from halluscope.registry import LOWER, Benchmark
from halluscope.reporting.tables import ROWS, Cell, Notes, Number, Table, plain, scored
from halluscope.runs.comparing import Compared, Comparison
from halluscope.sanitize import one_line
from halluscope.stats.paired import FEWEST

# Up to this many differences between models are all shown; if there are more, only those from the best model.
FEW = 10


def of_differences(found: Comparison, benchmark: Benchmark, most: int = 0) -> list[Table | Notes]:
    """Return tables of the runs, with a letter each, and of their differences, and what a reader has to know."""
    letters = _letters(found)
    rows: list[list[Cell]] = [
        [letter, name, Number(found.of[name], "d", 1)] for name, letter in letters.items()
    ]
    scores, lines = found.scores, remarks(found)
    if 0 < most < len(scores):
        scores = _with_the_best(found, benchmark)
        lines.append(
            f"{len(found.scores):,} differences are corrected together; those from the best run are shown"
        )
    tables: list[Table | Notes] = [
        Table("runs", ["run", "responses", ROWS], rows, left=2),
        _table("differences", scores, letters, benchmark),
    ]
    return [*tables, *([Notes(lines)] if lines else [])]


def verdicts(found: Comparison, benchmark: Benchmark) -> list[str]:
    """Say for the best run and each other one whether it is better."""
    return [_verdict(one, benchmark) for one in _with_the_best(found, benchmark)]


def _verdict(one: Compared, benchmark: Benchmark) -> str:
    score, (first, second) = one.score, map(one_line, one.names)
    if one.better is None:
        return f"{first} and {second}: no difference in {score} beyond chance (p {plain(one.holm)})"
    other = second if one.better == one.names[0] else first
    by = scored(abs(one.by.value), benchmark.is_points(score))
    points = "" if benchmark.is_points(score) else " points"
    return f"{one_line(one.better)} is better than {other}: {score} differs by {by}{points} (p {plain(one.holm)})"


def _with_the_best(found: Comparison, benchmark: Benchmark) -> list[Compared]:
    """Return the differences from the best run by the first of the scores."""
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


def _letters(found: Comparison) -> dict[str, str]:
    """Return a letter for each run, by its name: A, B, ... Z, AA, AB, ..."""
    words = ("".join(word) for length in count(1) for word in product(ascii_uppercase, repeat=length))
    return dict(zip(found.of, words, strict=False))


def of_parts(found: Comparison, benchmark: Benchmark) -> Iterator[Table | Notes]:
    """Yield the significant differences in groups and in classes."""
    for what, compared in (("groups", found.groups), ("classes", found.classes)):
        significant = [one for one in compared if one.holm < 1 - found.resampling.level]
        if significant:
            yield _table(what, significant, _letters(found), benchmark)
        few = sum(math.isnan(one.by.p) for one in compared)
        if compared:
            of = f"{len(compared) - few:,} differences in {what}"
            line = f"{len(significant):,} of {of} are significant, corrected together"
            why = f"; not tested: {few:,}, for which fewer than {FEWEST} images count in one of the runs"
            yield Notes([line + why * bool(few)])


def remarks(found: Comparison) -> list[str]:
    """Say which runs were cut, how else runs differ, and if there are too few resamples for small p values."""
    lines = [f"Intervals and p values come from {found.resampling.resamples:,} paired resamples."]
    cut = [f"{one_line(name)} has {rows:,}" for name, rows in found.of.items() if rows > found.rows]
    if cut:
        lines.append(f"Compared on the {found.rows:,} rows that all runs have ({', '.join(cut)}).")
    for key, values in found.unlike.items():
        shown = ", ".join(
            f"{one_line(name)} {one_line(value)}" for name, value in zip(found.of, values, strict=True)
        )
        lines.append(f"The runs were not scored alike, which also changes differences: {key} is {shown}.")
    for what in (found.scores, found.groups):
        needed = 2 * len(what) / (1 - found.resampling.level)
        if found.resampling.resamples + 1 <= needed:
            lines.append(
                f"{len(what):,} differences are corrected together, and {found.resampling.resamples:,} resamples tell "
                f"no p value small enough for one alone to hold; --bootstrap {int(needed) + 1} does."
            )
    return lines


def _table(
    name: str, compared: Sequence[Compared], letters: Mapping[str, str], benchmark: Benchmark
) -> Table:
    header = ["score", "runs", "1st", "2nd", "diff", "Holm p", "better"]
    return Table(
        name, header, [_row(one, letters, benchmark) for one in compared], left=2, intervals=("diff",)
    )


def _row(one: Compared, letters: Mapping[str, str], benchmark: Benchmark) -> list[Cell]:
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
