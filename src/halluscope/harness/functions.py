"""The functions that the task files of lm-eval and lmms-eval name.

A document is a row of the dataset, without its image, plus the name of its task. A set is judged once, for whichever
score is asked for first.
"""

import hashlib
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL.Image import Image

from halluscope import registry, scoring
from halluscope.answering.answer import identifying
from halluscope.benchmark import SIGNATURE, Benchmark
from halluscope.errors import OutputError
from halluscope.files.writing import json_line, new_file
from halluscope.harness.evaluation import Evaluation, Scored, Settings, marks, reason, title
from halluscope.paths import cache_folder
from halluscope.responses.logs import TASK
from halluscope.responses.names import PROMPT
from halluscope.sanitize import one_line
from halluscope.stats.tallies import standard_error

log = logging.getLogger(__name__)

SPLIT = "test"

# Where lm-eval puts the image: before the prompt, as `halluscope answer` does
IMAGE = "<image>"

# The keys of an item for its value of a score, and for its cluster. lmms-eval prescribes the first name; the
# task file gives it the second as `cluster_key`.
SCORE = "score"
CLUSTER = "cluster"

# The suffix of a score's name for its standard error by clusters, as in lmms-eval
CLUSTERED = "_stderr_clustered"

Document = Mapping[str, Any]


class Item(dict[str, Any]):
    """A response to a document, for one score; a harness logs the item's content.

    For the principal score this identifies the document; for a score that is a mean it is the response's `CLUSTER` and
    its `SCORE`, which a judge fills in after the set is judged.
    """

    def __init__(self, name: str, doc: Document, text: str) -> None:
        super().__init__()
        self.name = name  # the score's
        self.doc = doc
        self.text = text


@dataclass(frozen=True)
class _Judged:
    """The responses of a set, and their scores."""

    docs: Sequence[Document]
    texts: Sequence[str]
    scored: Scored


# What is asked, and what was scored last, by the task's and the prompt's name
_evaluations: dict[tuple[str, str], Evaluation] = {}
_results: dict[tuple[str, str], _Judged] = {}


# Documents


def dataset(task: str, prompt: str = "", **metadata: Any) -> Any:
    """Return the documents of a task as a `DatasetDict` with one split, as lm-eval's `custom_dataset`."""
    from datasets import DatasetDict

    settings = metadata.get(title(task, prompt), metadata.get(task))
    return DatasetDict({SPLIT: _documents(task, prompt, settings)})


def documents(marker: Any) -> Any:
    """Return the documents of the task that the task's JSON file names, as lmms-eval's `process_docs`."""
    return _documents(marker[0][TASK], marker[0].get(PROMPT, ""))


def _documents(task: str, prompt: str, settings: Any = None) -> Any:
    try:
        evaluation = Evaluation.open(task, prompt, Settings.of(task, settings))
    except ValueError as error:
        log.error("%s: %s", task, error)  # lmms-eval itself would only report that it tried five times
        raise
    _evaluations[task, prompt] = evaluation
    rows = evaluation.source.rows
    for name, value in marks(task, prompt).items():
        rows = rows.add_column(name, np.full(len(rows), value))
    return rows


def _evaluation(doc: Document) -> Evaluation:
    return _evaluations[doc[TASK], doc.get(PROMPT, "")]


def images(doc: Document) -> list[Image]:
    """Return a list with a document's image, or [] if it has none; documents share image objects."""
    image = _evaluation(doc).source.image(doc)
    if image is None:
        return []
    return [image]


def prompt(doc: Document, _: Any = None) -> str:
    """Return what the LVLM is asked."""
    benchmark = registry.benchmark(doc[TASK])
    return benchmark.asked(doc, benchmark.named_prompt(doc.get(PROMPT)))


def marked_prompt(doc: Document) -> str:
    """Return what the LVLM is asked, with a mark in the image's place."""
    image_key = _evaluation(doc).source.key
    if doc[image_key] is None:
        return prompt(doc)
    return IMAGE + prompt(doc)


def target(doc: Document) -> str:
    """Return the right answer as text."""
    right = doc[registry.benchmark(doc[TASK]).target]
    if right is None:
        return ""
    if isinstance(right, str):
        return right
    return ", ".join(str(part) for part in right)


# Responses


def averaged(benchmark: Benchmark) -> tuple[str, ...]:
    """Return the scores that lm-eval may average itself: means over rows, in benchmarks that need no judge."""
    if benchmark.judges:
        return ()
    return benchmark.means


def items(doc: Document, results: Sequence[str]) -> dict[str, Item]:
    """Return the response to a document, as an item for each score of its task, as lmms-eval's `process_results`."""
    task = doc[TASK]
    benchmark = registry.benchmark(task)
    text = results[0]
    item_of_score = {name: Item(name, doc, text) for name in benchmark.scores}
    principal = item_of_score[benchmark.principal]
    principal.update(marks(task, doc.get(PROMPT, "")))
    principal.update(registry.dataset(task).identity(doc))
    cluster = scoring.clusters(benchmark, [doc])[0]
    for name in benchmark.means:
        item_of_score[name][CLUSTER] = cluster
    if averaged(benchmark):
        try:
            values = _evaluation(doc).scored([doc], [text]).values[0]
        except Exception as error:  # whatever it is: the harness has not written the responses yet
            _complain(f"{task} is not scored: {reason(error)}")
            values = dict.fromkeys(benchmark.means, math.nan)
        for name, value in values.items():
            item_of_score[name][SCORE] = value
    return item_of_score


def answers(doc: Document, results: Sequence[str]) -> dict[str, float | Item]:
    """Return `items` and the standard errors, with numbers for the scores that lm-eval averages (`process_results`)."""
    benchmark = registry.benchmark(doc[TASK])
    item_of_score = items(doc, results)
    answers: dict[str, float | Item] = dict(item_of_score)
    for name in averaged(benchmark):
        value = item_of_score[name].get(SCORE)
        if value is None:  # the response does not count
            del answers[name]
        else:
            answers[name] = value
    for name in benchmark.means:
        answers[f"{name}{CLUSTERED}"] = item_of_score[name]
    return answers


@cache
def _complain(line: str) -> None:
    """Log an error once."""
    log.error("%s", line)


# Scores


def score(whole: Sequence[Item]) -> float:
    """Return a score of a whole set; NaN if a judge fails, which is logged, because the harness still has to write."""
    return float(_result(whole).get(whole[0].name, math.nan))


def error(whole: Sequence[Item]) -> float:
    """Return the standard error, by clusters, of a score that is a mean; NaN for fewer than two clusters."""
    _result(whole)
    counted = [item for item in whole if SCORE in item]
    return standard_error([item[SCORE] for item in counted], [item[CLUSTER] for item in counted])


def _result(whole: Sequence[Item]) -> dict[str, Any]:
    """Return the result of a set, after giving each item its value; the last result of each task is cached."""
    docs = [item.doc for item in whole]
    texts = [item.text for item in whole]
    evaluation = _evaluation(docs[0])
    task = (evaluation.name, evaluation.prompt)
    judged = _results.get(task)
    if judged is None or judged.docs != docs or judged.texts != texts:
        judged = _Judged(docs, texts, _score(evaluation, docs, texts))
        _results[task] = judged
    for item, values in zip(whole, judged.scored.values, strict=True):
        if item.name in values:
            item[SCORE] = values[item.name]
    return judged.scored.result


def _score(evaluation: Evaluation, docs: Sequence[Document], texts: Sequence[str]) -> Scored:
    """Score responses, which are written to a file before: a harness writes its samples only after all scores."""
    lines = []
    for doc, text in zip(docs, texts, strict=True):
        line = identifying(doc, evaluation.source.dataset.key)
        if evaluation.prompt:
            line[PROMPT] = evaluation.prompt
        line["response"] = text
        lines.append(json_line(line))
    digest = hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    file = cache_folder() / "responses" / f"{evaluation.name}-{digest}.jsonl"
    try:
        with new_file(file) as new:
            new.writelines(lines)
    except (OSError, OutputError) as error:
        why = one_line(error, 300)
        log.warning("The responses of %s cannot be kept while they are scored: %s", evaluation.name, why)
        scored = evaluation.judged(docs, texts, "kept only if the harness logs samples", Path("SAMPLES"))
    else:
        scored = evaluation.judged(docs, texts, f"kept in {file}", file)
        if scored.result:
            file.unlink(missing_ok=True)
    if scored.result:
        # lmms-eval shows only warnings and errors of this log
        level = logging.INFO if log.hasHandlers() else logging.WARNING
        log.log(level, "%s: %s", evaluation.title, scored.result[SIGNATURE])
    return scored
