"""A run, or a metric's result, as people are shown it: its rows as items, by the view of its benchmark's room."""

from collections.abc import Mapping, Sequence
from typing import Any

from halluscope import registry
from halluscope.foreign import brief
from halluscope.inputs import is_like_a_list
from halluscope.judging.transcript import Voted
from halluscope.registry import Benchmark
from halluscope.reporting.shown import Shown
from halluscope.reporting.tables import finite
from halluscope.runs.folder import INPUTS, RESPONSE, items, plain
from halluscope.runs.run import Run


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
        ValueError: for what is no result of a benchmark, one without its table of rows, or of other rows.
    """
    for place, text in enumerate(predictions):
        if not isinstance(text, str):
            raise ValueError(f"predictions[{place}] is {brief(text)}; expected a text.")
    if not isinstance(name, str):
        raise ValueError(f"name is {brief(name)}; expected a text.")
    benchmark = of_signature(result)
    found = result.get(benchmark.items)
    if not isinstance(found, list):
        raise ValueError(
            f"The result has no {benchmark.items}, which tells what was found in each row; ask for it: "
            f"compute(..., {benchmark.items}=True)."
        )
    if not len(found) == len(predictions) == len(references):
        raise ValueError(
            f"The result is about {len(found):,} rows, and there are {len(predictions):,} predictions and "
            f"{len(references):,} references; expected those that it was made of."
        )
    columns = {
        key: value for key, value in options.items() if is_like_a_list(value) and len(value) == len(found)
    }
    rows = [
        {
            **_id(benchmark, place, references[place], columns),
            RESPONSE: predictions[place],
            **finite(row),
            INPUTS: {
                "references": references[place],
                **{key: value[place] for key, value in columns.items()},
            },
        }
        for place, row in enumerate(found)
    ]
    scores = {key: value for key, value in result.items() if key != benchmark.items}
    view = benchmark.module("view")
    return Shown(name, scores, list(view.items([plain(row) for row in rows], options, None)), options)


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


def _id(benchmark: Benchmark, place: int, reference: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    """What finds a row: what its reference or a column says, else its place."""
    parts = registry.identity(benchmark).key
    own = reference if isinstance(reference, Mapping) else {}
    return {
        part: own.get(part, columns[f"{part}s"][place] if f"{part}s" in columns else place) for part in parts
    }


def _voters(voted: Voted) -> list[str]:
    """The voters' names: each judge, and which of its questions it votes by, where it is asked several."""
    judges = voted.facts["judges"]
    each = voted.votes.shape[2] // len(judges)
    numbers = [f", question {number}" for number in range(1, each + 1)] if each > 1 else [""]
    return [f"{judge}{number}" for judge in judges for number in numbers]
