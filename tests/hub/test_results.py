"""Results on the Hub: a benchmark's repository, a model's results, the leaderboard, a report's Space."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

import halluscope
from halluscope import registry
from halluscope.building import spec as specs
from halluscope.cli import main
from halluscope.hub import contents
from halluscope.reading.datasets import read_rows
from tests import small_datasets
from tests.standin_hub import TOKEN, Answer

pytestmark = [pytest.mark.usefixtures("online"), pytest.mark.filterwarnings("ignore")]

MODEL, REPOSITORY = "acme/model", "acme/hallusionbench"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run on a whole benchmark, which is as small as the test's dataset."""
    dataset = small_datasets.build("hallusionbench", tmp_path)
    stats = json.loads((dataset / "stats.json").read_text())
    (dataset / "stats.json").write_text(json.dumps({**stats, "subset": False}))
    rows = stats["counts"]["questions"]
    halluscope.score("hallusionbench", ["Yes."] * rows, str(dataset), out=tmp_path / "run", bootstrap=0)
    monkeypatch.setattr("halluscope.hub.contents.caveats", lambda *_: [])
    return tmp_path / "run"


def published(capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, str]:
    status = main(["publish", *map(str, words)])
    said = "".join(capsys.readouterr())
    assert TOKEN not in said
    return status, said


def send(capsys: pytest.CaptureFixture[str], run: Path, *more: str, model: str = MODEL) -> tuple[int, str]:
    return published(capsys, "results", run, "--model", model, "--benchmark", REPOSITORY, *more)


def test_each_config_of_questions_is_a_task_of_its_own():
    told = yaml.safe_load(contents.eval_yaml("pope", ["coco", "aokvqa", "gqa"]))
    assert [one["id"] for one in told["tasks"]] == [
        "pope_accuracy",
        "pope_aokvqa_accuracy",
        "pope_gqa_accuracy",
    ]
    assert [one["config"] for one in told["tasks"]] == ["coco", "aokvqa", "gqa"]


def test_a_run_on_another_config_is_another_task(hub, capsys, tmp_path, monkeypatch):
    dataset = small_datasets.build("pope", tmp_path)
    stats = json.loads((dataset / "stats.json").read_text())
    (dataset / "stats.json").write_text(json.dumps({**stats, "subset": False}))
    monkeypatch.setattr("halluscope.hub.contents.caveats", lambda *_: [])
    for config in ("coco", "gqa"):
        source = f"{dataset}:{config}"
        rows = len(list(read_rows(source)))
        halluscope.score("pope", ["Yes."] * rows, source, out=tmp_path / config, bootstrap=0)
    hub.make("dataset", "acme/pope")
    hub.make("model", MODEL)
    words = ("--model", MODEL, "--benchmark", "acme/pope")
    said = {config: published(capsys, "results", tmp_path / config, *words)[1] for config in ("coco", "gqa")}
    assert (
        "in the task pope_accuracy of" in said["coco"] and "in the task pope_gqa_accuracy of" in said["gqa"]
    )


def test_somebody_elses_repository_is_left_alone(hub, capsys):
    made = hub.make("dataset", "acme/pope", {"README.md": b"theirs", "data.csv": b"1"})
    status, said = published(capsys, "benchmark", "pope", "--org", "acme", "--upload", "--public")
    assert status == 2 and "leaves it alone" in said and made.files["README.md"] == b"theirs"


@pytest.mark.parametrize("name", [one.name for one in registry.datasets()])
def test_a_benchmark_without_data(name, hub, capsys):
    """Each benchmark whose principal score is better when higher gets a repository; the others say why not."""
    status, said = published(capsys, "benchmark", name, "--org", "acme", "--upload")
    if why := contents.unfit(registry.benchmark(name)):
        assert status == 2 and why in said and not hub.repositories
        return
    assert status == 0, said
    files = hub["dataset", f"acme/{name}"].files
    told = yaml.safe_load(files["eval.yaml"])
    assert told["evaluation_framework"] == "halluscope" and told["tasks"][0]["id"] == contents.task(name)
    assert f"halluscope build {name}" in files["README.md"].decode()
    assert "nothing to do" in published(capsys, "benchmark", name, "--org", "acme", "--upload")[1]


def test_ones_own_model_gets_a_commit(run, hub, capsys):
    hub.make("model", MODEL)
    made = hub.make("dataset", REPOSITORY)
    made.tags["v" + specs.load("hallusionbench").version] = made.head
    status, said = send(capsys, run)
    assert status == 0 and "dry run" in said and len(hub["model", MODEL].commits) == 1
    status, said = send(capsys, run, "--source", "acme/runs", "--upload")
    assert status == 0, said
    (path,) = (path for path in hub["model", MODEL].files if path.startswith(".eval_results/"))
    (entry,) = parse_eval_result_entries(yaml.safe_load(hub["model", MODEL].files[path]))
    scores = json.loads((run / "scores.json").read_text())
    assert entry.value == pytest.approx(100 * scores["aAcc"], abs=0.005)
    assert (entry.dataset_id, entry.task_id) == (REPOSITORY, "hallusionbench_aacc")
    assert entry.dataset_revision == made.head and "judged by rules" in entry.notes
    assert entry.source_url == f"{hub.url}/datasets/acme/runs"
    assert "scores.json" in hub["dataset", "acme/runs"].files
    before = len(hub["model", MODEL].commits)
    assert "nothing to do" in send(capsys, run, "--source", "acme/runs", "--upload")[1]
    assert len(hub["model", MODEL].commits) == before


def test_somebody_elses_model_gets_a_pull_request_once(run, hub, capsys):
    hub.make("model", "other/model")
    hub.make("dataset", REPOSITORY)
    status, said = send(capsys, run, "--upload", model="other/model")
    assert status == 0 and "/other/model/discussions/1" in said
    assert len(hub["model", "other/model"].pulls) == 1
    status, said = send(capsys, run, "--upload", model="other/model")
    assert status == 0 and "the same result is there already" in said
    assert len(hub["model", "other/model"].pulls) == 1


def test_another_value_in_an_open_pull_request(run, hub, capsys):
    hub.make("model", "other/model")
    hub.make("dataset", REPOSITORY)
    send(capsys, run, "--upload", model="other/model")
    (files,) = hub["model", "other/model"].pulls
    (path,) = (path for path in files if path.startswith(".eval_results/"))
    entries = yaml.safe_load(files[path])
    entries[0]["value"] = 99.9
    files[path] = yaml.safe_dump(entries).encode()
    status, said = send(capsys, run, "--upload", model="other/model")
    assert status == 2 and "states 99.9" in said and "discussions/1" in said
    assert len(hub["model", "other/model"].pulls) == 1


@pytest.mark.parametrize("model", [MODEL, "other/model"])
@pytest.mark.parametrize("at", ["/discussions", "/tree/", "/refs", "/preupload/", "/commit/"])
@pytest.mark.parametrize(
    "fault", [Answer({"error": "no"}, 409), Answer({"error": "no"}, 403), Answer(b'{"half')]
)
def test_a_fault_is_one_clear_line_and_the_second_attempt_finishes(run, hub, capsys, model, at, fault):
    hub.make("model", model)
    hub.make("dataset", REPOSITORY)
    hub.gate = lambda method, path: fault if at in path else None
    status, said = send(capsys, run, "--upload", model=model)
    assert status == 2 and "The Hub: " in said and "Traceback" not in said
    hub.gate = lambda method, path: None
    status, said = send(capsys, run, "--upload", model=model)
    held = hub["model", model]
    files = held.pulls[0] if held.pulls else held.files
    assert status == 0 and any(path.startswith(".eval_results/") for path in files) and len(held.pulls) <= 1


@pytest.mark.parametrize("name", ["scores.json", "items.jsonl"])
def test_a_changed_run_is_refused(run, hub, capsys, name):
    (run / name).write_text((run / name).read_text().replace("0", "1"))
    status, said = send(capsys, run, "--upload")
    assert status == 2 and "does not verify" in said


def test_what_is_not_there(run, hub, capsys):
    assert "There is no dataset" in send(capsys, run)[1]
    hub.make("dataset", REPOSITORY)
    assert "There is no model" in send(capsys, run)[1]
    assert "--model is 'model'" in send(capsys, run, model="model")[1]


def test_a_part_of_a_benchmark_is_refused(run, hub, capsys, monkeypatch):
    monkeypatch.setattr("halluscope.hub.contents.caveats", lambda *_: ["Only the first 10."])
    status, said = send(capsys, run)
    assert status == 2 and "not a result on the whole benchmark" in said


def test_the_leaderboard_beside_ones_own_runs(run, hub, capsys):
    one = {
        "filename": ".eval_results/a.yaml",
        "verified": False,
        "author": {"type": "org", "name": "o", "fullname": "O"},
    }
    made = hub.make("dataset", REPOSITORY)
    made.board = [
        {
            "rank": 1,
            "modelId": "o/a",
            "value": 71.5,
            "notes": "judged by rules",
            "source": {"url": "u"},
            **one,
        },
        {"rank": 2, "modelId": "o/b\x1b[31m", "value": 70, "notes": "judged by gpt", "pullRequest": 3, **one},
    ]
    assert main(["leaderboard", REPOSITORY, "--runs", str(run)]) == 0
    said = capsys.readouterr().out
    assert "judged by rules" in said and "judged by gpt" in said and "71.50" in said and "(proposed)" in said
    assert "\x1b" not in said and "your runs" in said
    assert main(["leaderboard", REPOSITORY, "--runs", str(run), "--scores", "qAcc", "fAcc"]) == 0
    said = capsys.readouterr().out
    assert "qAcc" in said and "fAcc" in said and "aAcc" not in said and "signature" in said
    assert main(["leaderboard", REPOSITORY, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["model"] == "o/a"
    assert main(["leaderboard", "acme/nothing"]) == 2
    assert "reading the leaderboard" in capsys.readouterr().err


def test_a_report_as_a_space(run, hub, capsys):
    status, said = published(capsys, "report", run, "--space", "acme/report", "--upload")
    assert status == 0, said
    space = hub["space", "acme/report"]
    assert space.sdk == "static" and b"sdk: static" in space.files["README.md"]
    assert b"HallusionBench" in space.files["index.html"]
