"""The metric, as a user calls it: `evaluate.load("metrics/throne")`."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from halluscope.benchmarks.throne import metric as throne
from halluscope.benchmarks.throne.questions import PAPER
from halluscope.benchmarks.throne.report import report
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.replay import ReplayJudge
from halluscope.reporting.tables import share
from halluscope.vocabularies import load
from tests import small_datasets
from tests.frozen import unpacked

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests/golden/throne_released.json").read_text())
COCO = load("coco")


@pytest.fixture(scope="module")
def golden() -> dict:
    """Simulated votes and ground truth, as a user passes them."""
    present = unpacked(GOLDEN["present_packbits_hex"], GOLDEN["shape"][:2])
    return {
        "predictions": [""] * len(present),
        "references": [[COCO.classes[i] for i in np.flatnonzero(row)] for row in present],
        "votes": unpacked(GOLDEN["votes_packbits_hex"], GOLDEN["shape"]),
    }


@pytest.mark.parametrize("k", [9, 8, 5])
def test_the_released_scripts_numbers(golden, k):
    expected = GOLDEN["released"][str(k)]
    got = throne.compute(**golden, agreement=k, class_f="mean", all_average="image")
    for printed, mine in (("class_mean", "cls"), ("image_mean", "all")):
        assert {name: round(got[f"{name}_{mine}"], 3) for name in expected[printed]} == expected[printed]
    cells = len(golden["predictions"]) * len(COCO.classes)
    assert round(got["ignored"] * cells, 6) == expected["ignored_cells"]


def test_an_image_without_a_sampled_cell_counts_nowhere():
    """Ten images, each with a dog that is mentioned: a perfect LVLM. The sample asks about the first image only."""
    cells = np.zeros((10, 2), dtype=bool)
    cells[0] = True
    votes = np.tile([[[1], [0]]], (10, 1, 1))
    given = {"votes": votes, "vocabulary": ["dog", "cat"], "all_average": "image", "cells": cells}
    got = throne.compute(["A dog."] * 10, [["dog"]] * 10, **given)
    assert [got[f"{name}_all/sampled"] for name in ("precision", "recall", "f1")] == [1.0, 1.0, 1.0]
    assert set(got["difference"].values()) == {0.0}


@pytest.mark.usefixtures("wide")
def test_the_cells_of_popes_questions(tmp_path, ran, refused):
    """Predicted: person in 10, dog in 20, cat in 30; present: person and cup in 10, dog in 30. P and R are 1/3.

    Of the cells that are asked about, in 10 and 30: predicted is person in 10; present are it and dog in 30.
    """
    dataset = small_datasets.build("throne_coco", tmp_path)
    asked = [("10", "person", "yes"), ("10", "dog", "no"), ("30", "dog", "yes"), ("30", "cup", "no")]
    files = []
    for name, rows in (("here", [*asked, ("99", "dog", "no")]), ("elsewhere", [("99", "dog", "no")])):
        images = [(f"COCO_val2014_{image:0>12}.jpg", thing, answer) for image, thing, answer in rows]
        files.append(small_datasets.pope_file(tmp_path / f"{name}_random.json", images))
    texts = {10: "A person.", 20: "A dog.", 30: "There is no dog here but a cat."}
    rows = [{"image_id": image, "response": text} for image, text in texts.items()]
    responses = small_datasets.write_lines(tmp_path / "mine.jsonl", rows)
    command = ["score throne --judges lexical --explain --dataset", dataset, "--responses", responses]
    (result,) = json.loads(ran(*command, "--cells", files[0], "--json").out)
    scores = [result[f"{name}_all{part}"] for name in ("precision", "recall") for part in ("", "/sampled")]
    assert scores == pytest.approx([1 / 3, 1, 1 / 3, 1 / 2])
    printed = ran(*command, "--cells", files[0]).out
    assert "sampled cells in the scored images: 4 of 5 (80.0 %)" in printed
    assert "mentions that the lexical judge read: 4; taken back: negated 1" in printed
    assert "No question is about any of the 3 images" in refused(*command, "--cells", files[1])


def test_a_sample_that_lies_mostly_elsewhere_is_warned_of():
    cells = np.eye(2, dtype=bool)
    given = {"votes": np.ones((2, 2, 1)), "vocabulary": ["dog", "cat"], "cells": cells}
    with pytest.warns(UserWarning, match=r"Only 2 of the sample's 5 cells \(40.0%\) lie in the 2 images"):
        got = throne.compute(["A dog."] * 2, [["dog"]] * 2, **given, cells_of=5)
    assert (got["cells"], got["cells_of"]) == (2, 5)
    assert "sampled cells in the scored images: 2 of 5 (40.0 %)" in report([("one", got)])[-1].lines


def test_the_median_length_of_table_1():
    given = {"votes": np.ones((3, 2, 1)), "vocabulary": ["dog", "cat"]}
    texts = ["A dog.", "", "<think>Is it a dog?</think>A cat, I think."]  # 6, 0 and 15 characters
    assert throne.compute(texts, [["dog"]] * 3, **given)["median_characters"] == 6


def test_given_votes_have_a_judge_per_set_of_questions_if_these_are_named():
    given = {"votes": np.ones((2, 2, 6)), "vocabulary": ["dog", "cat"]}
    for options, names in (
        ({}, [f"vote {n}" for n in range(1, 7)]),
        ({"questions": "paper"}, ["judge 1", "judge 2"]),
    ):
        got = throne.compute(["A dog."] * 2, [["dog"], []], **given, **options)
        assert [*got["yes_shares"]] == names


TEXTS = ["A dog and a cat.", "Nothing to see.", "", "Question: Is there a dog? Answer: yes"]
OBJECTS = [["dog"], ["cat"], ["dog", "cat"], []]


def saying(dog: list[str], cat: list[str], templates: int = 3) -> ReplayJudge:
    """A judge whose replies about TEXTS are the same for every template."""
    vocabulary = load(["dog", "cat"])
    said = {}
    for row in PAPER.about(vocabulary)[:templates]:
        for question, replies in zip(row, (dog, cat), strict=True):
            said |= {(text, question.text): reply for text, reply in zip(TEXTS, replies, strict=True) if text}
    return ReplayJudge(said)


def test_replayed_answers_worked_by_hand():
    """dog: yes no (empty) yes; cat: yes, no, (empty), maybe.

    Hits: dog in text 0. Predicted: dog 0 and 3, cat 0. Present: dog 0 and 2, cat 1 and 2. P 1/3, R 1/4.
    """
    judge = saying(["yes", "no", "", "yes"], ["Yes", "no", "", "maybe"])
    got = throne.compute(TEXTS, OBJECTS, vocabulary=["dog", "cat"], judges=judge, ask="all", per_image=True)
    assert got["precision_all"] == pytest.approx(1 / 3)
    assert got["recall_all"] == pytest.approx(1 / 4)
    assert got["ignored"] == 0.0
    assert got["unparsed"] == pytest.approx(
        3 / 24
    )  # "maybe" to three questions; the empty text is a plain no
    assert got["per_image"][0] == {"found": ["dog"], "hallucinated": ["cat"], "missed": []}
    assert got["per_image"][2] == {"found": [], "hallucinated": [], "missed": ["dog", "cat"]}
    table = next(part for part in report([("mine", got)]) if part.header[-1:] == ["unreadable"])
    assert table.rows[0][-1] == share(3 / 24)


def test_asking_what_is_needed_gives_the_same_numbers():
    judges = [saying(["yes", "no", "", "yes"], ["Yes", "no", "", "no"]), saying(["no"] * 4, ["yes"] * 4)]
    options = {
        "vocabulary": ["dog", "cat"],
        "judges": judges,
        "agreement": 4,
        "bootstrap": 50,
        "per_class": True,
    }
    everything = throne.compute(TEXTS, OBJECTS, ask="all", **options)
    needed = throne.compute(TEXTS, OBJECTS, ask="needed", **options)
    notes = [" ".join(report([("mine", result)])[-2].lines) for result in (everything, needed)]
    assert "of all questions" in notes[0] and "which earlier votes left open" in notes[1]
    assert "more than a fifth of the objects in the images is ignored" in notes[0]
    assert needed.pop("ignored") is None
    assert everything.pop("ignored") > 0
    assert needed.pop("yes_shares").keys() == everything.pop("yes_shares").keys()
    assert needed.pop("equal_votes").keys() == everything.pop("equal_votes").keys()
    assert json.dumps(needed) == json.dumps(everything)


def test_explain_says_which_rule_took_which_mention_back():
    """By hand: "dog" after "no" at 12 to 15, "cat" at 27 to 30; a text without a mention has an empty list."""
    texts = ["There is no dog here but a cat.", "Nothing."]
    base = {"vocabulary": ["dog", "cat"], "judges": "lexical"}
    got = throne.compute(texts, [["cat"], []], **base, explain=True)
    assert got.pop("explained") == [
        [
            {"class": "dog", "start": 12, "end": 15, "words": "dog", "taken_back_by": "negated"},
            {"class": "cat", "start": 27, "end": 30, "words": "cat", "taken_back_by": None},
        ],
        [],
    ]
    own = base | {"judges": LexicalJudge(load(["dog", "cat"]))}
    assert throne.compute(texts, [["cat"], []], **own, explain=True)["explained"][1] == []
    assert json.dumps(got) == json.dumps(throne.compute(texts, [["cat"], []], **base))
    assert json.dumps(got) == json.dumps(throne.compute(pa.array(texts), [{"cat"}, ()], **base))


GOOD = {"predictions": ["A dog."], "references": [["dog"]], "judges": "no/model-is-loaded"}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"agreement": 10, "judges": "lexical"}, "agreement is 10, but there are 3 votes"),
        ({"beta": -1}, "beta is -1"),
        ({"cells": [[1]]}, r"cells is an array of int64 with the shape \(1, 1\); expected bool \(1, 80\)"),
        (
            {"votes": np.zeros((1, 79, 9))},
            r"votes has the shape \(1, 79, 9\); expected \(1 images, 80 classes",
        ),
        ({"votes": np.zeros((1, 80, 9)), "explain": True}, "explain is about judges that read the responses"),
        ({"judges": [42]}, "42 is not a judge"),
    ],
)
def test_bad_input_ends_in_its_own_error(bad, message):
    options = GOOD | bad
    if "votes" in bad:
        del options["judges"]
    with pytest.raises(ValueError, match=message):
        throne.compute(**options)
