"""Results in Python: dicts that print as tables, of one or several models, from datasets of every form."""

import json
import pickle
import re

import datasets
import numpy as np
import pandas
import pytest

import halluscope
from halluscope.errors import BuildError
from halluscope.reporting.tables import to_json
from tests.small_datasets import needs

pytestmark = needs("pope")

ASKED = [(image, name) for image in range(1, 41) for name in ("dog", "cat")]
ROWS = [
    {
        "question_id": number,
        "image_id": image,
        "question": f"Is there a {name} in the image?",
        "object": name,
        "answer": "yes" if (image + number) % 3 else "no",
    }
    for number, (image, name) in enumerate(ASKED, 1)
]
GOOD = [f"{row['answer'].capitalize()}, as far as I see." for row in ROWS]
BAD = ["Yes"] * len(ROWS)


def by_id(texts):
    return [{"question_id": number, "response": text} for number, text in enumerate(texts, 1)]


@pytest.fixture
def rows():
    return datasets.Dataset.from_list(ROWS)


def test_the_result_of_one_model_as_text_frame_and_json(rows):
    result = halluscope.score("pope", GOOD, rows)
    assert isinstance(result, dict) and result["accuracy"] == 1 and result["matched"] == "order"
    assert "interval:0.95,jackknife-beta,images|" in result["signature"], "as on the command line"
    assert "accuracy" in str(result) and re.search(r"100\.0 \(\d\d\.\d to 100\.0\)", str(result))
    assert result["signature"] in str(result)
    frame = result.to_pandas()
    assert frame.loc[0, "accuracy"] == 1 and 0.8 < frame.loc[0, "accuracy low"] < 1
    assert json.loads(json.dumps(result)) and pickle.loads(pickle.dumps(result)) == result
    assert "interval" not in halluscope.score("pope", GOOD, rows, bootstrap=0)


def test_a_score_that_there_is_not(rows, tmp_path, refused):
    file = tmp_path / "good.json"
    file.write_text(json.dumps(by_id(GOOD)))
    rows.to_json(tmp_path / "rows.jsonl")
    command = ["score pope --bootstrap 0 --scores f2 --responses", file, "--dataset", tmp_path / "rows.jsonl"]
    said = refused(*command)
    assert "There is no score 'f2'" in said and "f1" in said


@pytest.mark.parametrize(
    "give",
    [
        lambda texts: dict(reversed([(row["question_id"], row["response"]) for row in by_id(texts)])),
        lambda texts: {str(number): text for number, text in enumerate(texts, 1)},
        pandas.Series,
        np.array,
        lambda texts: datasets.Dataset.from_list(by_id(texts))["response"],
    ],
)
def test_several_models_in_every_form(give, rows):
    results = halluscope.score("pope", {"A": give(GOOD), "B": give(BAD)}, rows, bootstrap=0)
    one_by_one = [halluscope.score("pope", give(texts), rows, bootstrap=0) for texts in (GOOD, BAD)]
    assert [results["A"]["f1"], results["B"]["f1"]] == [result["f1"] for result in one_by_one]
    assert results["A"]["f1"] == 1


@pytest.mark.parametrize("value", [None, float("nan"), 3])
def test_what_is_no_text(value, rows):
    said = re.escape(f"responses[79] is {value}; expected a text")
    with pytest.raises(ValueError, match=said):
        halluscope.score("pope", [*GOOD[:-1], value], rows)


def test_a_table_without_names(rows):
    with pytest.raises(ValueError, match="Texts here: 1"):
        halluscope.score("pope", pandas.DataFrame({0: range(1, 81), 1: GOOD}), rows)


def test_a_call_without_runs_is_refused():
    for call in (halluscope.compare, halluscope.table, halluscope.verify):
        with pytest.raises(ValueError, match="No run is named; expected a folder that `halluscope score"):
            call()


def test_one_name_in_place_of_a_list(rows, tmp_path):
    halluscope.score("pope", {"A": GOOD, "B": BAD}, rows, out=tmp_path / "runs")
    with pytest.raises(ValueError, match="scores is 'accuracy'; expected a list"):
        halluscope.compare(tmp_path / "runs", scores="accuracy")
    with pytest.raises(ValueError, match="scores is 'pope/f1'; expected a list"):
        halluscope.table(tmp_path / "runs", scores="pope/f1")


def test_several_models(rows, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(by_id(BAD)))
    given = {"A": by_id(GOOD), "B": str(bad), "C": GOOD}
    with pytest.raises(ValueError, match="twice"):
        halluscope.score("pope", given | {"D": bad}, rows)
    results = halluscope.score("pope", given, rows, out=tmp_path / "runs")
    assert [*results] == ["A", "B", "C"] and results["A"]["f1"] == results["C"]["f1"] == 1
    assert results["B"] == halluscope.score("pope", by_id(BAD), rows)
    assert all(results[name]["signature"] in str(results) for name in "AB")
    assert list(results.to_pandas()["responses"]) == ["A", "B", "C"]

    one, other = tmp_path / "runs" / "A", tmp_path / "runs" / "B"
    compared = halluscope.compare(one, other, bootstrap=200)
    with pytest.raises(ValueError, match=r"arguments of their own, as in compare\(a, b\)"):
        halluscope.compare([one, other])
    assert compared["scores"][0]["better"] == "A" and "accuracy" in str(compared)
    assert compared.to_pandas().loc[0, "better"] == "A"
    assert halluscope.score("pope", tuple(GOOD), rows) == results["C"]
    assert halluscope.verify(tmp_path / "runs") == {str(tmp_path / "runs" / name): [] for name in "ABC"}
    (one / "scores.json").write_text("{}")
    assert "scores.json was changed" in halluscope.verify(one)[str(one)]


def test_what_was_printed_may_be_called_as_a_file_of_a_run(rows, tmp_path, monkeypatch, ran):
    """A run's own scores.json stands for the run; another file of this name is what `score --json` printed."""
    monkeypatch.chdir(tmp_path)
    half = [*GOOD[:40], *BAD[40:]]
    results = halluscope.score(
        "pope", {"A": by_id(GOOD), "B": by_id(BAD), "C": by_id(half)}, rows, out="runs"
    )
    scores = [{"responses": name, **result} for name, result in results.items()]
    (tmp_path / "scores.json").write_text(to_json(scores))
    expected = ran("study correlate runs runs --scores accuracy f1").out
    assert ran("study correlate scores.json scores.json --scores accuracy f1").out == expected


def test_the_worst_responses_of_few_errors(rows, tmp_path, ran):
    """A model without an error, and one with one, whose image is named; a page says what was ignored."""
    one_wrong = [*GOOD[:-1], "No." if ROWS[-1]["answer"] == "yes" else "Yes."]
    given = {"none": by_id(GOOD), "one": by_id(one_wrong)}
    halluscope.score("pope", given, rows, out=tmp_path / "runs")
    said = ran("report", tmp_path / "runs", "--worst", "3").out
    assert "none: no wrong response of 80" in said and "one: the worst response of 80" in said
    assert "1. 80 (image 40): wrong" in said and "Is there a cat in the image?" in said
    odd = [
        row | {"response": int(row["response"].startswith("Yes")), "sampling": 7} for row in by_id(one_wrong)
    ]
    halluscope.score("pope", odd, rows, out=tmp_path / "odd")
    ran("report", tmp_path / "odd", "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert (
        "The sampling of 80 responses was ignored" in page and "labels, not texts: 1 and 0 are read" in page
    )


def test_texts_by_id_are_one_model_and_a_name_of_no_file_is_no_text(rows):
    texts = {str(row["question_id"]): [text] for row, text in zip(ROWS, GOOD, strict=True)}
    assert halluscope.score("pope", texts, rows)["accuracy"] == 1
    with pytest.raises(FileNotFoundError, match="nowhere.jsonl"):
        halluscope.score("pope", {"A": "nowhere.jsonl"}, rows)


def test_what_save_to_disk_wrote(rows, tmp_path):
    rows.save_to_disk(tmp_path / "one")
    datasets.DatasetDict(test=rows, dev=rows.select(range(6))).save_to_disk(tmp_path / "two")
    whole = halluscope.score("pope", GOOD, rows)
    assert halluscope.score("pope", GOOD, tmp_path / "one") == whole
    assert halluscope.score("pope", GOOD, f"{tmp_path / 'two'}@test") == whole
    state = json.loads((tmp_path / "one" / "state.json").read_text())
    state["_data_files"][0]["filename"] = "../two/test/data-00000-of-00001.arrow"
    (tmp_path / "one" / "state.json").write_text(json.dumps(state))
    with pytest.raises(BuildError, match="outside the folder"):
        halluscope.score("pope", GOOD, tmp_path / "one")


@pytest.mark.parametrize("more", [[], ["--scores", "f1", "accuracy"]])
@pytest.mark.parametrize("style", ["markdown", "latex"])
def test_bold_is_the_principal_score_that_is_significantly_better(tmp_path, ran, style, more):
    """One wrong answer more is chance, so with it no score is bold; nor is one of another set of rows."""
    datasets.Dataset.from_list(ROWS).save_to_disk(tmp_path / "questions")
    bold = {"markdown": "**100.0**", "latex": r"\textbf{100.0}"}[style]
    near = ["No", *GOOD[1:]]
    assert near != GOOD
    for name, said in {"good": GOOD, "bad": BAD, "near": near, "part": BAD[:60]}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(by_id(said)))
    command = ["score", "pope", "--partial", "--bootstrap", "500", "--dataset", tmp_path / "questions"]
    runs = {"good bad": 1, "bad good": 1, "good bad near": 0, "good part": 0, "good": 0}
    for names, count in runs.items():
        files = [tmp_path / f"{name}.json" for name in names.split()]
        printed = ran(*command, "--responses", *files, "--format", style, *more).out
        assert printed.count(bold) == count, names
        assert printed.count("**" if style == "markdown" else "textbf") == count * (1 + (style == "markdown"))


def test_models_that_share_no_row_are_not_compared(rows, tmp_path, ran):
    rows.save_to_disk(tmp_path / "questions")
    files = []
    for name, part in (("first", slice(40)), ("last", slice(40, 80))):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(by_id(GOOD)[part]))
    command = ["score", "pope", "--partial", "--dataset", tmp_path / "questions", "--responses", *files]
    printed = ran(*command, "--format", "latex").out
    assert "The models are not compared. The runs 'first', 'last' have no row in common" in printed


def test_a_loaded_dataset_with_the_authors_columns(tmp_path):
    """It scores as their file does under a name that does not say which sampling it is."""
    names = {"question_id": "question_id", "image_id": "image", "question": "text", "answer": "label"}
    rows = [{theirs: row[ours] for ours, theirs in names.items()} for row in ROWS]
    rows = [row | {"image": f"{row['image']}.jpg"} for row in rows]
    (tmp_path / "rows.json").write_text("\n".join(map(json.dumps, rows)))
    loaded = halluscope.score("pope", by_id(GOOD), datasets.Dataset.from_list(rows), bootstrap=0)
    assert loaded == halluscope.score("pope", by_id(GOOD), str(tmp_path / "rows.json"), bootstrap=0)
    assert loaded["accuracy"] == 1 and loaded["matched"] == "question_id"
