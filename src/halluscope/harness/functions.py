"""Holds the functions that the task files of lm-eval and lmms-eval name.

A document is a row of the dataset, without its image, plus the name of its task. A set is judged once, for whichever
score is asked for first; each response also carries its own value of the scores that are means, for standard errors.
"""

import hashlib
import logging
import math
import threading
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL.Image import Image

from halluscope import registry, scoring
from halluscope.answering import sources
from halluscope.answering.answer import about
from halluscope.answering.sources import Source
from halluscope.files.writing import json_line, new_file
from halluscope.harness import settings
from halluscope.harness.settings import Settings
from halluscope.options import taken
from halluscope.paths import cache_folder
from halluscope.registry import SIGNATURE, Benchmark
from halluscope.responses.files import PROMPT, TASK
from halluscope.sanitize import one_line
from halluscope.stats.tallies import standard_error

log = logging.getLogger(__name__)

SPLIT = "test"

# Where lm-eval puts the image: before the prompt, as `halluscope answer` does
IMAGE = "<image>"

# The keys of an item for its value of a score, and for its cluster. lmms-eval prescribes the first name; the
# task file gives it the second as `cluster_key`.
SCORE, CLUSTER = "score", "cluster"

# The suffix of a score's name for its standard error by clusters, as in lmms-eval
CLUSTERED = "_stderr_clustered"


@dataclass(frozen=True)
class Answer:
    """A response to a document."""

    doc: Mapping[str, Any]
    text: str


class Item(dict[str, Any]):
    """A response, for one score; a harness logs the item's content.

    For the principal score this identifies the document (`halluscope.responses.files` reads it); for a score that is a
    mean it is the response's `CLUSTER` and its `SCORE`, which a judge fills in after the set is judged.
    """

    def __init__(self, name: str, answer: Answer) -> None:
        super().__init__()
        self.name, self.answer = name, answer


# A result, and per row its values of the scores that are means
Scored = tuple[dict[str, Any], list[dict[str, float]]]

_opened: dict[str, tuple[Settings, Source]] = {}
_scored: dict[tuple[str, str], tuple[list[Answer], Scored]] = {}
_scoring = threading.Lock()


def dataset(task: str, prompt: str = "", **metadata: Any) -> Any:
    """Return the documents of a task as a `DatasetDict` with one split, as lm-eval's `custom_dataset`."""
    from datasets import DatasetDict

    return DatasetDict({SPLIT: _open(task, prompt, metadata.get(task))})


def documents(marker: Any) -> Any:
    """Return the documents of the task that the task's JSON file names, as lmms-eval's `process_docs`."""
    return _open(marker[0][TASK], marker[0].get(PROMPT, ""))


def images(doc: Mapping[str, Any]) -> list[Image]:
    """Return a list with a document's image, or [] if it has none; documents share image objects."""
    _, source = _opened[doc[TASK]]
    image = source.image(doc)
    return [] if image is None else [image]


def prompt(doc: Mapping[str, Any], _: Any = None) -> str:
    """Return what the LVLM is asked."""
    benchmark = registry.benchmark(doc[TASK])
    return benchmark.asked(doc, benchmark.named_prompt(doc.get(PROMPT)))


def marked_prompt(doc: Mapping[str, Any]) -> str:
    """Return what the LVLM is asked, with a mark in the image's place."""
    _, source = _opened[doc[TASK]]
    return prompt(doc) if doc[source.key] is None else IMAGE + prompt(doc)


def target(doc: Mapping[str, Any]) -> str:
    """Return the right answer as text."""
    right = doc[registry.benchmark(doc[TASK]).target]
    return right if isinstance(right, str) else ", ".join(map(str, right or ()))


def marks(task: str, prompt: str = "") -> dict[str, str]:
    """Return the marks that the documents of a task hold: the task's name, and the prompt's, if it has one."""
    return {TASK: task} | ({PROMPT: prompt} if prompt else {})


def averaged(benchmark: Benchmark) -> tuple[str, ...]:
    """Return the scores that lm-eval may average itself: means over rows, in benchmarks that need no judge."""
    return () if benchmark.judges else benchmark.means


def items(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Item]:
    """Return the response to a document, as an item for each score of its task, as lmms-eval's `process_results`."""
    benchmark, answer = registry.benchmark(doc[TASK]), Answer(doc, results[0])
    each = {name: Item(name, answer) for name in benchmark.scores}
    each[benchmark.principal].update(
        marks(doc[TASK], doc.get(PROMPT, "")) | registry.dataset(doc[TASK]).identity(doc)
    )
    (cluster,) = scoring.clusters(benchmark, [doc])
    for name in benchmark.means:
        each[name][CLUSTER] = cluster
    for name, added in _added(benchmark, answer).items():
        each[name][SCORE] = added
    return each


def answers(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float | Item]:
    """Return `items` and the standard errors, with numbers for the scores that lm-eval averages (`process_results`)."""
    benchmark, each = registry.benchmark(doc[TASK]), items(doc, results)
    errors = {f"{name}{CLUSTERED}": each[name] for name in benchmark.means}
    numbers = {name: each[name].get(SCORE) for name in averaged(benchmark)}
    return {name: value for name, value in {**each, **numbers, **errors}.items() if value is not None}


def score(given: Sequence[Item]) -> float:
    """Return a score of a whole set; NaN if a judge fails, which is logged, because the harness still has to write."""
    name, (result, _) = given[0].name, _filled(given)
    return float(result.get(name, math.nan))


def error(given: Sequence[Item]) -> float:
    """Return the standard error, by clusters, of a score that is a mean; NaN for fewer than two clusters."""
    _filled(given)
    known = [item for item in given if SCORE in item]
    return standard_error([item[SCORE] for item in known], [item[CLUSTER] for item in known])


def opened(task: str, setting: Settings, keep: int | None = None) -> Source:
    """Open the dataset of a task, with the rows that the task's settings select."""
    benchmark, wanted = registry.benchmark(task), registry.dataset(task)
    if benchmark.judges and setting.judged:  # better to fail now than after an LVLM has run for hours
        benchmark.judges.find(setting.options)
    source = sources.open_source(setting.dataset, setting.images, wanted, keep)
    rows = benchmark.module("rows")
    if hasattr(rows, "wanted") and (choice := taken(rows.wanted, setting.options)):
        return source.only(lambda row: rows.wanted(rows.read(row, task), **choice))
    return source


def _open(task: str, prompt: str = "", given: Any = None) -> Any:
    try:
        setting = settings.read(task, given)
        source = opened(task, setting)
    except ValueError as error:
        log.error("%s: %s", task, error)  # lmms-eval itself would only report that it tried five times
        raise
    _opened[task] = setting, source
    asked = source.rows
    for name, value in marks(task, prompt).items():
        asked = asked.add_column(name, np.full(len(asked), value))
    return asked


def _added(benchmark: Benchmark, answer: Answer) -> dict[str, float]:
    """Return a response's values of the scores that are means, if no judge is needed; NaN if it cannot be scored."""
    if not averaged(benchmark):
        return {}
    task = answer.doc[TASK]
    try:
        _, (added,) = scoring.of_each(benchmark, [answer.doc], [answer.text], _opened[task][0].options)
    except Exception as error:  # whatever it is: the harness has not written the responses yet
        _complain(f"{task} is not scored: {reason(error)}")
        return dict.fromkeys(benchmark.means, math.nan)
    return added


def _filled(given: Sequence[Item]) -> Scored:
    """Give each item the value of the score that it is for, and return the result of the set."""
    result, each = _result([item.answer for item in given])
    for item, added in zip(given, each, strict=True):
        if item.name in added:
            item[SCORE] = added[item.name]
    return result, each


def _result(given: list[Answer]) -> Scored:
    """Return the result of a set; the last result of each task is cached."""
    task, prompt = given[0].doc[TASK], given[0].doc.get(PROMPT, "")
    with _scoring:
        known = _scored.get((task, prompt))
        if known is None or known[0] != given:
            known = _scored[task, prompt] = given, _compute(task, prompt, given)
        return known[1]


def _compute(task: str, prompt: str, given: Sequence[Answer]) -> Scored:
    setting, source = _opened[task]
    called = "_".join(filter(None, (task, prompt)))
    rows, texts = [answer.doc for answer in given], [answer.text for answer in given]
    # The file is written before a judge starts, so that it survives even if the process is killed.
    file = _keep(task, rows, texts, prompt)
    where = _where(task, setting, file, len(rows) < len(source.rows))
    score = partial(scoring.of_each, registry.benchmark(task), rows, texts, setting.options, prompt)
    result, each = judged(score, setting, called, where) or nothing(given)
    if result:
        if file:
            file.unlink(missing_ok=True)
        _tell(f"{called}: {result[SIGNATURE]}")
    return result, each


def _keep(
    task: str, rows: Sequence[Mapping[str, Any]], texts: Sequence[str], prompt: str = ""
) -> Path | None:
    """Write responses to a file, because a harness writes its samples only after all scores are computed."""
    key, asked = registry.dataset(task).key, {PROMPT: prompt} if prompt else {}
    lines = [
        json_line({**about(row, key), **asked, "response": text})
        for row, text in zip(rows, texts, strict=True)
    ]
    digest = hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    file = cache_folder() / "responses" / f"{task}-{digest}.jsonl"
    try:
        with new_file(file) as new:
            new.writelines(lines)
    except OSError as error:
        log.warning(
            "The responses of %s cannot be kept while they are scored: %s", task, one_line(error, 300)
        )
        return None
    return file


def judged(score: Callable[[], Scored], setting: Settings, called: str, where: str) -> Scored | None:
    """Score a set; if it cannot be judged, log this and return None."""
    if not setting.judged:
        log.warning("%s is not scored: its judge is a language model, and none is named. %s", called, where)
        return None
    try:
        return score()
    except Exception as error:  # whatever a judge raises, including that memory ran out
        log.error("%s is not scored: %s %s", called, reason(error), where)
        return None


def nothing(given: Sized) -> Scored:
    """Return an empty result, for a set that is not judged."""
    return {}, [{} for _ in range(len(given))]


@cache
def _complain(line: str) -> None:
    log.error("%s", line)


def _tell(line: str) -> None:
    """Log a line at a level that is shown: lmms-eval shows only warnings and errors of this log."""
    log.log(logging.INFO if log.hasHandlers() else logging.WARNING, "%s", line)


def reason(error: Exception) -> str:
    """Return an error as the log shows it; a foreign error is shown with its type, because its message may be empty."""
    if isinstance(error, ValueError | OSError):
        return one_line(error, 1000)
    return f"{type(error).__name__}: {one_line(error, 500)}"


def _where(task: str, setting: Settings, file: Path | None, partial: bool) -> str:
    if file is None:
        return (
            "The responses are kept only if the harness logs samples; to score those: halluscope score NAME "
            "--responses FILE --dataset DATASET"
        )
    return (
        f"The responses are kept in {file}; to score them: {settings.command(task, setting, file, partial)}"
    )
