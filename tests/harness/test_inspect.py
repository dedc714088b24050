"""The tasks run by the real Inspect, in this process, with its mock model; its logs scored by `halluscope score`."""

import json
import logging
import math
import re
import shlex
from collections import defaultdict
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from zlib import crc32

import inspect_ai
import pytest
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from halluscope import registry, scoring
from halluscope.answering import sources
from halluscope.benchmark import SIGNATURE
from halluscope.harness import inspect_tasks as tasks
from halluscope.harness.evaluation import TASKS, Evaluation
from halluscope.signature import keys_of
from tests.harness import data as harness_data
from tests.scripted_server import reply

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:.* questions are scored"),
    pytest.mark.filterwarnings("ignore:.* was built from annotations without"),
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),  # Inspect's
]

SAID = ("Yes, there is a dog.", "No.", "A person holds a cup, no dog.", "I cannot tell. \U0001f415")


QUIET: Any = {"display": "none", "log_realtime": False}


def answer_of(text: str) -> ModelOutput:
    """A mock model's output. It reports usage, so that Inspect downloads no table of tokens."""
    answer = ModelOutput.from_content("mockllm/model", text)
    answer.usage = ModelUsage()
    return answer


def mock(said: list[Any] | None = None) -> Any:
    """A model that says the same to the same prompt and image, and records its prompts in `said`."""

    def output(messages, *_):
        (message,) = messages
        if said is not None:
            said.append(message.content)
        image = "" if isinstance(message.content, str) else message.content[0].image
        return answer_of(SAID[crc32((message.text + image).encode()) % len(SAID)])

    return get_model("mockllm/model", custom_outputs=output, memoize=False)


def run(task: Any, folder: Path, model: Any = None, **options: Any) -> EvalLog:
    """The log of `inspect eval halluscope/TASK`."""
    task = f"halluscope/{task}" if isinstance(task, str) else task
    (log,) = inspect_ai.eval(task, model=model or mock(), log_dir=str(folder), **QUIET, **options)
    return log


@pytest.fixture(autouse=True)
def _set(data, monkeypatch):
    monkeypatch.setenv(sources.DATASETS, str(data))
    monkeypatch.delenv(TASKS, raising=False)


@pytest.fixture(scope="module")
def logs(data, tmp_path_factory):
    """A run of each task."""
    folder = tmp_path_factory.mktemp("logs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(sources.DATASETS, str(data))
        made = [getattr(tasks, name)(**of) for name, of in harness_data.settings(data).items()]
        found = inspect_ai.eval(made, model=mock(), log_dir=str(folder), max_tasks=4, **QUIET)
    return {log.eval.task.removeprefix("halluscope/"): log for log in found}


def figures(log: EvalLog) -> dict[str, float]:
    """Return a log's scores and standard errors."""
    assert log.status == "success" and log.results, log.error
    (score,) = log.results.scores
    assert (score.name, {metric.group for metric in score.metrics.values()}) == ("scores", {"whole_set"})
    return {name: metric.value for name, metric in score.metrics.items()}


def signature(log: EvalLog) -> str:
    """Return the signature in a log."""
    assert log.results and log.results.early_stopping and not log.results.early_stopping.early_stops
    return str(log.results.early_stopping.metadata[SIGNATURE])


@pytest.fixture(scope="session")
def images(data):
    """The option of a task that names a folder of images."""
    return {"images": str(data / "pictures")}


def scored(data: Path, name: str, file: str, **options: Any) -> dict[str, Any]:
    """Return the result of `halluscope score` for a file."""
    dataset = registry.dataset(name)
    options = {**harness_data.settings(data)[name], **dataset.harness, **options}
    options.pop("images", None)
    place = f"{data / name}{f':{dataset.config}' if dataset.config else ''}"
    benchmark, (ready,), chosen = scoring.prepare_call(name, [file], place, options)
    return scoring.compute(benchmark, ready, chosen)


def test_each_dataset_is_a_task_that_inspect_finds():
    file = Path(tasks.__file__)
    found = [task.name for task in inspect_ai.list_tasks(file.name, root_dir=file.parent)]
    assert sorted(found) == sorted(harness_data.TASKS), f"{file} needs a function with @task per dataset"
    (entry,) = entry_points(group="inspect_ai", name="halluscope")
    assert entry.load() is tasks


@pytest.mark.parametrize("name", harness_data.TASKS)
def test_the_scores_are_those_of_halluscope_score(data, logs, name, tmp_path):
    """For the log as a zip, and as JSON."""
    log, benchmark = logs[name], registry.benchmark(name)
    ours, theirs = scored(data, name, log.location), figures(log)
    scores = {score: ours.get(score, math.nan) for score in benchmark.scores}
    assert {score: theirs[score] for score in scores} == pytest.approx(scores, rel=0, abs=0, nan_ok=True)
    assert harness_data.as_scored(name, signature(log)) == ours[SIGNATURE]
    assert {*theirs} == {*benchmark.scores} | {f"{score}_stderr" for score in benchmark.means}
    assert log.results.headline.metric == benchmark.principal
    config = log.plan.config  # decoding is greedy, and as long as the benchmark says
    assert (config.temperature, config.max_tokens) == (0.0, benchmark.max_new_tokens)
    write_eval_log(read_eval_log(log.location), str(tmp_path / "log.json"), format="json")
    assert json.dumps(scored(data, name, str(tmp_path / "log.json"))) == json.dumps(ours)


@pytest.mark.parametrize("name", harness_data.TASKS)
def test_a_score_is_the_mean_of_its_samples(logs, name):
    theirs = figures(logs[name])
    for score in registry.benchmark(name).means:
        values, groups = [], defaultdict(list)
        for sample in logs[name].samples:
            if not math.isnan(added := sample.scores["scores"].as_dict()[score]):
                values.append(added)
                groups[sample.metadata["cluster"]].append(added)
        if not math.isnan(theirs[score]):
            assert theirs[score] == pytest.approx(sum(values) / len(values))
        assert theirs[f"{score}_stderr"] == pytest.approx(by_hand(values, [*groups.values()]), nan_ok=True)


def by_hand(values: list[float], groups: list[list[float]]) -> float:
    """The standard error of a mean by clusters: Miller (arXiv:2411.00640), appendix A, times sqrt(C / (C - 1))."""
    if len(groups) < 2:
        return math.nan
    mean = sum(values) / len(values)
    together = sum(sum(one - mean for one in group) ** 2 for group in groups)
    return math.sqrt(together * len(groups) / (len(groups) - 1)) / len(values)


def test_options_and_prompts_of_a_benchmark(data, images, tmp_path):
    asked: list[Any] = []
    given = images | {"parser": "strict", "prompt": "short"}
    log = run("pope", tmp_path, mock(asked), task_args=given, limit=2)
    keys = keys_of(signature(log))
    assert (keys["parser"], keys["prompts"]) == ("strict", "short")
    assert all(parts[1].text.endswith("single word or phrase.") for parts in asked)
    ours = scored(data, "pope", log.location, parser="strict", partial=True)
    assert keys_of(ours[SIGNATURE])["prompts"] == "short"


def test_several_epochs_are_refused_before_a_model_is_asked(data, tmp_path):
    asked: list[Any] = []
    log = run("throne_coco", tmp_path, mock(asked), epochs=2)
    assert log.status == "error" and log.error and "epochs is 2; expected 1" in log.error.message
    assert asked == []


def test_a_run_that_was_retried_is_scored_as_a_whole(data, images, tmp_path, monkeypatch):
    asked: list[Any] = []

    def output(*given):
        asked.append(given)
        if len(asked) == 5:
            raise ConnectionError("no route")
        return answer_of("Yes.")

    async def generate(*_, **__):
        return answer_of("Yes.")

    model = get_model("mockllm/model", custom_outputs=output, memoize=False)
    broken = run("pope", tmp_path, model, task_args=images, max_samples=1)
    assert broken.status == "error" and len(asked) == 5
    assert scored(data, "pope", broken.location, partial=True)["part"] == [4, 18]
    monkeypatch.setattr(type(model.api), "generate", generate)
    (log,) = inspect_ai.eval_retry(broken, log_dir=str(tmp_path), **QUIET)
    assert keys_of(signature(log))["data"].startswith("pope-18-")
    assert figures(log)["yes_ratio"] == scored(data, "pope", log.location)["yes_ratio"] == 1


def test_a_language_model_judges_when_all_samples_are_there(images, tmp_path, monkeypatch, serve, access_key):
    sets: list[int] = []
    judge = Evaluation.judged

    def judged(self, rows, *more):
        sets.append(len(rows))
        return judge(self, rows, *more)

    monkeypatch.setattr(Evaluation, "judged", judged)
    server = serve(lambda *_: reply('{"verdict": "incorrect", "extra_claims": 0, "evidence": []}'))
    log = run("hqh", tmp_path, task_args=images | {"judge": f"openai:judge@{server.url}"})
    assert sets == [8] and len(server.prompts) == 8  # once, though Inspect asks for metrics while it runs
    assert keys_of(signature(log))["judge"].startswith("openai:judge")
    for sample in log.samples:
        assert all(math.isnan(value) for value in sample.scores["scores"].value.values())
    assert figures(log)["main_hal"] == figures(log)["overall_hal"] == 1


def test_a_judge_that_fails_loses_no_answer(data, images, tmp_path, monkeypatch, caplog, json_of):
    def fail(*_):
        raise MemoryError("no\nmore")

    with monkeypatch.context() as broken, caplog.at_level(logging.ERROR):
        broken.setattr(scoring, "of_each", fail)
        log = run("hqh", tmp_path, task_args=images)
    assert log.status == "success" and signature(log) == "not scored"
    assert all(math.isnan(value) for value in figures(log).values())
    assert "hqh is not scored: MemoryError: no\\nmore The responses are in the log" in caplog.text
    (command,) = {*re.findall(r"to score them: halluscope (.+)", caplog.text)}
    words = [log.location if word == "LOG.eval" else word for word in shlex.split(command)]
    (result,) = json_of(*words, "--bootstrap", "0")
    assert result["main_hal"] == scored(data, "hqh", log.location)["main_hal"]
