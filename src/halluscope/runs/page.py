"""Makes a report's page from runs: scores side by side, differences, the papers' scores, figures, and items."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from PIL.Image import Image

from halluscope import registry
from halluscope.errors import MissingExtra
from halluscope.judging.verdicts import NOBODY
from halluscope.registry import LOWER, Benchmark
from halluscope.reporting.figures.plots import figures
from halluscope.reporting.formats import Cells, laid_out
from halluscope.reporting.page.content import Headline, Page, Picture, Table
from halluscope.reporting.page.pictures import pictures
from halluscope.reporting.page.writing import Report
from halluscope.reporting.report_items import Shown
from halluscope.reporting.tables import Notes, percent, ranked, score
from halluscope.reporting.tables import Table as Told
from halluscope.responses.match import NOT_COMPARED
from halluscope.runs.build_items import of_signature
from halluscope.runs.comparing import Comparison
from halluscope.runs.comparison_tables import of_differences, of_parts
from halluscope.runs.result_tables import beside, caveats, of_results, principal, with_choices
from halluscope.sanitize import one_line, short_repr

# Scores that say how many responses could not be read or judged.
UNREAD = ("unparsed", "unread", "unreadable", "unjudged")


def page(
    benchmark: Benchmark,
    models: Sequence[Shown],
    images: Mapping[str, Picture],
    compared: Comparison | None = None,
    facts: Mapping[str, str] | None = None,
) -> Page:
    """Make the content of a page."""
    by = principal(benchmark, [one.scores for one in models])
    higher = benchmark.direction(by) != LOWER
    order = [name for name, _ in ranked([(one.name, one.scores) for one in models], by, higher)]
    models = sorted(models, key=lambda one: order.index(one.name))
    try:
        drawn, lacking = figures(models, benchmark), {}
    except MissingExtra as error:
        drawn, lacking = [], {"Figures": str(error)}
    return Page(
        benchmark.title,
        " ".join(benchmark.description.split()),
        [_headline(benchmark, one, by) for one in models],
        list(_tables(benchmark, models, compared)),
        drawn,
        models,
        images,
        "" if registry.QUESTION in benchmark.prompt else benchmark.prompt,
        {"Licence": benchmark.licence, **lacking, **(facts or {})},
        benchmark.citation.strip(),
    )


def of_result(model: Shown, images: Sequence[Image | None] | None = None) -> Report:
    """Return a report on one result."""
    if images is not None and len(images) != len(model.items):
        raise ValueError(
            f"There are {len(images):,} images and {len(model.items):,} rows; expected one per row."
        )
    for index, image in enumerate(images or ()):
        if not isinstance(image, Image | None):
            raise ValueError(f"images[{index}] is {short_repr(image)}; expected a PIL.Image, or None.")
    each = zip(model.items, images or (), strict=bool(images))
    known = {item.image or item.id: image for item, image in each if image is not None}
    items = [
        replace(item, image=item.image or (item.id if item.id in known else None)) for item in model.items
    ]
    made = pictures(known, known.__getitem__, {}, progress=False)
    return Report(page(of_signature(model.scores), [replace(model, items=items)], made))


# Headlines


def _headline(benchmark: Benchmark, model: Shown, by: str) -> Headline:
    scores = model.scores
    shown = score(scores, by, benchmark.is_points(by))
    return Headline(
        model.name,
        by,
        str(shown),
        shown.interval if shown.has_ends else "",
        benchmark.module("view").meaning(scores),
        list(_warnings(benchmark, model)),
        scores[registry.SIGNATURE],
    )


def _warnings(benchmark: Benchmark, model: Shown) -> Iterator[str]:
    scores, judges = model.scores, benchmark.judges
    yield from caveats(benchmark, scores, model.options)
    if judges and (named := model.options.get(judges.option, judges.default)) != judges.default:
        each = named if isinstance(named, list | tuple) else [named]
        names = ", ".join(one_line(getattr(judge, "key", judge), 80) for judge in each)
        beside = f", not by {judges.default}" if judges.default else ""
        yield (
            "No judge was asked."
            if named == NOBODY
            else f"Judged by {names}{beside}; other judges give different scores."
        )
    if empty := sum(not item.text for item in model.items):
        yield f"Empty responses: {empty:,}."
    if scores.get("left_out"):
        yield f"{scores['left_out']:,} responses are not about the dataset's rows, and are left out."
    if scores.get("other_prompts"):
        yield f"{scores['other_prompts']:,} responses answer a prompt other than the dataset's."
    for column, count in scores.get("uncompared", {}).items():
        yield f"The {column} of {count:,} responses was ignored: {NOT_COMPARED}."
    if scores.get("thoughts"):
        yield f"{scores['thoughts']:,} responses held thoughts, which were removed."
    for name in UNREAD:
        if share := scores.get(name):
            yield f"{percent(share)} % of the responses could not be read or judged ({name})."


# Tables


def _tables(benchmark: Benchmark, models: Sequence[Shown], compared: Comparison | None) -> Iterator[Table]:
    results = [(one.name, with_choices(benchmark, one.scores, one.options)) for one in models]
    told = of_results(benchmark, results, models[0].options)
    if compared:
        told += [*of_differences(compared, benchmark), *of_parts(compared, benchmark)]
    told += beside(benchmark, results, models[0].options)
    return _with_notes(laid_out(told, benchmark.better))


def _with_notes(parts: Sequence[tuple[Told, Cells] | Notes]) -> Iterator[Table]:
    """Yield tables, each with the notes that follow it except signatures, which are shown elsewhere."""
    tables: list[Table] = []
    for part in parts:
        if not isinstance(part, Notes):
            tables.append(_table(*part))
        elif tables and (note := _note(part)):
            tables[-1] = replace(tables[-1], note=f"{tables[-1].note} {note}".strip())
    yield from tables


def _note(notes: Notes) -> str:
    lines = [line for line in notes.lines if not line.startswith(registry.SIGNATURE)]
    text = " ".join(f"{line.removesuffix('.')}." for line in lines)
    return f"{notes.of}: {text}" if notes.of and text else text


def _table(told: Told, cells: Cells) -> Table:
    header, *rows = cells
    return Table(
        ", ".join(filter(None, (told.name.capitalize(), told.of))),
        [text for text, _ in header],
        [[text for text, _ in row] for row in rows],
        frozenset((y, x) for y, row in enumerate(rows) for x, (_, is_best) in enumerate(row) if is_best),
        1 if told.turned else told.left,
    )
