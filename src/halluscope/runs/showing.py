"""Makes items to show from the rows of a run or of a metric's result, by the view of the benchmark's room."""

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
    """Return what is shown of a run.

    A room's `view` has a function `items`: it takes rows as in items.jsonl, the options, and the facts of voters (None
    if nobody voted), and gives an item per row, in the same order.
    """
    voted = run.said.voted
    rows = [plain(row) for row in items(run)]
    found = list(run.benchmark.module("view").items(rows, run.options, voted.facts if voted else None))
    if voted is None:
        return Shown(run.name, run.scores, found, run.options)
    return Shown(run.name, run.scores, found, run.options, _voters(voted), voted.votes)


def all_shown(runs: Mapping[str, Run]) -> list[Shown]:
    """Return what is shown of several runs, under their different names; a progress bar is shown."""
    each = tqdm(runs.items(), desc="reading", unit=" runs", delay=2, leave=False, disable=is_quiet())
    return [replace(shown(run), name=name) for name, run in each]


def of_result(
    result: Mapping[str, Any],
    predictions: Sequence[str],
    references: Sequence[Any],
    name: str,
    **options: Any,
) -> Shown:
    """Return what is shown of a metric's result, without a run.

    Args:
        result: a result of `compute`, with its table of rows (`per_image=True` or the like).
        predictions: the responses, as `compute` got them.
        references: the references, as `compute` got them.
        name: the name of the responses.
        options: options that `compute` got and that matter for what is shown: such as `image_ids`, `questions`,
            `vocabulary`.

    Raises:
        ValueError: if the result is not of a benchmark, has no table of rows, or is about other rows, or for an option
            that `compute` does not have.
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
            f"The result is about {len(found):,} rows, but there are {len(said):,} predictions; expected the "
            "predictions that were scored."
        )
    rows = list(_rows(benchmark, said, _read(benchmark, known), found, options))
    scores = {key: value for key, value in result.items() if key != benchmark.items}
    shown = list(benchmark.module("view").items(rows, options, None))
    if any(mark.end > len(item.text) for item in shown for mark in item.marks):
        raise ValueError(
            "The result marks places beyond the end of a prediction; expected the predictions that were scored."
        )
    return Shown(name, scores, shown, options)


def _rows(
    benchmark: Benchmark,
    said: Sequence[str],
    references: Sequence[Any],
    found: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    """Yield rows in the form of a run's items.jsonl."""
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
        return f"{benchmark.title} does not score single responses, so there is nothing to show of each."
    return (
        f"The result has no {benchmark.items}, which says what was found in each row; ask for it with "
        f"compute(..., {benchmark.items}=True)."
    )


def _read(benchmark: Benchmark, references: Sequence[Any]) -> Sequence[Any]:
    """Return the references; if they are rows of the dataset, they are read as scoring reads them.

    If a metric takes the images' ids next to its references, its references are no rows.
    """
    if "image_ids" in benchmark.given:
        return references
    rows: Sequence[Any] = benchmark.module("rows").read_all(references)
    return rows


def of_signature(result: Any) -> Benchmark:
    """Return the benchmark of a result.

    Raises:
        ValueError: if it is not a result.
    """
    signed = result.get(registry.SIGNATURE) if isinstance(result, Mapping) else None
    if not isinstance(signed, str):
        raise ValueError(
            f"The result is {brief(result)}; expected what a metric's compute returned, with a signature."
        )
    return registry.benchmark(signed.partition("|")[0])


def _id(benchmark: Benchmark, place: int, reference: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the id of a row: by its reference or an option, else its place."""
    dataset = registry.identity(benchmark)
    known = {**dict.fromkeys(dataset.id, place), **dict.fromkeys(dataset.also, "")}
    return {
        part: getattr(reference, part, given.get(f"{part}s", given.get(part, otherwise)))
        for part, otherwise in known.items()
    }


def _voters(voted: Voted) -> list[str]:
    """Return the voters' names: each judge, with the number of the question if a judge is asked several."""
    judges = voted.facts["judges"]
    each = voted.votes.shape[2] // len(judges)
    numbers = [f", question {number}" for number in range(1, each + 1)] if each > 1 else [""]
    return [f"{judge}{number}" for judge in judges for number in numbers]
