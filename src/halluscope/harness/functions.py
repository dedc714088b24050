"""The functions that the task files of lm-eval and lmms-eval name.

A document is a row of the dataset, without its image, and the name of its task. Scoring is of a whole set: a document
gives its answer to each score, and the set is judged once, whichever score is asked for first.
"""

import json
import logging
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL.Image import Image

from halluscope import registry, scoring
from halluscope.answering import sources
from halluscope.answering.sources import Source
from halluscope.foreign import one_line
from halluscope.harness import kept, settings
from halluscope.harness.settings import Settings
from halluscope.options import taken
from halluscope.registry import SIGNATURE
from halluscope.responses.files import TASK

log = logging.getLogger(__name__)

SPLIT = "test"

IMAGE = "<image>"
"""Where lm-eval puts the image: before the prompt, as `halluscope answer` does."""


@dataclass(frozen=True)
class Answer:
    """What an LVLM said about a document."""

    doc: Mapping[str, Any]
    text: str


@dataclass(frozen=True)
class Item:
    """An answer, for one score. As text, which is what a harness logs, the one for the signature says whose it is:
    `halluscope.responses.samples` reads that."""

    score: str
    answer: Answer

    def __str__(self) -> str:
        doc = self.answer.doc
        if self.score != SIGNATURE:
            return "of the whole set"
        return json.dumps({TASK: doc[TASK]} | registry.dataset(doc[TASK]).identity(doc))


_opened: dict[str, tuple[Settings, Source]] = {}
_scored: dict[str, tuple[list[Answer], dict[str, Any]]] = {}
_scoring = threading.Lock()


def dataset(task: str, **metadata: Any) -> Any:
    """lm-eval's `custom_dataset`: the documents of a task, as a `DatasetDict` of one split.

    Args:
        task: its name.
        metadata: what lm-eval was given with --metadata: settings by task, such as
            {"throne_coco": {"judges": "lexical"}}; and much that is not ours.
    """
    from datasets import DatasetDict

    return DatasetDict({SPLIT: _open(task, metadata.get(task))})


def documents(marker: Any) -> Any:
    """lmms-eval's `process_docs`: the documents of the task that the file beside the task names."""
    return _open(marker[0][TASK])


def images(doc: Mapping[str, Any]) -> list[Image]:
    """The image that a document is about, which it shares with others; none for a question without one."""
    _, source = _opened[doc[TASK]]
    image = source.image(doc)
    return [] if image is None else [image]


def prompt(doc: Mapping[str, Any], _: Any = None) -> str:
    """What the LVLM is asked."""
    return registry.benchmark(doc[TASK]).asked(doc)


def marked_prompt(doc: Mapping[str, Any]) -> str:
    """What the LVLM is asked, with a mark where the image belongs."""
    _, source = _opened[doc[TASK]]
    return prompt(doc) if doc[source.key] is None else IMAGE + prompt(doc)


def target(doc: Mapping[str, Any]) -> str:
    """What is right."""
    right = doc[registry.benchmark(doc[TASK]).target]
    return right if isinstance(right, str) else ", ".join(map(str, right or ()))


def answers(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Item]:
    """The answer to a document, for each score of its task."""
    answer = Answer(doc, results[0])
    return {name: Item(name, answer) for name in (*registry.benchmark(doc[TASK]).scores, SIGNATURE)}


def score(items: Sequence[Item]) -> float | str:
    """A score of a whole set, or its signature.

    What cannot be scored is no reason to lose the answers, which a harness writes only afterwards: whatever a judge
    raises is logged as an error, with the file that keeps the answers and the command that scores it, and the score is
    NaN.
    """
    name, given = items[0].score, [item.answer for item in items]
    value = _result(given).get(name, math.nan)
    return value if isinstance(value, str) else float(value)


def _open(task: str, given: Any = None) -> Any:
    benchmark, wanted = registry.benchmark(task), registry.dataset(task)
    try:
        setting = settings.read(task, given)
        source = sources.open_source(setting.dataset, setting.images, wanted)
        if benchmark.judges:  # missing, it is better missed before an LVLM answers for hours
            benchmark.judges.find(setting.options)
    except ValueError as error:
        log.error("%s: %s", task, error)  # lmms-eval shows only that it tried five times
        raise
    rows = benchmark.module("rows")
    if hasattr(rows, "wanted") and (choice := taken(rows.wanted, setting.options)):
        source = source.only(lambda row: rows.wanted(rows.read(row, task), **choice))
    _opened[task] = setting, source
    return source.rows.add_column(TASK, np.full(len(source.rows), task))


def _result(given: list[Answer]) -> dict[str, Any]:
    """The result of a set; the last one of each task is kept."""
    task = given[0].doc[TASK]
    with _scoring:
        kept = _scored.get(task)
        if kept is None or kept[0] != given:
            kept = _scored[task] = given, _compute(task, given)
        return kept[1]


def _compute(task: str, given: Sequence[Answer]) -> dict[str, Any]:
    setting, source = _opened[task]
    rows, texts = [answer.doc for answer in given], [answer.text for answer in given]
    file = kept.keep(task, rows, texts)  # before a judge starts: a process that is killed leaves it too
    try:
        result = scoring.of_rows(registry.benchmark(task), rows, texts, setting.options)
    except Exception as error:  # whatever a judge raises, a lack of memory too
        partial = len(rows) < len(source.rows)
        log.error("%s is not scored: %s %s", task, _said(error), _where(task, setting, file, partial))
        return {SIGNATURE: "not scored"}
    if file:
        file.unlink(missing_ok=True)
    log.info("%s: %s", task, result[SIGNATURE])
    return result


def _said(error: Exception) -> str:
    """An error as the log shows it; one that is not ours with its type, which may be all that it says."""
    if isinstance(error, ValueError | OSError):
        return one_line(error, 1000)
    return f"{type(error).__name__}: {one_line(error, 500)}"


def _where(task: str, setting: Settings, file: Path | None, partial: bool) -> str:
    """Where the answers are, and what scores them."""
    if file is None:
        return "Its answers are kept only if the harness logs samples: halluscope score NAME --responses."
    return f"The answers are kept in {file}; to score them: {kept.command(task, setting, file, partial)}"
