"""Makes a report's page from runs or from a metric's result.

Scores side by side, differences, the papers' scores, figures, and each row as an item, which the benchmark's module
`report` makes.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from PIL.Image import Image
from tqdm import tqdm

from halluscope import registry
from halluscope.benchmark import QUESTION, SIGNATURE, Benchmark
from halluscope.building.spec import licence_of
from halluscope.errors import MissingExtra, RunError
from halluscope.judged import SPEAKS
from halluscope.judging.cache import Record
from halluscope.judging.verdicts import NOBODY
from halluscope.judging.votes import FAILED, OTHER, VoteResult
from halluscope.metric import Result
from halluscope.reporting.figures import of_models, short_names
from halluscope.reporting.formats import upright, with_intervals
from halluscope.reporting.page.content import Book, Figure, Headline, Page, Picture
from halluscope.reporting.page.pictures import pictures
from halluscope.reporting.page.writing import Report
from halluscope.reporting.report_items import Item, Shown
from halluscope.reporting.tables import (
    Named,
    Notes,
    Table,
    Values,
    best_first,
    has_few,
    percent,
    principal,
    printed,
    rows_of,
    score,
)
from halluscope.responses.matching import AS_YES_NO, NOT_COMPARED, Matched
from halluscope.runs.caveats import caveats
from halluscope.runs.comparing import Compared, Comparison, compare
from halluscope.runs.comparison_report import of_differences, of_parts, verdict, with_the_best
from halluscope.runs.folder import checked, view
from halluscope.runs.results import beside, of_results, with_best, with_choices
from halluscope.runs.run import NOTES, Run, benchmark_of
from halluscope.runs.table import table
from halluscope.sanitize import one_line, short_repr
from halluscope.scoring import Ready
from halluscope.stats.bootstrap import Bootstrap
from halluscope.terminal import is_quiet
from halluscope.validation import is_like_a_list, kind, listed, paired

NOT_RESAMPLED = Bootstrap(0)
UNCOMPARED = "Not compared"  # the fact that says why runs are not compared

# What a result counts, and what the page says of it
COUNTED = {
    "left_out": "{:,} responses are not about the dataset's rows, and are left out.",
    "without_response": "{:,} rows without a response are left out.",
    "repeats": "{:,} responses repeat an earlier one word for word, and count once.",
    "cut_ends": "{:,} lines that are cut off are left out.",
    "other_prompts": "{:,} responses answer a prompt other than the dataset's.",
    "thoughts": "{:,} responses held thoughts, which were removed.",
    "unfinished_thoughts": (
        "{:,} of {rows:,} responses are a thought that never ends: they are scored as empty responses."
    ),
}

# Scores that say how many responses could not be read or judged.
UNREAD = ("unparsed", "unread", "unreadable", "unjudged")

ASKED = "asked"  # what a run notes of its prompts: the most common ones, each with its number of responses

LONGEST_NAME = 80  # characters of a judge's or a model's name in a sentence


# What is shown of runs


def shown(run: Run) -> Shown:
    """Return what is shown of a run: an item per row."""
    items = view(run)
    poll = run.record.poll
    if poll is None:
        return Shown(run.name, run.scores, items, run.options)
    return Shown(
        name=run.name,
        scores=run.scores,
        items=_with_unreadable_votes(items, poll),
        options=run.options,
        voters=_voters(poll),
        votes=poll.votes,
    )


def _with_unreadable_votes(items: Sequence[Item], poll: VoteResult) -> list[Item]:
    is_unread = (poll.votes == OTHER) | (poll.votes == FAILED)
    with_unread = []
    for item, unread in zip(items, is_unread.any(axis=(1, 2)), strict=True):
        with_unread.append(item._replace(unread=bool(unread)))
    return with_unread


def _voters(poll: VoteResult) -> list[str]:
    """Return the names of a poll's voters: each judge votes once, or on several questions."""
    questions = poll.votes.shape[2] // len(poll.judges)
    if questions == 1:
        return list(poll.judges)
    voters = []
    for judge in poll.judges:
        for number in range(1, questions + 1):
            voters.append(f"{judge}, question {number}")
    return voters


def all_shown(runs: Mapping[str, Run]) -> list[Shown]:
    """Return what is shown of several runs, under their different names, the best first; a progress bar is shown."""
    models = {}
    for name, run in tqdm(
        runs.items(), desc="reading", unit=" runs", delay=2, leave=False, disable=is_quiet()
    ):
        models[name] = shown(run)._replace(name=name)
    scores = [(name, model.scores) for name, model in models.items()]
    return [models[name] for name, _ in best_first(benchmark_of(runs), scores)]


def by_benchmark(runs: Mapping[str, Run]) -> dict[str, dict[str, Run]]:
    """Return runs by the names of their benchmarks, in the order in which these come.

    Those of a benchmark are named after their responses, or as in `runs` where several have one name.
    """
    groups: dict[str, dict[str, Run]] = {}
    for name, run in runs.items():
        groups.setdefault(run.benchmark.name, {})[name] = run
    return {benchmark: by_own_name(group) for benchmark, group in groups.items()}


def by_own_name(runs: Mapping[str, Run]) -> dict[str, Run]:
    """Return a benchmark's runs, each named after its responses unless several have one name."""
    own_names = Counter(run.name for run in runs.values())
    named = {}
    for name, run in runs.items():
        if own_names[run.name] == 1:
            name = run.name
        named[name] = run
    return named


# What is shown of a metric's result


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
    rows_found = _rows_of_result(result, benchmark, len(responses))
    if "image_ids" not in benchmark.input_options:  # then references are rows of the dataset
        references = benchmark.module("rows").read_all(references)
    columns = {}
    for option, value in options.items():
        if option in benchmark.input_options and is_like_a_list(value):
            columns[option] = listed(option, value, "a list, one per row", len(responses))
    rows = _rows_with_ids(benchmark, references, columns)
    matched = Matched(name, rows, responses, "", len(rows))
    ready = Ready(matched, {"references": references, **columns})
    scores = Result(result)
    del scores[benchmark.items]
    run = Run(
        benchmark=benchmark,
        ready=ready,
        options=options,
        record=Record(),
        scores=scores,
        found=rows_found,
    )
    model = shown(run)
    for item in model.items:
        if any(mark.end > len(item.text) for mark in item.marks):
            raise ValueError(
                "The result marks places beyond the end of a prediction; expected the predictions that were scored."
            )
    return model


def of_signature(result: Any) -> Benchmark:
    """Return the benchmark that a result's signature names."""
    signature = None
    if isinstance(result, Mapping):
        signature = result.get(SIGNATURE)
    if not isinstance(signature, str):
        raise ValueError(
            f"The result is {short_repr(result)}; expected what a metric's compute returned, with a signature."
        )
    return registry.benchmark(signature.partition("|")[0])


def _rows_of_result(result: Values, benchmark: Benchmark, count: int) -> list[Any]:
    """Return what a result says of each row."""
    if not benchmark.items:
        raise ValueError(
            f"{benchmark.title} does not score single responses, so there is nothing to show of each."
        )
    rows = result.get(benchmark.items)
    if not isinstance(rows, list):
        raise ValueError(
            f"The result has no {benchmark.items}, which says what was found in each row; ask for it with "
            f"compute(..., {benchmark.items}=True)."
        )
    if len(rows) != count:
        raise ValueError(
            f"The result is about {len(rows):,} rows, but there are {count:,} predictions; expected the "
            "predictions that were scored."
        )
    return rows


def _rows_with_ids(benchmark: Benchmark, references: Sequence[Any], columns: Values) -> list[SimpleNamespace]:
    """Return a row per reference, with the parts of its id: of the reference, else of an option, else its index."""
    dataset = registry.first_dataset(benchmark)
    rows = []
    for index, reference in enumerate(references):
        row = SimpleNamespace()
        for part in dataset.key:
            column = columns.get(f"{part}s", columns.get(part))
            if hasattr(reference, part):
                value = getattr(reference, part)
            elif column is not None:
                value = column[index]
            elif part in dataset.id:
                value = index
            else:
                value = ""
            setattr(row, part, value)
        rows.append(row)
    return rows


def of_result(model: Shown, images: Sequence[Image | None] | None = None) -> Report:
    """Return the report of one model, with an image or None per row."""
    if images is None:
        return Report(page([model], {}))
    by_name: dict[str, Image] = {}
    items = []
    images = listed("images", images, "a list, an image or None per row", len(model.items))
    for index, (item, image) in enumerate(zip(model.items, images, strict=True)):
        kind(f"images[{index}]", image, Image | None, "a PIL.Image, or None")
        if image is not None:
            item = item._replace(image=item.image or item.id)
            by_name[item.image or item.id] = image
        items.append(item)
    small = pictures(by_name, by_name.__getitem__, {}, progress=False)
    return Report(page([model._replace(items=items)], small))


def of_runs(paths: Sequence[str | Path]) -> Report:
    """Return the report of runs of one benchmark, without images."""
    runs = checked(paths)
    benchmark_of(runs)  # refuses runs of several
    return Report(page(all_shown(runs), {}, runs, Bootstrap()))


# The page


def page(
    models: Sequence[Shown],
    images: Mapping[str, Picture],
    runs: Mapping[str, Run] | None = None,
    resampling: Bootstrap = NOT_RESAMPLED,
) -> Page:
    """Return the page of models, the best first; several runs are compared, unless there are no resamples."""
    benchmark = of_signature(models[0].scores)
    facts = {"Licence": licence_of(benchmark)}
    figures: list[Figure] = []
    try:
        figures = [figure.on_page for figure in of_models(models, benchmark)]
    except MissingExtra as error:
        facts["Figures"] = str(error)
    compared = None
    verdict_lines: list[str] = []
    try:
        if runs and len(runs) > 1 and resampling.resamples:
            compared = compare(runs, [], resampling)
            verdict_lines = _verdict(compared, benchmark, models)
    except RunError as error:
        facts[UNCOMPARED] = str(error)
    asked = _asked(benchmark, runs or {})
    return Page(
        title=benchmark.title,
        about=" ".join(benchmark.description.split()),
        headlines=_headlines(models, benchmark, runs or {}),
        tables=_tables(benchmark, models, compared),
        figures=figures,
        runs=models,
        pictures=images,
        asked=asked.text,
        asked_by=asked.label,
        facts=facts,
        citation=benchmark.citation.strip(),
        verdict=verdict_lines,
    )


def _headlines(models: Sequence[Shown], benchmark: Benchmark, runs: Mapping[str, Run]) -> list[Headline]:
    by = principal(benchmark, [model.scores for model in models])
    headlines = []
    for model in models:
        number = score(model.scores, by, benchmark.is_points(by))
        interval = number.interval
        if has_few(model.scores):
            interval = "too few rows for an interval"
        notes: Sequence[str] = ()
        if model.name in runs:
            notes = runs[model.name].about.get(NOTES, ())
        warnings = []
        for warning in _warnings(benchmark, model):
            beginning = warning.removesuffix(".")
            if not any(note.startswith(beginning) for note in notes):  # a note says it in more words
                warnings.append(warning)
        warnings += notes
        headline = Headline(
            name=model.name,
            score=by,
            value=str(number),
            interval=interval,
            meaning=benchmark.module("report").meaning(model.scores),
            warnings=warnings,
            signature=model.scores[SIGNATURE],
        )
        headlines.append(headline)
    return headlines


def book(
    pages: Sequence[Page], runs: Mapping[str, Run], paths: Sequence[Path], figures: Sequence[Figure]
) -> Book:
    """Return the page of several benchmarks; `paths` are the folders that hold the runs."""
    models = {run.name for run in runs.values()}
    title = f"{len(models)} models on {len(pages)} benchmarks"
    if len(models) == 1:
        title = f"{next(iter(models))} on {len(pages)} benchmarks"
    try:
        tables = with_notes(table(paths).report)
    except RunError:  # such as two runs of one model: each benchmark's own tables show both
        tables = []
    return Book(title, pages, tables, figures)


# Which model is better


def _verdict(compared: Comparison, benchmark: Benchmark, models: Sequence[Shown]) -> list[str]:
    """Say in a sentence which model is better, and what else to know of that in further ones."""
    pairs = with_the_best(compared, benchmark)
    if not pairs:
        return []
    names = list(compared.of)
    name_of = dict(zip(names, short_names(names), strict=True))
    lines = []
    if len(pairs) == 1:
        line = verdict(_renamed(pairs[0], name_of), compared, benchmark)
        lines.append(f"{line.removesuffix('.')}.")
    else:
        lines += _best_of_several(pairs, compared, benchmark, name_of)
    lines += _hidden(compared, benchmark, models, name_of)
    return lines


def _renamed(pair: Compared, name_of: Mapping[str, str]) -> Compared:
    first, second = pair.names
    better = None if pair.better is None else name_of[pair.better]
    return replace(pair, names=(name_of[first], name_of[second]), better=better)


def _best_of_several(
    pairs: Sequence[Compared], compared: Comparison, benchmark: Benchmark, name_of: Mapping[str, str]
) -> list[str]:
    """Say which model is best, and than which ones it is better beyond chance."""
    score_name = pairs[0].score
    in_all = set(pairs[0].names)
    for pair in pairs:
        in_all &= set(pair.names)
    (best,) = in_all
    value = pairs[0].values[pairs[0].names.index(best)]
    better_than = []
    not_better_than = []
    for pair in pairs:
        other = name_of[_other(pair, best)]
        if pair.better == best:
            better_than.append(other)
        else:
            not_better_than.append(other)
    lines = [
        f"{name_of[best]} has the best {score_name} of {len(pairs) + 1} models: "
        f"{printed(value, benchmark.is_points(score_name))}."
    ]
    if score_name in compared.untested:
        lines.append(f"Whether by more than chance is not known. {compared.untested[score_name]}")
    elif better_than and not_better_than:
        lines.append(
            f"Beyond chance it is better than {', '.join(better_than)}; not than {', '.join(not_better_than)}."
        )
    elif better_than:
        lines.append("It is better than each other one beyond chance.")
    else:
        lines.append("It is better than none of the others beyond chance.")
    return lines


def _other(pair: Compared, name: str) -> str:
    first, second = pair.names
    if name == first:
        return second
    return first


# The harmonic mean of precision and recall, and what it is about: "f1", "f0.5_cls"
F_SCORE = re.compile(r"f[\d.]+(.*)")
MOST_HIDDEN = 3  # sentences on what F hides


def _hidden(
    compared: Comparison, benchmark: Benchmark, models: Sequence[Shown], name_of: Mapping[str, str]
) -> list[str]:
    """Name precision and recall of models whose F is the same but for chance although these differ."""
    score_name = compared.scores[0].score
    match = F_SCORE.fullmatch(score_name)
    if match is None:
        return []
    precision = f"precision{match[1]}"
    recall = f"recall{match[1]}"
    if not {precision, recall} <= benchmark.scores.keys():
        return []
    scores = {model.name: model.scores for model in models}
    lines = []
    for pair in compared.scores:
        first = scores[pair.names[0]]
        second = scores[pair.names[1]]
        differs = _are_apart(first, second, precision) or _are_apart(first, second, recall)
        if pair.better is not None or not differs:
            continue
        texts = []
        for name in pair.names:
            texts.append(
                f"{name_of[name]} has a precision of {percent(scores[name][precision])} and a recall of "
                f"{percent(scores[name][recall])}"
            )
        lines.append(f"{score_name} hides a difference: {', '.join(texts)}.")
    return lines[:MOST_HIDDEN]


def _are_apart(first: Values, second: Values, name: str) -> bool:
    """Whether the intervals of a score of two results do not overlap."""
    ends = first.get("interval", {}).get(name)
    other_ends = second.get("interval", {}).get(name)
    if not ends or not other_ends:
        return False
    return bool(ends[1] < other_ends[0] or other_ends[1] < ends[0])


# What was asked


@dataclass(frozen=True)
class Asked:
    """The prompt of all rows, or those that were answered."""

    text: str  # "" if each row has its own question
    label: str = "The benchmark's prompt"


def _asked(benchmark: Benchmark, runs: Mapping[str, Run]) -> Asked:
    """Return the prompt that was answered, as far as the responses say; otherwise the benchmark's."""
    if QUESTION in benchmark.prompt:
        return Asked("")
    prompts: dict[str, list[str]] = {}  # prompt -> the runs that answer it
    for name, run in runs.items():
        for prompt in _prompts_of(run):
            prompts.setdefault(prompt or benchmark.prompt, []).append(name)
    if not prompts or set(prompts) == {benchmark.prompt}:
        return Asked(benchmark.prompt)
    if len(prompts) == 1:
        return Asked(next(iter(prompts)), "The prompt that was answered, which is not the benchmark's")
    lines = []
    for prompt, names in prompts.items():
        lines.append(f"{prompt} ({', '.join(names)})")
    return Asked("\n".join(lines), "The prompts that were answered; such scores compare more than models")


def _prompts_of(run: Run) -> list[str]:
    """Return the prompts that a run's responses answer, the most common ones; "" for the benchmark's."""
    texts = [text for text, _ in run.about.get(ASKED, ()) if text]
    if texts:
        return texts
    return [run.benchmark.prompts.get(name, "") for name in run.ready.matched.prompts]


# What to be careful about


def _warnings(benchmark: Benchmark, model: Shown) -> Iterator[str]:
    scores = model.scores
    yield from caveats(benchmark, scores, model.options)
    yield from _about_judges(benchmark, model)
    empty = 0
    for item in model.items:
        empty += not item.text
    if empty:
        yield f"Empty responses: {empty:,}."
    for key, line in COUNTED.items():
        if scores.get(key):
            yield line.format(scores[key], rows=rows_of(scores))
    spoken = scores.get(SPEAKS)
    if spoken:
        yield f"{len(spoken):,} responses seem to speak to the judge, which may move its verdicts."
    for column, count in scores.get("uncompared", {}).items():
        yield f"The {column} of {count:,} responses was ignored: {NOT_COMPARED}."
    labels = scores.get("labels")
    if labels:
        yield f"The responses are {AS_YES_NO.format(' and '.join(labels))}."
    for name in UNREAD:
        share = scores.get(name)
        if share:
            yield f"{percent(share)} % of the responses could not be read or judged ({name})."


def _about_judges(benchmark: Benchmark, model: Shown) -> Iterator[str]:
    """Yield who judged, unless it is who judges by default."""
    judges = benchmark.judges
    if not judges:
        return
    named = model.options.get(judges.option, judges.default)
    if named == judges.default:
        return
    if named == NOBODY:
        yield "No judge was asked."
        return
    if not isinstance(named, list | tuple):
        named = [named]
    names = []
    for judge in named:
        names.append(one_line(getattr(judge, "key", judge), LONGEST_NAME))
    line = f"Judged by {', '.join(names)}"
    if judges.default:
        line += f", not by {judges.default}"
    yield f"{line}; other judges give different scores."


# Tables


def _tables(
    benchmark: Benchmark, models: Sequence[Shown], compared: Comparison | None
) -> list[tuple[Table, str]]:
    """Return tables, each with the notes that follow it except signatures, which are shown elsewhere."""
    options = models[0].options
    results: Named = [(model.name, with_choices(benchmark, model.scores, model.options)) for model in models]
    results = with_best(results, compared)
    parts: list[Table | Notes] = list(of_results(benchmark, results, options))
    if compared:
        parts += of_differences(compared, benchmark)
        parts += of_parts(compared, benchmark, None)
    parts += beside(benchmark, results, options)
    return with_notes(parts)


def with_notes(parts: Sequence[Table | Notes]) -> list[tuple[Table, str]]:
    """Return the tables of a report as a page shows them, each with the notes that follow it, without signatures."""
    tables: list[tuple[Table, str]] = []
    for part in parts:
        if isinstance(part, Table):
            tables.append((upright(with_intervals(part)), ""))
        elif tables:
            table, note = tables[-1]
            tables[-1] = (table, f"{note} {_note(part)}".strip())
    return tables


def _note(notes: Notes) -> str:
    lines = []
    for line in notes.lines:
        if not line.startswith(SIGNATURE):
            lines.append(f"{line.removesuffix('.')}.")
    if not lines:
        return ""
    text = " ".join(lines)
    if notes.of:
        return f"{notes.of}: {text}"
    return text
