"""Run the tasks with the real lmms-eval, and a model that always gives the same response: `make lmms-eval`.

lmms-eval needs torchvision, and therefore its own environment. The check fails if a score is not the one that follows
from that response, if a standard error is not that of the logged samples, if the log has no signature, if a document
has no image, or if the logged samples get other scores.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.benchmark import SIGNATURE
from halluscope.stats.tallies import standard_error
from tests.harness import data as harness_data

SAYS = "Yes a dog."
TASKS = {
    dataset.name: dataset.harness_task.get("lmms_eval", dataset.name) for dataset in harness_data.DATASETS
} | {"pope_short": "halluscope_pope_short"}
"""Our names, and those of the tasks."""

# throne_coco: person and cup; none; dog. A dog is said to be in each of the three.
# pope: 18 questions, every second one is to be answered with yes. pope_c: 3 of 9 objects are there.
# hallusionbench: the two questions with an image are to be answered with yes and no.
# hqh: nothing contains "two dogs".
EXPECTED: dict[str, dict[str, float]] = {
    "throne_coco": {"precision_all": 1 / 3, "recall_all": 1 / 3, "precision_cls": 1 / 3},
    "pope": {"accuracy": 1 / 2, "precision": 1 / 2, "recall": 1, "f1": 2 / 3, "yes_ratio": 1},
    "pope_c": {"accuracy": 1 / 3, "precision": 1 / 3, "recall": 1, "f1": 1 / 2, "unparsed": 0},
    "hallusionbench": {"aAcc": 1 / 2, "qAcc": 0, "fAcc": 1 / 2, "unread": 0},
    "hqh": {"main_hal": 1, "unjudged": 0},
}


def main() -> int:
    """Run the check, and return the exit status."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        data = harness_data.build_all(folder / "data")
        os.environ |= harness_data.environment(data) | {"HF_HOME": str(folder / "hf"), "OMP_NUM_THREADS": "1"}
        include, _ = said("halluscope", "tasks", "lmms-eval", "--out", str(folder / "tasks"))
        include = include.strip()
        _, log = said(
            *("lmms_eval", "--model", "dummy", "--model_args", f"response={SAYS}", "--batch_size", "1"),
            *("--tasks", ",".join(TASKS.values()), "--include_path", include),
            *("--output_path", str(folder / "out"), "--log_samples"),
        )
        (file,) = (folder / "out").rglob("*_results.json")
        results = json.loads(file.read_text())["results"]
        wrong = [line for name in TASKS for line in differences(name, results[TASKS[name]], folder, log)]
        wrong += without_image(include)
    print("\n".join(wrong) or f"lmms-eval: {len(TASKS)} tasks score what {SAYS!r} must give.")
    return 1 if wrong else 0


def said(module: str, *arguments: str) -> tuple[str, str]:
    """Run a module, and return what it prints and logs."""
    command = [sys.executable, "-m", module, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(f"{module} ended with {ran.returncode}: {ran.stderr[-3000:]}")
    return ran.stdout, ran.stderr


def differences(name: str, result: dict[str, Any], folder: Path, log: str) -> list[str]:
    """Return scores that are not as expected, or differ from those of `halluscope score` on the samples."""
    (samples,) = (folder / "out").rglob(f"*_samples_{TASKS[name]}.jsonl")
    dataset = name.removesuffix("_short")
    command = harness_data.score_command(folder / "data", dataset, "--responses", str(samples))
    printed, _ = said("halluscope", *command, "--json", "--bootstrap", "0")
    (ours,) = json.loads(printed)
    figures = {key.removesuffix(",none"): value for key, value in result.items() if key.endswith(",none")}
    signatures = [line.partition(": ")[2] for line in log.splitlines() if line.startswith(f"{name}: ")]
    if [harness_data.as_scored(dataset, line) for line in signatures] != [ours[SIGNATURE]]:
        return [f"{name}: the log has the signatures {signatures}, and its samples {ours[SIGNATURE]}"]
    wrong = [
        f"{name}: {figure} is {figures.get(figure)}; expected {value}"
        for figure, value in EXPECTED.get(name, {}).items()
        if not isinstance(figures.get(figure), float) or not math.isclose(figures[figure], value)
    ]
    wrong += errors(name, dataset, figures, [json.loads(line) for line in samples.open()])
    return wrong + [
        f"{name}: {figure} is {value} in lmms-eval and {ours.get(figure)} from its samples"
        for figure, value in figures.items()
        if not figure.endswith(("_stderr", "_stderr_clt", "_stderr_clustered"))
        and not same(value, ours.get(figure))
    ]


def errors(name: str, dataset: str, figures: dict[str, Any], samples: list[dict[str, Any]]) -> list[str]:
    """Return clustered standard errors that differ from those of the samples; only means have standard errors."""
    wrong = []
    for score in registry.benchmark(dataset).scores:
        added = [sample[score] for sample in samples if "score" in sample[score]]
        found = figures[f"{score}_stderr_clustered"]
        expected = standard_error([one["score"] for one in added], [one["cluster"] for one in added])
        if (math.isnan(expected) and found != "N/A") or not (found == "N/A" or same(found, expected)):
            wrong.append(f"{name}: the standard error of {score} is {found}; expected {expected}")
        if found != "N/A":
            print(f"{name}: {score} {figures[score]:.4f} \u00b1 {found:.4f} by clusters")
    return wrong


def same(theirs: Any, ours: Any) -> bool:
    """Whether two scores are equal; our JSON has null for NaN."""
    if not isinstance(theirs, float):
        return bool(theirs == ours)
    if math.isnan(theirs):
        return ours is None
    return isinstance(ours, float | int) and math.isclose(theirs, ours)


def without_image(include: str) -> list[str]:
    """Return documents whose image would not reach a model; the model `dummy` looks at no image."""
    from lmms_eval.tasks import TaskManager, get_task_dict

    loaded = get_task_dict(list(TASKS.values()), TaskManager(include_path=include))
    wrong = []
    for name, task in loaded.items():
        for doc in task.test_docs():
            (image,) = task.doc_to_visual(doc)
            if image.mode != "RGB" or "<image>" in task.doc_to_text(doc):
                wrong.append(f"{name}: {doc} has an image in {image.mode}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
