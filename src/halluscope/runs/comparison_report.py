"""A comparison of runs as tables and sentences."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import attrgetter
from string import ascii_uppercase

from halluscope.benchmark import LOWER, Benchmark
from halluscope.reporting.tables import ROWS, Cell, Notes, Number, Table, gap, plain, printed, scored
from halluscope.runs.comparing import Compared, Comparison, of_unlike_rows
from halluscope.stats.ratio_pairs import FEWEST

FEW = 10  # up to this many differences between models are all shown; of more, only those from the best model

MOST = 20  # of the significant differences in groups, and in classes, so many are shown

LEAST_P = 0.0001  # a p value that would be printed as 0.0000 is printed as less than this


def of_differences(comparison: Comparison, benchmark: Benchmark, most: int = 0) -> tuple[Table, Table, Notes]:
    """Return tables of the runs, with a letter each, and of their differences, and what a reader has to know.

    If there are more than `most` differences, those from the best run are shown; 0 shows all.
    """
    lines = list(remarks(comparison))
    scores = comparison.scores
    if 0 < most < len(scores):
        scores = with_the_best(comparison, benchmark)
        lines.append(
            f"{len(comparison.scores):,} differences are corrected together; those from the best run are shown"
        )
    letters = letters_of(comparison)
    runs: list[list[Cell]] = []
    for name, rows in comparison.of.items():
        runs.append([letters[name], name, Number(rows, "d")])
    return (
        Table("runs", ["run", "responses", ROWS], runs, left=2),
        table_of("differences", scores, comparison, benchmark),
        Notes(lines),
    )


def remarks(comparison: Comparison) -> Iterator[str]:
    """Yield what a reader has to know about the differences."""
    yield (
        "Intervals and p values are paired: they compare both runs on the same rows, image by image where rows share "
        "an image."
    )
    longer = []
    for name, rows in comparison.of.items():
        if rows > comparison.rows:
            longer.append(f"{name} has {rows:,}")
    if longer:
        yield f"Compared on the {comparison.rows:,} rows that all runs have ({', '.join(longer)})."
    for key, values in comparison.unlike.items():
        names_by_value: dict[str, list[str]] = {}
        for name, value in zip(comparison.of, values, strict=True):
            names_by_value.setdefault(value or "not set", []).append(name)
        texts = [f"{value} ({', '.join(names)})" for value, names in names_by_value.items()]
        yield f"The runs were not scored alike, which also changes differences: {key} is {' and '.join(texts)}."
    for score, reason in comparison.untested.items():
        yield f"Differences in {score} are not tested. {reason}"
    yield from of_unlike_rows(comparison.unlike_rows)


def of_parts(
    comparison: Comparison, benchmark: Benchmark, most: int | None = MOST
) -> Iterator[Table | Notes]:
    """Yield tables of the significant differences in groups and classes, at most so many of each, the surest first."""
    undefined = "which are undefined in one of the runs"
    rare = f"for which fewer than {FEWEST} images count in one of the runs"
    parts = (("groups", comparison.groups, undefined), ("classes", comparison.classes, rare))
    for name, compared, why_untested in parts:
        if not compared:
            continue
        significant = []
        untested = 0
        for pair in compared:
            if pair.holm < 1 - comparison.level:
                significant.append(pair)
            if math.isnan(pair.by.p):
                untested += 1
        surest = sorted(significant, key=attrgetter("holm"))[:most]
        if surest:
            yield table_of(name, surest, comparison, benchmark)
        tested = len(compared) - untested
        line = f"{len(significant):,} of {tested:,} differences in {name} are significant, corrected together"
        if untested:
            line += f"; not tested: {untested:,}, {why_untested}"
        if len(surest) < len(significant):
            line += f"; the {most} with the smallest p are shown, all with --all or .to_pandas()"
        yield Notes([line])


def verdicts(comparison: Comparison, benchmark: Benchmark) -> Iterator[str]:
    """Say for the best run and each other one whether it is better."""
    for pair in with_the_best(comparison, benchmark):
        yield verdict(pair, comparison, benchmark)


def verdict(pair: Compared, comparison: Comparison, benchmark: Benchmark) -> str:
    """Say of two runs which is better."""
    first, second = pair.names
    score = pair.score
    if math.isnan(pair.by.p) and score in comparison.untested:
        return f"{first} and {second}: their {score} is not compared. {comparison.untested[score]}"
    p = f"p {plain(pair.holm)}"
    if pair.holm < 0.001:
        p = "p < 0.001"
    if pair.better is None:
        return f"{first} and {second}: no difference in {score} beyond chance ({p})"
    worse = first
    if pair.better == first:
        worse = second
    is_points = benchmark.is_points(score)
    amount = printed(abs(pair.by.value), is_points)
    if not is_points:
        amount += " points"
    return f"{pair.better} is better than {worse}: {score} differs by {amount} ({p})"


def winner(comparison: Comparison) -> str:
    """Return the run that is significantly better than each other one by the first of the scores; "" if none is, or if
    the runs are not about the same rows.
    """
    if set(comparison.of.values()) != {comparison.rows}:
        return ""
    score = comparison.scores[0].score
    wins: Counter[str] = Counter()
    for pair in comparison.scores:
        if pair.score == score and pair.better is not None:
            wins[pair.better] += 1
    for name in comparison.of:
        if wins[name] == len(comparison.of) - 1:
            return name
    return ""


def with_the_best(comparison: Comparison, benchmark: Benchmark) -> list[Compared]:
    """Return the differences from the best run by the first of the scores."""
    score = comparison.scores[0].score
    value_of: dict[str, float] = {}
    for pair in comparison.scores:
        if pair.score == score:
            for name, value in zip(pair.names, pair.values, strict=True):
                if not math.isnan(value):
                    value_of[name] = value
    if not value_of:
        return []
    if benchmark.direction(score) == LOWER:
        best = min(value_of, key=lambda name: value_of[name])
    else:
        best = max(value_of, key=lambda name: value_of[name])
    return [pair for pair in comparison.scores if best in pair.names]


def letters_of(comparison: Comparison) -> dict[str, str]:
    """Return a letter for each run, by its name: A, B, ... Z, A1, B1, ..."""
    letters = {}
    for number, name in enumerate(comparison.of):
        times, place = divmod(number, len(ascii_uppercase))
        letters[name] = ascii_uppercase[place]
        if times:
            letters[name] += str(times)
    return letters


def table_of(name: str, compared: Sequence[Compared], comparison: Comparison, benchmark: Benchmark) -> Table:
    """Return a table of differences."""
    letters = letters_of(comparison)
    rows = []
    for pair in compared:
        first, second = pair.names
        row: list[Cell] = [pair.score, f"{letters[first]}-{letters[second]}"]
        row += cells_of(pair, benchmark)
        row.append(p_value(pair.holm))
        if pair.better:
            row.append(letters[pair.better])
        else:
            row.append(None)
        rows.append(row)
    header = ["score", "runs", "1st", "2nd", "diff", "Holm p", "better"]
    return Table(name, header, rows, left=2, intervals=("diff",))


def cells_of(pair: Compared, benchmark: Benchmark) -> list[Cell]:
    """Return both scores and their difference."""
    is_points = benchmark.is_points(pair.score)
    first, second = pair.values
    ends = (pair.by.low, pair.by.high)
    difference = gap(pair.by.value, is_points, ends)
    return [scored(first, is_points), scored(second, is_points), difference]


def p_value(value: float) -> Number:
    """Return a p value as it is printed: never 0."""
    if value < LEAST_P / 2:
        return plain(value)._replace(text=f"<{LEAST_P}")
    return plain(value, ".4f")
