"""A graded benchmark that is a data file alone: read, judged by a real prompt, scored, shown."""

import json

import numpy as np
import pytest

from halluscope.errors import JudgingFailed
from halluscope.graded.metric import Graded
from halluscope.graded.report import View
from tests.fake_judge import FakeJudge

DATA = """
[benchmark]
name = "mmhal"    # a record of this name exists: a view asks it which scores are points
title = "Toy"
means = ["rating", "hallucination_rate"]

[dataset]
rows = 3
file = "toy.json"
marker = "q"
image_key = "image_id"
groups = ["kind"]
shown = ["kind"]

[columns]
id = {kind = "whole"}
image_id = {}
question = {upstream = "q"}
hints = {kind = "words", join = " / "}
kind = {values = ["easy", "hard"]}

[judge]
default = ""

[verdict]
option = "ratings"
given = {ratings = "a number per row."}
unread = "unreadable"
criteria = {rating = {kind = "int", most = 4}}
notes = {why = {empty = ""}}

[options.prompts]
help = "whose words"
choices = ["ours"]

[counting]
rating = {of = "rating"}
hallucination_rate = {of = "rating", below = 2}

[prompts.ours]
key = "toy-1"
fields = {question = "question", hints = "hints", text = "response"}
reads = {rating = "rating"}
notes = {why = "why"}
text = "Q: {question} Hints: {hints} A: {text}"

[prompts.ours.reply]
why = {type = "string"}
rating = {type = "integer", enum = [0, 1, 2, 3, 4]}

[report]
columns = ["rating", "hallucination_rate"]
groups = "rating"
intervals = {rating = "rating"}
undefined = "Nothing is rated."
meaning = "{rating:.2f} of 4, {hallucination_rate} in 100 below 2."
verdict = {rating = {label = "rating", good = 2, error = "poor"}}
notes = {why = "reasons"}
known = {hints = "hints"}
parts = {kind = "kind"}

[report.remarks]
questions = "{questions} questions"
unreadable = "no rating: {unreadable} % of the responses (they count in no score)"

[doc]
judge = "no default"
returns = "`rating`."
"""

ROWS = [
    {"q": "What is red?", "image_id": "a", "hints": ["car", "hat"], "kind": "easy"},
    {"q": "What is blue?", "image_id": "a", "hints": [], "kind": "hard"},
    {"q": "Who sits?", "image_id": "b", "hints": ["man"], "kind": "hard"},
]

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")


@pytest.fixture
def toy(tmp_path):
    (tmp_path / "toy_benchmark").mkdir()
    (tmp_path / "toy_benchmark" / "benchmark.toml").write_text(DATA)
    return Graded(str(tmp_path / "toy_benchmark" / "metric.py"))


def test_rows_of_the_authors_file_and_of_the_dataset_are_the_same(toy):
    theirs = toy.read_all(ROWS)
    ours = toy.read_all([row.row for row in theirs])
    assert ours == theirs and [row.id for row in ours] == [0, 1, 2]
    assert ours[0].row == {
        "id": 0, "image_id": "a", "question": "What is red?", "hints": ["car", "hat"], "kind": "easy"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": "odd"}, r"references\[1\]: kind is 'odd'; expected one of 'easy', 'hard'"),
        ({"q": ""}, r"references\[1\]: q is ''; expected a text"),
        ({"hints": "car"}, r"references\[1\]: hints is 'car'; expected a list of words"),
        ({"id": 2}, r"references\[2\] has the id 2, which references\[1\] has too"),
        ({"id": "2"}, r"references\[1\]: id is '2'; expected a 64-bit whole number"),
    ],
)
def test_a_bad_row_is_named(toy, changed, message):
    with pytest.raises(ValueError, match=message):
        toy.compute(
            ["x"] * 3,
            [ROWS[0] | {"id": 0}, ROWS[1] | {"id": 1} | changed, ROWS[2] | {"id": 2}],
            ratings=[1, 2, 3],
        )


def test_a_judge_is_asked_in_the_declared_words_and_its_ratings_are_counted(toy):
    """Ratings 4, 1 and nothing readable: means over what is known, groups by the declared column."""

    def judge(prompt, count):
        rating = {"red": 4, "blue": 1}.get(next((w for w in ("red", "blue") if w in prompt), ""), 9)
        return json.dumps({"why": "Because.", "rating": rating})

    fake = FakeJudge(judge)
    with pytest.warns(UserWarning, match="1 of 3 prompts have no readable verdict"):
        got = toy.compute(
            ["a", "b", 'c" {question}'], ROWS, judge=fake, max_failed=0.5, per_question=True, progress=False
        )
    assert sorted(prompt.splitlines()[0] for prompt in fake.asked) == [
        'Q: "What is blue?" Hints: "" A: "b"',
        'Q: "What is red?" Hints: "car / hat" A: "a"',
        'Q: "Who sits?" Hints: "man" A: "c\\" {question}"',
    ]
    assert (got["rating"], got["hallucination_rate"], got["unreadable"]) == (2.5, 0.5, 1 / 3)
    assert (got["rating/easy"], got["rating/hard"], got["images"]) == (4.0, 1.0, 2)
    assert [row["why"] for row in got["per_question"]] == ["Because.", "Because.", ""]
    assert got["per_question"][2]["rating"] is None
    with pytest.raises(JudgingFailed, match="1 of 3 prompts have no readable verdict"):
        toy.compute(["a", "b", "c"], ROWS, judge=fake, progress=False)


def test_its_result_and_rows_are_shown(toy):
    got = toy.compute(["a", "b", "c"], ROWS, ratings=[4, 1, None], per_question=True)
    view = View(toy)
    scores, groups, notes = view.report([("mine", got)])
    assert [str(cell) for cell in scores.rows[0]] == ["mine", "2.500", "50.0"]
    assert [str(cell) for cell in groups.rows[0]] == ["mine", "4.000", "1.000"]
    assert [*notes.lines[:2]] == [
        "3 questions",
        "no rating: 33.3 % of the responses (they count in no score)",
    ]
    assert view.meaning(got) == "2.50 of 4, 50.0 in 100 below 2."
    rows = [
        row | {"response": text, "inputs": {"references": one.row}}
        for row, text, one in zip(got["per_question"], "abc", toy.read_all(ROWS), strict=True)
    ]
    items = list(view.items(rows, {}))
    assert [item.errors for item in items] == [[], ["poor"], ["unreadable"]]
    assert [item.badness for item in items] == [0.0, 3.0, 2.0]


def test_who_judges(toy):
    """Given verdicts, a rule's or a model's, of which one reply of the second repeat cannot be read."""

    def said(prompt, count):
        return json.dumps(
            {"why": f"Reason {count}.", "rating": 9 if "blue" in prompt and count > 1 else count}
        )

    def scored(**options):
        return toy.compute(["a", "b", "c"], ROWS, progress=False, **options)

    assert np.isnan(scored(judge="none")["rating"]) and "|judge:none|" in scored(judge="none")["signature"]
    assert "|judge:given|" in scored(ratings=[1, 2, 3])["signature"]
    with pytest.warns(UserWarning, match="no readable verdict"):
        got = scored(judge=FakeJudge(said), repeats=2, judge_seed=5, max_failed=0.5, per_question=True)
    assert (
        got["per_question"][1]["repeats"] == {"rating": [1, None]} and got["per_question"][1]["rating"] == 1
    )
    assert got["per_question"][1]["why"] == "Reason 1." and "|seeds:5-6|" in got["signature"]
    assert (got["rating"], got["spread"]["rating"]) == (1.5, (1.0, 2.0))
    assert got["verdicts"].startswith("verdicts-3-")
    with pytest.raises(ValueError, match="No judge is named; expected 'openai:.*, or ratings of your own"):
        scored()
    with pytest.raises(ValueError, match="repeats is 3, but the ratings are given"):
        scored(ratings=[1, 2, 3], judge="none", repeats=3)
    with pytest.raises(ValueError, match="repeats is 3, but 'none' gives the same verdicts each time"):
        scored(judge="none", repeats=3)
    with pytest.raises(ValueError, match="no judge 'nine' .*'none'"):
        scored(judge="nine")
