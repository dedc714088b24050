"""Results as tables: the benchmark's own, in what their rows are not the benchmark's, and what papers print about it.

And what Python gets (`Printed`): results that print as tables, of scoring, of comparing runs, and of checking them.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from halluscope import scoring
from halluscope.benchmark import SIGNATURE, Benchmark
from halluscope.building import spec
from halluscope.errors import RunError
from halluscope.files.writing import check_new
from halluscope.options import check_names, defaults
from halluscope.paths import path_of
from halluscope.reading.datasets import SUBSET
from halluscope.reporting import published
from halluscope.reporting.formats import LATEX, MARKDOWN, TABLE
from halluscope.reporting.printed import Printed
from halluscope.reporting.tables import (
    BEST,
    FEWEST,
    OTHER,
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
    printed,
    rows_of,
    table,
    without_intervals,
)
from halluscope.reporting.tables import score as score_of
from halluscope.responses import thoughts
from halluscope.responses.given import is_by_name
from halluscope.runs import folder as runs
from halluscope.runs.comparing import Comparison
from halluscope.runs.comparing import compare as compare_runs
from halluscope.runs.comparison_report import FEW, MOST, of_differences, of_parts, verdicts, winner
from halluscope.runs.folder import Run
from halluscope.sanitize import one_line
from halluscope.signature import keys_of
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap
from halluscope.validation import kind, of_a_part

UNDEFINED = "undefined"  # what a line says of a score that tables show as "-"
AGREE = 0.0006  # how far a score that a file states may be from ours, because it is rounded


def with_choices(benchmark: Benchmark, scores: Values, options: Values) -> dict[str, Any]:
    """Return a result with the values of the options for which "all" may be given, such as POPE's parser."""
    unless = defaults(benchmark.compute)
    every = [option.name for option in benchmark.options if option.every]
    return {**{name: options.get(name, unless[name]) for name in every}, **scores}


def of_scores(benchmark: Benchmark, results: Named, names: Sequence[str] = ()) -> Table:
    """Return one table of these scores, by default the benchmark's, with a result's nested scores as "a/b"."""
    flat_ones = [
        (name, {**dict(flat(result)), "interval": dict(flat(result.get("interval", {})))})
        for name, result in counted(results)
    ]
    known = dict.fromkeys(
        score for _, one in flat_ones for score, value in one.items() if isinstance(value, int | float)
    )
    check_names("There is no score", {*names} - {*known}, [score for score in known if "/" not in score])
    columns = list(names) or [score for score in benchmark.scores if score in known]
    return table(flat_ones, columns, benchmark.is_points, turned=not names, intervals=columns)


def of_results(
    benchmark: Benchmark,
    results: Named,
    options: Values,
    rows: Sequence[Any] = (),
    every: bool = False,
) -> list[Table | Notes]:
    """Return a benchmark's report on results, and whether these are about the same rows."""
    parts = benchmark.module("report").report(counted(results), rows=rows, every=every, **options)
    few = ", ".join(name for name, result in results if has_few(result))
    lines = [f"Too few rows for intervals (fewer than {FEWEST}): {few}."] if few else []
    reasons = without_intervals(benchmark, results)
    return [*parts, *reasons, *notes([*lines, *of_other_rows(results)])]


def of_other_rows(results: Named) -> list[str]:
    data = {name: keys_of(result["signature"])["data"] for name, result in results}
    each = ", ".join(map(" ".join, data.items()))
    return [f"{OTHER} Not about the same rows: {each}."] if len({*data.values()}) > 1 else []


def notes(lines: Sequence[str]) -> list[Notes]:
    return [Notes(lines)] if lines else []


def caveats(benchmark: Benchmark, result: Values, options: Values) -> list[str]:
    """Say in what the rows of a result are not those that a paper on the benchmark scores; [] where they may be."""
    keys, lines = keys_of(result[SIGNATURE]), []
    if "part" in result:
        lines.append(f"Only {scoring.part_of(benchmark, *result['part'])}.")
    if result.get("origin") == scoring.SUBSET:
        lines.append(f"The dataset {SUBSET} of the benchmark.")
    if result.get("origin") == scoring.OTHER_FILE:
        lines.append("The dataset is a file of another content than the published one.")
    if "form" in keys:
        lines.append(f"The questions are a parallel form of the benchmark's ({keys['form']}).")
    dataset = published.dataset_of(benchmark, options)
    if dataset and "part" not in result:
        expected = spec.load(dataset.name).expected
        what = "questions" if "questions" in expected else "images"
        if (rows := rows_of(result)) != expected[what]:
            lines.append(of_a_part(rows, expected[what], what))
    return lines


def of_thoughts(results: Named) -> list[Notes]:
    """Say how many responses of each result are a thought that never ends."""
    said = {}
    for name, result in results:
        note = thoughts.note_of_unfinished(result, rows_of(result))
        said[name] = [note] if note else []
    return below(said)


def of_each(benchmark: Benchmark, results: Named, options: Values) -> list[Notes]:
    return below({name: caveats(benchmark, result, options) for name, result in results})


def of_printed(benchmark: Benchmark, results: Named) -> Iterator[str]:
    """Say, for each result whose file states scores of its own, what they are and whether they agree."""
    for name, result in results:
        stated = result.get("printed", {})
        shown = ", ".join(
            f"{score} {printed(value, benchmark.is_points(score))} "
            f"(here {printed(result[score], benchmark.is_points(score))})"
            for score, value in stated.items()
        )
        if stated:
            agree = all(abs(value - result[score]) < AGREE for score, value in stated.items())
            yield f"{name} states scores itself: {shown}. They {'agree' if agree else 'differ'}."


def beside(benchmark: Benchmark, results: Named, options: Values) -> list[Table | Notes]:
    """Return published scores as a table of their own, or a note why they are not shown; and apart from them, what
    public files about the same data score under this package. [] if nothing is known.
    """
    papers, judges = published.of(benchmark, options), benchmark.judges
    parts: list[Table | Notes] = []
    if papers and of_each(benchmark, results, options):
        sources = "; ".join(paper.source for paper in papers)
        why = f"Published scores are not shown, because they are about other rows ({sources})."
        parts.append(Notes([why]))
    elif papers:
        parts += [
            *(published.table(paper, benchmark) for paper in papers),
            *notes([judges.of_published] if judges and judges.published else []),
            *below({name: published.how(result) for name, result in results}),
        ]
    computed = published.computed(benchmark, results)
    return [*parts, computed] if computed else parts


def comparable(benchmark: Benchmark, results: Named, options: Values) -> Named:
    """Return published scores about the rows of all results, each marked with its source; [] if there are none."""
    papers = published.of(benchmark, options)
    if not papers or of_each(benchmark, results, options):
        return []
    rows = []
    for paper in papers:
        for name, scores in paper.results:
            rows.append((name, {**scores, published.HEAD: paper.source}))
    return rows


def report(
    results: Named,
    scored: Sequence[Run],
    options: Values,
    resampling: Bootstrap,
    style: str,
    names: Sequence[str],
    with_published: bool,
    everything: bool,
) -> Report:
    """Return the benchmark's report, what is not due to chance, and published scores; or a table of scores by name.

    Text begins with the principal scores, and which model is better. Text and LaTeX show only with `everything` the
    differences, and LaTeX the tables after the first.
    """
    benchmark = scored[0].benchmark
    by = principal(benchmark, [one for _, one in results])
    named = {run.name: run for run in scored}
    is_every = len(named) < len(scored)  # a model was scored in several ways
    order = [name for name, _ in best_first(benchmark, results)]
    first: list[Table | Notes] = []
    verdict: list[Notes] = []
    differences: list[Table] = []
    is_bold = style in (MARKDOWN, LATEX) and by in names
    if len(scored) > 1 and not is_every and resampling.resamples and (is_bold or not names):
        try:
            found = compare_runs({name: named[name] for name in order}, [], resampling, False)
        except RunError as error:
            verdict = [Notes([f"The models are not compared. {error}"])]
        else:
            *differences, of_best = of_differences(found, benchmark, FEW)
            verdict = [Notes([*verdicts(found, benchmark), *of_best.lines])]
            results = with_best(results, found)
    if names:
        table_of_names = of_scores(benchmark, results, names)
        remarks = [*of_thoughts(results), *without_intervals(benchmark, results)]
        return [table_of_names, *remarks, *signatures(results)]
    if style == TABLE and not is_every:
        scores = of_scores(benchmark, results, _first_shown(benchmark, results, by))
        rows = sorted(scores.rows, key=lambda row: order.index(str(row[0])))
        first, verdict = [scores._replace(rows=rows), *verdict], []
    parts = [
        *first,
        *of_results(benchmark, results, options, scored[0].ready.matched.rows, is_every),
        *of_each(benchmark, results, options),
        *notes([*of_printed(benchmark, results)]),
        *of_thoughts(results),
        *verdict,
        *(differences if everything or style not in (TABLE, LATEX) else ()),
        *(beside(benchmark, results, options) if with_published else ()),
    ]
    tables = [part for part in parts if isinstance(part, Table)]
    left_out = tables[1:] if style == LATEX and not everything else ()
    return [part for part in parts if part not in left_out]


def _first_shown(benchmark: Benchmark, results: Named, by: str) -> list[str]:
    """Return the scores that the first table shows: the principal one, and beside it the first that is defined."""
    if any(isinstance(result.get(benchmark.principal), float) for _, result in results):
        return list(dict.fromkeys([benchmark.principal, by]))
    return [by]


def with_best(results: Named, compared: Comparison) -> Named:
    """Have the score by which models are compared highlighted of the best one."""
    best = winner(compared)
    return [(name, {**one, BEST: compared.scores[0].score} if name == best else one) for name, one in results]


def signatures(results: Named) -> list[Notes]:
    return below({name: [f"signature: {one[SIGNATURE]}"] for name, one in results})


def lines(benchmark: Benchmark, results: Named) -> str:
    """Return a line per result: its name, its signature and its principal score, as sacrebleu prints them.

    As in tables, a result about too few rows has no interval, and no other score stands in for an undefined one.
    """
    by = benchmark.principal
    written = []
    for name, result in counted(results):
        shown = score_of(result, by, benchmark.is_points(by))
        value = str(shown)
        if not is_defined(shown.value):
            value = UNDEFINED
        elif shown.interval:
            value = f"{shown} ({shown.interval})"
        written.append(f"{one_line(name)}: {result[SIGNATURE]} = {by} {value}")
    return "\n".join(written)


# What Python gets


def score(name: str, responses: Any, dataset: Any, out: str | Path | None, options: Values) -> Printed:
    if out is not None:
        kind("out", out, str | Path, "the name of a new folder")
        check_new(path_of(out))
    several = is_by_name(responses)
    given = (
        [*responses.items()] if several else [list(responses) if isinstance(responses, tuple) else responses]
    )
    benchmark, ready, chosen = scoring.prepare_call(name, given, dataset, {"bootstrap": RESAMPLES, **options})
    if out is not None:
        runs.check_options(chosen)
    for line in filter(None, (scoring.remark(benchmark, one) for one in ready)):
        warnings.warn(line, stacklevel=3)
    about = {"dataset": _named_datasets(dataset)}
    scored = [runs.score(benchmark, one, chosen, about) for one in ready]
    if out is not None:
        runs.write(scored, path_of(out))
    items = [benchmark.items] if chosen.get(benchmark.items) else []
    results = [(run.name, {**run.scores, **dict.fromkeys(items, run.found)}) for run in scored]
    each = {one: _result(benchmark, [(one, result)], result) for one, result in results}
    return _result(benchmark, results, each) if several else next(iter(each.values()))


def _named_datasets(given: Any) -> list[str]:
    """Return the datasets that a call names as text or path; a loaded one has no name."""
    datasets = given if isinstance(given, list | tuple) else [given]
    return [str(dataset) for dataset in datasets if isinstance(dataset, str | Path)]


def _result(benchmark: Benchmark, results: Named, values: Values) -> Printed:
    rows: list[dict[str, Any]] = []
    for name, scores in results:
        known, row = dict(flat(scores)), dict[str, Any](responses=name)
        for key, value in known.items():
            if isinstance(value, str | int | float):
                row[key], ends = value, known.get(f"interval/{key}", ())
                row |= zip((f"{key} low", f"{key} high"), ends, strict=False)
        rows.append(row)
    report: Report = [
        of_scores(benchmark, results),
        *of_thoughts(results),
        *without_intervals(benchmark, results),
        *signatures(results),
    ]
    return Printed(values, report, rows)


def compare(
    folders: Sequence[str | Path], scores: Sequence[str], resampling: Bootstrap, most: int | None = MOST
) -> Printed:
    scored = runs.checked(folders)
    found, benchmark = compare_runs(scored, scores, resampling), runs.benchmark_of(scored)
    names = ("score", "first", "second", "first value", "second value")
    rows = [
        {
            **dict(zip(names, (one.score, *one.names, *one.values), strict=True)),
            **asdict(one.by),
            "holm": one.holm,
            "better": one.better,
        }
        for one in (*found.scores, *found.groups, *found.classes)
    ]
    return Printed(
        asdict(found), [*of_differences(found, benchmark), *of_parts(found, benchmark, most)], rows
    )


def verify(folders: Sequence[str | Path]) -> dict[str, Iterator[str]]:
    """Return what was changed in each run, or differs when it is scored again; nothing where all is well."""
    return {str(folder): runs.differences(folder) for folder in runs.folders(folders)}
