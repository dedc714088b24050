"""Reads a user's settings for a task: its dataset, its folder of images, and the metric's options."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.answering import sources
from halluscope.files.opening import parse, read_text
from halluscope.foreign import brief
from halluscope.options import check

TASKS = "HALLUSCOPE_TASKS"
"""The environment variable for settings: a JSON object of task -> settings, or the name of a file that holds one."""


@dataclass(frozen=True)
class Settings:
    """The settings of a task.

    Attributes:
        dataset: a folder or a Hub id.
        images: the folder of image files, if the dataset holds no images.
        options: the options of the metric.
        judged: whether the harness scores the responses; it does not if the judge must be a language model, and the
            user names none.
    """

    dataset: str
    images: str | None
    options: Mapping[str, Any]
    judged: bool = True


def read(task: str, given: Any = None) -> Settings:
    """Return the settings of a task: those in `given` first, then those of `TASKS`, then the defaults.

    By default the judge is one that needs no language model, whatever the benchmark's own default; a language model is
    loaded only if it is named.

    Args:
        task: the name of a dataset.
        given: settings such as {"dataset": "/data/throne_coco", "judges": "lexical"}.

    Raises:
        ValueError: for settings in another form, an unknown task or option, or a dataset that is not found.
    """
    dataset, benchmark = registry.dataset(task), registry.benchmark(task)
    merged = _of_environment().get(task, {}) | _checked(given or {}, f"The setting {task}")
    options = {name: value for name, value in merged.items() if name not in ("dataset", "images")}
    known = benchmark.keywords - {*benchmark.given, *dataset.options}
    check(options, known | {"dataset", "images"}, task)
    for name in ("dataset", "images"):
        if not isinstance(merged.get(name), str | None):
            raise ValueError(f"{name} of {task} is {brief(merged[name])}; expected the name of a folder.")
    judges = benchmark.judges
    rule = {judges.option: judges.rule} if judges and judges.rule else {}
    judged = not judges or judges.option in {**rule, **options}
    options = {**dataset.options, **rule, **dataset.harness, **options}
    return Settings(merged.get("dataset") or sources.where(task), merged.get("images"), options, judged)


def _of_environment() -> dict[str, dict[str, Any]]:
    text = os.environ.get(TASKS, "").strip()
    if not text:
        return {}
    given = _checked(parse(text if text.startswith("{") else read_text(Path(text)), f"${TASKS}"), f"${TASKS}")
    return {registry.dataset(name).name: _checked(of, f"${TASKS}, {name}") for name, of in given.items()}


def _checked(given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError(
            f"{where} is {brief(given, 120)}; expected an object such as "
            '{"dataset": "datasets/throne_coco", "judges": "lexical"}.'
        )
    return dict(given)
