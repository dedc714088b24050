"""Results as tables: the benchmark's own, which model is better, and what papers print about the benchmark."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.benchmark import SIGNATURE, Benchmark
from halluscope.errors import RunError
from halluscope.options import check_names, defaults
from halluscope.reporting import published
from halluscope.reporting.formats import LATEX, MARKDOWN, TABLE, is_too_wide
from halluscope.reporting.tables import (
    BEST,
    FEWEST,
    RESPONSES,
    Cell,
    Named,
    Notes,
    Report,
    Table,
    Values,
    below,
    best_first,
    counted,
    flat,
    has_few,
    is_defined,
    principal,
    table,
    without_intervals,
)
from halluscope.reporting.tables import score as score_of
from halluscope.runs.caveats import notes, of_each, of_other_rows, of_stated, of_thoughts
from halluscope.runs.comparing import Comparison, compare
from halluscope.runs.comparison_report import FEW, of_differences, verdicts, winner
from halluscope.runs.run import Run
from halluscope.sanitize import one_line
from halluscope.stats.bootstrap import Bootstrap

UNDEFINED = "undefined"  # what a line says of a score that tables show as "-"


def with_choices(benchmark: Benchmark, scores: Values, options: Values) -> dict[str, Any]:
    """Return a result with the values of the options for which "all" may be given, such as POPE's parser."""
    usual = defaults(benchmark.compute)
    result = {}
    for option in benchmark.options:
        if option.every:
            result[option.name] = options.get(option.name, usual[option.name])
    result.update(scores)
    return result


# What a command prints


def report(
    results: Named,
    runs: Sequence[Run],
    options: Values,
    resampling: Bootstrap,
    style: str,
    names: Sequence[str],
    with_published: bool,
    everything: bool,
) -> Report:
    """Return the benchmark's report, what is not due to chance, and published scores; or a table of scores by name.

    Text has one table for the scores of all models, the best first, then which model is better. Text and LaTeX show
    only with `everything` the differences and details, and LaTeX the tables after the first.
    """
    benchmark = runs[0].benchmark
    if names:
        score = principal(benchmark, [result for _, result in results])
        if score in names and style in (MARKDOWN, LATEX):  # bold is for what is pasted
            verdict = _verdict(results, runs, resampling)
            results = with_best(results, verdict.comparison)
        return _of_names(benchmark, results, names)
    verdict = _verdict(results, runs, resampling)
    results = with_best(results, verdict.comparison)
    is_every = _is_every(runs)
    parts = of_results(
        benchmark,
        results,
        options,
        rows=runs[0].ready.matched.rows,
        every=is_every,
        details=everything or style != TABLE,
    )
    parts += of_each(benchmark, results, options)
    parts += notes(list(of_stated(benchmark, results)))
    parts += of_thoughts(results)
    if style == TABLE and not is_every:
        parts = _in_one_table(benchmark, results, parts)
        parts[1:1] = verdict.notes
    else:
        parts += verdict.notes
    if everything or style not in (TABLE, LATEX):
        parts += verdict.differences
    if with_published:
        parts += beside(benchmark, results, options)
    if style == LATEX and not everything:
        return _with_one_table(parts)
    return parts


def _with_one_table(parts: Sequence[Table | Notes]) -> Report:
    """Return a report without the tables after the first."""
    kept: list[Table | Notes] = []
    has_table = False
    for part in parts:
        is_table = isinstance(part, Table)
        if not is_table or not has_table:
            kept.append(part)
        has_table = has_table or is_table
    return kept


def _of_names(benchmark: Benchmark, results: Named, names: Sequence[str]) -> list[Table | Notes]:
    """Return one table of these scores."""
    parts: list[Table | Notes] = [of_scores(benchmark, results, names)]
    parts += of_thoughts(results)
    parts += without_intervals(benchmark, results)
    parts += signatures(results)
    return parts


def _is_every(runs: Sequence[Run]) -> bool:
    """Whether a model was scored in several ways."""
    return len({run.name for run in runs}) < len(runs)


# Which model is better


@dataclass(frozen=True)
class _Verdict:
    """Which of several models is better."""

    notes: Sequence[Notes] = ()
    differences: Sequence[Table] = ()
    comparison: Comparison | None = None


def _verdict(results: Named, runs: Sequence[Run], resampling: Bootstrap) -> _Verdict:
    if len(runs) < 2 or _is_every(runs) or not resampling.resamples:
        return _Verdict()
    benchmark = runs[0].benchmark
    by_name = {run.name: run for run in runs}
    in_order = {name: by_name[name] for name in _names_best_first(benchmark, results)}
    try:
        comparison = compare(in_order, [], resampling, in_parts=False)
    except RunError as error:
        return _Verdict([Notes([f"The models are not compared. {error}"])])
    letters, differences, remarks = of_differences(comparison, benchmark, FEW)
    lines = list(verdicts(comparison, benchmark))
    lines += remarks.lines
    return _Verdict([Notes(lines)], [letters, differences], comparison)


def _names_best_first(benchmark: Benchmark, results: Named) -> list[str]:
    return [name for name, _ in best_first(benchmark, results)]


def with_best(results: Named, comparison: Comparison | None) -> Named:
    """Have the score by which models are compared highlighted of the best one."""
    if comparison is None:
        return results
    best = winner(comparison)
    marked = []
    for name, result in results:
        if name == best:
            result = dict(result) | {BEST: comparison.scores[0].score}
        marked.append((name, result))
    return marked


# Tables


def of_scores(benchmark: Benchmark, results: Named, names: Sequence[str] = ()) -> Table:
    """Return one table of these scores, by default the benchmark's, with a result's nested scores as "a/b"."""
    flat_results = []
    known: dict[str, None] = {}
    for name, result in counted(results):
        scores = dict(flat(result))
        for score, value in scores.items():
            if isinstance(value, int | float):
                known[score] = None
        scores["interval"] = dict(flat(result.get("interval", {})))
        flat_results.append((name, scores))
    columns = list(names)
    if names:
        unknown = [name for name in names if name not in known]
        check_names("There is no score", unknown, [score for score in known if "/" not in score])
    else:
        columns = [score for score in benchmark.scores if score in known]
    return table(flat_results, columns, benchmark.is_points, turned=not names, intervals=columns)


def of_results(
    benchmark: Benchmark,
    results: Named,
    options: Values,
    rows: Sequence[Any] = (),
    every: bool = False,
    details: bool = True,
) -> list[Table | Notes]:
    """Return a benchmark's report on results, and whether these are about the same rows.

    Args:
        rows: the rows that the first result is about, for what a benchmark shows beside results.
        every: whether a model was scored in several ways.
        details: whether tables that repeat scores by category are wanted.
    """
    view = benchmark.module("report")
    parts = list(view.report(counted(results), rows=rows, every=every, details=details, **options))
    parts += without_intervals(benchmark, results)
    lines = []
    few = []
    for name, result in results:
        if has_few(result):
            few.append(name)
    if few:
        lines.append(f"Too few rows for intervals (fewer than {FEWEST}): {', '.join(few)}.")
    lines += of_other_rows(results)
    return parts + notes(lines)


def _in_one_table(
    benchmark: Benchmark, results: Named, parts: Sequence[Table | Notes]
) -> list[Table | Notes]:
    """Put all tables that have a row per result into one, the best result first.

    Several models' principal scores come before it, unless each would have a block there, as it has in what follows.
    """
    first_score = principal(benchmark, [result for _, result in results])
    scores = _first_shown(benchmark, results, first_score)
    order = _names_best_first(benchmark, results)
    ranking = _joined([of_scores(benchmark, results, scores)], order)
    tables = []
    rest = []
    for part in parts:
        if isinstance(part, Table) and _has_a_row_per_result(part):
            tables.append(part)
        else:
            rest.append(part)
    in_one: list[Table | Notes] = []
    if len(results) > 1 and not (tables and is_too_wide(ranking)):
        in_one.append(ranking)
    if tables and not set(scores) <= set(tables[0].intervals):
        tables.insert(0, ranking)
    if tables:
        in_one.append(_joined(tables, order))
    return in_one + rest


def _first_shown(benchmark: Benchmark, results: Named, score: str) -> list[str]:
    """Return the scores that come first: the principal one, and beside it the first that is defined."""
    for _, result in results:
        if isinstance(result.get(benchmark.principal), float):
            return list(dict.fromkeys([benchmark.principal, score]))
    return [score]


def _has_a_row_per_result(part: Table) -> bool:
    if not part.ranked or part.of or part.header[0] != RESPONSES:
        return False
    names = [row[0] for row in part.rows]
    return len(set(names)) == len(names)


def _joined(tables: Sequence[Table], order: Sequence[str]) -> Table:
    """Put the columns of tables side by side, each once; rows are in this order, and others follow."""
    names = list(order)
    header: list[str] = []
    intervals: list[str] = []
    cells: dict[tuple[str, str], Cell] = {}  # by the name of the result, and the column
    is_turned = False
    for part in tables:
        is_turned = is_turned or part.turned
        intervals += part.intervals
        for column in part.header:
            if column not in header:
                header.append(column)
        for row in part.rows:
            name = str(row[0])
            if name not in names:
                names.append(name)
            for column, cell in zip(part.header, row, strict=True):
                cells.setdefault((name, column), cell)
    rows = []
    for name in names:
        if (name, RESPONSES) in cells:
            rows.append([cells.get((name, column)) for column in header])
    if len(tables) == 1:
        return tables[0]._replace(rows=rows)
    return Table(tables[0].name, header, rows, ranked=True, turned=is_turned, intervals=intervals)


def signatures(results: Named) -> list[Notes]:
    """Return the signature of each result as notes."""
    lines = {}
    for name, result in results:
        lines[name] = [f"signature: {result[SIGNATURE]}"]
    return below(lines)


# What papers print


def beside(benchmark: Benchmark, results: Named, options: Values) -> list[Table | Notes]:
    """Return published scores as tables of their own, or a note why they are not shown; and apart from them, what
    public files about the same data score under this package. [] if nothing is known.
    """
    papers = published.of(benchmark, options)
    parts: list[Table | Notes] = []
    if papers and of_each(benchmark, results, options):
        sources = "; ".join(paper.source for paper in papers)
        why = f"Published scores are not shown, because they are about other rows ({sources})."
        parts.append(Notes([why]))
    elif papers:
        for paper in papers:
            parts.append(published.table(paper, benchmark))
        if benchmark.judges and benchmark.judges.published:
            parts.append(Notes([benchmark.judges.of_published]))
        ways = {}
        for name, result in results:
            ways[name] = published.how(result)
        parts += below(ways)
    computed = published.computed(benchmark, results)
    if computed:
        parts.append(computed)
    return parts


def comparable(benchmark: Benchmark, results: Named, options: Values) -> Named:
    """Return published scores about the rows of all results, each marked with its source; [] if there are none."""
    papers = published.of(benchmark, options)
    if not papers or of_each(benchmark, results, options):
        return []
    rows = []
    for paper in papers:
        for name, scores in paper.results:
            rows.append((name, dict(scores) | {published.HEAD: paper.source}))
    return rows


# A line per result


def lines(benchmark: Benchmark, results: Named) -> str:
    """Return a line per result: its name, its signature and its principal score, as sacrebleu prints them.

    As in tables, a result about too few rows has no interval, and no other score stands in for an undefined one.
    """
    score = benchmark.principal
    texts = []
    for name, result in counted(results):
        number = score_of(result, score, benchmark.is_points(score))
        value = str(number)
        if not is_defined(number.value):
            value = UNDEFINED
        elif number.interval:
            value = f"{number} ({number.interval})"
        texts.append(f"{one_line(name)}: {result[SIGNATURE]} = {score} {value}")
    return "\n".join(texts)
