"""What a report's page says of runs: their scores beside each other and beside the papers', differences, and items."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from PIL.Image import Image

from halluscope import registry
from halluscope.errors import MissingExtra
from halluscope.foreign import one_line
from halluscope.registry import HIGHER, LOWER, Benchmark
from halluscope.reporting import published
from halluscope.reporting.figures.plots import figures
from halluscope.reporting.page.content import Figure, Headline, Page, Picture, Table
from halluscope.reporting.page.notebook import Report
from halluscope.reporting.page.pictures import pictures
from halluscope.reporting.shown import Shown
from halluscope.reporting.tables import Named, interval, percent, printed, ranked
from halluscope.runs.comparing import Compared, Comparison
from halluscope.runs.showing import of_signature

MOST_DIFFERENCES = 20
"""Rows of a table of differences."""


def page(
    benchmark: Benchmark,
    models: Sequence[Shown],
    images: Mapping[str, Picture],
    compared: Comparison | None = None,
    facts: Mapping[str, str] | None = None,
) -> Page:
    """Put together what stands on a page.

    Args:
        benchmark: by which all were scored.
        models: their runs, each of another name.
        images: what an item's image is called -> a small copy.
        compared: the models with each other; None for no comparison.
        facts: what is to be known beside.
    """
    by = principal(benchmark, [one.scores for one in models])
    best = ranked([(one.name, one.scores) for one in models], by, _is_higher(benchmark, by))
    order = [name for name, _ in best]
    models = sorted(models, key=lambda one: order.index(one.name))
    drawn, lacking = _figures(models, benchmark)
    return Page(
        benchmark.title,
        " ".join(benchmark.description.split()),
        [_headline(benchmark, one, by) for one in models],
        list(_tables(benchmark, models, by, compared)),
        drawn,
        models,
        images,
        "" if registry.QUESTION in benchmark.prompt else benchmark.prompt,
        {"Licence": benchmark.licence, **lacking, **(facts or {})},
        benchmark.citation.strip(),
    )


def of_result(model: Shown, images: Sequence[Image | None] | None = None) -> Report:
    """A report on one result.

    Args:
        model: what is shown of it.
        images: a picture per row, or None for one without.

    Raises:
        ValueError: for another number of images.
    """
    if images is not None and len(images) != len(model.items):
        raise ValueError(
            f"There are {len(images):,} images and {len(model.items):,} rows; expected one per row."
        )
    each = zip(model.items, images or (), strict=bool(images))
    known = {item.image or item.id: image for item, image in each if image is not None}
    items = [
        replace(item, image=item.image or (item.id if item.id in known else None)) for item in model.items
    ]
    made = pictures(known, known.__getitem__, {}, progress=False)
    return Report(page(of_signature(model.scores), [replace(model, items=items)], made))


def principal(benchmark: Benchmark, results: Sequence[Mapping[str, Any]]) -> str:
    """The score that comes first: the principal one, or the first that is defined where that is not."""
    names = [benchmark.principal, *benchmark.scores]
    return next((name for name in names if any(_is_number(one.get(name)) for one in results)), names[0])


def _is_higher(benchmark: Benchmark, score: str) -> bool:
    return benchmark.direction(score) != LOWER


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _figures(models: Sequence[Shown], benchmark: Benchmark) -> tuple[list[Figure], dict[str, str]]:
    """The figures, or what they need."""
    try:
        return figures(models, benchmark), {}
    except MissingExtra as error:
        return [], {"Figures": str(error)}


# What is asked first


def _headline(benchmark: Benchmark, model: Shown, by: str) -> Headline:
    scores = model.scores
    value, ends = printed(scores.get(by), benchmark.is_points(by)), scores.get("interval", {}).get(by, ())
    return Headline(
        model.name,
        by,
        value,
        _ends(ends, benchmark.is_points(by)),
        benchmark.module("view").meaning(scores),
        list(_warnings(benchmark, model)),
        scores["signature"],
    )


def _ends(ends: Sequence[float], points: bool) -> str:
    return " to ".join(printed(end, True) for end in ends) if points else interval(ends)


def _warnings(benchmark: Benchmark, model: Shown) -> Iterator[str]:
    """Why to be careful with a model's scores."""
    scores, judges = model.scores, benchmark.judges
    if "part" in scores:
        scored, of = scores["part"]
        what = "images of the dataset" if benchmark.chooses else "questions"
        yield f"{scored:,} of {of:,} {what} are scored."
    if (
        judges
        and judges.default
        and (named := model.options.get(judges.option, judges.default)) != judges.default
    ):
        yield (
            f"Judged by {_named(named)}, not by {judges.default}: scores of other judges do not stand beside each "
            "other's."
        )
    if scores.get("left_out"):
        yield f"{scores['left_out']:,} responses are about others than the dataset's rows, and left out."
    if scores.get("other_prompts"):
        yield f"{scores['other_prompts']:,} responses answer another prompt than the dataset asks."
    if scores.get("thoughts"):
        yield f"{scores['thoughts']:,} responses held thoughts."
    remarks = getattr(benchmark.module("report"), "remarks", None)
    for remark in remarks(scores) if remarks else ():
        if not remark.startswith(registry.SIGNATURE):
            yield f"{remark[:1].upper()}{remark[1:]}."


def _named(judges: Any) -> str:
    many = judges if isinstance(judges, list | tuple) else [judges]
    return ", ".join(one_line(getattr(judge, "key", judge), 80) for judge in many)


# Tables


def _tables(
    benchmark: Benchmark, models: Sequence[Shown], by: str, compared: Comparison | None
) -> Iterator[Table]:
    results: Named = [(one.name, one.scores) for one in models]
    yield _scores(benchmark, results)
    if compared:
        yield from _differences(benchmark, compared)
    if paper := published.of(benchmark, models[0].options):
        judged = [(published.judged(name, result), result) for name, result in results]
        yield _published(benchmark, judged, paper, by)


def _scores(benchmark: Benchmark, results: Named) -> Table:
    columns = [name for name in benchmark.scores if any(_is_number(one.get(name)) for _, one in results)]
    note = f"{_in_percent(benchmark, columns)} The best of each is bold."
    title = "All scores" if len(results) == 1 else "All scores, side by side"
    return _table(benchmark, results, columns, title, note if len(results) > 1 else note.split(".")[0] + ".")


def _in_percent(benchmark: Benchmark, columns: Sequence[str]) -> str:
    points = [name for name in columns if benchmark.is_points(name)]
    return f"In percent, but {', '.join(points)}." if points else "In percent."


def _table(benchmark: Benchmark, results: Named, columns: Sequence[str], title: str, note: str) -> Table:
    rows = [
        [name, *(printed(result.get(column), benchmark.is_points(column)) for column in columns)]
        for name, result in results
    ]
    values = [[result.get(column) for column in columns] for _, result in results]
    best = {
        (row, place + 1)
        for place, column in enumerate(columns)
        for row in _best([line[place] for line in values], benchmark.direction(column))
    }
    header = ["responses", *(f"{column}{_arrow(benchmark, column)}" for column in columns)]
    return Table(title, header, rows, frozenset(best if len(results) > 1 else ()), note)


def _arrow(benchmark: Benchmark, score: str) -> str:
    """Which way a score is better."""
    return {HIGHER: " ↑", LOWER: " ↓"}.get(benchmark.direction(score) or "", "")


def _best(values: Sequence[Any], direction: registry.Direction) -> list[int]:
    """The places of the best values; none where no value is better than another."""
    known = [value for value in values if _is_number(value)]
    if direction is None or len({*known}) < 2:
        return []
    best = max(known) if direction == HIGHER else min(known)
    return [place for place, value in enumerate(values) if _is_number(value) and value == best]


def _published(benchmark: Benchmark, results: Named, paper: published.Published, by: str) -> Table:
    """The runs among what a paper prints, by the scores that it prints."""
    printed_there = {name for _, result in paper.results for name in result}
    columns = [name for name in benchmark.scores if name in printed_there]
    by = by if by in columns else columns[0]
    rows = ranked([*results, *paper.results], by, _is_higher(benchmark, by))
    note = (
        f"{_in_percent(benchmark, columns)} In square brackets: who judged, what was asked, and on how many rows; "
        f"where these differ, compare with care. Rows without a number of rows are as published: {paper.source}."
    )
    return _table(benchmark, rows, columns, "Beside published results", note)


def _differences(benchmark: Benchmark, found: Comparison) -> Iterator[Table]:
    held = [one for one in (*found.groups, *found.classes) if one.better]
    header = ["score", "first", "second", "difference", "interval", "p (Holm)", "better"]
    cut = {name: rows for name, rows in found.of.items() if rows > found.rows}
    note = (
        f"On the {found.rows:,} rows that all have. Differences are paired: both are scored on the same resamples. "
        "The p value is corrected for all differences of its table."
    )
    if cut:
        note += f" Others of {', '.join(cut)} do not count here."
    for what, values in found.unlike.items():
        note += f" Not scored alike: {what} is {', '.join(values)}."
    rows = [_difference(benchmark, one) for one in found.scores]
    yield Table("Which differences are not by chance", header, rows, note=note)
    if held:
        shown = sorted(held, key=lambda one: -abs(one.by.value))[:MOST_DIFFERENCES]
        note = f"{len(held):,} of {len(found.groups) + len(found.classes):,} hold; the largest are shown."
        rows = [_difference(benchmark, one) for one in shown]
        yield Table("Where models differ: groups and classes", header, rows, note=note)


def _difference(benchmark: Benchmark, one: Compared) -> list[str]:
    first, second = one.names
    points = benchmark.is_points(one.score)
    low, high = (_signed(end, points) for end in (one.by.low, one.by.high))
    return [
        one.score,
        *(
            f"{name}: {printed(value, points)}"
            for name, value in zip((first, second), one.values, strict=True)
        ),
        _signed(one.by.value, points),
        f"{low} to {high}",
        "-" if math.isnan(one.holm) else f"{one.holm:.4f}",
        one.better or "-",
    ]


def _signed(value: float, points: bool) -> str:
    if math.isnan(value):
        return percent(value)
    return f"{value:+.3f}" if points else f"{100 * value:+.1f}"
