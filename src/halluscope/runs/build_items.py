"""Makes items to show from the rows of a run or of a metric's result, by the view of the benchmark's package."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tqdm import tqdm

from halluscope import registry
from halluscope.inputs import is_like_a_list, listed, paired, texts
from halluscope.judging.votes import VoteResult
from halluscope.registry import Benchmark
from halluscope.reporting.report_items import Shown
from halluscope.reporting.tables import finite
from halluscope.runs.folder import INPUTS, RESPONSE, items, plain
from halluscope.runs.run import Run
from halluscope.sanitize import short_repr
from halluscope.terminal import is_quiet


def shown(run: Run) -> Shown:
    """Return what is shown of a run: an item per row, by `items` of the view of the benchmark's package."""
    poll = run.record.poll
    rows = [plain(row) for row in items(run)]
    made = list(run.benchmark.module("view").items(rows, run.options, poll.facts if poll else None))
    if poll is None:
        return Shown(run.name, run.scores, made, run.options)
    return Shown(run.name, run.scores, made, run.options, _voters(poll), poll.votes)


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
    """Return what is shown of a metric's result, without a run; the arguments are those of `halluscope.report`."""
    responses, references = paired(predictions, references)
    responses = texts("predictions", responses)
    if not isinstance(name, str):
        raise ValueError(f"name is {short_repr(name)}; expected a text.")
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
    rows = []
    for index, (text, reference, row) in enumerate(zip(responses, references, found, strict=True)):
        inputs = {option: column[index] for option, column in columns.items()}
        own = _id(benchmark, index, reference, inputs) | {RESPONSE: text, **finite(row)}
        rows.append(plain(own | {INPUTS: {"references": reference, **inputs}}))
    scores = {key: value for key, value in result.items() if key != benchmark.items}
    made = list(benchmark.module("view").items(rows, options, None))
    if any(mark.end > len(item.text) for item in made for mark in item.marks):
        raise ValueError(
            "The result marks places beyond the end of a prediction; expected the predictions that were scored."
        )
    return Shown(name, scores, made, options)


def of_signature(result: Any) -> Benchmark:
    """Return the benchmark of a result."""
    signed = result.get(registry.SIGNATURE) if isinstance(result, Mapping) else None
    if not isinstance(signed, str):
        raise ValueError(
            f"The result is {short_repr(result)}; expected what a metric's compute returned, with a signature."
        )
    return registry.benchmark(signed.partition("|")[0])


def _id(benchmark: Benchmark, index: int, reference: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the id of a row: by its reference or an option, else its place."""
    dataset = registry.identity(benchmark)
    known = {**dict.fromkeys(dataset.id, index), **dict.fromkeys(dataset.also, "")}
    return {
        part: getattr(reference, part, inputs.get(f"{part}s", inputs.get(part, otherwise)))
        for part, otherwise in known.items()
    }


def _voters(poll: VoteResult) -> list[str]:
    """Return the voters' names: each judge, with the number of the question if a judge is asked several."""
    each = poll.votes.shape[2] // len(poll.judges)
    numbers = [f", question {number}" for number in range(1, each + 1)] if each > 1 else [""]
    return [f"{judge}{number}" for judge in poll.judges for number in numbers]
