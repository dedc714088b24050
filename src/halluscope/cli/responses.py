"""What the commands share that read responses: a benchmark's options, and responses that are matched to a dataset."""

import gc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import Parameter
from typing import Any

from halluscope import scoring
from halluscope.benchmark import Benchmark
from halluscope.cli.parameters import INPUT, JUDGES, OWN, declared
from halluscope.judging.cache import cache_of
from halluscope.options import MatchingOptions, Option
from halluscope.options import declared as options_of
from halluscope.scoring import Ready
from halluscope.terminal import is_quiet

MATCHING = options_of(MatchingOptions)


def parameters(benchmark: Benchmark) -> list[Parameter]:
    """Return how responses are matched, and a benchmark's options, as parameters of a command."""
    of_judges = set()
    if benchmark.judges:
        of_judges = {field.name for field in fields(benchmark.judges.options)}
    reading: list[Option] = list(MATCHING)
    scoring_options: list[Option] = []
    judging: list[Option] = []
    for option in benchmark.options:
        if option.name == "thoughts":
            reading.append(option)
        elif option.name in of_judges:
            judging.append(option)
        else:
            scoring_options.append(option)
    return declared(reading, INPUT) + declared(scoring_options, OWN) + declared(judging, JUDGES)


def summary(benchmark: Benchmark) -> str:
    """Return what a benchmark measures, which files are a dataset too, and which extras it needs."""
    text = f"{benchmark.title}: {benchmark.about}."
    if benchmark.other_datasets:
        text += f" --dataset also takes {benchmark.other_datasets}."
    if benchmark.extras:
        text += f" Needs pip install 'halluscope[{','.join(benchmark.extras)}]'."
    return text


def words_of_judge(benchmark: Benchmark) -> list[str]:
    """Return the words by which `score` needs no language model; a benchmark without rules needs a judge's name."""
    judges = benchmark.judges
    if judges is None or judges.default == judges.rule:
        return []
    return [f"--{judges.option}", judges.rule or "JUDGE"]


@dataclass(frozen=True)
class Chosen:
    """What a user chose for a benchmark."""

    benchmark: Benchmark
    options: dict[str, Any]  # the benchmark's options for Python
    matching: MatchingOptions

    def ready(self, responses: Sequence[str], dataset: Sequence[str]) -> list[Ready]:
        """Return the responses, matched to the dataset."""
        ready = scoring.prepare(self.benchmark, responses, dataset, self.options, self.matching)
        gc.freeze()  # what was read stays until the command ends: no need to look for garbage in it again
        return ready


def chosen(benchmark: Benchmark, name: str, options: Mapping[str, Any]) -> Chosen:
    """Return what was chosen for a benchmark that the user called `name`, which may be a dataset's."""
    of_matching = {option.name for option in MATCHING}
    for_python = dict(benchmark.options_of(name))
    matching = {}
    for option, value in options.items():
        if option in of_matching:
            matching[option] = value
        else:
            for_python[option] = value
    if benchmark.judges:
        for_python["progress"] = not is_quiet()
    if for_python.get("fresh"):
        # One cache for all files: the same prompt is asked once per run.
        for_python["store"] = cache_of(for_python.get("store"), fresh=True)
    return Chosen(benchmark, for_python, MatchingOptions(**matching))
