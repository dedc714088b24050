"""Makes the task files of lm-eval and lmms-eval from the benchmarks' records: a folder per benchmark, with a README.

A task's version covers the prompt, the image before it, greedy decoding and the length.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from halluscope import registry
from halluscope.errors import OutputError
from halluscope.files.writing import new_file
from halluscope.harness import functions
from halluscope.harness.functions import CLUSTER, CLUSTERED, averaged
from halluscope.paths import cache_folder
from halluscope.registry import HIGHER, LOWER, Benchmark, Dataset, Direction
from halluscope.version import __version__

HARNESSES = ("lm-eval", "lmms-eval")


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
    return file.is_file() and file.read_bytes() == text.encode()


@dataclass(frozen=True)
class Task:
    """A dataset, and how it is asked."""

    benchmark: Benchmark  # whose dataset it is
    dataset: Dataset  # what is asked about
    prompt: str  # the name of the prompt; "" for the benchmark's own

    @property
    def marks(self) -> dict[str, str]:
        """The marks that its documents hold."""
        return functions.marks(self.dataset.name, self.prompt)

    @property
    def file(self) -> str:
        """The name of its files, without an ending."""
        return "_".join(self.marks.values())

    def name(self, harness: str) -> str:
        """Return the task's name, which differs from its files' name if the harness already has a task of that name."""
        named = self.dataset.harness_task.get(harness, self.dataset.name)
        return self.file.replace(self.dataset.name, named, 1)


def files(harness: str, benchmark: Benchmark) -> dict[str, str]:
    """Return the files of a benchmark's tasks, name -> text: YAML per task, other files that it needs, and a README."""
    tasks = [
        Task(benchmark, dataset, prompt)
        for dataset in benchmark.datasets
        for prompt in ("", *benchmark.prompts)
    ]
    written = {"lm_eval": _lm_eval, "lmms_eval": _lmms_eval}[harness]
    found = {f"{task.file}.yaml": _yaml(written(task)) for task in tasks}
    if harness == "lmms_eval":  # it loads a file that only names the task; `process_docs` gives the rows
        found |= {f"{task.file}.json": json.dumps(task.marks) + "\n" for task in tasks}
    asked = {task.name(harness): (task.dataset.name, task.prompt) for task in tasks}
    return found | {"README.md": _readme(harness, benchmark, _tag(benchmark), asked)}


def _tag(benchmark: Benchmark) -> str:
    return f"halluscope_{benchmark.name}_all"


def _lm_eval(task: Task) -> dict[str, Any]:
    benchmark, prompt = task.benchmark, {"prompt": task.prompt} if task.prompt else {}
    means = averaged(benchmark)
    return {
        "task": task.name("lm_eval"),
        "tag": _tag(benchmark),
        "custom_dataset": _function("dataset"),
        "dataset_kwargs": {"task": task.dataset.name, **prompt},
        "test_split": "test",
        "output_type": "generate_until",
        "num_fewshot": 0,
        "fewshot_config": {
            "samples": []
        },  # otherwise lm-eval copies all documents, to draw examples from them
        "doc_to_text": _function("marked_prompt"),
        "doc_to_image": _function("images"),
        "doc_to_target": _function("target"),
        "process_results": _function("answers"),
        "metric_list": [
            *(
                _metric(name, "mean" if name in means else _function("score"), direction)
                for name, direction in benchmark.scores.items()
            ),
            *(_metric(f"{name}{CLUSTERED}", _function("error"), None) for name in benchmark.means),
        ],
        "generation_kwargs": {"until": [], "do_sample": False, "max_gen_toks": benchmark.max_new_tokens},
        "metadata": {"version": 1.0},
    }


def _lmms_eval(task: Task) -> dict[str, Any]:
    benchmark = task.benchmark
    return {
        "task": task.name("lmms_eval"),
        "tag": _tag(benchmark),
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": f"{task.file}.json"}},
        "test_split": "test",
        "process_docs": _function("documents"),
        "output_type": "generate_until",
        "num_fewshot": 0,
        "doc_to_text": _function("prompt"),
        "doc_to_visual": _function("images"),
        "doc_to_target": _function("target"),
        "process_results": _function("items"),
        "cluster_key": CLUSTER,
        "metric_list": [
            _metric(name, _function("score"), direction) for name, direction in benchmark.scores.items()
        ],
        "generation_kwargs": {
            **{"until": [], "do_sample": False, "temperature": 0},
            "max_new_tokens": benchmark.max_new_tokens,
        },
        "metadata": {"version": 1.0},
    }


def _metric(name: str, aggregation: str, direction: Direction) -> dict[str, Any]:
    better = None if direction is None else direction == HIGHER
    return {"metric": name, "aggregation": aggregation, "higher_is_better": better}


class _Function(str):
    pass


def _function(name: str) -> _Function:
    return _Function(f"{functions.__name__}.{name}")


def _yaml(task: Mapping[str, Any]) -> str:
    """Return a task as YAML, one key per line; the values are JSON, except functions."""
    return "".join(f"{key}: {_value(value)}\n" for key, value in task.items())


def _value(value: Any) -> str:
    if isinstance(value, _Function):
        return f"!function {value}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)}: {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


# The README, in the form that lm-eval requires for new tasks
_TITLE = re.compile(r"\btitle\s*=\s*\{(.*?)\},?\s*\n\s*\w+\s*=", re.DOTALL)

_BETTER = {HIGHER: "higher", LOWER: "lower", None: "neither"}


def _readme(harness: str, benchmark: Benchmark, tag: str, tasks: Mapping[str, tuple[str, str]]) -> str:
    form = Template((Path(__file__).parent / "readme.md").read_text(encoding="utf-8"))
    return form.substitute(
        title=benchmark.title,
        name=benchmark.name,
        paper=_paper(benchmark),
        description=benchmark.description.strip(),
        links="\n".join(f"- {link}" for link in benchmark.links),
        licence=benchmark.licence,
        citation=benchmark.citation.strip(),
        tag=tag,
        tasks="\n".join(f"* `{name}`: {_asked(benchmark, *of)}" for name, of in tasks.items()),
        scores="\n".join(_scores(benchmark)),
        errors=_errors(benchmark.means, averaged(benchmark) if harness == "lm_eval" else ()),
        judge=_judge(benchmark),
        compared="x" if benchmark.compared else " ",
        how=f"\n    {benchmark.compared}" if benchmark.compared else "",
        varied="x" if benchmark.prompts else " ",
    )


def _paper(benchmark: Benchmark) -> str:
    found = _TITLE.search(benchmark.citation)
    return " ".join(re.sub(r"[{}]", "", found[1]).split()) if found else benchmark.title


def _asked(benchmark: Benchmark, dataset: str, prompt: str) -> str:
    if prompt:
        return f"the same dataset, asked with {benchmark.prompts[prompt]!r}."
    return f"`{dataset}` (`halluscope build {dataset}`), asked with {benchmark.prompt!r}; this is the main variant."


def _scores(benchmark: Benchmark) -> list[str]:
    what = dict.fromkeys(benchmark.scores, "of the whole set")
    what |= dict.fromkeys(benchmark.means, "mean over documents")
    return [f"| `{name}` | {_BETTER[benchmark.scores[name]]} | {kind} |" for name, kind in what.items()]


def _errors(means: tuple[str, ...], independent: tuple[str, ...]) -> str:
    whole = "A score of the whole set has no standard error."
    if not means:
        return whole
    clustered = (
        f"`<score>{CLUSTERED}` is the standard error of a mean where documents about one image, or of one set,\n"
        "depend on each other (Miller, 2024, arXiv:2411.00640, equation 4)."
    )
    if independent:
        clustered += " The number that lm-eval shows after ± assumes that documents are independent."
    return f"{clustered}\n{whole}"


def _judge(benchmark: Benchmark) -> str:
    if not benchmark.judges:
        return ""
    option, rule = benchmark.judges.option, benchmark.judges.rule
    if not rule:
        return (
            f"\nThe judge is a language model, which is loaded only if `{option}` names it. Otherwise the responses\n"
            "are kept, and the log has the command that scores them.\n"
        )
    return f"\nThe judge is `{rule}`, which uses no language model, unless `{option}` names another judge.\n"
