"""A model on this machine says once, after its first batches, about how long it will take."""

import numpy as np
import pytest

from halluscope.judging import pace
from halluscope.judging.ask_votes import collect_votes
from halluscope.judging.cache import Cache
from halluscope.judging.judge import Voter
from halluscope.judging.pace import in_words
from halluscope.judging.questions import QuestionSet
from halluscope.vocabularies import load

CLASSES = ["dog", "cat", "cow"]


@pytest.mark.parametrize(("seconds", "words"), [(89, "1 minute"), (5399, "90 minutes"), (90_000, "25 hours")])
def test_a_duration_in_words(seconds, words):
    assert in_words(seconds) == words


class Slow(Voter):
    """A voter that answers one question at a time."""

    key = "slow-1"

    def __init__(self, faster):
        self._faster = faster

    @property
    def faster(self):
        return self._faster

    def answer(self, texts, questions, pairs):
        for row in range(len(pairs)):
            yield np.array([row]), np.array([1], dtype=np.int8)

    def close(self):
        pass


@pytest.mark.parametrize(
    ("faster", "progress", "is_said"), [("a GPU", True, True), ("a GPU", False, False), ("", True, False)]
)
def test_slow_voting_is_told_in_one_line(faster, progress, is_said, capsys, monkeypatch):
    monkeypatch.setattr(pace, "MEASURED_S", 0.0)
    monkeypatch.setattr(pace, "LONG_S", 0.0)
    template = QuestionSet("mine", ("is there {a/an} {x}?",), "{response} {question}")
    questions = template.about(load(CLASSES))
    texts = [f"text {number}" for number in range(4)]
    present = np.ones((4, 3), dtype=bool)
    cache = Cache(":memory:")
    collect_votes([Slow(faster)], questions, texts, present, 1, "all", cache, progress)
    said = [line for line in capsys.readouterr().err.splitlines() if "on this machine" in line]
    assert len(said) == int(is_said)
    if is_said:
        assert "for 12 questions" in said[0] and "less time: a GPU. Ctrl-C keeps what came" in said[0]
