"""Makes the task files of lm-eval and lmms-eval from the benchmarks' records: a folder per benchmark, with a README.

A task's version covers the prompt, the image before it, greedy decoding and the length.
"""

import json
import os
import re
from pathlib import Path
from string import Template
from typing import Any

from halluscope import registry
from halluscope.benchmark import HIGHER, LOWER, Benchmark, Dataset
from halluscope.building.spec import licence_of
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

_BETTER = {HIGHER: "higher", LOWER: "lower", "": "neither"}

# Matches the title in a citation
_TITLE = re.compile(r"\btitle\s*=\s*\{(.*?)\},?\s*\n\s*\w+\s*=", re.DOTALL)


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
    """Return the files of a benchmark's tasks, name -> text: YAML per task, other files that it needs, and a README."""
    texts = {}
    tasks = []
    for dataset in benchmark.datasets:
        for prompt in [""] + list(benchmark.prompts):
            name = title(dataset.name, prompt)
            texts[f"{name}.yaml"] = _task(harness, benchmark, dataset, prompt)
            # it loads a file that only names the task; `process_docs` gives the rows
            if harness == LMMS_EVAL:
                texts[f"{name}.json"] = json.dumps(marks(dataset.name, prompt)) + "\n"
            tasks.append(_described(harness, benchmark, dataset, prompt))
    texts["README.md"] = _readme(harness, benchmark, tasks)
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


def _described(harness: str, benchmark: Benchmark, dataset: Dataset, prompt: str) -> str:
    """Return a task's line in the README."""
    name = _name(harness, dataset, prompt)
    if prompt:
        return f"* `{name}`: the same dataset, asked with {benchmark.prompts[prompt]!r}."
    return (
        f"* `{name}`: `{dataset.name}` (`halluscope build {dataset.name}`), asked with {benchmark.prompt!r}; this is "
        "the main variant."
    )


def _readme(harness: str, benchmark: Benchmark, tasks: list[str]) -> str:
    """Return a README in the form that lm-eval requires for new tasks."""
    paper = benchmark.title
    in_citation = _TITLE.search(benchmark.citation)
    if in_citation is not None:
        paper = " ".join(re.sub(r"[{}]", "", in_citation[1]).split())
    scores = []
    for name, score in benchmark.scores.items():
        what = "mean over documents" if score.is_mean else "of the whole set"
        scores.append(f"| `{name}` | {_BETTER[score.better]} | {what} |")
    how_compared = ""
    if benchmark.compared:
        how_compared = f"\n    {benchmark.compared}"
    return Template(read_text(TEMPLATES / "readme.md")).substitute(
        title=benchmark.title,
        name=benchmark.name,
        paper=paper,
        description=benchmark.description.strip(),
        links="\n".join(f"- {link}" for link in benchmark.links),
        licence=licence_of(benchmark),
        citation=benchmark.citation.strip(),
        tag=_tag(benchmark),
        tasks="\n".join(tasks),
        scores="\n".join(scores),
        errors=_errors(harness, benchmark),
        judge=_judge(benchmark),
        compared=_checked(benchmark.compared),
        how=how_compared,
        varied=_checked(benchmark.prompts),
    )


def _checked(value: object) -> str:
    """Return the mark in a box of a checklist."""
    return "x" if value else " "


def _errors(harness: str, benchmark: Benchmark) -> str:
    """Return what the README says of standard errors."""
    of_whole_set = "A score of the whole set has no standard error."
    if not benchmark.means:
        return of_whole_set
    assumed = ""
    if harness == LM_EVAL and averaged(benchmark):
        assumed = " The number that lm-eval shows after ± assumes that documents are independent."
    return (
        f"`<score>{CLUSTERED}` is the standard error of a mean where documents about one image, or of one set,\n"
        f"depend on each other (Miller, 2024, arXiv:2411.00640, equation 4).{assumed}\n{of_whole_set}"
    )


def _judge(benchmark: Benchmark) -> str:
    """Return what the README says of the judge."""
    if benchmark.judges is None:
        return ""
    option = benchmark.judges.option
    rule = benchmark.judges.rule
    if rule:
        return (
            f"\nThe judge is `{rule}`, which uses no language model, unless `{option}` names another judge.\n"
        )
    return (
        f"\nThe judge is a language model, which is loaded only if `{option}` names it. Otherwise the "
        "responses\nare kept, and the log has the command that scores them.\n"
    )
