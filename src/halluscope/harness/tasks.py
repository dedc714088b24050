"""The task files of lm-eval and lmms-eval, made from the benchmarks' records.

The prompt, the image before it, greedy decoding and the length are part of a task's version.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.errors import OutputError
from halluscope.files.writing import new_file
from halluscope.paths import cache_folder
from halluscope.registry import HIGHER, SIGNATURE, Benchmark, Dataset
from halluscope.responses.files import TASK
from halluscope.version import __version__

HARNESSES = ("lm-eval", "lmms-eval")
FUNCTIONS = "halluscope.harness.functions"


def write(harness: str, folder: Path | None = None) -> Path:
    """Write a harness' task files, one per dataset, where they are not there already; nobody else's are replaced.

    Args:
        harness: "lm-eval" or "lmms-eval".
        folder: where to; by default a folder of this version in the user's cache.

    Returns:
        The folder, for `--include_path`.

    Raises:
        ValueError: for another harness.
        OutputError: if a file in `folder` has the name of a task file, and says something else.
    """
    if harness not in HARNESSES:
        raise ValueError(f"There is no harness {harness!r:.80}; expected {' or '.join(HARNESSES)}.")
    short = harness.replace("-", "_")
    own = cache_folder() / "tasks" / __version__ / short
    folder = folder or own
    texts = {
        folder / name: text
        for benchmark in registry.benchmarks()
        for dataset in benchmark.datasets
        for name, text in files(short, benchmark, dataset).items()
    }
    missing = [file for file, text in texts.items() if not _says(file, text)]
    for file in missing:
        if folder != own and os.path.lexists(file):
            raise OutputError(
                f"{file} is there already, and is not this task file; remove it, or name another folder."
            )
    for file in missing:
        with new_file(file) as new:
            new.write(texts[file])
    return folder


def _says(file: Path, text: str) -> bool:
    """Whether there is such a file with this text."""
    return file.is_file() and file.read_bytes() == text.encode()


def files(harness: str, benchmark: Benchmark, dataset: Dataset) -> dict[str, str]:
    """The files of one task by name: a task as YAML, and what else it needs."""
    task = {"lm_eval": _lm_eval, "lmms_eval": _lmms_eval}[harness](dataset)
    task["metric_list"] = [
        {"metric": name, "aggregation": _function("score"), "higher_is_better": _better(benchmark, name)}
        for name in (*benchmark.scores, SIGNATURE)
    ]
    length = {"lm_eval": "max_gen_toks", "lmms_eval": "max_new_tokens"}[harness]
    greedy = {} if harness == "lm_eval" else {"temperature": 0}
    task["generation_kwargs"] = {"until": [], "do_sample": False, **greedy, length: benchmark.max_new_tokens}
    task["metadata"] = {"version": 1.0}
    found = {f"{dataset.name}.yaml": _yaml(task)}
    if harness == "lmms_eval":  # it loads a file that only names the task; `process_docs` gives the rows
        found[f"{dataset.name}.json"] = json.dumps({TASK: dataset.name}) + "\n"
    return found


def _lm_eval(dataset: Dataset) -> dict[str, Any]:
    return {
        "task": dataset.harness_task.get("lm_eval", dataset.name),
        "custom_dataset": _function("dataset"),
        "dataset_kwargs": {"task": dataset.name},
        "test_split": "test",
        "output_type": "generate_until",
        "num_fewshot": 0,
        "fewshot_config": {"samples": []},  # lm-eval would copy all documents, to draw examples from
        "doc_to_text": _function("marked_prompt"),
        "doc_to_image": _function("images"),
        "doc_to_target": _function("target"),
        "process_results": _function("answers"),
    }


def _lmms_eval(dataset: Dataset) -> dict[str, Any]:
    return {
        "task": dataset.harness_task.get("lmms_eval", dataset.name),
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": f"{dataset.name}.json"}},
        "test_split": "test",
        "process_docs": _function("documents"),
        "output_type": "generate_until",
        "num_fewshot": 0,
        "doc_to_text": _function("prompt"),
        "doc_to_visual": _function("images"),
        "doc_to_target": _function("target"),
        "process_results": _function("answers"),
    }


class _Function(str):
    """A function that a task names."""


def _function(name: str) -> _Function:
    return _Function(f"{FUNCTIONS}.{name}")


def _better(benchmark: Benchmark, score: str) -> bool | None:
    direction = benchmark.scores.get(score)
    return None if direction is None else direction == HIGHER


def _yaml(task: Mapping[str, Any]) -> str:
    """A task as YAML, which is JSON but for the functions: a key a line."""
    return "".join(f"{key}: {_value(value)}\n" for key, value in task.items())


def _value(value: Any) -> str:
    if isinstance(value, _Function):
        return f"!function {value}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)}: {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)
