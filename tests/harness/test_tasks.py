"""What harnesses and `halluscope answer` share: task files, datasets with their images, settings, and read samples."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from datasets import Dataset, Image
from halluscope.harness.benchmarks import BENCHMARKS
from PIL import Image as Pillow

from halluscope import cli
from halluscope.answering import sources
from halluscope.errors import JudgeUnavailable
from halluscope.harness import benchmarks, settings
from halluscope.harness import functions as harness
from halluscope.paths import PACKAGE
from halluscope.reading import pictures
from halluscope.responses import samples
from tests.harness import data as harness_data

HARNESSES = ("lm_eval", "lmms_eval")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harness_data.build_all(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def _set(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sources.DATASETS, str(data))
    monkeypatch.delenv(settings.TASKS, raising=False)


def opened(data: Path, name: str, **options: Any) -> sources.Source:
    return sources.open_source(str(data / name), harness_data.pictures(data, name), **options)


# The task files


class _Loader(yaml.SafeLoader):
    pass


_Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


def task_file(file: Path) -> dict[str, Any]:
    """A task file as harnesses read it: what it includes comes first."""
    content = yaml.load(file.read_text(), _Loader)
    merged: dict[str, Any] = {}
    for included in content.pop("include", []):
        merged |= task_file(file.parent / included)
    return merged | content


@pytest.mark.parametrize("folder", HARNESSES)
def test_a_file_for_each_benchmark(folder: str) -> None:
    files = {file.stem for file in (PACKAGE / "tasks" / folder).glob("*.yaml")} - {"shared"}
    assert files == set(BENCHMARKS)


@pytest.mark.parametrize("folder", HARNESSES)
@pytest.mark.parametrize("name", BENCHMARKS)
def test_task_files_say_what_the_benchmarks_say(folder: str, name: str) -> None:
    task = task_file(PACKAGE / "tasks" / folder / f"{name}.yaml")
    benchmark = BENCHMARKS[name]
    length = {"lm_eval": "max_gen_toks", "lmms_eval": "max_new_tokens"}[folder]
    assert task["generation_kwargs"][length] == benchmark.max_new_tokens
    assert task["generation_kwargs"]["do_sample"] is False and task["generation_kwargs"]["until"] == []
    assert tuple(metric["metric"] for metric in task["metric_list"]) == benchmark.figures
    functions = [task["process_results"], *(metric["aggregation"] for metric in task["metric_list"])]
    assert set(functions) == {"halluscope.harness.functions.answers", "halluscope.harness.functions.score"}
    assert task["metadata"]["version"]
    if folder == "lm_eval":
        assert (task["task"], task["dataset_kwargs"]) == (name, {"task": name})
    else:
        assert task["task"] == ("halluscope_pope" if name == "pope" else name)
        marker = PACKAGE / "tasks" / folder / task["dataset_kwargs"]["data_files"]["test"]
        assert json.loads(marker.read_text()) == {"task": name}


@pytest.mark.parametrize(("harness_name", "folder"), [("lm-eval", "lm_eval"), ("lmms-eval", "lmms_eval")])
def test_the_command_prints_the_folder(
    harness_name: str, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["tasks", harness_name]) == 0
    assert (Path(capsys.readouterr().out.strip()) / "throne_coco.yaml").is_file()


# Images


def test_an_image_is_opened_once_and_not_decoded(data: Path) -> None:
    source = opened(data, "pope_c")
    rows = list(source.rows)
    images = [source.image(row) for row in rows]
    assert [image is images[0] for image in images] == [
        row["image_id"] == rows[0]["image_id"] for row in rows
    ]
    assert all(image is not None and image.tile for image in images)  # what is left to decode
    kept = sources.open_source(str(data / "pope_c"), keep=1)
    first = kept.image(rows[0])
    assert first is kept.image(rows[1])
    assert kept.image(rows[-1]) is not None and kept.image(rows[0]) is not first  # it was let go


def test_images_are_those_of_the_dataset(data: Path) -> None:
    source = opened(data, "throne_coco")
    for row in source.rows:
        file = data / "throne_coco-inputs" / "val2017" / row["file_name"]
        image = source.image(row)
        assert image is not None and image.tobytes() == Pillow.open(file).convert("RGB").tobytes()


def test_grey_and_transparent_images_become_rgb_and_turned_ones_upright(tmp_path: Path) -> None:
    Pillow.new("L", (4, 3), 9).save(tmp_path / "grey.png")
    Pillow.new("RGBA", (4, 3), (9, 8, 7, 0)).save(tmp_path / "clear.png")
    turned = Pillow.Exif()
    turned[pictures.ORIENTATION] = 6
    Pillow.new("RGB", (8, 6), (200, 0, 0)).save(tmp_path / "turned.jpg", exif=turned)
    names = {"grey.png", "clear.png", "turned.jpg"}
    find = pictures.of_folder(tmp_path, names)
    assert {find(name).mode for name in names} == {"RGB"}
    assert find("grey.png").getpixel((0, 0)) == (9, 9, 9)
    assert find("turned.jpg").size == (6, 8)


def test_a_question_without_an_image(data: Path) -> None:
    source = opened(data, "hallusionbench")
    assert [source.image(row) is None for row in source.rows] == [True, False, False]
    assert len(source.with_images_only().rows) == 2


def test_of_rows_about_one_image_any_may_hold_it() -> None:
    stored = Dataset.from_dict({"image_id": [1, 1, 2], "image": [None, Pillow.new("RGB", (5, 4)), None]})
    stored = stored.cast_column("image", Image())
    assert pictures.of_table(stored, "image_id", {1}, "it")(1).size == (5, 4)
    with pytest.raises(
        ValueError, match=r"1 of the 2 images that it asks about are not in it, such as image_id 2"
    ):
        pictures.of_table(stored, "image_id", {1, 2}, "it")


# Datasets


@pytest.mark.parametrize("name", harness_data.TASKS)
def test_the_columns_tell_the_benchmark(data: Path, name: str) -> None:
    source = opened(data, name)
    assert source.benchmark.name == name
    assert "image" not in source.rows.column_names
    row = source.rows[0]
    asked = source.benchmark.asked(row)
    assert asked == row.get("question", "Describe this image in detail.")
    prompt = "Say it." if name == "throne_coco" else "Say it: {question}"
    assert source.benchmark.asked(row, prompt) == prompt.replace("{question}", row.get("question", ""))
    source.benchmark.check_prompt(prompt)
    wrong = "{question}?" if name == "throne_coco" else "Say it."
    with pytest.raises(ValueError, match=f"The prompt for {name} is '{re.escape(wrong)}'; expected one with"):
        source.benchmark.check_prompt(wrong)


def test_the_config_that_is_asked(data: Path) -> None:
    assert opened(data, "pope").name == "pope:coco"
    assert sources.open_source(f"{data / 'pope'}:aokvqa", str(data / "pictures")).name == "pope:aokvqa"


def test_a_digest_tells_questions_apart(data: Path) -> None:
    source = opened(data, "pope")
    other = replace(source, rows=source.rows.select(range(5)))
    digests = {source.digest(), other.digest(), source.digest("{question} Yes or no?")}
    assert len(digests) == 3 and source.digest() == opened(data, "pope").digest()


def test_where_datasets_are_looked_for(data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert sources.where("pope") == f"{data}/pope"
    monkeypatch.setenv(sources.DATASETS, "my-org")
    assert sources.where("pope") == "my-org/pope"
    monkeypatch.delenv(sources.DATASETS)
    monkeypatch.setattr(sources, "home", lambda name: tmp_path / name)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ValueError, match=r"pope is not in .*Build it \(halluscope build pope\), or say where"
    ):
        sources.where("pope")
    (tmp_path / "datasets" / "pope" / "data").mkdir(parents=True)
    assert sources.where("pope") == "datasets/pope"


def test_datasets_that_cannot_be_asked(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is no dataset that can be loaded"):
        sources.open_source(str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="has no column objects: not throne_coco"):
        sources.open_source(str(data / "pope"), benchmark=BENCHMARKS["throne_coco"])
    with pytest.raises(ValueError, match=r"hqh was built without images; build it with them, or name"):
        sources.open_source(str(data / "hqh"))
    with pytest.raises(ValueError, match=r"There is no folder .*nowhere"):
        sources.open_source(str(data / "hqh"), str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match=r"1 of the 1 images are not in .*, such as COCO_val2014"):
        sources.open_source(str(data / "pope"), str(tmp_path))
    with pytest.raises(ValueError, match=r"columns text is none of ours; expected one of throne_coco"):
        benchmarks.of(["text"])


def test_a_file_name_that_leads_out(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    Pillow.new("RGB", (2, 2)).save(tmp_path / "secret.png")
    with pytest.raises(ValueError, match=r"'\.\./secret\.png' leads out"):
        pictures.of_folder(tmp_path / "inner", {"../secret.png"})


# Settings


def test_settings_come_from_the_harness_then_from_the_environment(
    data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    throne = BENCHMARKS["throne_coco"]
    assert settings.read(throne) == settings.Settings(f"{data}/throne_coco", None, {})
    of_environment = {"throne_coco": {"judges": "lexical", "beta": 1.0, "dataset": "elsewhere"}}
    (tmp_path / "tasks.json").write_text(json.dumps(of_environment))
    for text in (json.dumps(of_environment), str(tmp_path / "tasks.json")):
        monkeypatch.setenv(settings.TASKS, text)
        read = settings.read(throne, {"beta": 2.0})
        assert read == settings.Settings("elsewhere", None, {"judges": "lexical", "beta": 2.0})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"throne_coco": ', r"\$HALLUSCOPE_TASKS is not JSON"),
        ('{"throne_cocoa": {}}', "There is no task 'throne_cocoa'; expected one of throne_coco"),
        ('{"throne_coco": ["lexical"]}', r"throne_coco is \[\"lexical\"\]; expected an object"),
        (
            '{"throne_coco": {"judge": "lexical"}}',
            "throne_coco has no option 'judge'; expected dataset, images",
        ),
        ('{"throne_coco": {"votes": []}}', "throne_coco has no option 'votes'"),
    ],
)
def test_bad_settings(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.TASKS, text)
    with pytest.raises(ValueError, match=message):
        settings.read(BENCHMARKS["throne_coco"])


def test_harnesses_leave_out_questions_without_an_image_unless_told(data: Path) -> None:
    images = {"images": str(data / "pictures")}
    rows = harness.dataset("hallusionbench", hallusionbench=images)["test"]
    assert list(rows["figure_id"]) == [1, 2]
    assert harness.marked_prompt(rows[0]) == f"<image>{rows[0]['question']}"
    every = harness.dataset("hallusionbench", hallusionbench=images | {"protocol": "official"})["test"]
    assert len(every) == 3
    assert harness.images(every[0]) == [] and harness.marked_prompt(every[0]) == every[0]["question"]
    assert len(harness.images(every[1])) == 1


def test_a_missing_judge_is_missed_before_an_lvlm_answers(
    data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    images = {"images": str(data / "pictures")}
    for task, given in {
        "throne_coco": {"judges": "nobody/nothing"},
        "hallusionbench": images | {"judge": "nobody"},
        "hqh": images | {"judge": "nobody"},
    }.items():
        with pytest.raises(JudgeUnavailable):
            harness.dataset(task, **{task: given})
        assert f"{task}: There is no judge 'nobody'" in caplog.text or "'nobody/nothing'" in caplog.text


# What is scored


def answered(task: str, texts: list[str], **given: Any) -> dict[str, Any]:
    """The figures of texts, as a harness asks for them one by one."""
    rows = harness.dataset(task, **{task: given})["test"]
    items = [harness.answers(row, [text]) for row, text in zip(rows, texts, strict=True)]
    return {figure: harness.score([of[figure] for of in items]) for figure in BENCHMARKS[task].figures}


def test_a_set_is_judged_once(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = BENCHMARKS["throne_coco"]
    judged: list[list[str]] = []

    def score(rows: Any, texts: list[str], **options: Any) -> dict[str, Any]:
        judged.append(texts)
        return benchmark.score(rows, texts, **options)

    monkeypatch.setitem(BENCHMARKS, "throne_coco", replace(benchmark, score=score))
    texts = ["A dog.", "", "A dog and a person."]
    figures = answered("throne_coco", texts, judges="lexical")
    assert judged == [texts]
    # Objects: person and cup; none; dog. Said: dog; nothing; dog and person: 1 of 3 is right, 1 of 3 is found.
    assert (figures["precision_all"], figures["recall_all"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert figures["signature"].startswith("throne|vocabulary:coco|images:3|judges:lexical-1")
    answered("throne_coco", ["A cup.", "", ""], judges="lexical")
    assert len(judged) == 2


def test_what_cannot_be_scored_is_said_and_loses_no_answer(
    data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    figures = answered("throne_coco", ["A dog."] * 3, judges=["lexical"], agreement="most")
    assert all(value != value for name, value in figures.items() if name != "signature")
    assert figures["signature"] == "not scored"
    assert "throne_coco is not scored: agreement is 'most'" in caplog.text and "--responses" in caplog.text


# Samples


def sample(**changes: Any) -> dict[str, Any]:
    doc = {"question_id": 1, "question": "Is there a dog in the image?", "answer": "yes", "task": "pope_c"}
    return {"doc_id": 0, "doc": doc, "filtered_resps": ["Yes."], "filter": "none"} | changes


def of_lmms_eval(**changes: Any) -> dict[str, Any]:
    return {
        "doc_id": 0,
        "filtered_resps": "Yes.",
        "signature": '{"task": "pope_c", "question_id": 1}',
    } | changes


def write(file: Path, rows: list[Any]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_samples_of_either_harness_become_answers(tmp_path: Path) -> None:
    for made in (sample(), of_lmms_eval()):
        ((where, row),) = samples.rows(write(tmp_path / "samples.jsonl", [made]), "pope", "pope_c")
        assert where.endswith("samples.jsonl, line 1")
        assert row["question_id"] == 1 and row["response"] == "Yes." and "task" not in row


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "holds no sample"),
        ([{"question_id": 1, "response": "Yes."}], "line 1 is no sample: expected doc_id and filtered_resps"),
        (["Yes."], "line 1 is no sample"),
        (
            [sample(doc={"question": "2 + 2 = ?"})],
            "line 1 is a sample of another task; expected pope or pope_c",
        ),
        (
            [sample(doc={"task": "throne_coco"})],
            "a sample of the task 'throne_coco'; expected pope or pope_c",
        ),
        ([{"doc_id": 0, "filtered_resps": "A", "acc": 1.0}], "line 1 is a sample of another task"),
        ([sample(doc_id=[0])], r"line 1: doc_id is \[0\]; expected a number or a text"),
        ([sample(), sample()], r"line 2: the document 0 stands in .*line 1 already"),
        ([sample(filtered_resps=["Yes.", "No."])], r"filtered_resps is \['Yes.', 'No.'\]; expected one text"),
        ([sample(filtered_resps=[None])], r"filtered_resps is \[None\]; expected one text"),
    ],
)
def test_bad_samples(tmp_path: Path, rows: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(samples.rows(write(tmp_path / "samples.jsonl", rows), "pope", "pope_c"))


def test_samples_that_are_nested_too_deep(tmp_path: Path) -> None:
    (tmp_path / "samples.jsonl").write_text('{"doc_id": ' + "[" * 100_000)
    with pytest.raises(ValueError, match="line 1 is not JSON"):
        list(samples.rows(tmp_path / "samples.jsonl", "pope_c"))


def test_samples_that_are_cut_off(tmp_path: Path) -> None:
    file = write(tmp_path / "samples.jsonl", [sample(), sample(doc_id=1)])
    file.write_text(file.read_text()[:-30])
    with pytest.raises(ValueError, match="line 2 is not JSON, or is cut off"):
        list(samples.rows(file, "pope_c"))
