"""The tasks run by the real lm-eval, with a tiny vision-language model made here."""

import json
import math
import os
import re
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest
from datasets import load_dataset

from halluscope import registry
from halluscope.answering import sources
from halluscope.answering.models import Vlm
from halluscope.signature import data_of, keys_of
from tests import tiny_vlm
from tests.harness import data as harness_data
from tests.harness.check_lmms_eval import said

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
def run(data, tmp_path_factory):
    """`lm_eval --model hf-multimodal --tasks ... --include_path "$(halluscope tasks lm-eval)"`."""
    folder = tmp_path_factory.mktemp("lm-eval")
    model = tiny_vlm.make(folder / "vlm")
    settings = {"HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with mock.patch.dict(os.environ, {"HALLUSCOPE_DATASETS": str(data)} | settings):
        include, _ = said("halluscope", "tasks", "lm-eval", "--out", str(folder / "tasks"))
        command = f"""
            --model hf-multimodal --model_args pretrained={model},dtype=float32,max_length=1024
            --apply_chat_template --tasks {",".join(TASKS)} --include_path {include} --device cpu --batch_size 4
            --gen_kwargs max_gen_toks={TOKENS} --output_path {folder / "out"} --log_samples --metadata
        """
        _, log = said("lm_eval", *command.split(), json.dumps(harness_data.settings(data)))
    (results,) = (folder / "out").rglob("results_*.json")
    logged = {task: next((folder / "out").rglob(f"samples_{task}_2*.jsonl")) for task in TASKS}
    figures = {
        task: {name.removesuffix(",none"): value for name, value in of.items() if name.endswith(",none")}
        for task, of in json.loads(results.read_text())["results"].items()
    }
    return Run(data, model, figures, logged, log)


def rows_of(run: Run, task: str) -> list[dict[str, Any]]:
    """The dataset's rows, read without our code."""
    config = {"pope": "coco", "pope_c": "questions", "pope_c_objects365": "questions"}.get(task)
    (split,) = load_dataset(str(run.data / task), config).values()
    return list(split.remove_columns([name for name in split.column_names if name == "image"]))


@pytest.mark.parametrize("task", ["pope", "pope_c", "pope_c_objects365"])
def test_pope_by_hand(run, task):
    rows, texts = rows_of(run, task), run.texts(task)
    yes = [not {"No", "no", "not"} & {*text.split(".")[0].replace(",", "").split(" ")} for text in texts]
    right = sum(y == (row["answer"] == "yes") for y, row in zip(yes, rows, strict=True))
    assert run.results[task]["accuracy"] == pytest.approx(right / len(rows))
    assert run.results[task]["yes_ratio"] == pytest.approx(sum(yes) / len(rows))
    columns = ("object", "sampling", "question", "answer")
    about = [[row.get("file_name", row["image_id"]), *(row.get(one, "") for one in columns)] for row in rows]
    keys = keys_of(run.signature(task))
    assert keys["data"] == data_of("pope", about) and keys["data"].startswith(f"pope-{len(rows)}-")
    assert (keys["responses"], keys["parser"]) == ("given", "pope")


@pytest.fixture(scope="module")
def vlm(run, one_thread):
    return Vlm(str(run.model), "cpu")


@pytest.mark.parametrize("task", harness_data.TASKS)
def test_answers_are_those_of_a_plain_loop(run, vlm, task):
    source = sources.open_source(str(run.data / task), harness_data.pictures(run.data, task))
    source = source.only(lambda row: row[source.key] is not None)
    rows = list(source.rows)[:4]
    images = [image for row in rows if (image := source.image(row))]
    alone = vlm.reply([[source.benchmark.asked(row)] for row in rows], images, TOKENS)
    assert alone == [text.strip() for text in run.texts(task)[:4]]


@pytest.mark.filterwarnings("ignore:.* questions are scored")
@pytest.mark.parametrize("task", harness_data.TASKS)
def test_samples_score_as_in_the_harness(run, task, json_of):
    (result,) = json_of(*command(run, task, run.samples[task]), "--bootstrap", "0")
    for score in registry.benchmark(task).scores:
        got = math.nan if result[score] is None else result[score]
        assert got == pytest.approx(run.results[task][score], nan_ok=True), score
    assert keys_of(run.signature(task))["responses"] == "given"
    assert result["signature"] == harness_data.as_scored(task, run.signature(task))


def command(run: Run, task: str, file: Path) -> list[str]:
    return harness_data.score_command(run.data, task, "--responses", str(file))


def test_standard_errors(run):
    """lm-eval's own error treats questions as independent; ours, of nine questions about three images, does not."""
    samples = [json.loads(line) for line in run.samples["pope_c"].open()]
    values, found = [sample["accuracy"] for sample in samples], run.results["pope_c"]
    assert found["accuracy"] == pytest.approx(sum(values) / len(values))
    independent, by_image = (
        harness_data.clustered_error(values, clusters)
        for clusters in (range(len(values)), [sample["doc"]["image_id"] for sample in samples])
    )
    assert found["accuracy_stderr"] == pytest.approx(independent)
    assert found["accuracy_stderr_clustered"] == pytest.approx(by_image) and by_image > 0
