"""The functions that the task files of lm-eval and lmms-eval name.

A document is a row of the dataset, without its image, and the name of its task. Scoring is of a whole set: a document
gives its answer to each score, and the set is judged once, whichever score is asked for first. What a document adds to
a score that is a mean stands in its answer too, so that the harness has standard errors.
"""

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
from halluscope.answering.sources import Source
from halluscope.foreign import one_line
from halluscope.harness import kept, settings
from halluscope.harness.settings import Settings
from halluscope.options import taken
from halluscope.registry import SIGNATURE, Benchmark
from halluscope.responses.files import PROMPT, TASK
from halluscope.stats.clustered import standard_error

log = logging.getLogger(__name__)

SPLIT = "test"

IMAGE = "<image>"
"""Where lm-eval puts the image: before the prompt, as `halluscope answer` does."""

SCORE, CLUSTER = "score", "cluster"
"""Where an answer holds what it adds to a score, and what it shares with those that it depends on. The first is
lmms-eval's name for it; the second is told to it as `cluster_key`."""

CLUSTERED = "_stderr_clustered"
"""What stands behind a score's name for its standard error by clusters, as lmms-eval has it."""


@dataclass(frozen=True)
class Answer:
    """What an LVLM said about a document."""

    doc: Mapping[str, Any]
    text: str


class Item(dict[str, Any]):
    """An answer, for one score; what it holds is what a harness logs.

    For the principal score that is whose answer it is (`halluscope.responses.files` reads that). For a score that is a
    mean it is the answer's `CLUSTER`, and what it adds as `SCORE`: from the start where no judge is needed, else once
    the set is judged.
    """

    def __init__(self, name: str, answer: Answer) -> None:
        super().__init__()
        self.name, self.answer = name, answer


Scored = tuple[dict[str, Any], list[dict[str, float]]]
"""A result, and what each row adds to the scores that are means."""

_opened: dict[str, tuple[Settings, Source]] = {}
_scored: dict[tuple[str, str], tuple[list[Answer], Scored]] = {}
_scoring = threading.Lock()


def dataset(task: str, prompt: str = "", **metadata: Any) -> Any:
    """lm-eval's `custom_dataset`: the documents of a task, as a `DatasetDict` of one split.

    Args:
        task: the name of a dataset.
        prompt: the name of what is asked instead of the benchmark's own prompt, if anything.
        metadata: what lm-eval was given with --metadata: settings by dataset, such as
            {"throne_coco": {"judges": "flan-t5"}}; and much that is not ours.
    """
    from datasets import DatasetDict

    return DatasetDict({SPLIT: _open(task, prompt, metadata.get(task))})


def documents(marker: Any) -> Any:
    """lmms-eval's `process_docs`: the documents of the task that the file beside the task names."""
    return _open(marker[0][TASK], marker[0].get(PROMPT, ""))


def images(doc: Mapping[str, Any]) -> list[Image]:
    """The image that a document is about, which it shares with others; none for a question without one."""
    _, source = _opened[doc[TASK]]
    image = source.image(doc)
    return [] if image is None else [image]


def prompt(doc: Mapping[str, Any], _: Any = None) -> str:
    """What the LVLM is asked."""
    benchmark = registry.benchmark(doc[TASK])
    return benchmark.asked(doc, benchmark.named_prompt(doc.get(PROMPT)))


def marked_prompt(doc: Mapping[str, Any]) -> str:
    """What the LVLM is asked, with a mark where the image belongs."""
    _, source = _opened[doc[TASK]]
    return prompt(doc) if doc[source.key] is None else IMAGE + prompt(doc)


def target(doc: Mapping[str, Any]) -> str:
    """What is right."""
    right = doc[registry.benchmark(doc[TASK]).target]
    return right if isinstance(right, str) else ", ".join(map(str, right or ()))


def marks(task: str, prompt: str = "") -> dict[str, str]:
    """What the documents of a task hold of it: its name, and that of its prompt, if it has one."""
    return {TASK: task} | ({PROMPT: prompt} if prompt else {})


def marks_of(doc: Mapping[str, Any]) -> dict[str, str]:
    """The marks that a document holds."""
    return marks(doc[TASK], doc.get(PROMPT, ""))


def averaged(benchmark: Benchmark) -> tuple[str, ...]:
    """The scores that lm-eval may average itself: means of what each row adds, which no judge is needed for."""
    return () if benchmark.judges else benchmark.means


def items(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Item]:
    """lmms-eval's `process_results`: the answer to a document, for each score of its task."""
    benchmark, answer = registry.benchmark(doc[TASK]), Answer(doc, results[0])
    each = {name: Item(name, answer) for name in benchmark.scores}
    each[benchmark.principal].update(marks_of(doc) | registry.dataset(doc[TASK]).identity(doc))
    (cluster,) = scoring.clusters(benchmark, [doc])
    for name in benchmark.means:
        each[name][CLUSTER] = cluster
    for name, added in _added(benchmark, answer).items():
        each[name][SCORE] = added
    return each


def answers(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float | Item]:
    """lm-eval's `process_results`: the answer to a document, for each score and standard error of its task.

    Of a score that lm-eval averages it is a number; a document that has no part in the score has none.
    """
    benchmark, each = registry.benchmark(doc[TASK]), items(doc, results)
    errors = {f"{name}{CLUSTERED}": each[name] for name in benchmark.means}
    numbers = {name: each[name].get(SCORE) for name in averaged(benchmark)}
    return {name: value for name, value in {**each, **numbers, **errors}.items() if value is not None}


def score(given: Sequence[Item]) -> float:
    """A score of a whole set.

    What cannot be scored is no reason to lose the answers, which a harness writes only afterwards: whatever a judge
    raises is logged as an error, with the file that keeps the answers and the command that scores it, and the score is
    NaN.
    """
    name, (result, _) = given[0].name, _filled(given)
    return float(result.get(name, math.nan))


def error(given: Sequence[Item]) -> float:
    """The standard error of a score that is a mean, by clusters; NaN for fewer than two of them."""
    _filled(given)
    known = [item for item in given if SCORE in item]
    return standard_error([item[SCORE] for item in known], [item[CLUSTER] for item in known])


def opened(task: str, setting: Settings, keep: int | None = None) -> Source:
    """The dataset of a task: the rows that its settings want.

    Args:
        task: the name of a dataset.
        setting: what holds for it.
        keep: how many images stay open; None for all.

    Raises:
        ValueError: if it cannot be opened, or a judge that is named is not to be had.
    """
    benchmark, wanted = registry.benchmark(task), registry.dataset(task)
    if benchmark.judges and setting.judged:  # missing, it is better missed before an LVLM answers for hours
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
        log.error("%s: %s", task, error)  # lmms-eval shows only that it tried five times
        raise
    _opened[task] = setting, source
    asked = source.rows
    for name, value in marks(task, prompt).items():
        asked = asked.add_column(name, np.full(len(asked), value))
    return asked


def _added(benchmark: Benchmark, answer: Answer) -> dict[str, float]:
    """What an answer adds to the scores that are means, where no judge is needed for it; NaN if it cannot be scored."""
    if not averaged(benchmark):
        return {}
    task = answer.doc[TASK]
    try:
        _, (added,) = scoring.of_each(benchmark, [answer.doc], [answer.text], _opened[task][0].options)
    except Exception as error:  # whatever it is, a harness has not yet written what the LVLM said
        _complain(f"{task} is not scored: {reason(error)}")
        return dict.fromkeys(benchmark.means, math.nan)
    return added


def _filled(given: Sequence[Item]) -> Scored:
    """The result of a set, and its items with what each of them adds."""
    result, each = _result([item.answer for item in given])
    for item, added in zip(given, each, strict=True):
        if item.name in added:
            item[SCORE] = added[item.name]
    return result, each


def _result(given: list[Answer]) -> Scored:
    """The result of a set; the last one of each task is kept."""
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
    # Before a judge starts: a process that is killed leaves the file too.
    file = kept.keep(task, rows, texts, prompt)
    where = _where(task, setting, file, len(rows) < len(source.rows))
    score = partial(scoring.of_each, registry.benchmark(task), rows, texts, setting.options, prompt)
    result, each = judged(score, setting, called, where) or nothing(given)
    if result:
        if file:
            file.unlink(missing_ok=True)
        _tell(f"{called}: {result[SIGNATURE]}")
    return result, each


def judged(score: Callable[[], Scored], setting: Settings, called: str, where: str) -> Scored | None:
    """Score a set; None if it cannot be judged, which is logged.

    Args:
        score: does it.
        setting: of the task.
        called: what is scored.
        where: its responses are, and what scores them later, for the log.
    """
    if not setting.judged:
        log.warning("%s is not scored: a language model judges it, and none is named. %s", called, where)
        return None
    try:
        return score()
    except Exception as error:  # whatever a judge raises, a lack of memory too
        log.error("%s is not scored: %s %s", called, reason(error), where)
        return None


def nothing(given: Sized) -> Scored:
    """What is found where nobody judges."""
    return {}, [{} for _ in range(len(given))]


@cache
def _complain(line: str) -> None:
    """Log an error, once."""
    log.error("%s", line)


def _tell(line: str) -> None:
    """Log a line where it is seen: lmms-eval shows of this log only what is a warning at least."""
    log.log(logging.INFO if log.hasHandlers() else logging.WARNING, "%s", line)


def reason(error: Exception) -> str:
    """An error as the log shows it; one that is not ours with its type, which may be all that it says."""
    if isinstance(error, ValueError | OSError):
        return one_line(error, 1000)
    return f"{type(error).__name__}: {one_line(error, 500)}"


def _where(task: str, setting: Settings, file: Path | None, partial: bool) -> str:
    """Where the answers are, and what scores them."""
    if file is None:
        return "Its answers are kept only if the harness logs samples: halluscope score NAME --responses."
    return f"The answers are kept in {file}; to score them: {kept.command(task, setting, file, partial)}"
