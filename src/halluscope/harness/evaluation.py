"""A dataset that a harness asks, with the user's settings, and how a harness scores its responses."""

import logging
import os
import shlex
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from halluscope import registry, scoring
from halluscope.answering import sources
from halluscope.answering.sources import Source
from halluscope.benchmark import Benchmark
from halluscope.files.opening import parse, read_text
from halluscope.options import check, taken
from halluscope.reading.datasets import Row
from halluscope.reading.datasets import Source as Written
from halluscope.responses.logs import TASK
from halluscope.responses.names import PROMPT
from halluscope.sanitize import one_line, short_repr

log = logging.getLogger(__name__)

# How each harness is told where the image files are
NAME_IMAGES = (
    "Build it with them, or name the folder that holds them: in Inspect -T images=FOLDER; in lm-eval --metadata "
    '\'{{"{name}": {{"images": "FOLDER"}}}}\'; in both lm-eval and lmms-eval the same in $HALLUSCOPE_TASKS.'
)

# The environment variable for settings: a JSON object of task -> settings, or the name of a file that holds one
TASKS = "HALLUSCOPE_TASKS"
EXAMPLE = '{"dataset": "datasets/NAME"}'


@dataclass(frozen=True)
class Settings:
    """The settings of a task."""

    dataset: str  # a folder or a Hub id
    images: str | None  # the folder of image files, if the dataset holds no images
    options: Mapping[str, Any]  # the options of the metric
    # whether the harness scores the responses; it does not if the judge must be a language model, and none is named
    judged: bool = True

    @classmethod
    def of(cls, task: str, in_task: Any = None) -> "Settings":
        """Return the settings of a task: those `in_task` first, then those of `TASKS`, then the defaults.

        A language model judges only if it is named, whatever the benchmark's own default.

        Raises:
            ValueError: if there is no such task or option, or a setting is of a wrong kind.
        """
        dataset = registry.dataset(task)
        benchmark = registry.benchmark(task)
        settings = _in_environment().get(task, {})
        if in_task:
            settings.update(_object(in_task, f"The setting {task}"))
        options_of_rows = set(benchmark.input_options).union(dataset.options)
        check(settings, (benchmark.keywords - options_of_rows) | {"dataset", "images"}, task)
        folder = _folder(settings, "dataset", task)
        images = _folder(settings, "images", task)
        options = dict(dataset.options)
        judged = True
        if benchmark.judges is not None:
            judge = benchmark.judges.option
            if benchmark.judges.rule:
                options[judge] = benchmark.judges.rule
            elif judge not in settings:
                judged = False
        options.update(dataset.harness)
        options.update(settings)
        return cls(folder or sources.where(task), images, options, judged)


def _in_environment() -> dict[str, dict[str, Any]]:
    """Return the settings of `TASKS`, by the names of the tasks."""
    text = os.environ.get(TASKS, "").strip()
    if not text:
        return {}
    if not text.startswith("{"):
        text = read_text(Path(text))
    content = parse(text, f"${TASKS}")
    settings = {}
    for name, in_task in _object(content, f"${TASKS}", f'{{"pope": {EXAMPLE}}}').items():
        settings[registry.dataset(name).name] = _object(in_task, f"${TASKS}, {name}")
    return settings


def _object(content: Any, where: str, example: str = EXAMPLE) -> dict[str, Any]:
    if not isinstance(content, Mapping):
        raise ValueError(f"{where} is {short_repr(content, 120)}; expected an object such as {example}.")
    return dict(content)


def _folder(settings: dict[str, Any], name: str, task: str) -> str | None:
    """Take a folder out of the settings."""
    folder = settings.pop(name, None)
    if folder is not None and not isinstance(folder, str):
        raise ValueError(f"{name} of {task} is {short_repr(folder)}; expected the name of a folder.")
    return folder


@dataclass(frozen=True)
class Scored:
    """The scores of responses."""

    result: dict[str, Any]  # the result of the whole set; {} if it is not scored
    values: list[dict[str, float]]  # per row, its values of the scores that are means

    @classmethod
    def nothing(cls, rows: Sized) -> "Scored":
        """Return what is known of rows that are not scored."""
        return cls({}, [{} for _ in range(len(rows))])


@dataclass(frozen=True)
class Evaluation:
    """A dataset that a harness asks."""

    name: str  # the name of the dataset, and of its task
    prompt: str  # the name of another prompt that is used; "" for the benchmark's own prompt
    setting: Settings
    source: Source  # its rows that the settings select, and their images

    @classmethod
    def open(cls, name: str, prompt: str, setting: Settings, keep: int | None = None) -> "Evaluation":
        """Open a dataset to ask about its rows; `keep` is how many images stay open, None for all.

        Raises:
            ValueError: if the dataset or its images cannot be read.
            NoImages: if it was built without images, and no folder is named.
            JudgeUnavailable: if there is no such judge.
        """
        benchmark = registry.benchmark(name)
        if benchmark.judges and setting.judged:  # better to fail now than after an LVLM has run for hours
            benchmark.judges.find(setting.options)
        advice = NAME_IMAGES.format(name=name)
        source = sources.open_source(setting.dataset, setting.images, registry.dataset(name), keep, advice)
        module = benchmark.module("rows")
        if hasattr(module, "wanted"):
            choice = taken(module.wanted, setting.options)
            if choice:
                source = source.only(lambda row: module.wanted(module.read_all([row], name)[0], **choice))
        return cls(name, prompt, setting, source)

    @property
    def benchmark(self) -> Benchmark:
        return self.source.benchmark

    @property
    def title(self) -> str:
        return title(self.name, self.prompt)

    @cached_property
    def rows(self) -> dict[str, Row]:
        """The rows by names that are made from their ids."""
        rows = {}
        for row in self.source.rows:
            identity = self.source.dataset.identity(row)
            rows[" ".join(str(value) for value in identity.values())] = row
        if len(rows) < len(self.source.rows):
            raise ValueError(
                f"{self.source.name} has {len(self.source.rows):,} rows and {len(rows):,} different ids "
                f"({', '.join(self.source.dataset.key)}); expected one id per row. Build it again, or name one config."
            )
        return rows

    def scored(self, rows: Sequence[Any], texts: Sequence[str]) -> Scored:
        """Score responses to rows."""
        result, values = scoring.of_each(self.benchmark, rows, texts, self.setting.options, self.prompt)
        return Scored(result, values)

    def judged(self, rows: Sequence[Any], texts: Sequence[str], where: str, file: Path) -> Scored:
        """Score a set; if it cannot be judged, log the command that scores a file of it, and return an empty result.

        Args:
            rows: the rows.
            texts: the response to each.
            where: where the responses are, in words.
            file: the file that holds them, for the command.
        """
        level = logging.WARNING
        why = "its judge is a language model, and none is named."
        if self.setting.judged:
            try:
                return self.scored(rows, texts)
            except Exception as error:  # whatever a judge raises, including that memory ran out
                level = logging.ERROR
                why = reason(error)
        command = self._command(file, len(rows))
        log.log(
            level,
            "%s",
            f"{self.title} is not scored: {why} The responses are {where}; to score them: {command}",
        )
        return Scored.nothing(rows)

    def _command(self, file: Path, count: int) -> str:
        """Return the command that scores a file of `count` responses."""
        dataset = self.source.dataset
        named = Written.of(self.setting.dataset)
        if named.config is None:
            named = replace(named, config=dataset.config)
        words = ["halluscope", "score", self.name, "--responses", str(file), "--dataset", str(named)]
        for name, value in self.setting.options.items():
            if name in dataset.options or value is None or value is False:
                continue
            words.append(f"--{name.replace('_', '-')}")
            if isinstance(value, list | tuple):
                words.extend(str(part) for part in value)
            elif value is not True:
                words.append(str(value))
        if count < len(self.source.rows):
            if self.benchmark.partial_ok:
                words.extend(["--limit", str(count)])
            else:
                words.append("--partial")
        return shlex.join(words)


def title(task: str, prompt: str) -> str:
    """Return the name of a task that asks with the prompt of a name; "" is the benchmark's own prompt."""
    if not prompt:
        return task
    return f"{task}_{prompt}"


def marks(task: str, prompt: str = "") -> dict[str, str]:
    """Return the marks that the documents of a task hold: the task's name, and the prompt's, if it has one."""
    marks = {TASK: task}
    if prompt:
        marks[PROMPT] = prompt
    return marks


def reason(error: Exception) -> str:
    """Return an error as the log shows it; a foreign error is shown with its type, because its message may be empty."""
    if isinstance(error, ValueError | OSError):
        return one_line(error, 1000)
    return f"{type(error).__name__}: {one_line(error, 500)}"
