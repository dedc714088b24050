"""Reads responses, matches them to a dataset's rows, and scores them, in the same way for each benchmark."""

import gc
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from halluscope import registry
from halluscope.benchmark import QUESTION as QUESTION_OF_ROW
from halluscope.benchmark import Benchmark, Dataset
from halluscope.building import spec
from halluscope.building.build_info import STATS, read_stats
from halluscope.building.fetch import sha256_of
from halluscope.errors import LimitExceeded, MissingExtra
from halluscope.inspection.inspecting import inspect
from halluscope.inspection.printed import letters
from halluscope.metric import Result
from halluscope.options import ALL, MatchingOptions, check, keywords, taken
from halluscope.paths import path_of
from halluscope.reading.datasets import Source, check_distinct, is_subset, sources
from halluscope.reporting import published
from halluscope.responses import reading
from halluscope.responses.given import Given
from halluscope.responses.identity import Identity
from halluscope.responses.matching import AS_YES_NO, NOT_COMPARED, Matched, match
from halluscope.responses.names import PROMPT
from halluscope.responses.naming import about
from halluscope.responses.reading import Reading
from halluscope.responses.ways import IMAGE, ORDER, QUESTION, STATED_ROWS
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import changed, data_of_texts
from halluscope.validation import texts, word

# How many bytes a file of responses may have so that an error about it also says what the file is, which is then read
# a second time
EXPLAINED = 16 * 2**20

FUNCTIONS = ("load", "wanted", "inputs")  # The functions in a room's module `rows` that take options

# What a dataset can be that is not the benchmark's as published: a build with --subset, or a file of another content.
# The latter is told only of datasets with published scores, if the content of their files is known.
SUBSET, OTHER_FILE = "subset", "other file"


class Ready(NamedTuple):
    """Responses that are matched to their rows and ready to be scored."""

    matched: Matched[Any]  # responses and rows
    inputs: Mapping[str, Any]  # the arguments of the metric that come from the rows


def prepare_call(
    name: str, responses: Sequence[Given], dataset: Any, options: Mapping[str, Any]
) -> tuple[Benchmark, list[Ready], dict[str, Any]]:
    """Turn the arguments of `halluscope.score`, with the responses of several LVLMs, into those of `compute`."""
    benchmark, own = registry.benchmark(name), dict(options)
    of_matching = {field.name for field in fields(MatchingOptions)} & own.keys()
    matching = MatchingOptions(**{key: own.pop(key) for key in of_matching})
    if len(responses) == 1:  # an option with one value per file has the value alone
        for option in benchmark.each & own.keys():
            if (value := own.pop(option)) is not None:
                own[option] = [value]
    chosen = {**benchmark.options_of(name), **own}
    with sources(dataset) as written:
        ready = prepare(benchmark, responses, written, chosen, matching)
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
        instead = f", or call get_benchmark({benchmark.name!r}).compute" if benchmark.has_metric else ""
        raise ValueError(f"{benchmark.name} is not scored on a dataset; expected another benchmark{instead}.")
    module, one = benchmark.module("rows"), registry.first_dataset(benchmark)
    functions = [getattr(module, name) for name in FUNCTIONS if hasattr(module, name)]
    check(options, benchmark.keywords.union(*map(keywords, functions)) - {"responses"}, benchmark.name)
    check_distinct(dataset)
    how = Reading(
        [each.name for each in benchmark.datasets] or list(benchmark.reads),
        {name for each in benchmark.datasets for name in each.own or (*each.id, *each.columns)},
        one.also,
        matching,
    )
    with _inspecting(responses[0] if len(responses) == 1 else None):
        read = reading.read(responses, how)
    rows = module.load(dataset, **taken(module.load, options))
    wanted = getattr(module, "wanted", lambda row: True)
    choice = taken(wanted, options)
    hooks = {
        name: getattr(module, name)
        for name in ("set_of", "version_of", "stated_row", "other_answers", "are_corrected")
        if hasattr(module, name)
    }
    identity = Identity(
        one.id,
        one.also,
        benchmark.partial_ok,
        wanted=partial(wanted, **choice),
        only=_chosen_parts(one, options),
        options=matching,
        prompt="" if QUESTION_OF_ROW in benchmark.prompt else benchmark.prompt,
        target=benchmark.target,
        index_columns=one.index,
        also_by=one.also_by,
        by_question=one.by_question,
        **hooks,
    )
    origin, built = _origin(benchmark, dataset, options), [*_built(dataset)]
    every = []
    for index, (given, each) in enumerate(zip(responses, read, strict=True)):
        with _inspecting(given):
            found = match(each, rows, identity)._replace(origin=origin, built=built)
        if unknown := [name for name in found.prompts if name and name not in benchmark.prompts]:
            known = ", ".join(map(repr, benchmark.prompts)) or "no name, because it has no other prompts"
            raise ValueError(
                f"{found.name}: {PROMPT} is {short_repr(unknown[0])}, which names no prompt of {benchmark.name}; "
                f"expected {known}."
            )
        every.append(_ready(benchmark, found, options, index, len(responses)))
    return every


def _chosen_parts(dataset: Dataset, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of which the user chooses a value, such as the sampling of POPE."""
    chosen = {}
    for column, known in dataset.also.items():
        value = options.get(column)
        if value is not None:
            chosen[column] = word(column, value, known)
    return chosen


def _ready(
    benchmark: Benchmark, matched: Matched[Any], options: Mapping[str, Any], index: int, count: int
) -> Ready:
    """Add the metric's inputs, with this file's value of the options that have one per file."""
    function = benchmark.module("rows").inputs
    given = taken(function, options)
    for option in benchmark.options:
        if (name := option.name) not in given:
            continue
        if option.each:
            if len(given[name]) != count:
                raise ValueError(
                    f"There are {len(given[name])} files of {name} and {count} of responses; expected one for each, in "
                    "the same order."
                )
            given[name] = given[name][index]
        elif option.many:
            given[name] = texts(name, given[name])
    if "responses" in keywords(function):
        given["responses"] = matched.name
    return Ready(matched, function(matched.rows, **given))


@contextmanager
def _inspecting(given: Any) -> Iterator[None]:
    """Add to an error about a file what the file is."""
    try:
        yield
    except (LimitExceeded, MissingExtra):
        raise
    except ValueError as error:
        is_file = isinstance(given, str | Path) and path_of(given).is_file()
        if is_file and path_of(given).stat().st_size <= EXPLAINED:
            with suppress(ValueError):
                held = replace(inspect(given), remarks=(), problem="")
                error = type(error)(f"{error} The file holds {held}.")
        raise error from error.__cause__


def _origin(benchmark: Benchmark, dataset: Sequence[str], options: Mapping[str, Any]) -> str:
    paths = [Source.of(written).path for written in dataset]
    if any(map(is_subset, paths)):
        return SUBSET
    of = published.dataset_of(benchmark, options)
    known = (
        {source.content_sha256 for source in spec.load(of.name).sources.values()} if of else {spec.UNKNOWN}
    )
    is_other = spec.UNKNOWN not in known and {sha256_of(path) for path in paths if path.is_file()} - known
    return OTHER_FILE if is_other else ""


def _built(dataset: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield what the stats.json of each dataset says about the build, if there is one."""
    for source in map(Source.of, dataset):
        try:
            stats = read_stats(source.path / STATS)
            config = source.config or registry.dataset(stats["name"]).config or "default"
        except (ValueError, OSError):
            continue
        same = [one for one in stats["tables"] if one["config"] == config]
        facts = {key: stats[key] for key in ("name", "version", "spec_sha256", "subset")}
        yield {**facts, "config": config, "rows": sum(table["rows"] for table in same)}


def part_of(benchmark: Benchmark, rows: int, of: int) -> str:
    """Say how many of a dataset's rows are scored."""
    return f"{rows:,} of {of:,} {'labelled images' if benchmark.partial_ok else 'rows'} are scored"


def remark(benchmark: Benchmark, ready: Ready) -> str:
    """Say how much of the dataset is scored, and how responses were matched; "" if there is nothing to say."""
    found = "; ".join(_remarks(benchmark, ready))
    return f"{one_line(ready.matched.name)}: {found}." if found else ""


def _remarks(benchmark: Benchmark, ready: Ready) -> Iterator[str]:
    matched, also = ready.matched, registry.first_dataset(benchmark).also
    if matched.by.endswith(ORDER):
        yield f"the responses have no id that tells them apart, so they are matched by their {ORDER}"
    yield from matched.column_remarks
    if matched.without_response:
        yield f"{matched.without_response:,} rows without a response are left out"
    if matched.labels:
        yield f"they are {AS_YES_NO.format(' and '.join(matched.labels))}"
    if matched.by == STATED_ROWS:
        yield "they are about other rows than the dataset's, and are scored by the objects and labels they state"
    if also and not matched.checked:
        yield (
            "they state neither question nor image, and other files have the same ids: give them a column question "
            "or image, and it is checked that they are about this dataset"
        )
    if len(matched.rows) < matched.of:
        yield part_of(benchmark, len(matched.rows), matched.of)
    for column, values in also.items():
        named = [value for value in values if value in matched.name]
        held = {getattr(row, column) for row in matched.rows}
        if len(named) == len(held) == 1 and not held & {"", *named}:
            yield (
                f"its name says {named[0]}, but the {column} of the dataset is {held.pop()}: is this the right dataset?"
            )
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
    if empty := matched.texts.count(""):
        yield f"{empty:,} responses are empty"


def among(
    benchmark: Benchmark,
    ready: Ready,
    rows: Sequence[Any],
    options: Mapping[str, Any],
    of: tuple[int, int] = (0, 1),
) -> Ready:
    """Pair responses with other rows or labels; None leaves a row out."""
    kept = [place for place, row in enumerate(rows) if row is not None]
    part = ready.matched.only(kept)._replace(rows=[rows[place] for place in kept])
    return _ready(benchmark, part, options, *of)


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
    matched, identity = ready.matched, registry.first_dataset(benchmark)
    others = {name: value for name, value in options.items() if name in benchmark.keywords}
    with about(matched.name):
        result: Result = benchmark.compute(matched.texts, **{**others, **ready.inputs})
    columns = [map(str, map(attrgetter(name), matched.rows)) for name in identity.id]
    part = [len(matched.rows), matched.of] if len(matched.rows) < matched.of else []
    result |= {
        "matched": matched.by,
        "texts": data_of_texts("texts", zip(*columns, matched.texts, strict=True)),
    }
    more = {
        "left_out": matched.left_out,
        "without_response": matched.without_response,
        "repeats": matched.repeats,
        "cut_ends": len(matched.cut_ends),
        "part": part,
        "origin": matched.origin,
        "questions_version": matched.version,
        "printed": _printed(benchmark, matched.figures, result),
        "other_prompts": matched.other_prompts,
        "uncompared": dict(matched.uncompared),
        "labels": [*matched.labels],
    }
    result |= {name: value for name, value in more.items() if value}
    # how responses were matched, whatever their columns' names: "id", "id,sampling", "order"
    known = (ORDER, IMAGE, QUESTION, *identity.also)
    by = dict.fromkeys(part if part in known else "id" for part in matched.by.split(" and "))
    named = [name or "own" for name in matched.prompts] if any(matched.prompts) else []
    choices = {
        "responses": ",".join(by),
        "part": "" if benchmark.partial_ok else "of".join(map(str, part)),
        "questions": matched.version,
        "prompts": named or (matched.other_prompts and f"other,{matched.other_prompts}"),
        "uncompared": [*matched.uncompared],
        "labels": matched.labels,
    }
    choices = {name: value for name, value in choices.items() if value}
    for scores in (result, *(value for value in result.values() if isinstance(value, dict))):
        for name in list(scores):
            if name.partition("/")[0] == "signature":  # of all, or of a part
                scores[name] = changed(scores[name], **choices)
    return result


def _printed(
    benchmark: Benchmark, figures: Mapping[str, float], result: Mapping[str, Any]
) -> dict[str, float]:
    """Return the scores that a file states itself, by our names, as fractions where ours are."""
    stated = {letters(name): value for name, value in figures.items() if value == value}
    ours = {name: stated[letters(name)] for name in benchmark.scores if letters(name) in stated}
    return {
        name: value / 100 if value > 1 and not benchmark.is_points(name) else value
        for name, value in ours.items()
        if name in result
    }


def variants(benchmark: Benchmark, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the options once per choice of an option that is "all"."""
    for option in benchmark.options:
        if option.every and options.get(option.name) == ALL:
            meant = [choice for choice in option.choices if choice not in option.apart]
            return [{**options, option.name: choice} for choice in meant]
    return [dict(options)]


def of_each(
    benchmark: Benchmark,
    rows: Sequence[Any],
    texts: Sequence[str],
    options: Mapping[str, Any],
    prompt: str = "",
) -> tuple[dict[str, Any], list[dict[str, float]]]:
    """Score texts whose rows are known, as a harness gives them; also return each row's values of the means."""
    module, table = benchmark.module("rows"), {benchmark.items: True} if benchmark.means else {}
    inputs = module.inputs(module.read_all(rows), **taken(module.inputs, options))
    result: dict[str, Any] = benchmark.compute(texts, **{**options, **table, **inputs})
    if prompt:
        result["signature"] = changed(result["signature"], prompts=prompt)
    items = result.pop(benchmark.items) if table else [{}] * len(rows)
    return result, [
        {name: float(item[name]) for name in benchmark.means if item[name] is not None} for item in items
    ]


def clusters(benchmark: Benchmark, rows: Sequence[Any]) -> list[Hashable]:
    """Return each row's cluster of dependent rows, by default its image."""
    module = benchmark.module("rows")
    of_image = attrgetter(registry.first_dataset(benchmark).image_key)
    return list(map(getattr(module, "cluster_of", of_image), module.read_all(rows)))
