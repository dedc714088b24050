"""`halluscope report` of runs as they were written, for every benchmark."""

import json
import re

import pytest
from PIL import Image

import halluscope
from halluscope import registry
from halluscope.reading.datasets import read_rows
from tests import small_datasets
from tests.runs.made import made, write

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    "benchmark", [one for one in registry.benchmarks() if one.is_scored], ids=lambda one: one.name
)
def test_a_page_of_a_written_run(benchmark, tmp_path, ran):
    """This includes undefined scores, which are null in JSON; what was not counted is not undefined."""
    folder = write(made(benchmark, tmp_path), tmp_path / "run")
    ran("report", folder, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "</html>" in page
    assert "cells ignored because the judges disagree" not in page, "the judge answers every question"


def test_the_report_of_a_run_in_python(tmp_path, ran):
    folder = write(made(registry.benchmark("pope"), tmp_path), tmp_path / "run")
    ran("report", folder, "--out", tmp_path / "page.html")
    halluscope.report(folder).save(tmp_path / "same.html")
    assert (tmp_path / "same.html").read_text("utf-8") == (tmp_path / "page.html").read_text("utf-8")
    with pytest.raises(ValueError, match="holds its responses"):
        halluscope.report(folder, ["Yes"], ["yes"])
    with pytest.raises(ValueError, match="takes the run .* alone"):
        halluscope.report(folder, name="mine")
    with pytest.raises(ValueError, match="the folder of a run"):
        halluscope.report({})


def test_credits_of_no_image(tmp_path, ran, refused):
    """Credits without images, or of other images, give a message."""
    folder = write(made(registry.benchmark("throne"), tmp_path), tmp_path / "run")
    (tmp_path / "credits.json").write_text('{"images": [{"id": "a"}, 3]}', "utf-8")
    words = ["report", folder, "--out", tmp_path / "page.html", "--credits", tmp_path / "credits.json"]
    assert "give --dataset or --images" in refused(*words)
    Image.new("RGB", (8, 8)).save(tmp_path / "000000000010.jpg")
    assert "names no licence for any of these images" in ran(*words, "--images", tmp_path).err


# A report shows the images of the dataset on which its run was scored

PICTURE = "data:image/webp;base64,"
SCORE = ("score", "throne", "--judges", "lexical")


@pytest.fixture
def described(tmp_path, monkeypatch) -> int:
    """A dataset with images in datasets/ of the working directory, and a file of descriptions of them."""
    monkeypatch.chdir(tmp_path)
    dataset = small_datasets.build("throne_coco", tmp_path / "datasets", with_images=True)
    rows = read_rows(str(dataset))
    said = [{"image_id": row["image_id"], "response": "A dog."} for row in rows]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, said)))
    return len(said)


def pictures_in(page) -> int:
    return len(set(re.findall(PICTURE + "[^\"']+", page.read_text("utf-8"))))


@pytest.mark.parametrize("by", ["command", "call"])
def test_a_report_shows_the_images_of_the_run_s_dataset(described, ran, tmp_path, by):
    if by == "command":
        ran(*SCORE, "--responses", "mine.jsonl", "--dataset", "throne_coco", "--out", "run")
    else:
        dataset = tmp_path / "datasets" / "throne_coco"
        halluscope.score("throne", "mine.jsonl", dataset, judges="lexical", out="run")
    said = ran("report", "run").out
    assert f"report.html: {described} responses, {described} images" in said
    assert pictures_in(tmp_path / "report.html") == described
    assert (
        f"{described} responses, 0 images"
        in ran("report", "run", "--dataset", "none", "--out", "bare.html").out
    )
    assert pictures_in(tmp_path / "bare.html") == 0


def test_a_report_without_the_run_s_dataset_says_so(described, ran, tmp_path):
    ran(*SCORE, "--responses", "mine.jsonl", "--dataset", "throne_coco", "--out", "run")
    (tmp_path / "datasets" / "throne_coco").rename(tmp_path / "elsewhere")
    said = ran("report", "run", "--out", "first.html")
    assert "0 images" in said.out and "Without pictures: " in said.err and "--dataset or --images" in said.err
    assert f"{described} images" in ran("report", "run", "--dataset", "elsewhere", "--out", "second.html").out
    small_datasets.build("throne_coco", tmp_path / "datasets")
    for number, words in enumerate(([], ["--dataset", "throne_coco"])):
        said = ran("report", "run", "--out", f"third{number}.html", *words)
        assert "0 images" in said.out and "was built without images" in said.err


def test_images_that_the_user_names_are_not_there(described, ran, tmp_path):
    """A file that `score` took as the dataset holds none; a folder may lack some, or all."""
    ran(*SCORE, "--responses", "mine.jsonl", "--dataset", "throne_coco", "--out", "run")
    (tmp_path / "labels.json").write_text('{"10": ["dog"]}')
    (tmp_path / "images").mkdir()
    report = ["report", "run", "--dataset", "labels.json", "--out"]
    assert "is a file without images; --images FOLDER names them" in ran(*report, "a.html").err
    said = ran(*report, "b.html", "--images", "images").err
    assert "Without pictures: 3 of the 3 images, such as 10, are not in images" in said
    Image.new("RGB", (8, 8)).save("images/000000000010.jpg")
    said = ran(*report, "c.html", "--images", "images")
    assert "2 of the 3 images, such as 20, are not in images" in said.err and "1 images" in said.out


def test_a_report_of_runs_about_other_images_shows_each(tmp_path, ran):
    for name, text, image, objects in (("some", "A dog.", "10", ["dog"]), ("none", "Fog.", "11", [])):
        (tmp_path / f"{name}.json").write_text(json.dumps({image: text}))
        (tmp_path / "labels.json").write_text(json.dumps({image: objects}))
        files = ["--responses", tmp_path / f"{name}.json", "--dataset", tmp_path / "labels.json"]
        ran(*SCORE, *files, "--out", tmp_path / name)
    said = ran("report", tmp_path / "some", tmp_path / "none", "--out", tmp_path / "page.html")
    assert "Not compared: " in said.err and "2 responses" in said.out
    ran("report", tmp_path / "some", tmp_path / "none", "--figures", tmp_path / "figures")
    assert (
        "The models have different rows: some 1, none 1." in (tmp_path / "figures/captions.txt").read_text()
    )
