"""`halluscope study swap`: two judges of the same responses."""

import json

import pytest

import halluscope
from halluscope.benchmarks.throne.questions import PAPER
from halluscope.reading.datasets import read_rows
from halluscope.vocabularies import load
from tests import small_datasets
from tests.studies.sheets import lines

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def dataset(tmp_path):
    return str(small_datasets.build("hqh", tmp_path))


@pytest.fixture
def judged(tmp_path, dataset):
    """Score a model's responses to HQH's rows, of which the verdicts call some wrong, and return the run's folder."""
    ids = [row["id"] for row in read_rows(dataset)]

    def score(judge, model, wrong=(), text="It is {}.", verdicts=()):
        file, out = tmp_path / f"{model}.jsonl", tmp_path / judge / model
        file.write_text("\n".join(json.dumps({"id": row, "response": text.format(row)}) for row in ids))
        given = [{"correct": place not in wrong, "extra_claims": 0} for place in range(len(ids))]
        given = [*verdicts] * len(ids) or given
        halluscope.score("hqh", file, dataset, out=out, ratings=given, bootstrap=20)
        return out

    return score


def test_two_judges_by_hand(tmp_path, dataset, judged, ran, json_of):
    """The second judge finds one more response of the first model wrong, and swaps the two models."""
    count = len(read_rows(dataset))
    judged("old", "a")
    judged("old", "b", [0])
    judged("new", "a", [0, 1])
    judged("new", "b", [0])
    command = ["study", "swap", tmp_path / "old", tmp_path / "new", "--bootstrap", "50"]
    found = json_of(*command, "--scores", "main_hal")
    assert found["rows"] == count
    of_a = next(one for one in found["agreement"] if one["model"] == "a" and one["score"] == "main_hal")
    assert (of_a["of"], of_a["same"]) == (count, (count - 2) / count)
    assert of_a["low"] < of_a["same"] < of_a["high"] and of_a["kappa"] == 0
    of_b = next(one for one in found["agreement"] if one["model"] == "b" and one["score"] == "main_hal")
    assert (of_b["same"], of_b["low"]) == (1, pytest.approx(0.025))  # all questions are about one image
    by_model = {one["model"]: one for one in found["scores"]}
    assert by_model["a"]["values"] == [0, 2 / count]
    assert by_model["a"]["by"]["value"] == pytest.approx(-2 / count)
    assert by_model["b"]["by"]["value"] == 0
    (ranks,) = found["ranks"]
    assert ranks["ranks"] == {"a": [1, 2], "b": [2, 1]} and ranks["tau"]["value"] == -1
    text = ran(*command).out
    assert "Kendall's tau of the two rankings" in text and "halluscope study certify" in text


def test_a_model_without_a_score_has_no_rank(tmp_path, judged, json_of):
    """The second judge gave no verdict on the third model's responses; the other two keep their ranks."""
    for judge in ("old", "new"):
        judged(judge, "a")
        judged(judge, "b", [0])
    judged("old", "c", [0, 1])
    judged("new", "c", verdicts=[None])
    found = json_of("study", "swap", tmp_path / "old", tmp_path / "new", "--scores", "main_hal")
    (ranks,) = found["ranks"]
    assert ranks["ranks"] == {"a": [1, 1], "b": [2, 2]} and ranks["tau"]["value"] == 1
    assert [row["values"][1] for row in found["scores"] if row["model"] == "c"] == [None]


def test_rows_without_a_verdict_of_one_judge_are_told(tmp_path, dataset, judged, ran, json_of):
    """The judges agree on what both judged; the second one's score is of fewer rows."""
    count = len(read_rows(dataset))
    right = {"correct": True, "extra_claims": 0}
    judged("old", "a", [0])
    file = tmp_path / "a.jsonl"
    ratings = [None] + [right] * (count - 1)
    halluscope.score("hqh", file, dataset, out=tmp_path / "new", ratings=ratings, bootstrap=20)
    command = ["study", "swap", tmp_path / "old" / "a", tmp_path / "new", "--scores", "main_hal"]
    by_judge = {"a, judge 1": count, "a, judge 2": count - 1}
    assert json_of(*command)["unlike_rows"] == [{"main_hal": by_judge}]
    told = f"main_hal is not of the same rows: {count} rows of a, judge 1, {count - 1} rows of a, judge 2"
    assert told in ran(*command).out
    compared = ran("compare", tmp_path / "old" / "a", tmp_path / "new", "--scores", "main_hal")
    assert "main_hal is not of the same rows" in compared.out
    same = ("study", "swap", tmp_path / "old" / "a", judged("same", "a", [0, 1]), "--scores", "main_hal")
    assert json_of(*same)["unlike_rows"] == [{}]


def test_equal_rankings_have_no_interval_without_a_width(tmp_path, judged, ran, json_of):
    """Both judges find only the second model wrong, in most responses."""
    for judge in ("old", "new"):
        judged(judge, "a")
        judged(judge, "b", range(7))
    command = ["study", "swap", tmp_path / "old", tmp_path / "new", "--scores", "main_hal", "--bootstrap"]
    assert "rankings is 1.00, as in every resample" in ran(*command, "50").out
    assert "rankings is 1.00\n" in ran(*command, "1").out
    (ranks,) = json_of(*command, "1")["ranks"]
    assert ranks["tau"] == {"value": 1, "low": None, "high": None}


def test_classes_that_either_judge_reads(tmp_path, json_of, ran):
    """Of the dog and the cat that the first judge reads, and the dog and the cup, both read the dog."""
    for name, classes in {"first": ("dog", "cat"), "second": ("dog", "cup")}.items():
        votes = [
            {"text": "A dog.", "question": about.text, "answer": "yes" if about.object in classes else "no"}
            for of_template in PAPER.about(load("coco"))
            for about in of_template
        ]
        lines(tmp_path / f"{name}.jsonl", votes)
        options = {"judges": f"replay:{tmp_path / name}.jsonl", "out": tmp_path / name, "bootstrap": 20}
        lines(tmp_path / "a.jsonl", [{"image_id": 7, "response": "A dog."}])
        (tmp_path / "truth.json").write_text(json.dumps({"7": ["dog", "cat"]}))
        halluscope.score("throne", tmp_path / "a.jsonl", tmp_path / "truth.json", **options)
    command = ["study", "swap", tmp_path / "first", tmp_path / "second", "--bootstrap", "20"]
    (mentions,) = [row for row in json_of(*command)["agreement"] if row["score"] == "mentions"]
    assert (mentions["of"], mentions["same"]) == (3, pytest.approx(1 / 3))
    assert "judges is replay-" in ran(*command).out


def test_other_responses_are_no_swap(tmp_path, dataset, judged, ran, refused):
    one, same, other = judged("old", "a"), judged("new", "b"), judged("other", "c", text="Other.")
    ran("study", "swap", one, same, "--bootstrap", "20")  # single runs pair whatever their names
    count = len(read_rows(dataset))
    assert f"{count} of {count} responses of 'a' differ between the two runs" in refused(
        "study", "swap", one, other
    )
    judged("old", "d")
    assert "Only one of the two judges has a run of" in refused(
        "study", "swap", tmp_path / "old", tmp_path / "new"
    )
