"""A broken judge in THRONE's ensemble is named, and the shares that show it stand in result, report and JSON.

Texts and votes are made here, so each share is counted when they are made.
"""

import json
import random
import warnings

import numpy as np
import pytest

from halluscope.benchmarks.throne import equal_votes
from halluscope.benchmarks.throne import metric as throne
from halluscope.vocabularies import load

NAMES = ["dog", "cat", "bus", "chair", "cup", "bicycle", "umbrella", "bench"]
ONE_QUESTION = ["Is there {a/an} {x} in this image?"]
IMAGES = 150


class Voter:
    """A judge of the user's own; `says` takes a text and the class asked about."""

    stored = False

    def __init__(self, key, says):
        self.key = key
        self.says = says

    def answer(self, texts, questions, pairs):
        codes = []
        for text, question in pairs:
            codes.append(int(self.says(texts[text], questions[question].object)))
        yield np.arange(len(pairs)), np.array(codes, dtype=np.int8)

    def close(self):
        pass


READER = Voter("reader", lambda text, name: name in text)
READER_TOO = Voter("reader-too", lambda text, name: name in text)
YES_TO_ALL = Voter("yes-to-all", lambda text, name: True)
NO_TO_ALL = Voter("no-to-all", lambda text, name: False)


class Made:
    """Descriptions of images, and the counts that were made with them."""

    def __init__(self, named_there=0.6, named_absent=0.2):
        draw = random.Random(3)
        self.texts = []
        self.objects = []
        self.present = 0
        self.named_present = 0
        self.named_absent = 0
        for _ in range(IMAGES):
            there = draw.sample(NAMES, 2)
            named = []
            for name in NAMES:
                is_there = name in there
                if draw.random() < (named_there if is_there else named_absent):
                    named.append(name)
                    self.named_present += is_there
                    self.named_absent += not is_there
            self.present += len(there)
            self.texts.append(f"A photo. {' '.join(f'There is a {name}.' for name in named)}")
            self.objects.append(there)
        self.absent = IMAGES * len(NAMES) - self.present


@pytest.fixture(scope="module")
def made():
    return Made()


def scored(made, **options):
    """Score, and return the result and the warnings."""
    options = {"vocabulary": NAMES, "progress": False, "questions": ONE_QUESTION} | options
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = throne.compute(made.texts, made.objects, **options)
    return result, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("ask", ["needed", "all"])
def test_a_good_judge_alone(made, ask):
    result, warned = scored(made, judges="lexical", ask=ask)
    (shares,) = result["yes_shares"].values()
    assert shares == {
        "present": pytest.approx(made.named_present / made.present),
        "absent": pytest.approx(made.named_absent / made.absent),
    }
    assert result["ignored_present"] == 0
    assert warned == []
    assert {type(share) for share in shares.values()} == {float}


@pytest.mark.parametrize("ask", ["needed", "all"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_judge_that_says_yes_to_all(made, ask, is_first):
    judges = [YES_TO_ALL, "lexical"] if is_first else ["lexical", YES_TO_ALL]
    result, warned = scored(made, judges=judges, ask=ask)
    assert result["recall_all"] == 1  # what the descriptions miss is ignored
    missed = made.present - made.named_present
    assert result["ignored_present"] == pytest.approx(missed / made.present)
    assert result["yes_shares"]["yes-to-all"] == {"present": 1.0, "absent": 1.0}
    asked = made.absent if is_first or ask == "all" else made.named_absent
    of_judge, of_ignored = warned
    assert "yes-to-all" in of_judge
    assert f"{asked:,} of {asked:,} questions" in of_judge
    assert ("ask='all'" in of_judge) == (asked < made.absent)
    assert f"{missed:,} of {made.present:,} objects" in of_ignored


@pytest.mark.parametrize("ask", ["needed", "all"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_judge_that_says_no_to_all(made, ask, is_first):
    judges = [NO_TO_ALL, READER, READER_TOO] if is_first else [READER, READER_TOO, NO_TO_ALL]
    result, warned = scored(made, judges=judges, ask=ask)
    assert result["yes_shares"]["no-to-all"]["present"] == 0
    of_judge, of_ignored = warned
    assert f"The judge no-to-all says yes to 0 of {made.present:,} questions" in of_judge
    assert f"{made.named_present:,} of {made.present:,} objects" in of_ignored


@pytest.mark.parametrize("agreement", ["unanimous", "majority"])
@pytest.mark.parametrize("ask", ["needed", "all"])
def test_good_judges_that_agree_are_not_blamed(made, ask, agreement):
    """Under ask="needed" the later judges are asked about absent objects only where the first says yes, as they do."""
    judges = [READER, READER_TOO, "lexical"]
    _, warned = scored(made, judges=judges, ask=ask, agreement=agreement)
    assert warned == []


def test_the_limits(made):
    """Under 5 % of the present cells and over 95 % of the absent ones, of a hundred; a fifth of them ignored."""
    names = [f"class {number}" for number in range(100)]
    for yes_present, yes_absent, blamed in ((5, 95, False), (4, 95, True), (5, 96, True)):
        votes = np.zeros((2, 100, 1), dtype=int)
        votes[0, :yes_present] = 1
        votes[1, :yes_absent] = 1
        for classes in (100, 99):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                throne.compute(
                    ["", ""], [names[:classes], []], vocabulary=names[:classes], votes=votes[:, :classes]
                )
            assert bool(caught) == (blamed and classes == 100)
    for ignored in (20, 21):
        votes = np.ones((1, 100, 2), dtype=int)
        votes[0, :ignored, 0] = 0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            throne.compute([""], [names], vocabulary=names, votes=votes)
        assert len(caught) == (ignored > 20)


def test_equal_votes_by_hand():
    """One image, two classes, three votes each; a judge alone has nobody to agree with."""
    votes = [[[1, 1, 0], [0, 1, 1]]]
    result = throne.compute([""], [["a"]], vocabulary=["a", "b"], votes=votes, agreement="majority")
    assert result["equal_votes"] == {"vote 1": 1 / 4, "vote 2": 2 / 4, "vote 3": 1 / 4}
    result = throne.compute([""], [["a"]], vocabulary=["a", "b"], votes=[[[1], [0]]])
    assert result["equal_votes"] == {"vote 1": None}


def test_what_counts_as_equal():
    """Of four cells: neither can be read; only one can; both say yes; only one was asked."""
    votes = np.array([[[2, 2], [1, 2], [1, 1], [-1, 1]]], dtype=np.int8)
    assert equal_votes.shares(equal_votes.count_equal(votes, ["a", "b"])) == {"a": 1 / 3, "b": 1 / 3}


def test_equal_votes_show_a_broken_judge(made):
    """Two read alike, and one says no to all."""
    judges = [READER, READER_TOO, NO_TO_ALL]
    for ask in ("all", "needed"):
        result, _ = scored(made, judges=judges, ask=ask)
        reader, reader_too, broken = result["equal_votes"].values()
        assert reader == reader_too > broken


# On the command line


@pytest.fixture
def files(tmp_path, monkeypatch, made):
    """A dataset, descriptions, and the votes of a judge that says yes to all, as files."""
    monkeypatch.chdir(tmp_path)
    rows = []
    votes = []
    labels = []
    for number, text in enumerate(made.texts):
        rows.append({"image_id": number, "response": text})
        labels.append({"image_id": number, "objects": made.objects[number]})
    questions = []
    for name in load("coco").classes:
        article = "an" if name[0] in "aeiou" else "a"
        questions.append(f"Is there {article} {name} in this image?")
    for text in dict.fromkeys(made.texts):
        for question in questions:
            votes.append({"text": text, "question": question, "answer": "yes"})
    for name, content in (("mine", rows), ("labels", labels), ("votes", votes)):
        lines = [json.dumps(row) for row in content]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


SCORE = "score throne --responses mine.jsonl --dataset labels.jsonl"
ENSEMBLE = ("--judges", "lexical", "replay:votes.jsonl", "--questions", *ONE_QUESTION)


def test_the_command_warns_under_json_too(files, made, ran):
    missed = made.present - made.named_present
    of_ignored = f"mine: {missed:,} of {made.present:,} objects that are in the images are ignored"
    with (
        pytest.warns(UserWarning, match=of_ignored),
        pytest.warns(UserWarning, match=f"mine: .* {made.named_absent:,} of {made.named_absent:,} questions"),
    ):
        printed = ran(SCORE, *ENSEMBLE, "--json")
    (result,) = json.loads(printed.out)
    assert result["ignored_present"] == pytest.approx(missed / made.present)
    of_reader, of_replayed = result["yes_shares"].values()
    assert of_reader["present"] == pytest.approx(made.named_present / made.present)
    assert of_replayed == {"present": 1, "absent": 1}
