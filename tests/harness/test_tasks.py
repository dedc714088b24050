"""What harnesses and `halluscope answer` share: task files, datasets with their images, settings, and read samples."""

import json
import math
import re
import shlex
from itertools import cycle
from pathlib import Path
from typing import Any
from unittest import mock

import datasets
import pytest
import torch
import yaml
from PIL import Image

from halluscope import registry, scoring
from halluscope.answering import sources
from halluscope.benchmark import HIGHER
from halluscope.errors import JudgeUnavailable, NoImages, OutputError
from halluscope.harness import functions as harness
from halluscope.harness import tasks
from halluscope.harness.evaluation import TASKS, Evaluation, Settings
from halluscope.reading.datasets import read_rows
from halluscope.responses import reading
from halluscope.signature import data_of
from tests.files.disk import content, full
from tests.harness import data as harness_data
from tests.small_datasets import write_lines


@pytest.fixture(autouse=True)
def _set(data, monkeypatch, tmp_path):
    harness._results.clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(sources.DATASETS, str(data))
    monkeypatch.delenv(TASKS, raising=False)


# The task files


class _Loader(yaml.SafeLoader):
    pass


_Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


@pytest.fixture(scope="module", params=tasks.HARNESSES)
def written(request, tmp_path_factory):
    """A harness, and the folder of its task files."""
    return request.param, tasks.write(request.param, tmp_path_factory.mktemp("tasks") / "of" / "it")


def test_a_file_for_each_dataset_and_prompt(written):
    harness_name, folder = written
    endings = ("yaml", "json") if harness_name == "lmms-eval" else ("yaml",)
    made = set()
    for name in harness_data.TASKS:
        for prompt in ("", *(f"_{prompt}" for prompt in registry.benchmark(name).prompts)):
            made |= {f"{registry.benchmark(name).name}/{name}{prompt}.{ending}" for ending in endings}
    assert {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()} == made
    assert f"pope/pope_short.{endings[0]}" in made


@pytest.mark.parametrize("name", harness_data.TASKS)
def test_task_files_say_what_the_benchmarks_say(name, written):
    harness_name, folder = written
    task = yaml.load((folder / registry.benchmark(name).name / f"{name}.yaml").read_text(), _Loader)
    benchmark = registry.benchmark(name)
    length = {"lm-eval": "max_gen_toks", "lmms-eval": "max_new_tokens"}[harness_name]
    assert task["generation_kwargs"][length] == benchmark.max_new_tokens
    assert task["generation_kwargs"]["do_sample"] is False and task["generation_kwargs"]["until"] == []
    errors = {f"{mean}_stderr_clustered": None for mean in benchmark.means if harness_name == "lm-eval"}
    ways = {
        name: score.better == HIGHER if score.better else None for name, score in benchmark.scores.items()
    } | errors
    assert {metric["metric"]: metric["higher_is_better"] for metric in task["metric_list"]} == ways
    by = {metric["metric"]: metric["aggregation"].rpartition(".")[2] for metric in task["metric_list"]}
    averaged = [] if benchmark.judges or harness_name == "lmms-eval" else benchmark.means
    expected = dict.fromkeys(benchmark.scores, "score") | dict.fromkeys(averaged, "mean")
    assert by == expected | dict.fromkeys(errors, "error")
    assert task["metadata"]["version"] and (task["test_split"], task["num_fewshot"]) == ("test", 0)
    assert task["tag"] == f"halluscope_{benchmark.name}_all" != task["task"]
    if harness_name == "lm-eval":
        assert (task["task"], task["dataset_kwargs"]) == (name, {"task": name})
    else:
        assert task["task"] == registry.dataset(name).harness_task.get("lmms_eval", name)
        marker = folder / registry.benchmark(name).name / task["dataset_kwargs"]["data_files"]["test"]
        assert json.loads(marker.read_text()) == {"halluscope_task": name}
        assert task["cluster_key"] == "cluster"


@pytest.mark.parametrize("harness_name", tasks.HARNESSES)
def test_the_command_prints_the_folder(harness_name, tmp_path, ran):
    folder = Path(ran("tasks", harness_name).out.strip())
    file = folder / "throne" / "throne_coco.yaml"
    assert file.is_file() and folder.is_relative_to(tmp_path / "cache")
    file.write_text("of another version")
    (folder / "mine.yaml").write_text("mine")
    assert Path(ran("tasks", harness_name).out.strip()) == folder
    assert "throne_coco" in file.read_text() and (folder / "mine.yaml").read_text() == "mine"


def test_task_files_of_somebody_else_stay(tmp_path):
    folder = tasks.write("lm-eval", tmp_path / "tasks")
    (folder / "throne" / "throne_coco.yaml").unlink()
    (folder / "pope" / "pope.yaml").write_text("mine")
    before = content(tmp_path)
    said = r"pope.yaml is there already, and is not this task file; remove it"
    with pytest.raises(OutputError, match=said):
        tasks.write("lm-eval", folder)
    assert content(tmp_path) == before
    (folder / "pope" / "pope.yaml").unlink()
    with full(at=100), pytest.raises(OSError):
        tasks.write("lm-eval", folder)
    assert {*content(tmp_path)} == {*before} - {"tasks/pope/pope.yaml"}
    names = {file.name for file in tasks.write("lm-eval", folder).rglob("*")}
    assert names > {"pope.yaml", "throne_coco.yaml"}
    with pytest.raises(ValueError, match="no harness 'helm'; expected lm-eval or lmms-eval"):
        tasks.write("helm", tmp_path / "others")
    assert not (tmp_path / "others").exists()


# Settings


def test_settings_come_from_the_harness_then_from_the_environment(data, monkeypatch, tmp_path):
    coco = {"vocabulary": "coco", "judges": "lexical"}
    assert Settings.of("throne_coco") == Settings(f"{data}/throne_coco", None, coco)
    of_environment = {"throne_coco": {"judges": "lexical", "beta": 1.0, "dataset": "elsewhere"}}
    (tmp_path / "tasks.json").write_text(json.dumps(of_environment))
    for text in (json.dumps(of_environment), str(tmp_path / "tasks.json")):
        monkeypatch.setenv(TASKS, text)
        read = Settings.of("throne_coco", {"beta": 2.0})
        assert read == Settings("elsewhere", None, coco | {"beta": 2.0})


def test_bad_settings(monkeypatch):
    known = "Did you mean 'judges'.* The known ones are .*dataset, .*images"
    for text, said in (
        ('{"throne_coco": ', r"\$HALLUSCOPE_TASKS is not JSON"),
        ('{"throne_cocoa": {}}', "There is no dataset 'throne_cocoa'. Did you mean 'throne_coco'"),
        ('{"throne_coco": ["lexical"]}', r"throne_coco is \['lexical'\]; expected an object"),
        ('{"hqh": 1}', r'hqh is 1; expected an object such as {"dataset": "datasets/NAME"}'),
        ('{"throne_coco": {"judge": "lexical"}}', f"throne_coco has no option 'judge'. {known}"),
        ('{"throne_coco": {"votes": []}}', "throne_coco has no option 'votes'"),
        ('{"throne_coco": {"dataset": 3}}', "dataset of throne_coco is 3; expected the name of a folder"),
    ):
        monkeypatch.setenv(TASKS, text)
        with pytest.raises(ValueError, match=said):
            Settings.of("throne_coco")


def test_a_dataset_that_is_not_there_or_is_another(data, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="has no column .*; expected the dataset pope"):
        Evaluation.open("pope", "", Settings.of("pope", {"dataset": str(data / "throne_coco")}))
    monkeypatch.delenv(sources.DATASETS)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"Build it \(halluscope build pope\), or say where it is"):
        Settings.of("pope")


def test_what_is_asked_and_what_is_right(data):
    """Under lmms-eval a file names the task; a named prompt has questions of its own."""
    (prompt,) = registry.benchmark("pope").prompts
    marker = [{"halluscope_task": "throne_coco"}]
    assert [harness.target(row) for row in harness.documents(marker)] == ["person, cup", "", "dog"]
    short = harness.dataset("pope", prompt, pope={"images": str(data / "pictures")})["test"]
    assert harness.target(short[0]) == "yes" and harness.prompt(short[0]) != short[0]["question"]
    scored = [harness.items(row, ["Yes"]) for row in short]
    assert harness.score([one["accuracy"] for one in scored]) == 0.5


def test_harnesses_leave_out_questions_without_an_image_unless_told(data):
    images = {"images": str(data / "pictures")}
    rows = harness.dataset("hallusionbench", hallusionbench=images)["test"]
    assert list(rows["figure_id"]) == [1, 2]
    assert harness.marked_prompt(rows[0]) == f"<image>{rows[0]['question']}"
    every = harness.dataset("hallusionbench", hallusionbench=images | {"protocol": "official"})["test"]
    assert len(every) == 3
    assert harness.images(every[0]) == [] and harness.marked_prompt(every[0]) == every[0]["question"]
    assert len(harness.images(every[1])) == 1


@pytest.mark.parametrize("task", [name for name in harness_data.TASKS if registry.benchmark(name).judges])
def test_a_missing_judge_is_missed_before_an_lvlm_answers(data, task, caplog):
    judges = registry.benchmark(task).judges
    nobody = {"votes": "nobody/nothing", "verdicts": "nobody"}[judges.kind]
    given = {judges.option: nobody, "images": harness_data.pictures(data, task)}
    with pytest.raises(JudgeUnavailable):
        harness.dataset(task, **{task: given})
    assert re.search(f"{task}: .*'{nobody}'", caplog.text)


def test_missing_images_say_how_each_harness_is_told(data):
    with pytest.raises(
        NoImages, match=r"coco was built without images\..*Inspect -T images=FOLDER; in lm-eval"
    ):
        Evaluation.open("pope", "", Settings.of("pope"))


def test_a_part_of_the_images_missing_says_how_each_harness_is_told(data, tmp_path):
    rows = datasets.load_dataset(str(data / "throne_coco"), split="validation").remove_columns("image")
    blank = Image.new("RGB", (8, 8))
    images = datasets.Dataset.from_dict({"image": [blank] + [None] * (len(rows) - 1)})
    folder = tmp_path / "throne_coco" / "data"
    folder.mkdir(parents=True)
    rows = datasets.concatenate_datasets([rows, images.cast_column("image", datasets.Image())], axis=1)
    rows.to_parquet(folder / "validation-00000-of-00001.parquet")
    with pytest.raises(ValueError, match=r"are missing, .*Inspect -T images=FOLDER") as error:
        Evaluation.open(
            "throne_coco", "", Settings.of("throne_coco", {"dataset": str(tmp_path / "throne_coco")})
        )
    assert "--images" not in str(error.value)


# What is scored


def answered(task: str, texts: list[str], **given: Any) -> dict[str, Any]:
    """Score texts as a harness does, one by one."""
    rows = harness.dataset(task, **{task: given})["test"]
    items = [harness.items(row, [text]) for row, text in zip(rows, texts, strict=True)]
    return {name: harness.score([of[name] for of in items]) for name in registry.benchmark(task).scores}


def test_a_set_is_judged_once(data, monkeypatch, caplog):
    judged, of_each = [], scoring.of_each

    def score(benchmark, rows, texts, *others):
        judged.append(texts)
        return of_each(benchmark, rows, texts, *others)

    caplog.set_level("INFO")
    monkeypatch.setattr(scoring, "of_each", score)
    texts = ["A dog.", "", "A dog and a person."]
    figures = answered("throne_coco", texts, judges="lexical")
    assert judged == [texts]
    # Objects: person and cup; none; dog. Said: dog; nothing; dog and person: 1 of 3 is right, 1 of 3 is found.
    assert (figures["precision_all"], figures["recall_all"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    rows = [[row["image_id"], *sorted(row["objects"])] for row in read_rows(str(data / "throne_coco"))]
    signed = f"throne_coco: throne|data:{data_of('coco', rows)}|responses:given|judges:lexical-"
    assert signed in caplog.text and "signature" not in figures
    answered("throne_coco", ["A cup.", "", ""], judges="lexical")
    assert len(judged) == 2


ALTERNATELY = ("Yes, there is a dog.", "No.", "A person holds a cup.", "I cannot tell.")


@pytest.mark.filterwarnings("ignore:.* questions are scored")
@pytest.mark.parametrize("task", harness_data.TASKS)
def test_each_document_adds_its_part(data, task):
    """lm-eval averages numbers, and their mean is the score; lmms-eval finds the numbers as `score`, with clusters."""
    rows, benchmark = harness.dataset(task, **harness_data.settings(data))["test"], registry.benchmark(task)
    said = [*zip(rows, cycle(ALTERNATELY), strict=False)]
    of_lm_eval = [harness.answers(row, [text]) for row, text in said]
    of_lmms_eval = [harness.items(row, [text]) for row, text in said]
    for name in benchmark.scores:
        score = harness.score([one[name] for one in of_lmms_eval])
        logged = json.loads(json.dumps([one[name] for one in of_lmms_eval]))
        assert (logged[0].get("halluscope_task") == task) == (name == benchmark.principal)
        added = [one["score"] for one in logged if "score" in one]
        numbers = [one[name] for one in of_lm_eval if isinstance(one.get(name), float)]
        if name not in benchmark.means:
            assert added == numbers == []
            continue
        assert numbers == ([] if benchmark.judges else added)
        clusters = {one["cluster"] for one in logged}
        assert len(clusters) == {"pope": 1, "pope_c": 3, "hallusionbench": 1}.get(task, len(clusters))
        assert math.isnan(score) or score == pytest.approx(sum(added) / len(added))
        error = harness.error([one[f"{name}_stderr_clustered"] for one in of_lm_eval])
        shared = [one["cluster"] for one in logged if "score" in one]
        assert error == pytest.approx(harness_data.clustered_error(added, shared), nan_ok=True)


@pytest.mark.filterwarnings("ignore:.* questions are scored")
@pytest.mark.parametrize("task", harness_data.TASKS)
def test_a_judge_without_memory_loses_no_answer(task, data, monkeypatch, tmp_path, caplog, json_of):
    given = harness_data.settings(data)[task]
    count = len(harness.dataset(task, **{task: given})["test"])
    texts = [f"A dog, {place}. \ud83d" for place in range(count)]
    expected = answered(task, texts, **given)
    assert not [*tmp_path.rglob("responses/*")]  # what is scored needs no second copy
    harness._results.clear()
    with mock.patch.object(scoring, "of_each", side_effect=torch.OutOfMemoryError("CUDA. Tried\nto")):
        figures = answered(task, texts, **given)
    assert all(map(math.isnan, figures.values()))
    assert f"{task} is not scored: OutOfMemoryError: CUDA. Tried\\nto" in caplog.text
    (command,) = re.findall(r"to score them: halluscope (.+)", caplog.text)
    (result,) = json_of(*shlex.split(command), "--bootstrap", "0")
    for score in registry.benchmark(task).scores:
        figure = math.nan if result[score] is None else result[score]
        assert figure == pytest.approx(expected[score], nan_ok=True), score


def test_a_set_that_nobody_judges_says_what_to_type(data, monkeypatch, tmp_path, caplog):
    """No judge is named; then the responses cannot be kept; then only a part is answered, and its judge fails."""
    images = harness_data.pictures(data, "mmhal")
    assert all(map(math.isnan, answered("mmhal", ["Two dogs."] * 3, images=images).values()))
    assert "mmhal is not scored: its judge is a language model, and none is named." in caplog.text
    rows = harness.dataset("throne_coco", throne_coco={"judges": "lexical"})["test"]
    items = [harness.items(row, ["A dog."]) for row in rows.select(range(2))]
    with mock.patch.object(scoring, "of_each", side_effect=ValueError("No judge.")):
        harness.score([item["f0.5_cls"] for item in items])
    assert "throne_coco is not scored: No judge. The responses are kept in" in caplog.text
    assert "--judges lexical --limit 2" in caplog.text
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert answered("throne_coco", ["A dog."] * 3, judges="lexical")["recall_all"] == pytest.approx(1 / 3)
    assert "The responses of throne_coco cannot be kept while they are scored" in caplog.text


# Samples


DOG_QUESTION = {"question_id": 1, "question": "Is there a dog in the image?", "answer": "yes"}
PLAIN = {"question_id": 1, "response": "Yes."}


def sample(**changes: Any) -> dict[str, Any]:
    doc = DOG_QUESTION | {"halluscope_task": "pope_c"}
    return {"doc_id": 0, "doc": doc, "filtered_resps": ["Yes."], "filter": "none"} | changes


OF_LMMS_EVAL = {
    "doc_id": 0,
    "filtered_resps": "Yes.",
    "input": DOG_QUESTION["question"],
    "accuracy": {"halluscope_task": "pope_c", "question_id": 1, "cluster": 7, "score": 1.0},
}


def read(file: Path) -> reading.Responses:
    """The samples as responses to POPE's questions."""
    (responses,) = reading.read([file], reading.Reading(("pope", "pope_c")))
    return responses


def test_samples_of_either_harness_become_answers(tmp_path):
    for made in (sample(), OF_LMMS_EVAL):
        responses = read(write_lines(tmp_path / "samples.jsonl", [made]))
        assert responses.sampled and responses.name == "samples"
        assert responses.table.where[0].endswith("samples.jsonl, line 1")
        row = responses.table.row(0)
        assert row["question_id"] == 1 and responses.texts == ["Yes."] and "task" not in row


def test_bad_samples(tmp_path):
    no_row = r"line 1 is a sample that names no task and holds no row"
    others = sample(doc={"halluscope_task": "throne_coco"})
    for rows, said in (
        ([sample(), PLAIN], "line 2 is not a sample: expected doc_id and filtered_resps"),
        ([sample(), "Yes."], "line 2 is not a sample"),
        ([others], "a sample of the task 'throne_coco'; expected a sample of pope or pope_c"),
        ([{"doc_id": 0, "filtered_resps": "A", "acc": 1.0}], no_row),
        ([sample(doc_id=[1])], r"line 1: doc_id is \[1\]; expected a whole number or a string"),
        ([sample(), sample()], r"line 2: the document 0 is already in .*line 1"),
        ([sample(filtered_resps=["Yes.", "No."])], r"is \['Yes.', 'No.'\]; expected the LVLM's text"),
    ):
        with pytest.raises(ValueError, match=said):
            read(write_lines(tmp_path / "samples.jsonl", rows))
