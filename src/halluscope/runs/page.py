"""Makes a report's page from runs or from a metric's result.

Scores side by side, differences, the papers' scores, figures, and each row as an item, by the view of the benchmark's
package.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from PIL.Image import Image
from tqdm import tqdm

from halluscope import registry
from halluscope.benchmark import QUESTION, SIGNATURE, Benchmark
from halluscope.errors import MissingExtra, RunError
from halluscope.judging.cache import Record
from halluscope.judging.verdicts import NOBODY
from halluscope.metric import Result
from halluscope.reporting.figures import of_models
from halluscope.reporting.formats import upright, with_intervals
from halluscope.reporting.page.content import Figure, Headline, Page, Picture
from halluscope.reporting.page.pictures import pictures
from halluscope.reporting.page.writing import Report
from halluscope.reporting.report_items import Shown
from halluscope.reporting.tables import Table, best_first, has_few, percent, principal, score
from halluscope.responses.matching import AS_YES_NO, NOT_COMPARED, Matched
from halluscope.runs.caveats import caveats
from halluscope.runs.comparing import Comparison, compare
from halluscope.runs.comparison_report import of_differences, of_parts, verdicts
from halluscope.runs.folder import view
from halluscope.runs.results import beside, of_results, with_best, with_choices
from halluscope.runs.run import Run, benchmark_of
from halluscope.sanitize import one_line, short_repr
from halluscope.scoring import Ready
from halluscope.stats.bootstrap import Bootstrap
from halluscope.terminal import is_quiet
from halluscope.validation import is_like_a_list, kind, listed, paired

NONE, UNCOMPARED = Bootstrap(0), "Not compared"

# What a result counts, and what the page says of it
COUNTED = {
    "left_out": "{:,} responses are not about the dataset's rows, and are left out.",
    "other_prompts": "{:,} responses answer a prompt other than the dataset's.",
    "thoughts": "{:,} responses held thoughts, which were removed.",
    "unfinished_thoughts": "{:,} responses are a thought that never ends, and are scored as empty responses.",
}

# Scores that say how many responses could not be read or judged.
UNREAD = ("unparsed", "unread", "unreadable", "unjudged")


def shown(run: Run) -> Shown:
    """Return what is shown of a run: an item per row."""
    made = Shown(run.name, run.scores, view(run), run.options)
    if (poll := run.record.poll) is None:
        return made
    # each judge votes once, or on several questions
    each = poll.votes.shape[2] // len(poll.judges)
    numbers = [f", question {number}" for number in range(1, each + 1)] if each > 1 else [""]
    voters = [f"{judge}{number}" for judge in poll.judges for number in numbers]
    return made._replace(voters=voters, votes=poll.votes)


def all_shown(runs: Mapping[str, Run]) -> list[Shown]:
    """Return what is shown of several runs, under their different names, the best first; a progress bar is shown."""
    each = tqdm(runs.items(), desc="reading", unit=" runs", delay=2, leave=False, disable=is_quiet())
    models = {name: shown(run)._replace(name=name) for name, run in each}
    order = best_first(benchmark_of(runs), [(name, one.scores) for name, one in models.items()])
    return [models[name] for name, _ in order]


def shown_result(
    result: Mapping[str, Any],
    predictions: Sequence[str],
    references: Sequence[Any],
    name: str,
    **options: Any,
) -> Shown:
    """Return what is shown of a metric's result; the arguments are those of `halluscope.report`."""
    responses, references = paired(predictions, references)
    kind("name", name, str, "a text")
    benchmark = of_signature(result)
    benchmark.check_options(options)
    if not benchmark.items:
        raise ValueError(
            f"{benchmark.title} does not score single responses, so there is nothing to show of each."
        )
    found = result.get(benchmark.items)
    if not isinstance(found, list):
        raise ValueError(
            f"The result has no {benchmark.items}, which says what was found in each row; ask for it with "
            f"compute(..., {benchmark.items}=True)."
        )
    if len(found) != len(responses):
        raise ValueError(
            f"The result is about {len(found):,} rows, but there are {len(responses):,} predictions; expected the "
            "predictions that were scored."
        )
    if "image_ids" not in benchmark.input_options:  # then references are rows of the dataset
        references = benchmark.module("rows").read_all(references)
    columns = {
        option: listed(option, value, "a list, one per row", len(found))
        for option, value in options.items()
        if option in benchmark.input_options and is_like_a_list(value)
    }
    # the parts of a row's id that its reference does not hold: an option, or else its index
    dataset = registry.first_dataset(benchmark)
    unless = {part: range(len(found)) if part in dataset.id else [""] * len(found) for part in dataset.key}
    ids = {part: columns.get(f"{part}s", columns.get(part, otherwise)) for part, otherwise in unless.items()}
    rows = [
        SimpleNamespace(**{part: getattr(reference, part, of[index]) for part, of in ids.items()})
        for index, reference in enumerate(references)
    ]
    ready = Ready(Matched(name, rows, responses, "", len(rows)), {"references": references, **columns})
    scores = Result({key: value for key, value in result.items() if key != benchmark.items})
    model = shown(Run(benchmark, ready, options, Record(), scores, found))
    if any(mark.end > len(item.text) for item in model.items for mark in item.marks):
        raise ValueError(
            "The result marks places beyond the end of a prediction; expected the predictions that were scored."
        )
    return model


def of_signature(result: Any) -> Benchmark:
    signed = result.get(SIGNATURE) if isinstance(result, Mapping) else None
    if not isinstance(signed, str):
        raise ValueError(
            f"The result is {short_repr(result)}; expected what a metric's compute returned, with a signature."
        )
    return registry.benchmark(signed.partition("|")[0])


def of_result(model: Shown, images: Sequence[Image | None] | None = None) -> Report:
    count = len(model.items)
    each = (
        [None] * count
        if images is None
        else listed("images", images, "a list, an image or None per row", count)
    )
    known: dict[str, Image] = {}
    for index, (item, image) in enumerate(zip(model.items, each, strict=True)):
        kind(f"images[{index}]", image, Image | None, "a PIL.Image, or None")
        if image is not None:
            known[item.image or item.id] = image
    items = [
        item._replace(image=item.image or (item.id if item.id in known else None)) for item in model.items
    ]
    return Report(page([model._replace(items=items)], pictures(known, known.__getitem__, {}, progress=False)))


def page(
    models: Sequence[Shown],
    images: Mapping[str, Picture],
    runs: Mapping[str, Run] | None = None,
    resampling: Bootstrap = NONE,
) -> Page:
    """Return the page of models, the best first; several runs are compared, unless there are no resamples."""
    benchmark = of_signature(models[0].scores)
    by = principal(benchmark, [one.scores for one in models])
    drawn, compared, facts = list[Figure](), None, {"Licence": benchmark.licence}
    try:
        drawn = [figure.on_page for figure in of_models(models, benchmark)]
    except MissingExtra as error:
        facts["Figures"] = str(error)
    try:
        if runs and len(runs) > 1 and resampling.resamples:
            compared = compare(runs, [], resampling)
    except RunError as error:
        facts[UNCOMPARED] = str(error)
    headlines = []
    for one in models:
        number = score(one.scores, by, benchmark.is_points(by))
        headlines.append(
            Headline(
                one.name,
                by,
                str(number),
                "too few rows for an interval" if has_few(one.scores) else number.interval,
                benchmark.module("report").meaning(one.scores),
                list(_warnings(benchmark, one)),
                one.scores[SIGNATURE],
            )
        )
    return Page(
        benchmark.title,
        " ".join(benchmark.description.split()),
        headlines,
        _tables(benchmark, models, compared),
        drawn,
        models,
        images,
        "" if QUESTION in benchmark.prompt else benchmark.prompt,
        facts,
        benchmark.citation.strip(),
        [f"{line}." for line in verdicts(compared, benchmark)] if compared else [],
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
    for key, line in COUNTED.items():
        if scores.get(key):
            yield line.format(scores[key])
    for column, count in scores.get("uncompared", {}).items():
        yield f"The {column} of {count:,} responses was ignored: {NOT_COMPARED}."
    if labels := scores.get("labels"):
        yield f"The responses are {AS_YES_NO.format(' and '.join(labels))}."
    for name in UNREAD:
        if share := scores.get(name):
            yield f"{percent(share)} % of the responses could not be read or judged ({name})."


def _tables(
    benchmark: Benchmark, models: Sequence[Shown], compared: Comparison | None
) -> list[tuple[Table, str]]:
    """Return tables, each with the notes that follow it except signatures, which are shown elsewhere."""
    options = models[0].options
    named = [(one.name, with_choices(benchmark, one.scores, one.options)) for one in models]
    results = with_best(named, compared) if compared else named
    parts = of_results(benchmark, results, options)
    if compared:
        parts += [*of_differences(compared, benchmark), *of_parts(compared, benchmark, None)]
    tables: list[tuple[Table, str]] = []
    for part in (*parts, *beside(benchmark, results, options)):
        if isinstance(part, Table):
            tables.append((upright(with_intervals(part)), ""))
            continue
        lines = [f"{line.removesuffix('.')}." for line in part.lines if not line.startswith(SIGNATURE)]
        if lines and tables:
            table, note = tables[-1]
            tables[-1] = table, f"{note} {f'{part.of}: ' * bool(part.of)}{' '.join(lines)}".strip()
    return tables
