"""Reads responses, matches them to a dataset's rows, and scores them, in the same way for each benchmark."""

import gc
import math
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from halluscope import registry
from halluscope.benchmark import QUESTION as QUESTION_OF_ROW
from halluscope.benchmark import SIGNATURE, Benchmark, Dataset
from halluscope.building import spec
from halluscope.building.build_info import STATS, changed_shards, read_stats
from halluscope.building.fetch import sha256_of
from halluscope.errors import LimitExceeded, MissingExtra
from halluscope.inspection.inspecting import VERDICTS, Inspection, inspect
from halluscope.inspection.printed import letters
from halluscope.inspection.recognising import options_of_part
from halluscope.metric import Result
from halluscope.naming import about
from halluscope.options import ALL, MatchingOptions, check, keywords, taken
from halluscope.paths import path_of
from halluscope.reading.columns import plain
from halluscope.reading.datasets import Source, check_distinct, is_subset, sources
from halluscope.reporting import published
from halluscope.responses import reading
from halluscope.responses.column_facts import plain_question
from halluscope.responses.given import Given
from halluscope.responses.identity import Identity, single_spaced
from halluscope.responses.matching import AS_YES_NO, NOT_COMPARED, Matched, match
from halluscope.responses.names import PROMPT, only_one_in
from halluscope.responses.reading import Reading
from halluscope.responses.ways import IMAGE, ORDER, QUESTION, STATED_ROWS
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import changed, data_of_texts
from halluscope.validation import texts, word

# How many bytes a file of responses may have so that an error about it also says what the file is, which is then read
# a second time
EXPLAINED = 16 * 2**20

FUNCTIONS = ("load", "wanted", "inputs")  # The functions in a room's module `rows` that take options

# The keyword arguments of `inputs` there that are no options, but said by the responses
OF_RESPONSES = ("responses", "answer_ids", "response_texts")

# What a room may have there, and what says how its rows are found
HOOKS = ("set_of", "version_of", "stated_row", "other_answers", "are_corrected", "whole")

# What a dataset can be that is not the benchmark's as published
SUBSET = "subset"  # a build of a part, of another version or of a changed copy
# a build whose files were changed since; or a file of another content, which is told only of datasets with published
# scores, if the content of their files is known
OTHER_FILE = "other file"


class Ready(NamedTuple):
    """Responses that are matched to their rows and ready to be scored."""

    matched: Matched[Any]  # responses and rows
    inputs: Mapping[str, Any]  # the arguments of the metric that come from the rows
    notes: Sequence[str] = ()  # the warnings that were given when the inputs were read


# Responses and their rows


def prepare_call(
    name: str, responses: Sequence[Given], dataset: Any, options: Mapping[str, Any]
) -> tuple[Benchmark, list[Ready], dict[str, Any]]:
    """Turn the arguments of `halluscope.score`, with the responses of several LVLMs, into those of `compute`."""
    benchmark = registry.benchmark(name)
    matching_names = {field.name for field in fields(MatchingOptions)}
    matching = {}
    chosen = dict(benchmark.options_of(name))
    for option, value in options.items():
        if option in matching_names:
            matching[option] = value
        elif option in benchmark.each and len(responses) == 1:  # in a call it is the only file's value
            if value is not None:
                chosen[option] = [value]
        else:
            chosen[option] = value
    matching_options = MatchingOptions(**matching)
    with sources(dataset) as written:
        ready = prepare(benchmark, responses, written, chosen, matching_options)
    return benchmark, ready, chosen


@contextmanager
def _without_collection() -> Iterator[None]:
    """Do not look for garbage: of the millions of objects that are made here, nearly all stay."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_without_collection()
def prepare(
    benchmark: Benchmark,
    responses: Sequence[Given],
    dataset: Sequence[str],
    options: Mapping[str, Any],
    matching: MatchingOptions = MatchingOptions(),
) -> list[Ready]:
    """Match all responses to the dataset before any are scored."""
    if not benchmark.is_scored:
        instead = ""
        if benchmark.has_metric:
            instead = f", or call get_benchmark({benchmark.name!r}).compute"
        raise ValueError(f"{benchmark.name} is not scored on a dataset; expected another benchmark{instead}.")
    module = benchmark.module("rows")
    check(options, _known_options(benchmark), benchmark.name)
    check_distinct(dataset)
    only_source = None
    if len(responses) == 1:
        only_source = responses[0]
    explained = partial(_inspecting, benchmark=benchmark, dataset=dataset, options=options)
    with explained(only_source):
        files = reading.read(responses, _reading(benchmark, matching))
    rows = module.load(dataset, **taken(module.load, options))
    identity = _identity(benchmark, options, matching)
    built = list(_built(dataset))
    origin = _origin(benchmark, dataset, options)
    if _warn_of_changes(dataset):
        origin = OTHER_FILE
    ready = []
    for number, (source, file) in enumerate(zip(responses, files, strict=True)):
        with explained(source):
            matched = match(file, rows, identity)._replace(origin=origin, built=built)
        _check_prompts(benchmark, matched)
        notes: list[str] = []
        with noting(notes):
            of_model = _ready(benchmark, matched, options, number, len(responses))
        ready.append(of_model._replace(notes=notes))
    return ready


def _known_options(benchmark: Benchmark) -> set[str]:
    """Return the options that a benchmark's metric and rows take."""
    known = set(benchmark.keywords)
    for name in FUNCTIONS:
        function = getattr(benchmark.module("rows"), name, None)
        if function is not None:
            known |= keywords(function)
    return known.difference(OF_RESPONSES)


def _reading(benchmark: Benchmark, matching: MatchingOptions) -> Reading:
    """Return how a benchmark's responses are read."""
    datasets = [dataset.name for dataset in benchmark.datasets]
    columns: set[str] = set()
    for dataset in benchmark.datasets:
        columns.update(dataset.own or dataset.id + dataset.columns)
    also = registry.first_dataset(benchmark).also
    return Reading(datasets or list(benchmark.reads), columns, also, matching)


def _identity(benchmark: Benchmark, options: Mapping[str, Any], matching: MatchingOptions) -> Identity:
    """Return how a benchmark's rows are found."""
    module = benchmark.module("rows")
    dataset = registry.first_dataset(benchmark)
    hooks = {name: getattr(module, name) for name in HOOKS if hasattr(module, name)}
    if hasattr(module, "wanted"):
        hooks["wanted"] = partial(module.wanted, **taken(module.wanted, options))
    if QUESTION_OF_ROW not in benchmark.prompt:
        hooks["prompt"] = benchmark.prompt
    return Identity(
        dataset.id,
        dataset.also,
        benchmark.partial_ok,
        only=_chosen_parts(dataset, options),
        options=matching,
        target=benchmark.target,
        index_columns=dataset.index,
        also_by=dataset.also_by,
        by_question=dataset.by_question,
        **hooks,
    )


def _chosen_parts(dataset: Dataset, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of which the user chooses a value, such as the sampling of POPE."""
    chosen = {}
    for column, known in dataset.also.items():
        value = options.get(column)
        if value is not None:
            chosen[column] = word(column, value, known)
    return chosen


def _check_prompts(benchmark: Benchmark, matched: Matched[Any]) -> None:
    """Check that responses name prompts of the benchmark, or none."""
    for name in matched.prompts:
        if name and name not in benchmark.prompts:
            known = "no name, because it has no other prompts"
            if benchmark.prompts:
                known = ", ".join(repr(prompt) for prompt in benchmark.prompts)
            raise ValueError(
                f"{matched.name}: {PROMPT} is {short_repr(name)}, which names no prompt of {benchmark.name}; "
                f"expected {known}."
            )


def _ready(
    benchmark: Benchmark,
    matched: Matched[Any],
    options: Mapping[str, Any],
    number: int,
    count: int,
) -> Ready:
    """Add the metric's inputs, with this file's value of the options that have one per file.

    Args:
        number: the place of the file among `count` files, from 0.
    """
    function = benchmark.module("rows").inputs
    arguments = taken(function, options)
    for option in benchmark.options:
        name = option.name
        if name not in arguments:
            continue
        if option.each:
            values = arguments[name]
            if not isinstance(values, list | tuple):
                raise ValueError(
                    f"{name} is {short_repr(values)}; expected a list with a value for each of the {count} files of "
                    "responses, in the same order."
                )
            if len(values) != count:
                raise ValueError(
                    f"There are {len(values)} files of {name} and {count} of responses; expected one for each, in "
                    "the same order."
                )
            arguments[name] = values[number]
        elif option.many:
            arguments[name] = texts(name, arguments[name])
    if "responses" in keywords(function):
        arguments["responses"] = matched.name
    if "answer_ids" in keywords(function):
        arguments["answer_ids"] = matched.answer_ids
    if "response_texts" in keywords(function):
        arguments["response_texts"] = matched.texts
    return Ready(matched, function(matched.rows, **arguments))


@contextmanager
def noting(notes: list[str]) -> Iterator[None]:
    """Note each warning in a `with` block once, and show it as the user's filters have it."""
    with warnings.catch_warnings():
        filters = list(warnings.filters)
        show = warnings.showwarning

        def note(
            message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any
        ) -> None:
            if category is UserWarning:
                if str(message) in notes:
                    return
                notes.append(str(message))
            with warnings.catch_warnings():
                warnings.filters[:] = filters  # type: ignore[index]
                warnings.showwarning = show
                warnings.warn_explicit(message, category, filename, lineno)

        warnings.simplefilter("always", UserWarning)  # those that the user's filters hide are noted too
        warnings.showwarning = note  # type: ignore[assignment]
        yield


def among(
    benchmark: Benchmark,
    ready: Ready,
    rows: Sequence[Any],
    options: Mapping[str, Any],
    file: tuple[int, int] = (0, 1),
) -> Ready:
    """Pair responses with other rows or labels; None leaves a row out.

    Args:
        file: the place of their file among all files, from 0, and how many files there are.
    """
    places = []
    kept_rows = []
    for place, row in enumerate(rows):
        if row is not None:
            places.append(place)
            kept_rows.append(row)
    matched = ready.matched.only(places)._replace(rows=kept_rows)
    number, count = file
    return _ready(benchmark, matched, options, number, count)


@contextmanager
def _inspecting(
    source: Any, benchmark: Benchmark, dataset: Sequence[str], options: Mapping[str, Any]
) -> Iterator[None]:
    """Add to an error about a file what the file is, and what to type for it."""
    try:
        yield
    except (LimitExceeded, MissingExtra):
        raise
    except ValueError as error:
        is_file = isinstance(source, str | Path) and path_of(source).is_file()
        if is_file and path_of(source).stat().st_size <= EXPLAINED:
            with suppress(ValueError):
                content = replace(inspect(source), remarks=(), problem="")
                advice = _advice(content, benchmark, dataset, options)
                error = type(error)(f"{error} The file holds {content}.{advice}")
        raise error from error.__cause__


def _advice(
    content: Inspection, benchmark: Benchmark, dataset: Sequence[str], options: Mapping[str, Any]
) -> str:
    """Say what to type for a file that was refused, as far as its content tells."""
    if content.kind == VERDICTS and benchmark.judges is None:
        return f" {benchmark.title} scores the LVLM's own texts: name a file that holds these."
    if content.kind == VERDICTS:
        return " Name it with --ratings, and the LVLM's responses with --responses."
    if content.words and content.benchmarks[0] == benchmark.name:
        of_file = content.words[content.words.index("--dataset") + 1]
        config = Source.of(of_file).config
        if config and config not in [Source.of(written).config for written in dataset]:
            return f" They are the questions of another config: --dataset {of_file}."
    of_part = options_of_part(benchmark, content.rows)
    if of_part and plain(of_part[0].lstrip("-")) not in options:
        return f" A part of the questions that is scored by itself has so many: {' '.join(of_part)}."
    return ""


# Datasets


def _origin(benchmark: Benchmark, dataset: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return in what a dataset is not the published one: `SUBSET` or `OTHER_FILE`; "" for nothing that is known."""
    paths = []
    for written in dataset:
        path = Source.of(written).path
        if is_subset(path):
            return SUBSET
        paths.append(path)
    with_scores = published.dataset_of(benchmark, options)
    if with_scores is None:
        return ""
    published_sources = spec.load(with_scores.name).sources.values()
    published_sha256 = {source.content_sha256 for source in published_sources}
    if spec.UNKNOWN in published_sha256:
        return ""
    for path in paths:
        if path.is_file() and sha256_of(path) not in published_sha256:
            return OTHER_FILE
    return ""


def _built(dataset: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield what the stats.json of each dataset says about the build, if there is one."""
    for written in dataset:
        source = Source.of(written)
        try:
            stats = read_stats(source.path / STATS)
            config = source.config or registry.dataset(stats["name"]).config or "default"
        except (ValueError, OSError):
            continue
        rows = 0
        for table in stats["tables"]:
            if table["config"] == config:
                rows += table["rows"]
        yield {
            "name": stats["name"],
            "version": stats["version"],
            "spec_sha256": stats["spec_sha256"],
            "subset": stats["subset"],
            "config": config,
            "rows": rows,
        }


def _warn_of_changes(dataset: Sequence[str]) -> bool:
    """Warn of files of a build that were changed since, and return whether there are any."""
    is_changed = False
    for written in dataset:
        folder = Source.of(written).path
        try:
            shards = changed_shards(folder, read_stats(folder / STATS)["tables"])
        except (ValueError, OSError):
            continue
        if shards:
            is_changed = True
            warnings.warn(
                f"{folder}: {', '.join(shards)} is not the file that `halluscope build` wrote here, so the rows may "
                "not be the benchmark's. Build the dataset again, unless you mean to score changed rows.",
                stacklevel=3,
            )
    return is_changed


# What a user should know of how responses were matched


def part_of(benchmark: Benchmark, rows: int, total: int) -> str:
    """Say how many of a dataset's rows are scored."""
    kind = "rows"
    if benchmark.partial_ok:
        kind = "labelled images"
    return f"{rows:,} of {total:,} {kind} are scored"


def remark(benchmark: Benchmark, ready: Ready) -> str:
    """Say how much of the dataset is scored, and how responses were matched; "" if there is nothing to say."""
    remarks = "; ".join(_remarks(benchmark, ready))
    if not remarks:
        return ""
    return f"{one_line(ready.matched.name)}: {remarks}."


def _remarks(benchmark: Benchmark, ready: Ready) -> Iterator[str]:
    matched = ready.matched
    yield from doubts(benchmark, ready)
    if matched.without_response:
        yield f"{matched.without_response:,} rows without a response are left out"
    if matched.labels:
        yield f"they are {AS_YES_NO.format(' and '.join(matched.labels))}"
    if len(matched.rows) < matched.of:
        yield part_of(benchmark, len(matched.rows), matched.of)
    if matched.left_out:
        yield f"{matched.left_out:,} responses about other rows are left out"
    if matched.repeats:
        yield f"{matched.repeats:,} responses repeat an earlier one word for word, and count once"
    for place in matched.cut_ends:
        yield f"{one_line(place)} is cut off, and left out"
    if matched.other_prompts:
        yield f"{matched.other_prompts:,} answer a prompt other than the dataset's"
    for column, count in matched.uncompared.items():
        yield f"the {column} of {count:,} is ignored: {NOT_COMPARED}"
    empty = matched.texts.count("")
    if empty:
        yield f"{empty:,} responses are empty"


def doubts(benchmark: Benchmark, ready: Ready) -> Iterator[str]:
    """Say what a user should know of how responses were matched, besides what a result counts (`compute`)."""
    matched = ready.matched
    also = registry.first_dataset(benchmark).also
    is_part = len(matched.rows) < matched.of  # so rows that are left out may ask the same questions
    if matched.by.endswith(ORDER):
        yield f"the responses have no id that tells them apart, so they are matched by their {ORDER}"
    elif matched.by.startswith(ORDER) and is_part:
        yield "the responses state no image, so they are matched by their questions, in the dataset's order"
    yield from matched.column_remarks
    if matched.by == STATED_ROWS:
        yield (
            "the responses are about other rows than the dataset's, and are scored by the objects and labels they state"
        )
    if also and not matched.checked:
        yield (
            "they state neither question nor image, and other files have the same ids: give them a column question "
            "or image, and it is checked that they are about this dataset"
        )
    for column, values in also.items():
        yield from _other_part(matched, column, values)


def _other_part(matched: Matched[Any], column: str, values: Sequence[str]) -> Iterator[str]:
    """Ask whether it is the right dataset, if a file's name says another value of a column than all of its rows."""
    value_of_name = only_one_in(matched.name, values)
    in_rows = {getattr(row, column) for row in matched.rows}
    if not value_of_name or len(in_rows) != 1:
        return
    value_of_rows = in_rows.pop()
    if value_of_rows and value_of_rows != value_of_name:
        yield (
            f"its name says {value_of_name}, but the {column} of the dataset is {value_of_rows}: is this the right "
            "dataset?"
        )


# Scores


@_without_collection()
def compute(benchmark: Benchmark, ready: Ready, options: Mapping[str, Any]) -> Result:
    """Score responses that are ready, as `halluscope.score` does.

    Added to the metric's result are "matched", how the responses were matched to their rows; "texts", a digest of the
    responses; and where they apply: "left_out", the number of responses about rows that are not scored;
    "without_response", the number of rows that are left out because they have none; "repeats", the number of responses
    that repeat an earlier one; "cut_ends", the number of last lines that are cut off; "part", [rows scored, rows that
    the options select]; "origin", `SUBSET` or `OTHER_FILE`; "questions_version"; "printed", the
    scores that the file of responses states itself; "other_prompts", the number of responses to a prompt other than the
    dataset's; "uncompared", column -> the number of responses whose question, prompt, image or sampling cannot be
    compared; "labels", those that are read as "yes" and "no".
    """
    matched = ready.matched
    arguments = {}
    for name, value in options.items():
        if name in benchmark.keywords:
            arguments[name] = value
    arguments.update(ready.inputs)
    with about(matched.name):
        result: Result = benchmark.compute(matched.texts, **arguments)
    result["matched"] = matched.by
    result["texts"] = _digest(benchmark, matched)
    result.update(_facts(benchmark, matched, result))
    _sign(result, _choices(benchmark, matched))
    return result


def _digest(benchmark: Benchmark, matched: Matched[Any]) -> str:
    """Return a digest of responses with the ids of their rows."""
    columns: list[Iterable[str]] = []
    for name in registry.first_dataset(benchmark).id:
        ids = map(attrgetter(name), matched.rows)
        columns.append(map(str, ids))  # one by one: a million ids as texts are 60 MB
    columns.append(matched.texts)
    return data_of_texts("texts", zip(*columns, strict=True))


def _facts(benchmark: Benchmark, matched: Matched[Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a result says of how its responses were matched, without what does not apply."""
    facts = {
        "left_out": matched.left_out,
        "without_response": matched.without_response,
        "repeats": matched.repeats,
        "cut_ends": len(matched.cut_ends),
        "part": _part(matched),
        "origin": matched.origin,
        "questions_version": matched.version,
        "printed": _printed(benchmark, matched.figures, result),
        "other_prompts": matched.other_prompts,
        "uncompared": dict(matched.uncompared),
        "labels": list(matched.labels),
    }
    return {name: value for name, value in facts.items() if value}


def _part(matched: Matched[Any]) -> list[int]:
    """Return how many rows are scored, and of how many; [] if all are."""
    if len(matched.rows) < matched.of:
        return [len(matched.rows), matched.of]
    return []


def _printed(
    benchmark: Benchmark, figures: Mapping[str, float], result: Mapping[str, Any]
) -> dict[str, float]:
    """Return the scores that a file states itself, by our names, as fractions where ours are.

    If one of its shares is above 1, all are percentages: 0.4 beside 86.5 is 0.4 %.
    """
    figure_of = {}
    for name, value in figures.items():
        if not math.isnan(value):
            figure_of[letters(name)] = value
    printed = {}
    shares = []
    for name in benchmark.scores:
        figure = figure_of.get(letters(name))
        if figure is None or name not in result:
            continue
        printed[name] = figure
        if not benchmark.is_points(name):
            shares.append(name)
    if any(printed[name] > 1 for name in shares):
        for name in shares:
            printed[name] /= 100
    return printed


def _choices(benchmark: Benchmark, matched: Matched[Any]) -> dict[str, Any]:
    """Return what a signature says of how responses were matched, without what does not apply."""
    part = ""
    if len(matched.rows) < matched.of and not benchmark.partial_ok:
        part = f"{len(matched.rows)}of{matched.of}"
    prompts: Any = ""
    if any(matched.prompts):
        prompts = [name or "own" for name in matched.prompts]
    elif matched.other_prompts:
        prompts = f"other,{matched.other_prompts}"
    choices = {
        "responses": ",".join(_ways(benchmark, matched)),
        "part": part,
        "questions": matched.version,
        "prompts": prompts,
        "uncompared": list(matched.uncompared),
        "labels": matched.labels,
    }
    return {name: value for name, value in choices.items() if value}


def how_asked(matched: Matched[Any]) -> Counter[str]:
    """Return the prompts that responses say were asked, with counts; {question} is a row's own.

    A response that states none counts as "".
    """
    counts: Counter[str] = Counter()
    for row, whole_prompt in zip(matched.rows, matched.asked, strict=False):
        prompt = plain_question(whole_prompt)
        question = plain_question(single_spaced(getattr(row, "question", "")))
        if question:
            prompt = prompt.replace(question, QUESTION_OF_ROW)
        counts[prompt] += 1
    return counts


def _ways(benchmark: Benchmark, matched: Matched[Any]) -> list[str]:
    """Return by what responses were matched, whatever their columns' names: "id", the column of a part, "order"."""
    known = [ORDER, IMAGE, QUESTION]
    known += registry.first_dataset(benchmark).also
    ways: dict[str, None] = {}  # each once, in this order
    for column in matched.by.split(" and "):
        if column in known:
            ways[column] = None
        else:
            ways["id"] = None
    return list(ways)


def _sign(result: dict[str, Any], choices: Mapping[str, Any]) -> None:
    """Add choices to the signatures of a result and of its parts."""
    parts = [result]
    for value in result.values():
        if isinstance(value, dict):
            parts.append(value)
    for scores in parts:
        for name, value in scores.items():
            if name.partition("/")[0] == SIGNATURE:
                scores[name] = changed(value, **choices)


def variants(benchmark: Benchmark, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the options once per choice of an option that is "all"."""
    for option in benchmark.options:
        if option.every and options.get(option.name) == ALL:
            chosen = []
            for choice in option.choices:
                if choice not in option.apart:
                    chosen.append(dict(options) | {option.name: choice})
            return chosen
    return [dict(options)]


# What a harness gives


def of_each(
    benchmark: Benchmark,
    rows: Sequence[Any],
    texts: Sequence[str],
    options: Mapping[str, Any],
    prompt: str = "",
) -> tuple[dict[str, Any], list[dict[str, float]]]:
    """Score texts whose rows are known, as a harness gives them; also return each scored row's values of the means."""
    module = benchmark.module("rows")
    arguments = dict(options)
    if benchmark.means:
        arguments[benchmark.items] = True
    arguments.update(module.inputs(module.read_all(rows), **taken(module.inputs, options)))
    result: dict[str, Any] = benchmark.compute(texts, **arguments)
    if prompt:
        result[SIGNATURE] = changed(result[SIGNATURE], prompts=prompt)
    if not benchmark.means:
        return result, [{} for _ in rows]
    values = []
    for item in result.pop(benchmark.items):
        means = {}
        for name in benchmark.means:
            if item[name] is not None:
                means[name] = float(item[name])
        values.append(means)
    return result, values


def clusters(benchmark: Benchmark, rows: Sequence[Any]) -> list[Hashable]:
    """Return each row's cluster of dependent rows, by default its image."""
    module = benchmark.module("rows")
    of_image = attrgetter(registry.first_dataset(benchmark).image_key)
    cluster_of = getattr(module, "cluster_of", of_image)
    return [cluster_of(row) for row in module.read_all(rows)]
