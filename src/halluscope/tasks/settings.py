"""What a user sets for a task: its dataset, its folder of images, and the metric's options."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.records.files import parse, read_text
from halluscope.tasks import benchmarks, sources
from halluscope.tasks.benchmarks import Benchmark

TASKS = "HALLUSCOPE_TASKS"
"""The variable that holds settings: JSON, or a JSON file's name, of task -> settings."""


@dataclass(frozen=True)
class Settings:
    """What holds for a task.

    Attributes:
        dataset: a folder or a Hub id.
        images: the folder of image files, if the dataset has none.
        options: of the metric.
    """

    dataset: str
    images: str | None
    options: Mapping[str, Any]


def read(benchmark: Benchmark, given: Any = None) -> Settings:
    """The settings of a task: what is given, what `TASKS` says, and the defaults, in this order.

    Args:
        benchmark: the task's.
        given: such as {"dataset": "/data/throne_coco", "judges": "lexical"}.

    Raises:
        ValueError: for what is not of this form, an unknown task or option, or a dataset that is nowhere.
    """
    merged = _of_environment().get(benchmark.name, {}) | _checked(
        given or {}, f"The setting {benchmark.name}"
    )
    options = {name: value for name, value in merged.items() if name not in ("dataset", "images")}
    benchmark.check_options(options)
    if benchmark.name == "hallusionbench":
        options = {"protocol": VISUAL} | options
    return Settings(merged.get("dataset") or sources.where(benchmark.name), merged.get("images"), options)


VISUAL = "lmms-eval"
"""How harnesses count HallusionBench unless they are told otherwise: without the 178 questions that have no image.
lm-eval's `hf-multimodal` fails on a batch without images."""


def _of_environment() -> dict[str, dict[str, Any]]:
    text = os.environ.get(TASKS, "").strip()
    if not text:
        return {}
    given = _checked(parse(text if text.startswith("{") else read_text(Path(text)), f"${TASKS}"), f"${TASKS}")
    return {benchmarks.named(name).name: _checked(of, f"${TASKS}, {name}") for name, of in given.items()}


def _checked(given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError(
            f"{where} is {json.dumps(given, default=str)[:120]}; expected an object such as "
            '{"dataset": "datasets/throne_coco", "judges": "lexical"}.'
        )
    return dict(given)
