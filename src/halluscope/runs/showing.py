"""A run, or a metric's result, as people are shown it: its rows as items, by the view of its benchmark's room."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tqdm import tqdm

from halluscope import registry
from halluscope.foreign import brief
from halluscope.inputs import is_like_a_list, listed, paired, texts
from halluscope.judging.transcript import Voted
from halluscope.registry import Benchmark
from halluscope.reporting.shown import Shown
from halluscope.reporting.tables import finite
from halluscope.runs.folder import INPUTS, RESPONSE, items, plain
from halluscope.runs.run import Run
from halluscope.terminal import is_quiet


def shown(run: Run) -> Shown:
    """What is shown of a run.

    A room's `view` has `items`: rows as they stand in items.jsonl, the options, and the facts of voters (None if nobody
    voted) to one item per row, in their order.
    """
    voted = run.said.voted
    rows = [plain(row) for row in items(run)]
    found = list(run.benchmark.module("view").items(rows, run.options, voted.facts if voted else None))
    if voted is None:
        return Shown(run.name, run.scores, found, run.options)
    return Shown(run.name, run.scores, found, run.options, _voters(voted), voted.votes)


def all_shown(runs: Mapping[str, Run]) -> list[Shown]:
    """What is shown of several runs, by names that tell them apart; a bar says how many are read."""
    each = tqdm(runs.items(), desc="reading", unit=" runs", delay=2, leave=False, disable=is_quiet())
    return [replace(shown(run), name=name) for name, run in each]


def of_result(
    result: Mapping[str, Any],
    predictions: Sequence[str],
    references: Sequence[Any],
    name: str,
    **options: Any,
) -> Shown:
    """What is shown of a metric's result, without a run.

    Args:
        result: of `compute`, with its table of rows (`per_image=True` or the like).
        predictions: the responses, as `compute` got them.
        references: likewise.
        name: of the responses.
        options: that `compute` got, as far as they are shown: such as `image_ids`, `questions`, `vocabulary`.

    Raises:
        ValueError: for what is no result of a benchmark, one without its table of rows, or of other rows; and for an
            option that `compute` does not have.
    """
    said, known = paired(predictions, references)
    said = texts("predictions", said)
    if not isinstance(name, str):
        raise ValueError(f"name is {brief(name)}; expected a text.")
    benchmark = of_signature(result)
    benchmark.check_options(options)
    found = result.get(benchmark.items)
    if not isinstance(found, list):
        raise ValueError(_lacking(benchmark))
    if len(found) != len(said):
        raise ValueError(
            f"The result is about {len(found):,} rows, and there are {len(said):,} predictions; expected those that "
            "it was made of."
        )
    rows = list(_rows(benchmark, said, _read(benchmark, known), found, options))
    scores = {key: value for key, value in result.items() if key != benchmark.items}
    shown = list(benchmark.module("view").items(rows, options, None))
    if any(mark.end > len(item.text) for item in shown for mark in item.marks):
        raise ValueError(
            "The predictions end before places that the result names; expected those that it was made of."
        )
    return Shown(name, scores, shown, options)


def _rows(
    benchmark: Benchmark,
    said: Sequence[str],
    references: Sequence[Any],
    found: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    """Rows as they stand in a run's items.jsonl."""
    columns = {
        name: listed(name, value, "a list, one per row", len(found))
        for name, value in options.items()
        if name in benchmark.given and is_like_a_list(value)
    }
    for place, (text, of, row) in enumerate(zip(said, references, found, strict=True)):
        given = {name: column[place] for name, column in columns.items()}
        own = _id(benchmark, place, of, given)
        yield plain({**own, RESPONSE: text, **finite(row), INPUTS: {"references": of, **given}})


def _lacking(benchmark: Benchmark) -> str:
    if not benchmark.items:
        return f"{benchmark.title} scores no responses one by one: there is nothing to show of each."
    return (
        f"The result has no {benchmark.items}, which tells what was found in each row; ask for it: "
        f"compute(..., {benchmark.items}=True)."
    )


def _read(benchmark: Benchmark, references: Sequence[Any]) -> Sequence[Any]:
    """The references; where they are rows of the dataset, as they are read before they are scored.

    Where a metric takes the images' ids beside its references, these are no rows.
    """
    if "image_ids" in benchmark.given:
        return references
    rows: Sequence[Any] = benchmark.module("rows").read_all(references)
    return rows


def of_signature(result: Any) -> Benchmark:
    """The benchmark that a result is of.

    Raises:
        ValueError: for what is no result.
    """
    signed = result.get(registry.SIGNATURE) if isinstance(result, Mapping) else None
    if not isinstance(signed, str):
        raise ValueError(
            f"The result is {brief(result)}; expected what a metric's compute gave, with a signature."
        )
    return registry.benchmark(signed.partition("|")[0])


def _id(benchmark: Benchmark, place: int, reference: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """What finds a row: what its reference or an option says, else its place."""
    dataset = registry.identity(benchmark)
    known = {**dict.fromkeys(dataset.id, place), **dict.fromkeys(dataset.also, "")}
    return {
        part: getattr(reference, part, given.get(f"{part}s", given.get(part, otherwise)))
        for part, otherwise in known.items()
    }


def _voters(voted: Voted) -> list[str]:
    """The voters' names: each judge, and which of its questions it votes by, where it is asked several."""
    judges = voted.facts["judges"]
    each = voted.votes.shape[2] // len(judges)
    numbers = [f", question {number}" for number in range(1, each + 1)] if each > 1 else [""]
    return [f"{judge}{number}" for judge in judges for number in numbers]
