"""The functions that the task files of lm-eval and lmms-eval name.

A document is a row of the dataset, without its image, and the name of its task. Scoring is of a whole set: a document
gives its answer to each figure, and the set is judged once, whichever figure is asked for first.
"""

import json
import logging
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL.Image import Image

from halluscope.metrics.hallusionbench import PROTOCOLS
from halluscope.tasks import benchmarks, settings, sources
from halluscope.tasks.benchmarks import SIGNATURE
from halluscope.tasks.settings import Settings
from halluscope.tasks.sources import Source

log = logging.getLogger(__name__)

TASK = "task"
"""The column with the name of the task."""

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
    """An answer, for one figure. As text, which is what a harness logs, the one for the signature says whose it is:
    `halluscope.records.samples` reads that."""

    figure: str
    answer: Answer

    def __str__(self) -> str:
        doc = self.answer.doc
        if self.figure != SIGNATURE:
            return "of the whole set"
        return json.dumps({TASK: doc[TASK]} | benchmarks.named(doc[TASK]).identity(doc))


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
    return benchmarks.named(doc[TASK]).asked(doc)


def marked_prompt(doc: Mapping[str, Any]) -> str:
    """What the LVLM is asked, with a mark where the image belongs."""
    _, source = _opened[doc[TASK]]
    return prompt(doc) if doc[source.key] is None else IMAGE + prompt(doc)


def target(doc: Mapping[str, Any]) -> str:
    """What is right."""
    right = doc[benchmarks.named(doc[TASK]).target]
    return right if isinstance(right, str) else ", ".join(right)


def answers(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Item]:
    """The answer to a document, for each figure of its task."""
    answer = Answer(doc, results[0])
    return {figure: Item(figure, answer) for figure in benchmarks.named(doc[TASK]).figures}


def score(items: Sequence[Item]) -> float | str:
    """A figure of a whole set, or its signature.

    What cannot be scored is no reason to lose the answers, which a harness writes only afterwards: it is logged as an
    error, and the figure is NaN.
    """
    figure, given = items[0].figure, [item.answer for item in items]
    value = _result(given).get(figure, math.nan)
    return value if isinstance(value, str) else float(value)


def _open(task: str, given: Any = None) -> Any:
    benchmark = benchmarks.named(task)
    try:
        setting = settings.read(benchmark, given)
        source = sources.open_source(setting.dataset, setting.images, benchmark)
        benchmark.find_judge(setting.options)  # missing, it is better missed before an LVLM answers for hours
    except ValueError as error:
        log.error("%s: %s", task, error)  # lmms-eval shows only that it tried five times
        raise
    protocol = setting.options.get("protocol")
    if protocol in PROTOCOLS and PROTOCOLS[protocol].visual_only:
        source = source.with_images_only()
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
    setting, _ = _opened[task]
    rows, texts = [answer.doc for answer in given], [answer.text for answer in given]
    try:
        result = benchmarks.named(task).score(rows, texts, **setting.options)
    except (ValueError, OSError) as error:
        log.error(
            "%s is not scored: %s Its answers are kept if the harness logs samples: halluscope score NAME --samples.",
            task,
            error,
        )
        return {SIGNATURE: "not scored"}
    log.info("%s: %s", task, result[SIGNATURE])
    return result
