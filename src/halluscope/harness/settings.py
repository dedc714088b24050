"""Reads a user's settings for a task: its dataset, its folder of images, and the metric's options."""

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.answering import sources
from halluscope.files.opening import parse, read_text
from halluscope.options import check
from halluscope.reading.datasets import Source
from halluscope.sanitize import short_repr

# The environment variable for settings: a JSON object of task -> settings, or the name of a file that holds
# one
TASKS = "HALLUSCOPE_TASKS"


@dataclass(frozen=True)
class Settings:
    """The settings of a task."""

    dataset: str  # a folder or a Hub id
    images: str | None  # the folder of image files, if the dataset holds no images
    options: Mapping[str, Any]  # the options of the metric
    # whether the harness scores the responses; it does not if the judge must be a language model, and the
    # user names none
    judged: bool = True


def read(task: str, given: Any = None) -> Settings:
    """Return the settings of a task: those in `given` first, then those of `TASKS`, then the defaults.

    A language model judges only if it is named, whatever the benchmark's own default.
    """
    dataset, benchmark = registry.dataset(task), registry.benchmark(task)
    merged = _of_environment().get(task, {}) | _checked(given or {}, f"The setting {task}", _example(task))
    options = {name: value for name, value in merged.items() if name not in ("dataset", "images")}
    known = benchmark.keywords - {*benchmark.input_options, *dataset.options}
    check(options, known | {"dataset", "images"}, task)
    for name in ("dataset", "images"):
        if not isinstance(merged.get(name), str | None):
            raise ValueError(
                f"{name} of {task} is {short_repr(merged[name])}; expected the name of a folder."
            )
    judges = benchmark.judges
    rule = {judges.option: judges.rule} if judges and judges.rule else {}
    judged = not judges or judges.option in {**rule, **options}
    options = {**dataset.options, **rule, **dataset.harness, **options}
    return Settings(merged.get("dataset") or sources.where(task), merged.get("images"), options, judged)


def _of_environment() -> dict[str, dict[str, Any]]:
    text = os.environ.get(TASKS, "").strip()
    if not text:
        return {}
    given = parse(text if text.startswith("{") else read_text(Path(text)), f"${TASKS}")
    return {
        registry.dataset(name).name: _checked(of, f"${TASKS}, {name}", _example(name))
        for name, of in _checked(given, f"${TASKS}", {"pope": _example("pope")}).items()
    }


def _example(name: str) -> dict[str, str]:
    return {"dataset": f"datasets/{name}"}


def _checked(given: Any, where: str, example: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError(
            f"{where} is {short_repr(given, 120)}; expected an object such as {json.dumps(example)}."
        )
    return dict(given)


def command(task: str, setting: Settings, responses: Path, partial: bool) -> str:
    """Return the command that scores kept responses as the harness would have scored them."""
    dataset, benchmark = registry.dataset(task), registry.benchmark(task)
    words = [
        "halluscope",
        "score",
        task,
        "--responses",
        str(responses),
        "--dataset",
        _written(setting, dataset.config),
    ]
    for name, value in setting.options.items():
        if name not in dataset.options:
            words += _option(name, value)
    if partial and not benchmark.partial_ok:
        words.append("--partial")
    return shlex.join(words)


def _written(setting: Settings, config: str) -> str:
    source = Source.of(setting.dataset)
    source = replace(source, config=source.config or config or None)
    marked = ((":", source.config), ("@", source.split))
    return source.name + "".join(f"{mark}{name}" for mark, name in marked if name)


def _option(name: str, value: Any) -> list[str]:
    """Return an option as words of a command line; a flag is one word, and an option that is not set no word."""
    if value is None or value is False:
        return []
    values = [] if value is True else value if isinstance(value, list | tuple) else [value]
    return [f"--{name.replace('_', '-')}", *map(str, values)]
