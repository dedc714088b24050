"""Reads responses, matches them to a dataset's rows, and scores them, in the same way for each benchmark."""

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from halluscope import registry
from halluscope.building import spec
from halluscope.building.build_info import STATS, read_stats
from halluscope.building.fetch import sha256_of
from halluscope.errors import LimitExceeded, MissingExtra
from halluscope.files.opening import read_text
from halluscope.options import ALL, MatchingOptions, check, keywords, taken
from halluscope.reading.datasets import Source, check_distinct, is_subset, sources
from halluscope.registry import Benchmark
from halluscope.reporting import published
from halluscope.responses import files, thoughts
from halluscope.responses.files import IDS, IMAGES, PROMPT, QUESTIONS, Given, Reading
from halluscope.responses.match import (
    IMAGE,
    NOT_COMPARED,
    ORDER,
    QUESTION,
    STATED_ROWS,
    Identity,
    Matched,
    match,
)
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import changed, data_of
from halluscope.validation import is_number, listed, texts

FUNCTIONS = ("load", "wanted", "inputs")  # The functions in a room's module `rows` that take options


# What a dataset can be that is not the benchmark's as published: a build with --subset, or a file of another content.
# The latter is told only of datasets with published scores, if the content of their files is known.
SUBSET, OTHER_FILE = "subset", "other file"


@dataclass(frozen=True)
class Ready:
    """Responses that are matched to their rows and ready to be scored."""

    matched: Matched[Any]  # responses and rows
    inputs: Mapping[str, Any]  # the arguments of the metric that come from the rows


def matched(
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
        ready = prepare(benchmark, list(map(_listed, responses)), written, chosen, matching)
    return benchmark, ready, chosen


def _listed(responses: Given) -> Given:
    if isinstance(responses, tuple) and len(responses) == 2 and isinstance(responses[0], str):
        return responses[0], _listed(responses[1])
    if isinstance(responses, str | Path | Mapping) or hasattr(responses, "columns"):
        return responses
    return listed("responses", responses, "a file, a list of rows, a table, or texts by id")


def prepare(
    benchmark: Benchmark,
    responses: Sequence[Given],
    dataset: Sequence[str],
    options: Mapping[str, Any],
    matching: MatchingOptions | None = None,
) -> list[Ready]:
    """Match all responses to the dataset before any are scored."""
    if not benchmark.is_scored:
        instead = f", or call get_benchmark({benchmark.name!r}).compute" if benchmark.has_metric else ""
        raise ValueError(f"{benchmark.name} is not scored on a dataset; expected another benchmark{instead}.")
    matching = matching or MatchingOptions()
    module, one = benchmark.module("rows"), registry.identity(benchmark)
    functions = [getattr(module, name) for name in FUNCTIONS if hasattr(module, name)]
    check(options, benchmark.keywords.union(*map(keywords, functions)) - {"responses"}, benchmark.name)
    check_distinct(dataset)
    reading = Reading(
        [each.name for each in benchmark.datasets] or list(benchmark.reads),
        matching.limit,
        {name for each in benchmark.datasets for name in each.own or (*each.id, *each.columns)},
        one.also,
        matching.text_columns,
    )
    with _inspecting(responses[0] if len(responses) == 1 else None):
        read = files.read(responses, reading)
    rows = module.load(dataset, **taken(module.load, options))
    wanted = getattr(module, "wanted", lambda row: True)
    choice = taken(wanted, options)
    hooks = {
        name: getattr(module, name) for name in ("set_of", "version_of", "stated") if hasattr(module, name)
    }
    identity = Identity(
        one.id,
        one.also,
        benchmark.partial_ok,
        wanted=lambda row: bool(wanted(row, **choice)),
        only={column: options[column] for column in one.also if options.get(column)},
        partial=matching.partial or matching.limit is not None,
        first=matching.limit is not None,
        prompt="" if registry.QUESTION in benchmark.prompt else benchmark.prompt,
        column=matching.id_column,
        target="" if matching.text_column else benchmark.target,
        index_columns=one.index,
        also_by=one.also_by,
        **hooks,
    )
    origin, built = _origin(benchmark, dataset, options), [*_built(dataset)]
    every = []
    for place, (given, said) in enumerate(zip(responses, read, strict=True)):
        with _inspecting(given):
            found = match(said, rows, identity)._replace(origin=origin, built=built)
        if unknown := [name for name in found.prompts if name and name not in benchmark.prompts]:
            known = ", ".join(map(repr, benchmark.prompts)) or "no name, because it has no other prompts"
            raise ValueError(
                f"{found.name}: {PROMPT} is {short_repr(unknown[0])}, which names no prompt of {benchmark.name}; "
                f"expected {known}."
            )
        every.append(_ready(benchmark, found, options, place, len(responses)))
    return every


def _ready(
    benchmark: Benchmark, matched: Matched[Any], options: Mapping[str, Any], place: int, count: int
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
            given[name] = given[name][place]
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
        if isinstance(given, str | Path) and Path(given).is_file():
            with suppress(ValueError):
                error = type(error)(f"{error} The file holds {inspect(given)}.")
        raise error from error.__cause__


def _origin(benchmark: Benchmark, dataset: Sequence[str], options: Mapping[str, Any]) -> str:
    paths = [Path(Source.of(written).name) for written in dataset]
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
            stats = read_stats(Path(source.name) / STATS)
            config = source.config or registry.dataset(stats["name"]).config or "default"
        except (ValueError, OSError):
            continue
        same = [one for one in stats["tables"] if one["config"] == config]
        facts = {key: stats[key] for key in ("name", "version", "spec_sha256", "subset")}
        yield {**facts, "config": config, "rows": sum(table["rows"] for table in same)}


def part_of(benchmark: Benchmark, rows: int, of: int) -> str:
    """Say how many of a dataset's rows are scored."""
    return f"{rows:,} of {of:,} {'labelled images' if benchmark.partial_ok else 'questions'} are scored"


def remarks(benchmark: Benchmark, ready: Ready, partial: bool) -> Iterator[str]:
    """Yield how much of the dataset is scored, and how responses were matched.

    A harness's samples of only some rows are an error unless `partial` allows that.
    """
    matched, also = ready.matched, registry.identity(benchmark).also
    if matched.by.endswith(ORDER):
        yield f"the responses have no id that tells them apart, so they are matched by their {ORDER}"
    if matched.by == STATED_ROWS:
        yield "they are about other rows than the dataset's, and are scored by the objects and labels they state"
    if also and not matched.checked:
        yield (
            "they state neither question nor image, and other files have the same ids: give them a column question "
            "or image, and it is checked that they are about this dataset"
        )
    if len(matched.rows) < matched.of:
        if matched.sampled and not partial:
            raise ValueError(
                f"{matched.name} holds samples of {len(matched.rows)} of the {matched.of} rows: the run had a limit, "
                f"or was cut off. Pass --limit {len(matched.rows)} to score them anyway."
            )
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


def compute(benchmark: Benchmark, ready: Ready, options: Mapping[str, Any]) -> dict[str, Any]:
    """Score responses that are ready, as `halluscope.score` does.

    Added to the metric's result are "matched", how the responses were matched to their rows; "texts", a digest of the
    responses; and where they apply: "left_out", the number of responses about rows that are not scored; "part", [rows
    scored, rows that the options select]; "origin", `SUBSET` or `OTHER_FILE`; "questions_version"; "printed", the
    scores that the file of responses states itself; "other_prompts", the number of responses to a prompt other than the
    dataset's; "uncompared", column -> the number of responses whose question, prompt, image or sampling cannot be
    compared.
    """
    matched, identity = ready.matched, registry.identity(benchmark)
    others = {name: value for name, value in options.items() if name in benchmark.keywords}
    result: dict[str, Any] = benchmark.compute(matched.texts, **{**others, **ready.inputs})
    columns = (map(attrgetter(name), matched.rows) for name in identity.id)
    part = [len(matched.rows), matched.of] if len(matched.rows) < matched.of else []
    result |= {"matched": matched.by, "texts": data_of("texts", zip(*columns, matched.texts, strict=True))}
    more = {
        "left_out": matched.left_out,
        "part": part,
        "origin": matched.origin,
        "questions_version": matched.version,
        "printed": _printed(benchmark, matched.figures, result),
        "other_prompts": matched.other_prompts,
        "uncompared": dict(matched.uncompared),
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
    }
    choices = {name: value for name, value in choices.items() if value}
    for signed in (result, *(of for of in result.values() if isinstance(of, dict))):
        if "signature" in signed:
            signed["signature"] = changed(signed["signature"], **choices)
    return result


def _printed(
    benchmark: Benchmark, figures: Mapping[str, float], result: Mapping[str, Any]
) -> dict[str, float]:
    """Return the scores that a file states itself, by our names, as fractions where ours are."""

    def letters(name: str) -> str:
        return "".join(filter(str.isalnum, name.lower()))

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


def of_rows(
    benchmark: Benchmark,
    rows: Sequence[Any],
    texts: Sequence[str],
    options: Mapping[str, Any],
    prompt: str = "",
) -> dict[str, Any]:
    """Score texts whose rows are known, as a harness gives them."""
    module = benchmark.module("rows")
    inputs = module.inputs(module.read_all(rows), **taken(module.inputs, options))
    result: dict[str, Any] = benchmark.compute(texts, **dict(options) | inputs)
    if prompt:
        result["signature"] = changed(result["signature"], prompts=prompt)
    return result


def of_each(
    benchmark: Benchmark,
    rows: Sequence[Any],
    texts: Sequence[str],
    options: Mapping[str, Any],
    prompt: str = "",
) -> tuple[dict[str, Any], list[dict[str, float]]]:
    """Score texts as `of_rows` does, and return each row's values of the scores that are means."""
    table = {benchmark.items: True} if benchmark.means else {}
    result = of_rows(benchmark, rows, texts, {**options, **table}, prompt)
    items = result.pop(benchmark.items) if table else [{}] * len(rows)
    return result, [
        {name: float(item[name]) for name in benchmark.means if item[name] is not None} for item in items
    ]


def clusters(benchmark: Benchmark, rows: Sequence[Any]) -> list[Hashable]:
    """Return each row's cluster of dependent rows, by default its image."""
    module = benchmark.module("rows")
    of_image = attrgetter(registry.identity(benchmark).image_key)
    return list(map(getattr(module, "cluster_of", of_image), module.read_all(rows)))


# What a file is that other people wrote: which benchmark it answers, its columns, what is odd, what to type


# What a file can hold
RESPONSES, ASKED, SCORES, VERDICTS, OTHER = (
    "responses",
    "questions",
    "printed scores",
    "verdicts",
    "other rows",
)

# The columns of a right answer and of a verdict
GOLD = ("label", "gold", "answer", "gt_answer", "ground_truth", "target")
JUDGED = ("rating", "judge_text", "verdict", "correctness")

# A score in a text, and words that only names of scores hold
_FIGURE = re.compile(r"([A-Za-z][\w ()%-]{0,30}?)\s*[:|=]\s*(-?\d+(?:\.\d+)?)\b")

_WORDS = ("acc", "score", "rate", "f1")

FEWEST_WORDS = 8  # texts of this many words, in the median, describe
MOST = 30  # how many printed scores are listed


class Inspection(NamedTuple):
    """What a file is."""

    file: str
    kind: str  # one of the constants above
    rows: int = 0
    benchmarks: Sequence[str] = ()  # the benchmarks that it may belong to, the likeliest first
    about: str = ""  # which part or version of the benchmark, as far as its content tells
    columns: Mapping[str, str] = {}  # "id", "text", "image", "question" -> the column
    odd: Mapping[str, int] = {}  # what is odd -> in how many rows
    figures: Mapping[str, float] = {}  # the scores that it prints
    command: str = ""  # the command that scores it; "" if it cannot be scored

    def __str__(self) -> str:
        """Return one line."""
        of = f" of {' or '.join(self.benchmarks)}" if self.benchmarks else ""
        about = f" ({self.about})" if self.about else ""
        rows = f"{self.rows:,} " if self.rows else ""
        parts = [
            [f"{rows}{self.kind}{of}{about}"],
            [f"{name} in {one_line(column, 40)}" for name, column in self.columns.items()],
            [f"{count:,} {what}" for what, count in self.odd.items()],
            [f"{one_line(name, 40)} {value:g}" for name, value in self.figures.items()],
        ]
        return "; ".join(", ".join(part) for part in parts if part)

    def row(self) -> dict[str, Any]:
        """Return what is known, for JSON."""
        return {key: value for key, value in self._asdict().items() if value}


def inspect(file: str | Path) -> Inspection:
    """Say what a file is, by its content alone; a file that is neither a table nor printed scores is an error."""
    name = str(file)
    try:
        rows = [row for _, row in files.located(Path(file)) if isinstance(row, Mapping)]
    except LimitExceeded:
        raise
    except ValueError:
        if not (figures := _scores(_FIGURE.findall(read_text(Path(file))))):
            raise
        return Inspection(name, SCORES, figures=figures)
    held = Counter(column for row in rows for column, value in row.items() if value not in (None, ""))
    names = {column for row in rows for column in row}

    def first(known: Iterable[str], enough: int = 1) -> str:
        return next((column for column in known if held[column] >= enough), "")

    known = (one for one in ("filtered_resps", *files.TEXTS) if one != "text" or not held["label"])
    text = first((*known, *files.text_columns(rows)))
    if len(rows) == 1 and not text and (figures := _scores(_numbers(rows[0]))):
        return Inspection(name, SCORES, figures=figures)
    question = first(one for one in (*QUESTIONS, "input") if one != text)
    texts = [str(row.get(text, "")) for row in rows]
    is_judged, has_gold = not names.isdisjoint(JUDGED), not names.isdisjoint(GOLD)
    if not question and text and sum("?" in one for one in texts) > 0.9 * len(texts):
        question, text, kind = text, "", ASKED
    elif text and not (text in GOLD and is_judged):
        kind = RESPONSES
    else:
        kind = VERDICTS if is_judged else ASKED if question and has_gold else OTHER
    id = first(("doc_id", *IDS), max(1, len(rows)))
    places = {"id": id, "text": text, "image": first(IMAGES), "question": question}
    columns = {of: column for of, column in places.items() if column}
    asked = [str(row[question]) for row in rows if question and question in row]
    benchmarks, about = _benchmarks(asked, names, texts if text else [])
    found = Inspection(name, kind, len(rows), benchmarks, about, columns)
    if kind != RESPONSES:
        return found
    command = ""
    if benchmarks:
        dataset = registry.identity(registry.benchmark(benchmarks[0])).name
        command = f"halluscope score {benchmarks[0]} --responses {one_line(name)} --dataset {dataset}"
        command += " --partial" if " of its " in about else ""
    return found._replace(odd=_odd(rows, text, texts), command=command)


def _benchmarks(asked: Sequence[str], names: Collection[str], texts: Sequence[str]) -> tuple[list[str], str]:
    """Return the benchmarks that rows may belong to, by their questions, their columns, or their length."""
    rooms = registry.benchmarks()
    for benchmark in rooms:
        module = benchmark.module("rows") if benchmark.is_scored else None
        if (about := getattr(module, "known", lambda asked: None)(asked)) is not None:
            return [benchmark.name], about
    if prompted := [one.name for one in rooms if asked and {*asked} == {one.prompt}]:
        return prompted, ""
    first = {one.name: one.datasets[0] for one in rooms if one.datasets}
    known = {name: {*one.id, *one.columns, *one.upstream} for name, one in first.items()}
    shared = Counter(name for each in known.values() for name in each)
    own = {name: sum(shared[key] == 1 for key in each.intersection(names)) for name, each in known.items()}
    if (most := max(own.values(), default=0)) > 1:
        return [name for name, count in own.items() if count == most], ""
    words = sorted(len(text.split()) for text in texts)
    if words and words[len(words) // 2] >= FEWEST_WORDS:
        return [one.name for one in rooms if one.is_scored and one.partial_ok], "descriptions"
    return [], ""


def _odd(rows: Sequence[Mapping[str, Any]], column: str, texts: Sequence[str]) -> dict[str, int]:
    """Count what is odd about responses."""
    cells = [(name, value) for row in rows for name, value in row.items() if name != column]
    gold = next((name for name in GOLD if any(name == other for other, _ in cells)), "")
    equal = all(
        str(row.get(gold)).lower() == text.strip().lower() for row, text in zip(rows, texts, strict=True)
    )
    others = {name for name, value in cells if isinstance(value, str) and files.SAYS.match(name)}
    found = {
        "empty": sum(not text.strip() for text in texts),
        f"equal to {gold}": len(rows) if gold and equal else 0,
        "with thoughts": thoughts.take_out(texts, thoughts.REMOVED)[1],
        "lists of one text": sum(isinstance(row.get(column), list) for row in rows),
        f"other columns of texts ({', '.join(sorted(others)[:5])})": len(others - {*GOLD}),
    }
    return {what: count for what, count in found.items() if count}


def _scores(stated: Iterable[tuple[str, Any]]) -> dict[str, float]:
    """Return the first of these numbers whose names are those of scores; a repeated name gets a number."""
    found: dict[str, float] = {}
    seen = Counter[str]()
    known = {_plain(score) for one in registry.benchmarks() for score in one.scores}
    for name, value in islice(stated, 100 * MOST):
        plain = _plain(name.rpartition("/")[2])
        if len(found) < MOST and (plain in known or any(word in plain for word in _WORDS)):
            seen[name := name.strip()] += 1
            found[f"{name} #{seen[name]}" if seen[name] > 1 else name] = float(value)
    return found


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def _numbers(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers in an object of objects."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{name}/")
        elif is_number(value):
            yield f"{prefix}{name}", value
