"""Reports results and differences between models as tables and notes.

Commands print them, and a report's page shows them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, product
from string import ascii_uppercase
from typing import Any

from halluscope.foreign import one_line
from halluscope.options import defaults
from halluscope.registry import LOWER, Benchmark
from halluscope.reporting.published import Published, judged_by
from halluscope.reporting.tables import (
    OTHER,
    ROWS,
    Cell,
    Label,
    Named,
    Notes,
    Number,
    Table,
    counted,
    plain,
    scored,
)
from halluscope.runs.comparing import Compared, Comparison
from halluscope.signature import keys_of

FEW = 10
"""Up to this many differences between models are all shown; if there are more, only those from the best model."""


def with_choices(
    benchmark: Benchmark, scores: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a result with the values of the options for which "all" may be given, such as POPE's parser."""
    unless = defaults(benchmark.compute)
    every = [option.name for option in benchmark.options if option.every]
    return {**{name: options.get(name, unless[name]) for name in every}, **scores}


def of_results(
    benchmark: Benchmark,
    results: Named,
    options: Mapping[str, Any],
    paper: Published | None = None,
    rows: Sequence[Any] = (),
    every: bool = False,
) -> list[Table | Notes]:
    """Return a benchmark's report on results, and whether these are about the same rows.

    Args:
        benchmark: the benchmark of all results.
        results: each as `with_choices` gives it.
        options: the metric's options.
        paper: published results to show among them; None for none.
        rows: the rows that were scored, if they are known; some reports say more about them.
        every: whether the results are about the same responses, with different values of an option.
    """
    named = counted(results)
    shown = [*((_judged(*one), one[1]) for one in named), *paper.results] if paper else named
    report = benchmark.module("report").report
    told = report(named, shown, rows=rows, source=paper.source if paper else "", every=every, **options)
    other = of_other_rows(results)
    return [*told, *([Notes(other)] if other else [])]


def _judged(name: str, result: Mapping[str, Any]) -> str | Label:
    """Return a name, with who judged its result, to be shown among a paper's results."""
    said = judged_by(result)
    return Label(name, said) if said else name


def of_other_rows(results: Named) -> list[str]:
    """Say which results in one table are about other rows than the first."""
    data = {name: keys_of(result["signature"])["data"] for name, result in results}
    if len(set(data.values())) == 1:
        return []
    shown = ", ".join(f"{one_line(name)} {one_line(of)}" for name, of in data.items())
    return [f"{OTHER} Not about the same rows: {shown}."]


# Differences


def of_differences(found: Comparison, benchmark: Benchmark, most: int = 0) -> list[Table | Notes]:
    """Return tables of the runs, with a letter each, and of their differences, and what a reader has to know.

    Args:
        found: the differences.
        benchmark: the benchmark of the runs.
        most: if there are more differences, only those from the best run are shown; 0 for all.
    """
    letters = _letters(found)
    rows: list[list[Cell]] = [
        [letter, name, Number(found.of[name], "d", 1)] for name, letter in letters.items()
    ]
    shown, lines = found.scores, remarks(found)
    if 0 < most < len(shown):
        shown = _with_the_best(found, benchmark)
        lines.append(
            f"{len(found.scores):,} differences are corrected together; those from the best run are shown"
        )
    tables: list[Table | Notes] = [
        Table("runs", ["run", "responses", ROWS], rows, left=2),
        _table("differences", shown, letters, benchmark),
    ]
    return [*tables, *([Notes(lines)] if lines else [])]


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
    letters = _letters(found)
    for what, compared in (("groups", found.groups), ("classes", found.classes)):
        yield from _held(what, compared, letters, benchmark, 1 - found.resampling.level)


def _held(
    what: str,
    compared: Sequence[Compared],
    letters: Mapping[str, str],
    benchmark: Benchmark,
    most: float,
) -> Iterator[Table | Notes]:
    held = [one for one in compared if one.holm < most]
    if held:
        yield _table(what, held, letters, benchmark)
    if compared:
        yield Notes(
            [f"{len(held):,} of {len(compared):,} differences in {what} are significant, corrected together"]
        )


def remarks(found: Comparison) -> list[str]:
    """Say which runs were cut, how else runs differ, and if there are too few resamples for small p values."""
    lines = []
    cut = [f"{one_line(name)} has {rows:,}" for name, rows in found.of.items() if rows > found.rows]
    if cut:
        lines.append(f"Compared on the {found.rows:,} rows that all runs have ({', '.join(cut)}).")
    for key, values in found.unlike.items():
        shown = ", ".join(
            f"{one_line(name)} {one_line(value)}" for name, value in zip(found.of, values, strict=True)
        )
        lines.append(f"The runs were not scored alike, which also changes differences: {key} is {shown}.")
    for what, least in ((found.scores, 2), (found.groups, 2), (found.classes, 1)):
        needed = least * len(what) / (1 - found.resampling.level)
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
    rows = [_row(one, letters, benchmark) for one in compared]
    return Table(name, header, rows, left=2, intervals=("diff",))


def _row(one: Compared, letters: Mapping[str, str], benchmark: Benchmark) -> list[Cell]:
    """Return a row for a difference, with its scores as `halluscope score` prints them."""
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
