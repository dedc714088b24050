"""Makes the task files of lm-eval and lmms-eval from the benchmarks' records: a folder per benchmark, with a README.

A task's version covers the prompt, the image before it, greedy decoding and the length.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from halluscope import registry
from halluscope.errors import OutputError
from halluscope.files.opening import read_text
from halluscope.files.writing import new_file
from halluscope.harness import functions
from halluscope.harness.functions import CLUSTER, CLUSTERED, averaged
from halluscope.paths import cache_folder
from halluscope.registry import HIGHER, LOWER, Benchmark, Direction
from halluscope.version import __version__

HARNESSES = ("lm-eval", "lmms-eval")

_BETTER = {HIGHER: "higher", LOWER: "lower", None: "neither"}
_TITLE = re.compile(r"\btitle\s*=\s*\{(.*?)\},?\s*\n\s*\w+\s*=", re.DOTALL)


def write(harness: str, folder: Path | None = None) -> Path:
    """Write those of a harness' task files that are missing; other files are never replaced."""
    if harness not in HARNESSES:
        raise ValueError(f"There is no harness {harness!r:.80}; expected {' or '.join(HARNESSES)}.")
    short = harness.replace("-", "_")
    own = cache_folder() / "tasks" / __version__ / short
    folder = folder or own
    texts = {
        folder / benchmark.name / name: text
        for benchmark in registry.benchmarks()
        if benchmark.datasets
        for name, text in files(short, benchmark).items()
    }
    missing = [
        file for file, text in texts.items() if not file.is_file() or file.read_bytes() != text.encode()
    ]
    for file in missing:
        if folder != own and os.path.lexists(file):
            raise OutputError(
                f"{file} is there already, and is not this task file; remove it, or name another folder."
            )
    for file in missing:
        with new_file(file) as new:
            new.write(texts[file])
    return folder


def files(harness: str, benchmark: Benchmark) -> dict[str, str]:
    """Return the files of a benchmark's tasks, name -> text: YAML per task, other files that it needs, and a README."""
    found, tasks, tag = {}, [], f"halluscope_{benchmark.name}_all"
    for dataset in benchmark.datasets:
        for prompt in ("", *benchmark.prompts):
            marks = functions.marks(dataset.name, prompt)
            file = "_".join(marks.values())
            # the harness may have a task of the dataset's name already
            name = file.replace(dataset.name, dataset.harness_task.get(harness, dataset.name), 1)
            asked = {"task": dataset.name, **({"prompt": prompt} if prompt else {})}
            own = _lm_eval(benchmark, asked) if harness == "lm_eval" else _lmms_eval(benchmark, file)
            task = {
                "task": name,
                "tag": tag,
                "test_split": "test",
                "output_type": "generate_until",
                "num_fewshot": 0,
                "doc_to_target": _function("target"),
                **own,
                "metadata": {"version": 1.0},
            }
            lines = (f"{key}: {json.dumps(value)}\n" for key, value in task.items())
            found[f"{file}.yaml"] = re.sub(r'"(!function [\w.]+)"', r"\1", "".join(lines))
            if (
                harness == "lmms_eval"
            ):  # it loads a file that only names the task; `process_docs` gives the rows
                found[f"{file}.json"] = json.dumps(marks) + "\n"
            how = (
                f"the same dataset, asked with {benchmark.prompts[prompt]!r}."
                if prompt
                else f"`{dataset.name}` (`halluscope build {dataset.name}`), asked with {benchmark.prompt!r}; this is "
                "the main variant."
            )
            tasks.append(f"* `{name}`: {how}")
    return found | {
        "README.md": _readme(benchmark, tag, tasks, averaged(benchmark) if harness == "lm_eval" else ())
    }


def _lm_eval(benchmark: Benchmark, asked: Mapping[str, str]) -> dict[str, Any]:
    means = averaged(benchmark)
    return {
        "custom_dataset": _function("dataset"),
        "dataset_kwargs": asked,
        "fewshot_config": {
            "samples": []
        },  # otherwise lm-eval copies all documents, to draw examples from them
        "doc_to_text": _function("marked_prompt"),
        "doc_to_image": _function("images"),
        "process_results": _function("answers"),
        "metric_list": [
            *(
                _metric(name, "mean" if name in means else _function("score"), direction)
                for name, direction in benchmark.scores.items()
            ),
            *(_metric(f"{name}{CLUSTERED}", _function("error"), None) for name in benchmark.means),
        ],
        "generation_kwargs": {"until": [], "do_sample": False, "max_gen_toks": benchmark.max_new_tokens},
    }


def _lmms_eval(benchmark: Benchmark, file: str) -> dict[str, Any]:
    length = {"max_new_tokens": benchmark.max_new_tokens}
    return {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": f"{file}.json"}},
        "process_docs": _function("documents"),
        "doc_to_text": _function("prompt"),
        "doc_to_visual": _function("images"),
        "process_results": _function("items"),
        "cluster_key": CLUSTER,
        "metric_list": [
            _metric(name, _function("score"), direction) for name, direction in benchmark.scores.items()
        ],
        "generation_kwargs": {"until": [], "do_sample": False, "temperature": 0, **length},
    }


def _metric(name: str, aggregation: str, direction: Direction) -> dict[str, Any]:
    better = None if direction is None else direction == HIGHER
    return {"metric": name, "aggregation": aggregation, "higher_is_better": better}


def _function(name: str) -> str:
    return f"!function {functions.__name__}.{name}"


def _readme(benchmark: Benchmark, tag: str, tasks: list[str], independent: tuple[str, ...]) -> str:
    """Return a README in the form that lm-eval requires for new tasks."""
    title = _TITLE.search(benchmark.citation)
    what = dict.fromkeys(benchmark.scores, "of the whole set") | dict.fromkeys(
        benchmark.means, "mean over documents"
    )
    errors = "A score of the whole set has no standard error."
    if benchmark.means:
        assumed = " The number that lm-eval shows after ± assumes that documents are independent."
        errors = (
            f"`<score>{CLUSTERED}` is the standard error of a mean where documents about one image, or of one set,\n"
            "depend on each other (Miller, 2024, arXiv:2411.00640, equation 4)."
            f"{assumed if independent else ''}\n{errors}"
        )
    judge = ""
    if benchmark.judges:
        option, rule = benchmark.judges.option, benchmark.judges.rule
        judge = (
            f"\nThe judge is `{rule}`, which uses no language model, unless `{option}` names another judge.\n"
            if rule
            else f"\nThe judge is a language model, which is loaded only if `{option}` names it. Otherwise the "
            "responses\nare kept, and the log has the command that scores them.\n"
        )
    return Template(read_text(Path(__file__).parent / "readme.md")).substitute(
        title=benchmark.title,
        name=benchmark.name,
        paper=" ".join(re.sub(r"[{}]", "", title[1]).split()) if title else benchmark.title,
        description=benchmark.description.strip(),
        links="\n".join(f"- {link}" for link in benchmark.links),
        licence=benchmark.licence,
        citation=benchmark.citation.strip(),
        tag=tag,
        tasks="\n".join(tasks),
        scores="\n".join(
            f"| `{name}` | {_BETTER[benchmark.scores[name]]} | {kind} |" for name, kind in what.items()
        ),
        errors=errors,
        judge=judge,
        compared="x" if benchmark.compared else " ",
        how=f"\n    {benchmark.compared}" if benchmark.compared else "",
        varied="x" if benchmark.prompts else " ",
    )
