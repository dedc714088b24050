"""Makes the task files of lm-eval and lmms-eval from the benchmarks' records: a folder per benchmark, with a README.

A task's version covers the prompt, the image before it, greedy decoding and the length.
"""

import json
import os
import re
from pathlib import Path
from string import Template

from halluscope import registry
from halluscope.benchmark import HIGHER, LOWER, Benchmark
from halluscope.errors import OutputError
from halluscope.files.opening import read_text
from halluscope.files.writing import new_file
from halluscope.harness.functions import CLUSTERED, averaged, marks
from halluscope.paths import cache_folder
from halluscope.version import __version__

HARNESSES = ("lm-eval", "lmms-eval")

HERE = Path(__file__).parent

SCORE = "!function halluscope.harness.functions.score"
ERROR = "!function halluscope.harness.functions.error"

_BETTER = {HIGHER: "higher", LOWER: "lower", "": "neither"}
_WHAT = ("of the whole set", "mean over documents")
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
    of_lm_eval = harness == "lm_eval"
    means = averaged(benchmark) if of_lm_eval else ()
    scores = {
        name: (score.better or None, "mean" if name in means else SCORE)
        for name, score in benchmark.scores.items()
    }
    if of_lm_eval:
        scores |= {f"{name}{CLUSTERED}": (None, ERROR) for name in benchmark.means}
    metrics = [
        {"metric": name, "aggregation": aggregation, "higher_is_better": direction and direction == HIGHER}
        for name, (direction, aggregation) in scores.items()
    ]
    for dataset in benchmark.datasets:
        for prompt in ("", *benchmark.prompts):
            file = "_".join(marks(dataset.name, prompt).values())
            # the harness may have a task of the dataset's name already
            name = file.replace(dataset.name, dataset.harness_task.get(harness, dataset.name), 1)
            found[f"{file}.yaml"] = Template(read_text(HERE / f"{harness}.yaml")).substitute(
                task=name,
                tag=tag,
                file=file,
                dataset=json.dumps({"task": dataset.name, **({"prompt": prompt} if prompt else {})}),
                metrics=re.sub(r'"(!function [\w.]+)"', r"\1", json.dumps(metrics)),
                length=benchmark.max_new_tokens,
            )
            if not of_lm_eval:  # it loads a file that only names the task; `process_docs` gives the rows
                found[f"{file}.json"] = json.dumps(marks(dataset.name, prompt)) + "\n"
            how = (
                f"the same dataset, asked with {benchmark.prompts[prompt]!r}."
                if prompt
                else f"`{dataset.name}` (`halluscope build {dataset.name}`), asked with {benchmark.prompt!r}; this is "
                "the main variant."
            )
            tasks.append(f"* `{name}`: {how}")
    return found | {"README.md": _readme(benchmark, tag, tasks, bool(means))}


def _readme(benchmark: Benchmark, tag: str, tasks: list[str], independent: bool) -> str:
    """Return a README in the form that lm-eval requires for new tasks."""
    title = _TITLE.search(benchmark.citation)
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
    return Template(read_text(HERE / "readme.md")).substitute(
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
            f"| `{name}` | {_BETTER[score.better]} | {_WHAT[score.is_mean]} |"
            for name, score in benchmark.scores.items()
        ),
        errors=errors,
        judge=judge,
        compared="x" if benchmark.compared else " ",
        how=f"\n    {benchmark.compared}" if benchmark.compared else "",
        varied="x" if benchmark.prompts else " ",
    )
