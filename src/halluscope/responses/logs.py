"""Reads the logs of harnesses: samples of lm-eval and lmms-eval, and logs of Inspect.

lm-eval logs a whole document; lmms-eval logs only the items of each score, which name the task and the row. A log of
Inspect, as `.eval` or as JSON, is read into the form of lm-eval's samples, without Inspect.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halluscope.files.opening import decoded, members, parse, read_json
from halluscope.reading.tables import Located
from halluscope.responses.names import TEXTS, is_image_file
from halluscope.responses.unfolding import SAMPLE, Row
from halluscope.sanitize import one_line, short_repr

# The keys that mark JSON as a log of Inspect, and those that each of its samples has
LOG = {"version", "status", "eval", "plan"}
INSPECTED = {"id", "epoch", "input", "output", "metadata"}

# The key of a sample's prompt, which stands for the document in short logs, and the key under which a response names
# its task
INPUT = "input"
TASK = "halluscope_task"

# The names of a file of samples, and of the file of results beside it: lm-eval's, and lmms-eval's
_BESIDE = {
    "results_{}.json": re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d{2}-\d{2}T.+)"),
    "{}_results.json": re.compile(r"(?P<time>.+)_samples_(?P<task>.+)"),
}


@dataclass
class Stated:
    """What files state beside their rows."""

    model: str = ""  # the name of the LVLM
    figures: dict[str, float] = field(default_factory=dict)  # such as scores
    is_answer_list: bool = False  # whether rows come from a file whose columns have fixed places
    are_samples: bool = False  # whether a harness wrote the rows


# Inspect


def read_eval(file: Path, beside: Stated) -> Iterator[Located]:
    """Yield the samples of Inspect's default format: a zip with a member per sample."""
    for _, header in _members(file, "header"):
        beside.model = model_in(header)
    yield from inspected(_members(file, "samples/"), str(file))


def _members(file: Path, begin: str) -> Iterator[Located]:
    for name, content in members(file, begin, ".json"):
        where = f"{file}, {one_line(name, 80)}"
        yield where, parse(decoded(content, where), where)


def read_log(log: Row, where: str, beside: Stated) -> Iterator[Located]:
    """Yield the samples of a log of Inspect as JSON."""
    beside.model = model_in(log)
    samples = log.get("samples")
    if not isinstance(samples, list):
        samples = []
    numbered = ((f"{where}, sample {number}", sample) for number, sample in enumerate(samples, 1))
    yield from inspected(numbered, where)


def model_in(log: Any) -> str:
    """Return the name of the model in the header of a log; "" if there is none."""
    if not isinstance(log, Mapping) or not isinstance(log.get("eval"), Mapping):
        return ""
    model = log["eval"].get("model")
    if not isinstance(model, str):
        return ""
    return model


def inspected(samples: Iterable[Located], log: str) -> Iterator[Located]:
    """Yield Inspect's samples in the form of lm-eval's, without those whose request failed and had no response."""
    empty = True
    for where, sample in samples:
        empty = False
        output = None
        if isinstance(sample, Mapping) and sample.keys() >= INSPECTED:
            output = sample["output"]
        if not isinstance(output, Mapping):
            raise ValueError(
                f"{where} is not a sample of Inspect: it is {short_repr(sample, 120)}; expected an object with "
                f"{', '.join(sorted(INSPECTED))}."
            )
        if sample["epoch"] != 1:
            raise ValueError(
                f"{where} belongs to epoch {short_repr(sample['epoch'])}: this log holds several responses per row; "
                "expected one. Run the task with --epochs 1."
            )
        if output.get("choices"):
            text = output.get("completion")
            yield where, {"doc_id": sample["id"], "doc": sample["metadata"], "filtered_resps": text}
    if empty:
        raise ValueError(f"{log} holds no samples; expected a log that was written with its samples.")


# lm-eval and lmms-eval


def responses_of_samples(samples: Sequence[Located], tasks: Collection[str]) -> list[Located]:
    """Return samples as rows of responses, in the order of their documents: some are matched by nothing else."""
    if {type(row.get("doc_id")) for _, row in samples} == {int}:
        samples = sorted(samples, key=lambda located: located[1]["doc_id"])
    first: dict[Any, str] = {}
    responses = []
    for where, sample in samples:
        document = _about(sample, where, tasks)
        doc_id = sample["doc_id"]
        if not isinstance(doc_id, int | str):
            raise ValueError(f"{where}: doc_id is {short_repr(doc_id)}; expected a whole number or a string.")
        if doc_id in first:
            raise ValueError(
                f"{where}: the document {short_repr(doc_id)} is already in {first[doc_id]}; expected each document "
                "once. Are these the samples of two runs, or of two filters?"
            )
        first[doc_id] = where
        row = {}
        for name, value in document.items():
            if name != TASK and name not in TEXTS:
                row[name] = value
        row[TEXTS[0]] = sample["filtered_resps"]
        responses.append((where, row))
    return responses


def _about(sample: Row, where: str, tasks: Collection[str]) -> Row:
    """Return what a sample says about its row."""
    if not sample.keys() >= SAMPLE:
        raise ValueError(
            f"{where} is not a sample: expected doc_id and filtered_resps, as lm-eval and lmms-eval write them with "
            f"--log_samples; got {short_repr(sample, 120)}."
        )
    document = document_in(sample)
    task = document.get(TASK)
    if not document and isinstance(sample.get(INPUT), str):
        document = {"prompt": sample[INPUT], **_image_in_scores(sample)}
    if not document or (task is not None and tasks and task not in list(tasks)):
        kind = "that names no task and holds no row (doc)"
        if task:
            kind = f"of the task {short_repr(task)}"
        raise ValueError(
            f"{where} is a sample {kind}; expected a sample of {' or '.join(tasks) or 'a task of halluscope'}, or one "
            "whose doc is the row that was asked about."
        )
    return document


def _image_in_scores(sample: Row) -> Row:
    """Return the image that a sample's scores name as the question's id, which lmms-eval logs without the document."""
    for value in sample.values():
        if not isinstance(value, Mapping):
            continue
        image = value.get("question_id")
        if isinstance(image, str) and is_image_file(image):
            return {"image": image}
    return {}


def document_in(sample: Row) -> Row:
    """Return the row that a sample holds: its document, or one of its scores; {} for none."""
    document = sample.get("doc")
    if isinstance(document, Mapping):
        return document
    for value in sample.values():
        if isinstance(value, Mapping) and TASK in value:
            return value
    return {}


def results_beside(file: Path) -> Stated:
    """Return the model's name and the task's scores from the results beside samples, if there are any."""
    for name, pattern in _BESIDE.items():
        match = pattern.fullmatch(file.name.partition(".jsonl")[0])
        if match is None:
            continue
        beside = file.with_name(name.format(match["time"]))
        if not beside.is_file():
            continue
        results = read_json(beside)
        if not isinstance(results, Mapping):
            return Stated()
        stated = Stated(figures=_figures(results.get("results"), match["task"]))
        if isinstance(results.get("model_name"), str):
            stated.model = results["model_name"]
        return stated
    return Stated()


def _figures(results: Any, task: str) -> dict[str, float]:
    """Return a task's scores by plain names, without standard errors: "f1" for `pope_f1_score,none`."""
    figures: dict[str, float] = {}
    if not isinstance(results, Mapping) or not isinstance(results.get(task), Mapping):
        return figures
    scores = results[task]
    for key, value in scores.items():
        if isinstance(key, str) and isinstance(value, int | float) and "_stderr" not in key:
            name = key.partition(",")[0].removeprefix(f"{task}_")
            name = name.removeprefix(f"{task.partition('_')[0]}_")
            figures[name.removesuffix("_score")] = float(value)
    return figures
