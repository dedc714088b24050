"""A user's settings for a task, and the functions that the task files of lm-eval and lmms-eval name.

A document is a row of the dataset, without its image, plus the name of its task. A set is judged once, for whichever
score is asked for first.
"""

import hashlib
import logging
import math
import os
import shlex
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from PIL.Image import Image

from halluscope import registry, scoring
from halluscope.answering import sources
from halluscope.answering.answer import about
from halluscope.answering.sources import Source
from halluscope.benchmark import SIGNATURE, Benchmark
from halluscope.errors import OutputError
from halluscope.files.opening import parse, read_text
from halluscope.files.writing import json_line, new_file
from halluscope.options import check, taken
from halluscope.paths import cache_folder
from halluscope.reading.datasets import Row
from halluscope.reading.datasets import Source as Written
from halluscope.responses.logs import TASK
from halluscope.responses.names import PROMPT
from halluscope.sanitize import one_line, short_repr
from halluscope.stats.tallies import standard_error

log = logging.getLogger(__name__)

# The environment variable for settings: a JSON object of task -> settings, or the name of a file that holds one
TASKS = "HALLUSCOPE_TASKS"
EXAMPLE = '{"dataset": "datasets/NAME"}'
SPLIT = "test"

# Where lm-eval puts the image: before the prompt, as `halluscope answer` does
IMAGE = "<image>"

# The keys of an item for its value of a score, and for its cluster. lmms-eval prescribes the first name; the
# task file gives it the second as `cluster_key`.
SCORE, CLUSTER = "score", "cluster"

# The suffix of a score's name for its standard error by clusters, as in lmms-eval
CLUSTERED = "_stderr_clustered"

Document = Mapping[str, Any]

# A result, and per row its values of the scores that are means
Scored = tuple[dict[str, Any], list[dict[str, float]]]


@dataclass(frozen=True)
class Settings:
    """The settings of a task."""

    dataset: str  # a folder or a Hub id
    images: str | None  # the folder of image files, if the dataset holds no images
    options: Mapping[str, Any]  # the options of the metric
    # whether the harness scores the responses; it does not if the judge must be a language model, and none is named
    judged: bool = True

    @classmethod
    def of(cls, task: str, own: Any = None) -> "Settings":
        """Return the settings of a task: its own first, then those of `TASKS`, then the defaults.

        A language model judges only if it is named, whatever the benchmark's own default.
        """
        dataset, benchmark = registry.dataset(task), registry.benchmark(task)
        options = _of_environment().get(task, {}) | _object(own or {}, f"The setting {task}")
        known = benchmark.keywords - {*benchmark.input_options, *dataset.options}
        check(options, known | {"dataset", "images"}, task)
        folders = {name: options.pop(name, None) for name in ("dataset", "images")}
        for name, folder in folders.items():
            if not isinstance(folder, str | None):
                raise ValueError(f"{name} of {task} is {short_repr(folder)}; expected the name of a folder.")
        judges = benchmark.judges
        rule = {judges.option: judges.rule} if judges and judges.rule else {}
        judged = not judges or judges.option in {**rule, **options}
        options = {**dataset.options, **rule, **dataset.harness, **options}
        return cls(folders["dataset"] or sources.where(task), folders["images"], options, judged)


@dataclass(frozen=True)
class Evaluation:
    """A dataset that a harness asks."""

    name: str  # the name of the dataset, and of its task
    prompt: str  # the name of another prompt that is used; "" for the benchmark's own prompt
    setting: Settings
    source: Source  # its rows that the settings select, and their images

    @classmethod
    def open(cls, name: str, prompt: str, setting: Settings, keep: int | None = None) -> "Evaluation":
        benchmark = registry.benchmark(name)
        if benchmark.judges and setting.judged:  # better to fail now than after an LVLM has run for hours
            benchmark.judges.find(setting.options)
        source = sources.open_source(setting.dataset, setting.images, registry.dataset(name), keep)
        rows = benchmark.module("rows")
        if hasattr(rows, "wanted") and (choice := taken(rows.wanted, setting.options)):
            source = source.only(lambda row: rows.wanted(rows.read_all([row], name)[0], **choice))
        return cls(name, prompt, setting, source)

    @property
    def benchmark(self) -> Benchmark:
        return self.source.benchmark

    @property
    def title(self) -> str:
        return "_".join(marks(self.name, self.prompt).values())

    @cached_property
    def rows(self) -> dict[str, Row]:
        """The rows by names that are made from their ids."""
        rows = {
            " ".join(map(str, self.source.dataset.identity(row).values())): row for row in self.source.rows
        }
        if len(rows) < len(self.source.rows):
            raise ValueError(
                f"{self.source.name} has {len(self.source.rows):,} rows and {len(rows):,} different ids "
                f"({', '.join(self.source.dataset.key)}); expected one id per row. Build it again, or name one config."
            )
        return rows

    def scored(self, rows: Sequence[Any], texts: Sequence[str]) -> Scored:
        return scoring.of_each(self.benchmark, rows, texts, self.setting.options, self.prompt)

    def judged(self, rows: Sequence[Any], texts: Sequence[str], where: str, file: Path) -> Scored:
        """Score a set; if it cannot be judged, log the command that scores a file of it, and return an empty result."""
        level, why = logging.WARNING, "its judge is a language model, and none is named."
        if self.setting.judged:
            try:
                return self.scored(rows, texts)
            except Exception as error:  # whatever a judge raises, including that memory ran out
                level, why = logging.ERROR, reason(error)
        command = self._command(file, len(rows))
        log.log(
            level,
            "%s is not scored: %s The responses are %s; to score them: %s",
            self.title,
            why,
            where,
            command,
        )
        return nothing(rows)

    def _command(self, file: Path, count: int) -> str:
        dataset, named = self.source.dataset, Written.of(self.setting.dataset)
        written = str(replace(named, config=named.config or dataset.config))
        words = ["halluscope", "score", self.name, "--responses", str(file), "--dataset", written]
        for name, value in self.setting.options.items():
            if name not in dataset.options and value is not None and value is not False:
                values = [] if value is True else value if isinstance(value, list | tuple) else [value]
                words += [f"--{name.replace('_', '-')}", *map(str, values)]
        if count < len(self.source.rows):
            words += ["--limit", str(count)] if self.benchmark.partial_ok else ["--partial"]
        return shlex.join(words)


def _of_environment() -> dict[str, dict[str, Any]]:
    text = os.environ.get(TASKS, "").strip()
    if not text:
        return {}
    content = parse(text if text.startswith("{") else read_text(Path(text)), f"${TASKS}")
    each = _object(content, f"${TASKS}", f'{{"pope": {EXAMPLE}}}')
    return {registry.dataset(name).name: _object(own, f"${TASKS}, {name}") for name, own in each.items()}


def _object(content: Any, where: str, example: str = EXAMPLE) -> dict[str, Any]:
    if not isinstance(content, Mapping):
        raise ValueError(f"{where} is {short_repr(content, 120)}; expected an object such as {example}.")
    return dict(content)


class Item(dict[str, Any]):
    """A response to a document, for one score; a harness logs the item's content.

    For the principal score this identifies the document; for a score that is a mean it is the response's `CLUSTER` and
    its `SCORE`, which a judge fills in after the set is judged.
    """

    def __init__(self, name: str, doc: Document, text: str) -> None:
        super().__init__()
        self.name, self.response = name, (doc, text)


_evaluations: dict[tuple[str, str], Evaluation] = {}  # by the task's and the prompt's name
_results: dict[tuple[str, str], tuple[list[tuple[Document, str]], Scored]] = {}


def dataset(task: str, prompt: str = "", **metadata: Any) -> Any:
    """Return the documents of a task as a `DatasetDict` with one split, as lm-eval's `custom_dataset`."""
    from datasets import DatasetDict

    # of this task, such as pope_short
    own = metadata.get(f"{task}_{prompt}" if prompt else task, metadata.get(task))
    return DatasetDict({SPLIT: _documents(task, prompt, own)})


def documents(marker: Any) -> Any:
    """Return the documents of the task that the task's JSON file names, as lmms-eval's `process_docs`."""
    return _documents(marker[0][TASK], marker[0].get(PROMPT, ""))


def images(doc: Document) -> list[Image]:
    """Return a list with a document's image, or [] if it has none; documents share image objects."""
    image = _evaluation(doc).source.image(doc)
    return [] if image is None else [image]


def prompt(doc: Document, _: Any = None) -> str:
    """Return what the LVLM is asked."""
    benchmark = registry.benchmark(doc[TASK])
    return benchmark.asked(doc, benchmark.named_prompt(doc.get(PROMPT)))


def marked_prompt(doc: Document) -> str:
    """Return what the LVLM is asked, with a mark in the image's place."""
    return prompt(doc) if doc[_evaluation(doc).source.key] is None else IMAGE + prompt(doc)


def target(doc: Document) -> str:
    """Return the right answer as text."""
    right = doc[registry.benchmark(doc[TASK]).target]
    return right if isinstance(right, str) else ", ".join(map(str, right or ()))


def marks(task: str, prompt: str = "") -> dict[str, str]:
    """Return the marks that the documents of a task hold: the task's name, and the prompt's, if it has one."""
    return {TASK: task} | ({PROMPT: prompt} if prompt else {})


def averaged(benchmark: Benchmark) -> tuple[str, ...]:
    """Return the scores that lm-eval may average itself: means over rows, in benchmarks that need no judge."""
    return () if benchmark.judges else benchmark.means


def items(doc: Document, results: Sequence[str]) -> dict[str, Item]:
    """Return the response to a document, as an item for each score of its task, as lmms-eval's `process_results`."""
    task, benchmark = doc[TASK], registry.benchmark(doc[TASK])
    each = {name: Item(name, doc, results[0]) for name in benchmark.scores}
    each[benchmark.principal].update(marks(task, doc.get(PROMPT, "")) | registry.dataset(task).identity(doc))
    (cluster,) = scoring.clusters(benchmark, [doc])
    for name in benchmark.means:
        each[name][CLUSTER] = cluster
    if averaged(benchmark):
        try:
            _, (added,) = _evaluation(doc).scored([doc], results[:1])
        except Exception as error:  # whatever it is: the harness has not written the responses yet
            _complain(f"{task} is not scored: {reason(error)}")
            added = dict.fromkeys(benchmark.means, math.nan)
        for name, value in added.items():
            each[name][SCORE] = value
    return each


def answers(doc: Document, results: Sequence[str]) -> dict[str, float | Item]:
    """Return `items` and the standard errors, with numbers for the scores that lm-eval averages (`process_results`)."""
    benchmark, each = registry.benchmark(doc[TASK]), items(doc, results)
    errors = {f"{name}{CLUSTERED}": each[name] for name in benchmark.means}
    numbers = {name: each[name].get(SCORE) for name in averaged(benchmark)}
    return {name: value for name, value in {**each, **numbers, **errors}.items() if value is not None}


def score(whole: Sequence[Item]) -> float:
    """Return a score of a whole set; NaN if a judge fails, which is logged, because the harness still has to write."""
    return float(_result(whole).get(whole[0].name, math.nan))


def error(whole: Sequence[Item]) -> float:
    """Return the standard error, by clusters, of a score that is a mean; NaN for fewer than two clusters."""
    _result(whole)
    known = [item for item in whole if SCORE in item]
    return standard_error([item[SCORE] for item in known], [item[CLUSTER] for item in known])


def nothing(rows: Sized) -> Scored:
    return {}, [{} for _ in range(len(rows))]


def reason(error: Exception) -> str:
    """Return an error as the log shows it; a foreign error is shown with its type, because its message may be empty."""
    if isinstance(error, ValueError | OSError):
        return one_line(error, 1000)
    return f"{type(error).__name__}: {one_line(error, 500)}"


def _documents(task: str, prompt: str, own: Any = None) -> Any:
    try:
        evaluation = _evaluations[task, prompt] = Evaluation.open(task, prompt, Settings.of(task, own))
    except ValueError as error:
        log.error("%s: %s", task, error)  # lmms-eval itself would only report that it tried five times
        raise
    rows = evaluation.source.rows
    for name, value in marks(task, prompt).items():
        rows = rows.add_column(name, np.full(len(rows), value))
    return rows


def _evaluation(doc: Document) -> Evaluation:
    return _evaluations[doc[TASK], doc.get(PROMPT, "")]


@cache
def _complain(line: str) -> None:
    log.error("%s", line)


def _result(whole: Sequence[Item]) -> dict[str, Any]:
    """Return the result of a set, after giving each item its value; the last result of each task is cached."""
    each = [item.response for item in whole]
    evaluation = _evaluation(each[0][0])
    task = evaluation.name, evaluation.prompt
    if task not in _results or _results[task][0] != each:
        _results[task] = each, _compute(evaluation, *map(list, zip(*each, strict=True)))
    result, values = _results[task][1]
    for item, added in zip(whole, values, strict=True):
        if item.name in added:
            item[SCORE] = added[item.name]
    return result


def _compute(evaluation: Evaluation, rows: list[Any], texts: list[Any]) -> Scored:
    """Score responses, which are written to a file before: a harness writes its samples only after all scores."""
    lines = []
    for row, text in zip(rows, texts, strict=True):
        marked = {PROMPT: evaluation.prompt} if evaluation.prompt else {}
        lines.append(json_line({**about(row, evaluation.source.dataset.key), **marked, "response": text}))
    digest = hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    file = cache_folder() / "responses" / f"{evaluation.name}-{digest}.jsonl"
    where = f"kept in {file}"
    try:
        with new_file(file) as new:
            new.writelines(lines)
    except (OSError, OutputError) as error:
        why = one_line(error, 300)
        log.warning("The responses of %s cannot be kept while they are scored: %s", evaluation.name, why)
        where, file = "kept only if the harness logs samples", Path("SAMPLES")
    result, values = evaluation.judged(rows, texts, where, file)
    if result:
        if file.is_absolute():
            file.unlink(missing_ok=True)
        # lmms-eval shows only warnings and errors of this log
        level = logging.INFO if log.hasHandlers() else logging.WARNING
        log.log(level, "%s: %s", evaluation.title, result[SIGNATURE])
    return result, values
