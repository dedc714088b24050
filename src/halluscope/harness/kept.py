"""Keeps responses in a file while they are scored: a harness writes its samples only after all scores are computed."""

import hashlib
import logging
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.answering.answer import about
from halluscope.files.writing import json_line, new_file
from halluscope.foreign import one_line
from halluscope.harness.settings import Settings
from halluscope.paths import cache_folder
from halluscope.reading.rows import Source as Written
from halluscope.responses.files import PROMPT

log = logging.getLogger(__name__)


def keep(task: str, rows: Sequence[Mapping[str, Any]], texts: Sequence[str], prompt: str = "") -> Path | None:
    """Write responses to a file of JSON lines in the user's cache, which `command` scores.

    Args:
        task: the name of a dataset.
        rows: the rows of the dataset, one per response.
        texts: the responses.
        prompt: the name of the prompt that was asked, if it has one.

    Returns:
        The file; None if it cannot be written, which is logged and does not stop the scoring.
    """
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


def command(task: str, setting: Settings, responses: Path, partial: bool) -> str:
    """Return the command that scores kept responses as the harness would have scored them.

    Args:
        task: the name of a dataset.
        setting: the task's settings.
        responses: the file of responses.
        partial: whether some rows of the dataset have no response.
    """
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
    if partial and not benchmark.chooses:
        words.append("--partial")
    return shlex.join(words)


def _written(setting: Settings, config: str) -> str:
    """Return the dataset and its config as the command line takes them."""
    source = Written.of(setting.dataset)
    source = replace(source, config=source.config or config or None)
    marked = ((":", source.config), ("@", source.split))
    return source.name + "".join(f"{mark}{name}" for mark, name in marked if name)


def _option(name: str, value: Any) -> list[str]:
    """Return an option as words of a command line; a flag is one word, and an option that is not set no word."""
    if value is None or value is False:
        return []
    values = [] if value is True else value if isinstance(value, list | tuple) else [value]
    return [f"--{name.replace('_', '-')}", *map(str, values)]
