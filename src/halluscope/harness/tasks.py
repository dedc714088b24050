"""Makes the task files of lm-eval and lmms-eval from the benchmarks' records: a folder per benchmark.

A task's version covers the prompt, the image before it, greedy decoding and the length.
"""

import json
import os
import re
from pathlib import Path
from string import Template
from typing import Any

from halluscope import registry
from halluscope.benchmark import HIGHER, Benchmark, Dataset
from halluscope.errors import OutputError
from halluscope.files.opening import read_text
from halluscope.files.writing import new_file
from halluscope.harness.evaluation import marks, title
from halluscope.harness.functions import CLUSTERED, averaged
from halluscope.paths import cache_folder
from halluscope.version import __version__

LM_EVAL = "lm-eval"
LMMS_EVAL = "lmms-eval"
HARNESSES = (LM_EVAL, LMMS_EVAL)

# The templates, named as the harnesses are in Python
TEMPLATES = Path(__file__).parent

# How a task file names a function
FUNCTION = "!function halluscope.harness.functions."


def write(harness: str, folder: Path | None = None) -> Path:
    """Write those of a harness' task files that are missing; other files are never replaced.

    Args:
        harness: one of `HARNESSES`.
        folder: where to write; None for a folder of this version in the user's cache, whose files may be replaced.

    Returns:
        The folder.

    Raises:
        ValueError: if there is no such harness.
        OutputError: if a file in the user's folder is in the way.
    """
    if harness not in HARNESSES:
        raise ValueError(f"There is no harness {harness!r:.80}; expected {' or '.join(HARNESSES)}.")
    is_in_cache = folder is None
    if folder is None:
        folder = cache_folder() / "tasks" / __version__ / _in_python(harness)
    missing = {}
    for benchmark in registry.benchmarks():
        if not benchmark.datasets:
            continue
        for name, text in files(harness, benchmark).items():
            file = folder / benchmark.name / name
            if not file.is_file() or file.read_bytes() != text.encode():
                missing[file] = text
    for file in missing:
        if not is_in_cache and os.path.lexists(file):
            raise OutputError(
                f"{file} is there already, and is not this task file; remove it, or name another folder."
            )
    for file, text in missing.items():
        with new_file(file) as new:
            new.write(text)
    return folder


def files(harness: str, benchmark: Benchmark) -> dict[str, str]:
    """Return the files of a benchmark's tasks, name -> text: YAML per task, and other files that it needs."""
    texts = {}
    for dataset in benchmark.datasets:
        for prompt in [""] + list(benchmark.prompts):
            name = title(dataset.name, prompt)
            texts[f"{name}.yaml"] = _task(harness, benchmark, dataset, prompt)
            # it loads a file that only names the task; `process_docs` gives the rows
            if harness == LMMS_EVAL:
                texts[f"{name}.json"] = json.dumps(marks(dataset.name, prompt)) + "\n"
    return texts


def _in_python(harness: str) -> str:
    """Return the name of a harness' package."""
    return harness.replace("-", "_")


def _name(harness: str, dataset: Dataset, prompt: str) -> str:
    """Return the name of a task; the harness may have a task of the dataset's name already."""
    name = dataset.harness_task.get(_in_python(harness), dataset.name)
    return title(name, prompt)


def _tag(benchmark: Benchmark) -> str:
    return f"halluscope_{benchmark.name}_all"


def _task(harness: str, benchmark: Benchmark, dataset: Dataset, prompt: str) -> str:
    """Return a task's file as YAML."""
    template = Template(read_text(TEMPLATES / f"{_in_python(harness)}.yaml"))
    arguments = {"task": dataset.name}
    if prompt:
        arguments["prompt"] = prompt
    metrics = json.dumps(_metrics(harness, benchmark))
    return template.substitute(
        task=_name(harness, dataset, prompt),
        tag=_tag(benchmark),
        file=title(dataset.name, prompt),
        dataset=json.dumps(arguments),
        metrics=re.sub(r'"(!function [\w.]+)"', r"\1", metrics),
        length=benchmark.max_new_tokens,
    )


def _metrics(harness: str, benchmark: Benchmark) -> list[dict[str, Any]]:
    """Return a task's scores as its file lists them."""
    metrics = []
    for name, score in benchmark.scores.items():
        aggregation = f"{FUNCTION}score"
        if harness == LM_EVAL and name in averaged(benchmark):
            aggregation = "mean"
        metrics.append(_metric(name, aggregation, score.better))
    if harness == LM_EVAL:
        for name in benchmark.means:
            metrics.append(_metric(f"{name}{CLUSTERED}", f"{FUNCTION}error"))
    return metrics


def _metric(name: str, aggregation: str, better: str = "") -> dict[str, Any]:
    """Return a score as a task's file lists it; "" if neither higher nor lower is better."""
    is_higher_better = None
    if better:
        is_higher_better = better == HIGHER
    return {"metric": name, "aggregation": aggregation, "higher_is_better": is_higher_better}
