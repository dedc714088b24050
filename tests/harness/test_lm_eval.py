"""The tasks run by the real lm-eval, with a tiny vision-language model made here."""

import json
import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from datasets import load_dataset

from halluscope import cli, registry
from halluscope.answering import sources
from halluscope.answering.models import Vlm
from halluscope.harness import functions, tasks
from halluscope.judging.lexical import LexicalJudge
from halluscope.signature import data_of, keys_of
from tests import tiny_vlm
from tests.harness import data as harness_data

pytestmark = pytest.mark.long

TOKENS = 12
TASKS = [*harness_data.TASKS, "pope_short"]


class Run(NamedTuple):
    """The files that lm-eval wrote."""

    data: Path
    model: Path
    results: dict[str, dict[str, Any]]
    samples: dict[str, Path]
    log: str

    def signature(self, task: str) -> str:
        """Return what the log says about a task."""
        (line,) = re.findall(rf"\b{task}: (\w+\|.+)", self.log)
        return str(line)

    def texts(self, task: str) -> list[str]:
        return [json.loads(line)["filtered_resps"][0] for line in self.samples[task].open()]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`lm_eval --model hf-multimodal --tasks ... --include_path "$(halluscope tasks lm-eval)"`."""
    folder = tmp_path_factory.mktemp("lm-eval")
    data, model = harness_data.build_all(folder / "data"), tiny_vlm.make(folder / "vlm")
    include = subprocess.run(
        [sys.executable, "-m", "halluscope", "tasks", "lm-eval", "--out", str(folder / "tasks")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    command = f"""
        --model hf-multimodal --model_args pretrained={model},dtype=float32,max_length=1024 --apply_chat_template
        --tasks {",".join(TASKS)} --include_path {include} --device cpu --batch_size 4
        --gen_kwargs max_gen_toks={TOKENS} --output_path {folder / "out"} --log_samples
    """
    environment = {
        "HALLUSCOPE_DATASETS": str(data),
        "HF_HOME": str(folder / "hf"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "lm_eval",
            *command.split(),
            "--metadata",
            json.dumps(harness_data.settings(data)),
        ],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    (results,) = (folder / "out").rglob("results_*.json")
    logged = {task: next((folder / "out").rglob(f"samples_{task}_2*.jsonl")) for task in TASKS}
    figures = {
        task: {name.removesuffix(",none"): value for name, value in of.items() if name.endswith(",none")}
        for task, of in json.loads(results.read_text())["results"].items()
    }
    return Run(data, model, figures, logged, ran.stderr)


def rows_of(run: Run, task: str) -> list[dict[str, Any]]:
    """The dataset's rows, read without our code."""
    config = {"pope": "coco", "pope_c": "questions", "pope_c_objects365": "questions"}.get(task)
    (split,) = load_dataset(str(run.data / task), config).values()
    return list(split.remove_columns([name for name in split.column_names if name == "image"]))


@pytest.mark.parametrize("task", ["pope", "pope_c", "pope_c_objects365"])
def test_pope_by_hand(run: Run, task: str) -> None:
    rows, said = rows_of(run, task), run.texts(task)
    yes = [not {"No", "no", "not"} & {*text.split(".")[0].replace(",", "").split(" ")} for text in said]
    right = sum(y == (row["answer"] == "yes") for y, row in zip(yes, rows, strict=True))
    assert run.results[task]["accuracy"] == pytest.approx(right / len(rows))
    assert run.results[task]["yes_ratio"] == pytest.approx(sum(yes) / len(rows))
    about = [
        [
            row.get("file_name", row["image_id"]),
            row["object"],
            row.get("sampling", ""),
            row["question"],
            row["answer"],
        ]
        for row in rows
    ]
    keys = keys_of(run.signature(task))
    assert keys["data"] == data_of("pope", about) and keys["data"].startswith(f"pope-{len(rows)}-")
    assert (keys["responses"], keys["parser"]) == ("given", "pope")


@pytest.fixture(scope="module")
def vlm(run: Run, one_thread: None) -> Vlm:
    return Vlm(str(run.model), "cpu")


@pytest.mark.parametrize("task", harness_data.TASKS)
def test_answers_are_those_of_a_plain_loop(run: Run, vlm: Vlm, task: str) -> None:
    source = sources.open_source(str(run.data / task), harness_data.pictures(run.data, task))
    source = source.only(lambda row: row[source.key] is not None)
    rows = list(source.rows)[:4]
    images = [image for row in rows if (image := source.image(row))]
    said = vlm.reply([[source.benchmark.asked(row)] for row in rows], images, TOKENS)
    assert said == [text.strip() for text in run.texts(task)[:4]]


@pytest.mark.filterwarnings("ignore:.* questions are scored")
@pytest.mark.parametrize("task", harness_data.TASKS)
def test_samples_score_as_in_the_harness(run: Run, task: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = harness_data.score_command(run.data, task, "--responses", str(run.samples[task]))
    assert cli.main([*command, "--json", "--bootstrap", "0"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    for score in registry.benchmark(task).scores:
        got = math.nan if result[score] is None else result[score]
        assert got == pytest.approx(run.results[task][score], nan_ok=True), score
    assert keys_of(run.signature(task))["responses"] == "given"
    assert result["signature"] == harness_data.as_scored(task, run.signature(task))


def test_standard_errors(run: Run) -> None:
    """lm-eval's own error treats questions as independent; ours, of nine questions about three images, does not."""
    samples = [json.loads(line) for line in run.samples["pope_c"].open()]
    values = [sample["accuracy"] for sample in samples]
    images = [sample["doc"]["image_id"] for sample in samples]
    mean, found = sum(values) / len(values), run.results["pope_c"]
    away = [value - mean for value in values]
    independent = sum(one**2 for one in away) / (len(values) - 1) / len(values)
    assert found["accuracy"] == pytest.approx(mean)
    assert found["accuracy_stderr"] == pytest.approx(math.sqrt(independent))
    together = sum(
        away[i] * away[j]
        for i in range(len(away))
        for j in range(len(away))
        if i != j and images[i] == images[j]
    )
    clustered = math.sqrt(max(0.0, independent + together / len(values) ** 2))
    assert found["accuracy_stderr_clustered"] == pytest.approx(clustered) and clustered > 0


def test_another_prompt_is_another_task(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    asked = {
        task: json.loads(run.samples[task].open().readline())["arguments"] for task in ("pope", "pope_short")
    }
    ends = "\\nAnswer the question using a single word or phrase."
    assert ends in json.dumps(asked["pope_short"]) and ends not in json.dumps(asked["pope"])
    assert keys_of(run.signature("pope_short"))["prompts"] == "short"
    assert "prompts" not in keys_of(run.signature("pope"))
    command = harness_data.score_command(run.data, "pope", "--responses", str(run.samples["pope_short"]))
    assert cli.main([*command, "--json", "--bootstrap", "0"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert result["signature"] == harness_data.as_scored("pope", run.signature("pope_short"))


def test_samples_of_another_task_or_not_all(
    run: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    short = tmp_path / "short.jsonl"
    for task in harness_data.TASKS:
        lines = run.samples[task].read_text().splitlines(keepends=True)
        some = f"{len(lines) - 1} of the {len(lines)}"
        of_parts = registry.benchmark(task).partial_ok or task == "amber"  # some rows may be there alone
        missing = f"samples of {some} " if of_parts else f"response to 1 of the {len(lines)} rows"
        other = "throne_coco" if registry.benchmark(task).name == "pope" else "pope_c"
        for file, message in {
            str(run.samples[other]): f"is a sample of the task '{other}'",
            str(short): missing,
        }.items():
            short.write_text("".join(lines[:-1]))
            assert cli.main(harness_data.score_command(run.data, task, "--responses", file)) == 2
            assert message in capsys.readouterr().err


@pytest.fixture
def evaluate(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], dict[str, Any]]:
    """Run lm-eval on throne_coco in this process."""
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    class Says(LM):
        """A model that gives the same response for every image."""

        MULTIMODAL = True

        def generate_until(self, requests: Any) -> list[str]:
            assert all(len(request.args[2]["visual"]) == 1 for request in requests)
            return ["There is a dog."] * len(requests)

        def loglikelihood(self, requests: Any) -> Any: ...

        def loglikelihood_rolling(self, requests: Any) -> Any: ...

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(sources.DATASETS, str(run.data))
    monkeypatch.setenv(functions.TASKS, json.dumps(harness_data.settings(run.data)))
    monkeypatch.setattr(functions, "_results", {})

    def evaluated() -> dict[str, Any]:
        manager = TaskManager(include_path=str(tasks.write("lm-eval", tmp_path)), include_defaults=False)
        results = simple_evaluate(Says(), tasks=["throne_coco"], task_manager=manager, log_samples=False)
        assert results is not None
        found: dict[str, Any] = results["results"]["throne_coco"]
        return found

    return evaluated


def test_lm_eval_ends_well_where_a_judge_runs_out_of_memory(
    evaluate: Callable[[], dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def answer(*_: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    with monkeypatch.context() as broken:
        broken.setattr(LexicalJudge, "answer", answer)
        results = evaluate()
    assert math.isnan(results["precision_all,none"])
    (said,) = re.findall(
        r"OutOfMemoryError: CUDA out of memory\. .+ to score them: halluscope (.+)", caplog.text
    )
    capsys.readouterr()
    assert cli.main([*shlex.split(said), "--json", "--bootstrap", "0"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert result["precision_all"] == result["recall_all"] == pytest.approx(1 / 3)
