"""Results on the Hub: a benchmark's repository, a model's results, the leaderboard, a report's Space."""

import json

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

import halluscope
from halluscope import registry
from halluscope.building import spec as specs
from halluscope.hub import contents
from halluscope.reading.datasets import read_rows
from tests import small_datasets
from tests.fake_judge import FakeJudge
from tests.standin_hub import Answer

pytestmark = [pytest.mark.usefixtures("online"), pytest.mark.filterwarnings("ignore")]

MODEL, REPOSITORY = "acme/model", "acme/hallusionbench"


def whole(name, folder, monkeypatch):
    """A dataset of a benchmark that counts as the whole of it, small as it is."""
    dataset = small_datasets.build(name, folder)
    stats = json.loads((dataset / "stats.json").read_text())
    (dataset / "stats.json").write_text(json.dumps({**stats, "subset": False}))
    monkeypatch.setattr("halluscope.hub.contents.caveats", lambda *_: [])
    return dataset


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run on a whole benchmark."""
    dataset = str(whole("hallusionbench", tmp_path, monkeypatch))
    rows = len(list(read_rows(dataset)))
    halluscope.score("hallusionbench", ["Yes."] * rows, dataset, out=tmp_path / "run", bootstrap=0)
    return tmp_path / "run"


@pytest.fixture
def send(run, published):
    """Publish the run as a model's result."""

    def publish(*more, model=MODEL, ends=0):
        return published("results", run, "--model", model, "--benchmark", REPOSITORY, *more, ends=ends)

    return publish


def test_a_harness_log_with_all_rows_is_a_whole_result(tmp_path, hub, published, monkeypatch):
    dataset = str(whole("hallusionbench", tmp_path, monkeypatch))
    samples = []
    for number, row in enumerate(read_rows(dataset)):
        samples.append(
            {"doc_id": number, "doc": row, "target": "", "resps": [["Yes."]], "filtered_resps": ["Yes."]}
        )
    (tmp_path / "samples.jsonl").write_text("\n".join(json.dumps(sample, default=str) for sample in samples))
    halluscope.score(
        "hallusionbench", tmp_path / "samples.jsonl", dataset, out=tmp_path / "logged", bootstrap=0
    )
    hub.make("model", MODEL)
    hub.make("dataset", REPOSITORY)
    said = published("results", tmp_path / "logged", "--model", MODEL, "--benchmark", REPOSITORY)
    assert "in the task hallusionbench_aacc" in said


def result(files):
    """The path of the one file of results among files."""
    (path,) = (path for path in files if path.startswith(".eval_results/"))
    return path


@pytest.mark.parametrize("name", [one.name for one in registry.datasets()])
def test_a_benchmark_without_data(name, hub, published):
    """Each benchmark whose principal score is better when higher gets a repository; the others say why not."""
    command = ["benchmark", name, "--org", "acme", "--upload"]
    if why := contents.unfit(registry.benchmark(name)):
        assert why in published(*command, ends=2) and not hub.repositories
        return
    published(*command)
    files = hub["dataset", f"acme/{name}"].files
    told = yaml.safe_load(files["eval.yaml"])
    assert told["evaluation_framework"] == "halluscope" and told["tasks"][0]["id"] == contents.task(name)
    assert f"halluscope build {name}" in files["README.md"].decode()
    assert "nothing to do" in published(*command)


def test_without_a_token_it_is_unknown_whose_the_model_is(hub, send, monkeypatch):
    hub.make("model", MODEL)
    hub.make("dataset", REPOSITORY)
    assert "go to the public repository that is there" in send()
    monkeypatch.delenv("HF_TOKEN")
    assert "as a commit if the model is yours, as a pull request if it is somebody else's" in send()


def test_ones_own_model_gets_a_commit(run, hub, send):
    model = hub.make("model", MODEL)
    made = hub.make("dataset", REPOSITORY)
    made.tags["v" + specs.load("hallusionbench").version] = made.head
    assert "dry run" in send() and len(model.commits) == 1
    send("--source", "acme/runs", "--upload")
    (entry,) = parse_eval_result_entries(yaml.safe_load(model.files[result(model.files)]))
    scores = json.loads((run / "scores.json").read_text())
    assert entry.value == pytest.approx(100 * scores["aAcc"], abs=0.005)
    assert (entry.dataset_id, entry.task_id) == (REPOSITORY, "hallusionbench_aacc")
    assert entry.dataset_revision == made.head and "judged by rules" in entry.notes
    place = f"{MODEL}/hallusionbench_aacc-judged-by-rules-2"
    assert entry.source_url == f"{hub.url}/datasets/acme/runs/tree/main/{place}"
    assert f"{place}/scores.json" in hub["dataset", "acme/runs"].files
    entries = yaml.safe_load(model.files[result(model.files)])
    entries[0]["dataset"]["task_id"], entries[0]["value"] = "another", 0.1
    others = {".eval_results/other.yaml": yaml.safe_dump(entries).encode(), ".eval_results/odd.yaml": b"{"}
    model.commit(model.files | others)
    before = len(model.commits)
    assert "nothing to do" in send("--source", "acme/runs", "--upload")
    assert len(model.commits) == before


def test_a_dataset_holds_the_runs_of_several_models(hub, send):
    """A second run does not replace the first, to which the first result points."""
    hub.make("dataset", REPOSITORY)
    for model in ("acme/one", "acme/two"):
        hub.make("model", model)
        send("--source", "acme/runs", "--upload", model=model)
    scores = [path for path in hub["dataset", "acme/runs"].files if path.endswith("/scores.json")]
    assert len(scores) == 2


@pytest.mark.parametrize("value", [None, 99.9])
def test_somebody_elses_model_gets_a_pull_request_once(hub, send, value):
    """A second one is not opened, whether the first states the same value or another."""
    pulls = hub.make("model", "other/model").pulls
    hub.make("dataset", REPOSITORY)
    assert "/other/model/discussions/1" in send("--upload", model="other/model")
    (files,) = pulls
    if value is None:
        assert "the same result is there already" in send("--upload", model="other/model")
    else:
        entries = yaml.safe_load(files[result(files)])
        entries[0]["value"] = value
        files[result(files)] = yaml.safe_dump(entries).encode()
        said = send("--upload", model="other/model", ends=2)
        assert "states 99.9" in said and "discussions/1" in said
    assert len(pulls) == 1


@pytest.mark.parametrize("model", [MODEL, "other/model"])
@pytest.mark.parametrize("at", ["/discussions", "/tree/", "/refs", "/preupload/", "/commit/"])
@pytest.mark.parametrize("fault", [Answer({"error": "no"}, 409), Answer(b'{"half')])
def test_a_fault_is_one_clear_line_and_the_second_attempt_finishes(hub, send, model, at, fault):
    held = hub.make("model", model)
    hub.make("dataset", REPOSITORY)
    hub.gate = lambda method, path: fault if at in path else None
    said = send("--upload", model=model, ends=2)
    assert "The Hub: " in said and "Traceback" not in said
    hub.gate = lambda method, path: None
    send("--upload", model=model)
    assert result(held.pulls[0] if held.pulls else held.files) and len(held.pulls) <= 1


@pytest.mark.parametrize("name", ["scores.json", "items.jsonl"])
def test_a_changed_run_is_refused(run, send, name):
    (run / name).write_text((run / name).read_text().replace("0", "1"))
    assert "does not verify" in send("--upload", ends=2)


def test_what_is_not_there_and_what_is_a_part(hub, send, monkeypatch):
    assert "There is no dataset" in send(ends=2)
    hub.make("dataset", REPOSITORY)
    assert "There is no model" in send(ends=2)
    assert "--model is 'model'" in send(model="model", ends=2)
    monkeypatch.setattr("halluscope.hub.contents.caveats", lambda *_: ["Only the first 10."])
    assert "not a result on the whole benchmark" in send(ends=2)


def test_of_a_benchmark_without_tags_main_is_named(hub, send):
    """Whichever branch the Hub lists first."""
    model = hub.make("model", MODEL)
    hub.make("dataset", REPOSITORY)
    branches = [
        {"name": name, "ref": f"refs/heads/{name}", "targetCommit": commit * 40}
        for name, commit in (("draft", "d"), ("main", "e"))
    ]
    listed = Answer({"branches": branches, "converts": [], "tags": []})
    hub.gate = lambda method, path: listed if path.endswith(f"{REPOSITORY}/refs") else None
    send("--upload")
    (entry,) = parse_eval_result_entries(yaml.safe_load(model.files[result(model.files)]))
    assert entry.dataset_revision == "e" * 40


def test_long_variants_have_files_of_their_own(hub, send, monkeypatch):
    """Judges with long names, that differ at the end."""
    model = hub.make("model", MODEL)
    hub.make("dataset", REPOSITORY)
    for judge in ("one", "two"):
        by = f"judged by openai:{'long' * 30}-{judge}"
        monkeypatch.setattr("halluscope.reporting.published.judges", lambda keys, by=by: [by])
        send("--upload")
    files = [path for path in model.files if path.startswith(".eval_results/")]
    assert len(files) == 2 and max(map(len, files)) < 255


def test_a_version_that_is_not_on_the_hub(hub, send):
    hub.make("model", MODEL)
    made = hub.make("dataset", REPOSITORY)
    made.tags["v0.0.1"] = made.head
    assert "has no version with the tag v" in send("--upload", ends=2)


def test_what_is_said_of_other_choices_and_of_points(tmp_path, hub, published, monkeypatch):
    """A rating is no share, and a prompt or an option of one's own is named."""
    model = hub.make("model", MODEL)
    hub.make("dataset", "acme/data")
    scored = {}
    for name, dataset, options in (
        ("mmhal", "mmhal", {"ratings": [6, 0, 4]}),
        (
            "throne",
            "throne_coco",
            {"judges": "lexical", "class_f": "mean", "agreement": "majority", "questions": "released"},
        ),
    ):
        folder = whole(dataset, tmp_path, monkeypatch)
        rows = []
        for row in read_rows(str(folder)):
            about = (
                {"id": row["id"]}
                if name == "mmhal"
                else {"image_id": row["image_id"], "prompt": "What is here?"}
            )
            rows.append(about | {"response": "A dog and a cup, no person."})
        halluscope.score(name, rows, folder, out=tmp_path / f"{name}-run", bootstrap=0, **options)
        published(
            "results", tmp_path / f"{name}-run", "--model", MODEL, "--benchmark", "acme/data", "--upload"
        )
        (path,) = (path for path in model.files if path.startswith(f".eval_results/halluscope-{name}"))
        (scored[name],) = parse_eval_result_entries(yaml.safe_load(model.files[path]))
    assert scored["mmhal"].value == pytest.approx(10 / 3, abs=1e-4)
    said = "questions released, agreement 2of3, class_f mean, with a prompt of its own"
    assert scored["throne"].notes.endswith(said)


def test_ratings_in_both_orders_are_said_to_be_that(tmp_path, hub, published, monkeypatch):
    model = hub.make("model", MODEL)
    hub.make("dataset", "acme/data")
    folder = whole("llava_bench", tmp_path, monkeypatch)
    texts = ["A dog."] * len(list(read_rows(str(folder))))
    reply = json.dumps({"reason": "Because.", "first_rating": 8, "second_rating": 6})
    judge = FakeJudge(lambda prompt, number: reply)
    options = {"judge": judge, "both_orders": True, "progress": False, "store": None}
    halluscope.score("llava_bench", texts, folder, out=tmp_path / "run", bootstrap=0, **options)
    published("results", tmp_path / "run", "--model", MODEL, "--benchmark", "acme/data", "--upload")
    (entry,) = parse_eval_result_entries(yaml.safe_load(model.files[result(model.files)]))
    assert entry.notes.endswith(", both orders")


@pytest.mark.parametrize(
    ("name", "options", "of_build", "message"),
    [
        ("openchair", {"judges": "lexical"}, True, "cannot stand on the Hub"),
        ("mmhal", {"ratings": [None] * 3}, True, "rating is undefined"),
        ("mmhal", {"ratings": [1, 2, 3]}, False, "does not say which build of a dataset was scored"),
    ],
)
def test_a_run_that_cannot_be_a_result(name, options, of_build, message, tmp_path, published, monkeypatch):
    dataset = whole(name, tmp_path, monkeypatch)
    if not of_build:
        dataset = tmp_path / f"{name}-inputs/response_template.json"
    halluscope.score(name, ["A dog."] * 3, dataset, out=tmp_path / "run", bootstrap=0, **options)
    run = ["results", tmp_path / "run", "--model", MODEL, "--benchmark", REPOSITORY]
    assert message in published(*run, ends=2)
