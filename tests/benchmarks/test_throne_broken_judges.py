"""A broken judge in THRONE's ensemble is named, and the shares that show it stand in result, report and JSON.

Texts and votes are made here, so each share is counted when they are made.
"""

import random
import warnings

import numpy as np
import pytest

from halluscope.benchmarks.throne import metric as throne
from tests.fake_judge import Voter

NAMES = ["dog", "cat", "bus", "chair", "cup", "bicycle", "umbrella", "bench"]
ONE_QUESTION = ["Is there {a/an} {x} in this image?"]
IMAGES = 150


READER = Voter(lambda text, question: question.object in text, "reader")
READER_TOO = Voter(lambda text, question: question.object in text, "reader-too")
YES_TO_ALL = Voter(lambda text, question: True, "yes-to-all")


class Made:
    """Descriptions of images, and the counts that were made with them."""

    def __init__(self):
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
                if draw.random() < (0.6 if is_there else 0.2):
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


@pytest.mark.parametrize("agreement", ["unanimous", "majority"])
@pytest.mark.parametrize("ask", ["needed", "all"])
def test_good_judges_that_agree_are_not_blamed(made, ask, agreement):
    """Under ask="needed" the later judges are asked about absent objects only where the first says yes, as they do."""
    judges = [READER, READER_TOO, "lexical"]
    _, warned = scored(made, judges=judges, ask=ask, agreement=agreement)
    assert warned == []


def test_from_which_share_on_a_judge_is_blamed(made):
    """Under 5 % of the present cells and over 95 % of the absent ones, of a hundred; a fifth of them ignored."""
    names = [f"class {number}" for number in range(100)]
    for yes_present, yes_absent, is_blamed in ((5, 95, False), (4, 95, True), (5, 96, True)):
        votes = np.zeros((2, 100, 1), dtype=int)
        votes[0, :yes_present] = 1
        votes[1, :yes_absent] = 1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            throne.compute(["", ""], [names, []], vocabulary=names, votes=votes)
        assert bool(caught) == is_blamed
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
