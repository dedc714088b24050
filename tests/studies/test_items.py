"""`halluscope study items`: which rows are hard, and which labels to doubt."""

import json

import pytest

import halluscope
from halluscope.errors import RunError
from halluscope.reading.datasets import read_rows
from halluscope.studies.items import items
from tests import small_datasets
from tests.studies.test_agreement import write_method
from tests.studies.test_graders import scored

pytestmark = pytest.mark.filterwarnings("ignore")

THINGS = ("dog", "cat", "cup", "bus", "bench", "kite")


@pytest.fixture
def dataset(tmp_path):
    return f"{small_datasets.build('pope', tmp_path)}:coco"


def run(tmp_path, dataset, name, said):
    """Score yes or no to the six random questions, whose right answers are yes, no, yes, no, yes, no."""
    rows = [
        {"question_id": number, "question": f"Is there a {thing} in the image?", "response": answer}
        for number, (thing, answer) in enumerate(zip(THINGS, said.split(), strict=True))
    ]
    file = tmp_path / f"{name}.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    halluscope.score("pope", file, dataset, out=tmp_path / "runs" / name, sampling="random", bootstrap=10)
    return tmp_path / "runs" / name


def test_rows_that_all_models_get_wrong_are_suspects(dataset, tmp_path, ran, json_of):
    run(tmp_path, dataset, "a", "yes no yes no no no")
    run(tmp_path, dataset, "b", "yes no yes yes no no")
    run(tmp_path, dataset, "c", "yes yes no yes no no")
    found = json_of("study", "items", tmp_path / "runs")
    assert found["models"] == ["a", "b", "c"] and found["score"] == "accuracy"
    hard = [one["difficulty"] for one in found["items"]]
    assert hard == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3, 1, 0])
    assert [one["label"] for one in found["items"] if one["suspect"]] == ["yes"]
    assert found["items"][4]["question"] == "Is there a bench in the image?"
    assert found["items"][4]["discrimination"] is None
    text = ran("study", "items", tmp_path / "runs").out
    assert "bench" in text and "100.0" in text and "expected 8" in text


def test_a_row_that_good_models_get_wrong_is_a_suspect(dataset, tmp_path):
    """The better a model, the more of the first five rows are right; the last is right for the bad ones only."""
    folders = []
    for number in range(20):
        told = [("yes", "no")[(row + (row >= number / 2)) % 2] for row in range(5)]
        told.append("no" if number < 4 else "yes")
        folders.append(run(tmp_path, dataset, f"m{number}", " ".join(told)))
    found = items(folders)
    assert [one["suspect"] for one in found["items"]] == [False] * 5 + [True]
    assert found["items"][5]["discrimination"] < 0 < found["items"][0]["discrimination"]
    assert "kite" in repr(found) and len(found.to_pandas()) == 6
    assert found["subset"] is None  # six rows are fewer than the smallest subset


def test_a_random_subset_that_gives_the_full_ranking(tmp_path):
    """One model is always right, one in half of the rows, one never: ten rows tell that nearly always."""
    asked = [(f"COCO_val2014_{number:012}.jpg", "dog", "yes") for number in range(40)]
    dataset = small_datasets.pope_file(tmp_path / "coco_pope_random.json", asked)
    folders = []
    for name, said in {"a": ["Yes, a dog."], "b": ["Yes.", "No."], "c": ["No."]}.items():
        texts = said * (40 // len(said))
        halluscope.score("pope", texts, dataset, out=tmp_path / name, bootstrap=0)
        folders.append(tmp_path / name)
    found = items(folders)
    assert len(found["subset"]["ids"]) == 10 and 0.95 <= found["subset"]["kept"] <= 1
    assert 0 < found["subset"]["error"] < 0.2 and "10 random rows give the full ranking" in repr(found)


def test_a_share_that_is_better_when_lower(tmp_path, json_of, ran):
    """All models are wrong in the second row; one has no verdict on the first."""
    dataset = str(small_datasets.build("hqh", tmp_path))
    count = len(read_rows(dataset))
    for name in "abc":
        ratings = [{"correct": place != 1, "extra_claims": 0} for place in range(count)]
        if name == "c":
            ratings[0] = None
        texts = [f"{name} {place}" for place in range(count)]
        halluscope.score("hqh", texts, dataset, out=tmp_path / "runs" / name, ratings=ratings, bootstrap=0)
    found = json_of("study", "items", tmp_path / "runs", "--scores", "main_hal")
    assert (found["rows"], len(found["items"])) == (count, count - 1)
    assert [row["difficulty"] for row in found["items"]] == [1] + [0] * (count - 2)
    assert "left out: a model has no" in ran("study items", tmp_path / "runs").out


def test_runs_without_shares_or_of_other_labels(tmp_path):
    write_method(tmp_path / "throne", {(name, 1): ([], []) for name in "abc"})
    with pytest.raises(RunError, match="have no score of their own"):
        items([tmp_path / "throne"])
    folders = []
    for name, label in {"a": "yes", "b": "yes", "c": "no"}.items():
        asked = [("COCO_val2014_000000000042.jpg", thing, label) for thing in THINGS]
        dataset = small_datasets.pope_file(tmp_path / "coco_pope_random.json", asked, first=0)
        folders.append(run(tmp_path, dataset, name, "yes no yes no yes no"))
    with pytest.raises(RunError, match="same ids differ between the runs 'a' and 'c'"):
        items(folders)


def test_what_cannot_be_said_is_refused(dataset, tmp_path):
    folders = [run(tmp_path, dataset, name, "yes no yes no yes no") for name in "ab"]
    with pytest.raises(ValueError, match="2 models; expected at least 3"):
        items(folders)
    with pytest.raises(RunError, match="expected a share that each row of POPE has: accuracy"):
        items(folders, score="f1")


def test_rows_that_a_judge_grades_have_no_label(tmp_path, ran):
    (row, *_) = read_rows(str(small_datasets.build("haloquest", tmp_path)))
    runs = [scored(tmp_path, name, right, row) for name, right in (("one", 70), ("two", 58), ("three", 90))]
    text = ran("study", "items", *runs).out
    assert "What about its false premises?  -  " in text and "None" not in text
