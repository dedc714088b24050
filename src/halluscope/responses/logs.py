"""Reads what harnesses log: the samples of lm-eval, lmms-eval and Inspect, the model's name, the scores of the task.

lm-eval logs a whole document; lmms-eval logs only the items of each score, which name the task and the row. A log of
Inspect, as `.eval` or as JSON, is read into the form of lm-eval's samples, without Inspect.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from halluscope.files.opening import decoded, ending, members, parse, read_json
from halluscope.sanitize import one_line, short_repr

# The keys that mark JSON as a log of Inspect, and those that each of its samples has
LOG = {"version", "status", "eval", "plan"}
INSPECTED = {"id", "epoch", "input", "output", "metadata"}

# The keys that mark a row as a sample of lm-eval or lmms-eval, the key of its prompt, which stands for the document in
# short logs, and the key under which a response names its task
SAMPLE = {"doc_id", "filtered_resps"}
INPUT, TASK = "input", "halluscope_task"

# The names of a file of samples, and of the file of results beside it: lm-eval's, and lmms-eval's
_NAMES = (
    (re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d{2}-\d{2}T.+)"), "results_{}.json"),
    (re.compile(r"(?P<time>.+)_samples_(?P<task>.+)"), "{}_results.json"),
)

Located = tuple[str, Any]


def results_beside(file: Path) -> tuple[str, dict[str, float]]:
    """Return the model's name and the task's scores from the results beside samples; ("", {}) without such a file."""
    stem = file.name.partition(".jsonl")[0]
    found, form = next(
        ((found, form) for name, form in _NAMES if (found := name.fullmatch(stem))), (None, "")
    )
    beside = file.with_name(form.format(found["time"])) if found else None
    content = read_json(beside) if beside and beside.is_file() else None
    if not found or not isinstance(content, Mapping):
        return "", {}
    name, results = content.get("model_name"), content.get("results")
    scores = results.get(found["task"]) if isinstance(results, Mapping) else None
    figures = {}
    for key, value in scores.items() if isinstance(scores, Mapping) else ():
        # "accuracy" for `pope_accuracy,none`, "f1" for `pope_f1_score,none`, without standard errors
        if isinstance(key, str) and isinstance(value, int | float) and "_stderr" not in key:
            plain = key.partition(",")[0]
            for family in (found["task"], found["task"].partition("_")[0]):
                plain = plain.removeprefix(f"{family}_")
            figures[plain.removesuffix("_score")] = float(value)
    return name if isinstance(name, str) else "", figures


def is_log(file: Path) -> bool:
    """Whether a file is a log in Inspect's default format, a zip."""
    return ending(file) == ".eval"


def is_json_log(row: Any) -> bool:
    """Whether the content of a JSON file is a log of Inspect."""
    return isinstance(row, Mapping) and row.keys() >= LOG


def of_log(file: Path) -> tuple[str, Iterator[Located]]:
    """Return the model's name and the samples of a log in a zip, which has a member per sample."""
    header = next((content for _, content in _members(file, "header")), None)
    return _model_of(header), _samples(_members(file, "samples/"), str(file))


def of_json_log(log: Mapping[str, Any], where: str) -> tuple[str, Iterator[Located]]:
    """Return the model's name and the samples of a log that was read already."""
    samples = log.get("samples") or []
    if not isinstance(samples, list):
        raise ValueError(f"{where}: samples is {short_repr(samples)}; expected a list, as Inspect writes it.")
    located = ((f"{where}, sample {number}", one) for number, one in enumerate(samples, 1))
    return _model_of(log), _samples(located, where)


def _members(file: Path, begin: str) -> Iterator[Located]:
    for name, content in members(file, begin, ".json"):
        where = f"{file}, {one_line(name, 80)}"
        yield where, parse(decoded(content, where), where)


def _model_of(log: Any) -> str:
    about = log.get("eval") if isinstance(log, Mapping) else None
    name = about.get("model") if isinstance(about, Mapping) else None
    return name if isinstance(name, str) else ""


def _samples(found: Iterator[Located], log: str) -> Iterator[Located]:
    """Yield samples in the form of lm-eval's log, without those whose request failed and that have no response."""
    empty = True
    for where, sample in found:
        empty = False
        output = sample["output"] if isinstance(sample, Mapping) and sample.keys() >= INSPECTED else None
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
            said = output.get("completion")
            yield where, {"doc_id": sample["id"], "doc": sample["metadata"], "filtered_resps": said}
    if empty:
        raise ValueError(f"{log} holds no samples; expected a log that was written with its samples.")


def is_sample(row: Any) -> bool:
    """Whether a row is a sample of lm-eval or lmms-eval."""
    return isinstance(row, Mapping) and row.keys() >= SAMPLE


def of_samples(
    located: Sequence[Located], tasks: Collection[str], texts: Collection[str]
) -> Iterator[Located]:
    """Yield samples as rows of responses, in the order of their documents, by which those without one are matched.

    `texts` are columns that a row of responses may not have beside its response.
    """
    numbers = [row.get("doc_id") if isinstance(row, Mapping) else None for _, row in located]
    if {*map(type, numbers)} == {int}:
        located = sorted(located, key=lambda one: one[1]["doc_id"])
    places: dict[Any, str] = {}
    for where, sample in located:
        about, text = _of_sample(sample, where, tasks)
        doc_id = sample.get("doc_id")
        if not isinstance(doc_id, int | str):
            raise ValueError(f"{where}: doc_id is {short_repr(doc_id)}; expected a whole number or a string.")
        if doc_id in places:
            raise ValueError(
                f"{where}: the document {short_repr(doc_id)} is already in {places[doc_id]}; expected each document "
                "once. Are these the samples of two runs, or of two filters?"
            )
        places[doc_id] = where
        own = {name: value for name, value in about.items() if name != TASK and name not in texts}
        yield where, own | {"response": text}


def _of_sample(sample: Any, where: str, tasks: Collection[str]) -> tuple[Mapping[str, Any], str]:
    """Return what a sample says about its row, and its response."""
    if not is_sample(sample):
        raise ValueError(
            f"{where} is not a sample: expected doc_id and filtered_resps, as lm-eval and lmms-eval write them with "
            f"--log_samples; got {short_repr(sample, 120)}."
        )
    about = sample.get("doc")
    if not isinstance(about, Mapping):  # then one of its scores may hold the row
        held = (value for value in sample.values() if isinstance(value, Mapping) and TASK in value)
        about = next(held, {})
    task = about.get(TASK)
    if not about and isinstance(sample.get(INPUT), str):
        about = {"prompt": sample[INPUT]}
    if not about or (task is not None and tasks and task not in [*tasks]):
        found = f"of the task {short_repr(task)}" if task else "that names no task and holds no row (doc)"
        raise ValueError(
            f"{where} is a sample {found}; expected a sample of {' or '.join(tasks) or 'a task of halluscope'}, or one "
            "whose doc is the row that was asked about."
        )
    texts = sample["filtered_resps"]
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or len(texts) != 1 or not isinstance(texts[0], str):
        raise ValueError(
            f"{where}: filtered_resps is {short_repr(texts, 120)}; expected a string, or a list of one string."
        )
    return about, texts[0]
