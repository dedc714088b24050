"""The parallel form of rows, and the command that makes it."""

import io
import re
from collections import Counter

import datasets
import pytest
from PIL import Image

from halluscope.studies.parallel.form import parallel_form
from tests import small_datasets
from tests.studies.sheets import lines, printed, read_json, read_lines, refused, run

DOG = "Is there a dog in the image?"


def test_rows_keep_their_ids_and_say_what_has_no_form():
    rows = [
        {"question_id": 7, "question": DOG, "answer": "yes", "sampling": "random"},
        {"question_id": 8, "question": "Is the dog brown?", "answer": "no"},
        {"id": 9, "question": "How many dogs are there?", "answer": "1"},
        {"id": 10, "question": "What is it?", "options": ["a dog", "a cat"], "answer": "A"},
        {"image_id": 11, "prompt": "Describe this image in detail.", "objects": ["dog"]},
    ]
    form = parallel_form(rows, seed=1)
    assert Counter(form.methods) == {"negated": 1, "rephrased": 2, "shuffled": 1}
    assert form.originals == [0, 2, 3, 4]
    assert form.refused == {"no rule can tell where its subject ends": [1]}
    negated, counted, chosen, described = form.rows
    assert (negated["question_id"], negated["answer"], negated["sampling"]) == (7, "no", "random")
    assert counted["answer"] == "1" and re.match("What (is the )?number of dogs ", counted["question"])
    assert (chosen["options"], chosen["answer"]) == (["a cat", "a dog"], "B")
    assert described["objects"] == ["dog"] and described["prompt"] != rows[4]["prompt"]
    assert rows[0]["answer"] == "yes"


def test_a_row_is_changed_the_same_way_whatever_the_others():
    """POPE asks the same question in several samplings; it needs one answer."""
    row = {"question": DOG, "answer": "yes"}
    others = [{"question": "Is there a cat in the image?", "answer": "no"}] * 3
    (alone,) = parallel_form([row], seed=5).rows
    assert parallel_form([*others, row], seed=5).rows[-1] == alone
    wordings = {parallel_form([row], seed=seed).rows[0]["question"] for seed in range(20)}
    assert len(wordings) == 2


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"question": DOG, "answer": "Yes, a brown one."}, "its answer says more than yes or no"),
        (
            {"question": "Which?\n(A) cat\n(B) dog\nAnswer?", "options": ["cat", "dog"], "answer": "A"},
            "its question holds the options in their order",
        ),
        ({"question": "Which?", "options": "cat", "answer": "A"}, "its options are not a list of texts"),
    ],
)
def test_rows_without_a_form(row, reason):
    assert list(parallel_form([row]).refused) == [reason]


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ("No, they differ.", "they differ."),
        ("Yes.", "no"),
        ("Norway is larger.", "Norway is larger."),
    ],
)
def test_details_do_not_keep_the_old_answer(details, expected):
    row = {"question": "Are the lines the same length?", "gt_answer": "0", "gt_answer_details": details}
    (changed,) = parallel_form([row]).rows
    assert (changed["gt_answer"], changed["gt_answer_details"]) == ("1", expected)


OFFICIAL = [
    {"question_id": 1, "image": "1.jpg", "text": DOG, "label": "yes"},
    {"question_id": 2, "image": "1.jpg", "text": "Is there a cat in the image?", "label": "no"},
]


def test_popes_own_file_is_scored_in_parallel_form(tmp_path, capsys):
    """The first right answer was yes and becomes no, the second the reverse: both responses are right."""
    source = lines(tmp_path / "coco_pope_random.json", OFFICIAL)
    out, first = tmp_path / "parallel_random.jsonl", tmp_path / "first.jsonl"
    said = printed(capsys, "study", "parallel", source, "--out", out, "--first", first)
    assert "2 of 2 rows: 2 negated; 0 without a parallel form" in said
    assert read_lines(first) == OFFICIAL
    replied = [{"question_id": 1, "response": "No."}, {"question_id": 2, "response": "Yes, there is no cat."}]
    answers = lines(tmp_path / "mine.jsonl", replied)
    words = ["score", "pope", "--responses", answers, "--dataset", out, "--bootstrap", 0]
    (result,) = read_json(capsys, *words, "--parser", "first-word")
    assert (result["accuracy"], result["yes_ratio"]) == (1.0, 0.5)


def test_a_dataset_keeps_images_and_types(tmp_path, capsys):
    file = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(file, "PNG")
    image = {"bytes": file.getvalue(), "path": None}
    row = {"question_id": 3, "image_id": 1, "object": "dog", "answer": "yes", "image": image}
    rows = [{**row, "question": question} for question in (DOG, "Is the dog brown?")]
    types = {name: datasets.Value("int32" if name.endswith("id") else "string") for name in rows[0]}
    features = datasets.Features(types | {"image": datasets.Image()})
    datasets.Dataset.from_list(rows, features=features).to_parquet(tmp_path / "source.parquet")
    words = ["study", "parallel", tmp_path / "source.parquet", "--out", tmp_path / "out"]
    run(*words)
    assert "no parallel form: 1 rows, since no rule can tell" in capsys.readouterr().err
    written = datasets.load_dataset(str(tmp_path / "out"), split="train")
    assert written.features["question_id"].dtype == "int32" and written[0]["image"].size == (4, 4)
    assert (written["question_id"][:], written["answer"][:]) == ([3], ["no"])
    assert "is there already" in refused(capsys, *words)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"question": "Is the dog brown?", "answer": "yes"}], "No row of"),
        ([["Is there a dog?"]], "expected an object"),
        ([{"id": 1}], "rows[0] has no question"),
    ],
)
def test_bad_rows(tmp_path, capsys, rows, message):
    source, out = lines(tmp_path / "rows.jsonl", rows), tmp_path / "out.jsonl"
    assert message in refused(capsys, "study", "parallel", source, "--out", out)
    assert not out.exists()


def test_a_dataset_for_training_is_rows_like_others(tmp_path, capsys):
    """Its package has no module of rows, which was told."""
    built = small_datasets.build("object_enumeration", tmp_path)
    message = refused(capsys, "study", "parallel", built, "--out", tmp_path / "form")
    assert "has a parallel form: it is neither a question nor an instruction" in message


def test_a_column_of_some_rows_is_kept_in_parquet(tmp_path):
    """Which the first row does not decide: only some rows have options, or ask about an object."""
    rows = [
        {"id": 1, "question": "What is behind the dog?", "answer": "a cat"},
        {"id": 2, "question": "Is there a dog in the image?", "answer": "yes"},
        {"id": 3, "question": "Which animal is it?", "options": ["cat", "dog"], "answer": "A"},
    ]
    source = lines(tmp_path / "rows.jsonl", rows)
    run("study", "parallel", source, "--out", tmp_path / "form", "--first", tmp_path / "first")
    for folder in ("form", "first"):
        written = datasets.load_dataset(str(tmp_path / folder), split="test")
        assert [sorted(row or []) for row in written["options"]] == [[], [], ["cat", "dog"]]
    assert datasets.load_dataset(str(tmp_path / "form"), split="test")["object"] == [None, "dog", None]


def test_the_config_that_is_taken_is_told(tmp_path, ran):
    built = small_datasets.build("pope", tmp_path)
    told = ran("study parallel", built, "--out", tmp_path / "form.jsonl").err
    assert "has the configs coco, aokvqa, gqa; coco is reworded. Name another: " in told
    told = ran("study parallel", f"{built}:gqa", "--out", tmp_path / "gqa.jsonl").err
    assert "has the configs" not in told
