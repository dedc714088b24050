"""From responses and a dataset to results: read, matched, and scored, in the same way for each benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.options import ALL, check, keywords, taken
from halluscope.registry import Benchmark
from halluscope.responses import files
from halluscope.responses.files import Row
from halluscope.responses.match import Identity, Matched, match

READING = ("load", "wanted", "inputs")
"""The functions of a room's `rows` that take options too."""


@dataclass(frozen=True)
class Ready:
    """Responses that are matched to their rows, and may be scored.

    Attributes:
        matched: responses and rows.
        inputs: what the metric takes of the rows.
    """

    matched: Matched[Any]
    inputs: Mapping[str, Any]


def score(
    name: str,
    responses: str | Path | Sequence[Row],
    dataset: str | Sequence[str],
    **options: Any,
) -> dict[str, Any]:
    """Score what one LVLM said against a dataset.

    Args:
        name: of a benchmark or of one of its datasets.
        responses: a file (JSON lines, a JSON list, .gz too, or samples of lm-eval or lmms-eval), or rows with an id and
            a text.
        dataset: a folder, a Hub id, or an upstream file, written `name[:config][@split]`; several where a benchmark has
            several files.
        options: of the benchmark; `get_benchmark(name).options` and `.help` tell which.

    Returns:
        The metric's result.

    Raises:
        ValueError: for an unknown name or option, or responses that do not belong to the dataset.
        FileNotFoundError: if a file does not exist.
    """
    benchmark = registry.benchmark(name)
    options = {**_of_dataset(benchmark, name), **_of_one(benchmark, options)}
    (ready,) = prepare(benchmark, [responses], [dataset] if isinstance(dataset, str) else dataset, options)
    return compute(benchmark, ready, options)


def prepare(
    benchmark: Benchmark,
    responses: Sequence[str | Path | Sequence[Row]],
    dataset: Sequence[str],
    options: Mapping[str, Any],
    limit: int | None = None,
) -> list[Ready]:
    """Read and match all responses before the first are scored.

    Args:
        benchmark: whose rows these are.
        responses: of one LVLM each.
        dataset: what they are scored against.
        options: of the benchmark; of one that goes with each file a list, one value per file.
        limit: score only the first so many responses of each, where responses choose the rows.

    Raises:
        ValueError: for an unknown option, a benchmark without a dataset, or responses that do not belong to it.
        FileNotFoundError: if a file does not exist.
    """
    if not (benchmark.datasets or benchmark.reads):
        raise ValueError(
            f"{benchmark.name} is not scored on a dataset; expected another benchmark, or call "
            f"get_benchmark({benchmark.name!r}).compute."
        )
    module = benchmark.module("rows")
    reading = [getattr(module, name) for name in READING if hasattr(module, name)]
    check(options, benchmark.keywords.union(*map(keywords, reading)) - {"responses"}, benchmark.name)
    rows = module.load(dataset, **taken(module.load, options))
    identity = _identity(benchmark, rows, options)
    tasks = [one.name for one in benchmark.datasets] or list(benchmark.reads)
    columns = {name for one in benchmark.datasets for name in one.own or (*one.id, *one.columns)}
    matched = [match(files.read(one, tasks, limit, columns), rows, identity) for one in responses]
    return [
        Ready(
            one,
            module.inputs(
                one.rows, **_inputs(module.inputs, options, place, one.name, len(matched), benchmark)
            ),
        )
        for place, one in enumerate(matched)
    ]


def compute(benchmark: Benchmark, ready: Ready, options: Mapping[str, Any]) -> dict[str, Any]:
    """Score responses that are ready."""
    others = {name: value for name, value in options.items() if name in benchmark.keywords}
    result: dict[str, Any] = benchmark.compute(ready.matched.texts, **{**others, **ready.inputs})
    return result


def variants(benchmark: Benchmark, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The options that are meant by "all" for one of them, each in its turn; the name of that option is in each."""
    for option in benchmark.options:
        if option.every and options.get(option.name) == ALL:
            return [{**options, option.name: choice} for choice in option.choices]
    return [dict(options)]


def of_rows(
    benchmark: Benchmark, rows: Sequence[Any], texts: Sequence[str], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Score texts about rows of a dataset that belong together already, as a harness gives them."""
    module = benchmark.module("rows")
    inputs = module.inputs(module.read_all(rows), **taken(module.inputs, options))
    result: dict[str, Any] = benchmark.compute(texts, **dict(options) | inputs)
    return result


def _of_one(benchmark: Benchmark, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of one file of responses, as `prepare` takes them."""
    each = {option.name for option in benchmark.options if option.each}
    given = {name: value for name, value in options.items() if name not in each or value is not None}
    return {name: [value] if name in each else value for name, value in given.items()}


def _of_dataset(benchmark: Benchmark, name: str) -> Mapping[str, Any]:
    """The options that follow from a dataset's name."""
    return next((one.options for one in benchmark.datasets if one.name == name), {})


def _identity(benchmark: Benchmark, rows: Sequence[Any], options: Mapping[str, Any]) -> Identity:
    """How the rows are found: by the ids of the benchmark's datasets, which are one."""
    one = registry.identity(benchmark)
    module = benchmark.module("rows")
    if not hasattr(module, "wanted"):
        return Identity(one.id, one.also, benchmark.chooses)
    choice = taken(module.wanted, options)
    return Identity(one.id, one.also, benchmark.chooses, lambda row: bool(module.wanted(row, **choice)))


def _inputs(
    function: Any, options: Mapping[str, Any], place: int, name: str, count: int, benchmark: Benchmark
) -> dict[str, Any]:
    """The options that `inputs` takes: of one that goes with each file, the file's."""
    each = {option.name for option in benchmark.options if option.each}
    given = taken(function, options)
    for option in each & given.keys():
        values = given[option]
        if len(values) != count:
            raise ValueError(
                f"There are {len(values)} files of {option} and {count} of responses; expected one for each, in the "
                "same order."
            )
        given[option] = values[place]
    return given | ({"responses": name} if "responses" in keywords(function) else {})
