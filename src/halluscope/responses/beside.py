"""Reads what lm-eval or lmms-eval wrote beside a file of samples: the model's name, and the scores of the task."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from halluscope.files.opening import read_json

# The names of a file of samples: `samples_TASK_TIME.jsonl` by lm-eval, `TIME_samples_TASK.jsonl` by lmms-eval
_LM_EVAL = re.compile(r"samples_(.+)_(\d{4}-\d{2}-\d{2}T.+)")
_LMMS_EVAL = re.compile(r"(.+)_samples_(.+)")


def of_samples(file: Path) -> tuple[str, dict[str, float]]:
    """Return the model's name and the task's scores from the results beside samples; ("", {}) without such a file."""
    stem = file.name.partition(".jsonl")[0]
    if found := _LM_EVAL.fullmatch(stem):
        (task, time), form = found.groups(), "results_{}.json"
    elif found := _LMMS_EVAL.fullmatch(stem):
        (time, task), form = found.groups(), "{}_results.json"
    else:
        return "", {}
    beside = file.with_name(form.format(time))
    content = read_json(beside) if beside.is_file() else None
    if not isinstance(content, Mapping):
        return "", {}
    name, results = content.get("model_name"), content.get("results")
    scores = results.get(task) if isinstance(results, Mapping) else None
    return name if isinstance(name, str) else "", dict(_scores(scores, task))


def _scores(scores: Any, task: str) -> Iterator[tuple[str, float]]:
    """Yield "accuracy" for `pope_accuracy,none`, "f1" for `pope_f1_score,none`, without standard errors."""
    for key, value in scores.items() if isinstance(scores, Mapping) else ():
        if isinstance(key, str) and isinstance(value, int | float) and "_stderr" not in key:
            name = key.partition(",")[0]
            for family in (task, task.partition("_")[0]):
                name = name.removeprefix(f"{family}_")
            yield name.removesuffix("_score"), float(value)
