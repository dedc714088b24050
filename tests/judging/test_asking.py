"""Asking only what is needed gives the same scores as asking everything, and no question is asked twice."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from halluscope.benchmarks.throne import metric as throne
from halluscope.errors import JudgingFailed
from halluscope.judging.adapters import as_voter
from halluscope.judging.ask_votes import collect_votes
from halluscope.judging.cache import Cache
from halluscope.judging.judge import PRESENT
from halluscope.judging.questions import QuestionSet
from halluscope.judging.votes import NO, OTHER, UNASKED, YES
from halluscope.vocabularies import load

CLASSES = ["dog", "cat", "cow"]
VOCABULARY = load(CLASSES)
IMAGES = 4


class TableJudge:
    """A user's voter: votes from a table [images, classes, questions]; it records its questions."""

    stored = True

    def __init__(self, key, table):
        self.key, self.table, self.asked = key, table, []

    def answer(self, texts, questions, pairs):
        cells = [
            (int(texts[t][1:]), CLASSES.index(questions[q].object), int(questions[q].text[1]))
            for t, q in pairs
        ]
        self.asked += cells
        yield np.arange(len(pairs)), np.array([self.table[cell] for cell in cells], dtype=np.int8)

    def close(self):
        pass


def ensemble(answers, questions):
    judges = answers.shape[-1] // questions
    return [TableJudge(f"j{i}", answers[..., i * questions : (i + 1) * questions]) for i in range(judges)]


def poll(judges, *asked, **options):
    """The votes of judges that are given as users give them."""
    return collect_votes([as_voter(judge) for judge in judges], *asked, **options)


def asked_of(questions):
    return QuestionSet("mine", tuple(f"q{i} {{x}}?" for i in range(questions)), "{response} {question}")


@st.composite
def cases(draw):
    """Votes of up to 3 judges x 3 questions, mostly agreeing as real judges do, ground truth, k and conventions."""
    judges, questions = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    n = judges * questions
    codes = st.sampled_from([YES, YES, YES, NO, NO, NO, OTHER])
    base = draw(arrays(np.int8, (IMAGES, 3, 1), elements=codes))
    noise = draw(arrays(np.int8, (IMAGES, 3, n), elements=codes))
    answers = np.where(draw(arrays(bool, (IMAGES, 3, n))), noise, base).astype(np.int8)
    return answers, questions, draw(arrays(bool, (IMAGES, 3))), draw(st.integers(n // 2 + 1, n))


@settings(max_examples=150)
@given(
    cases(),
    st.sampled_from([0.5, 1.0, 3.0]),
    st.sampled_from(["of_means", "mean"]),
    st.sampled_from(["pooled", "image"]),
)
def test_needed_is_equal_to_all(case, beta, class_f, all_average):
    answers, questions, present, k = case
    results, put = [], []
    for which in ("all", "needed"):
        judges = ensemble(answers, questions)
        got = throne.compute(
            [f"t{i}" for i in range(IMAGES)],
            [[CLASSES[i] for i in np.flatnonzero(row)] for row in present],
            vocabulary=CLASSES,
            judges=judges,
            questions=asked_of(questions),
            agreement=k,
            beta=beta,
            class_f=class_f,
            all_average=all_average,
            bootstrap=5,
            per_class=True,
            ask=which,
            store=Cache(":memory:"),
            progress=False,
        )
        put.append(sum(len(judge.asked) for judge in judges))
        of_what_was_asked = ("ignored", "unparsed", "yes_shares", "equal_votes", "unparsed_shares")
        results.append({name: value for name, value in got.items() if name not in of_what_was_asked})
    assert str(results[0]) == str(results[1])
    assert put[1] <= put[0] == answers.size


@settings(max_examples=60)
@given(cases())
def test_only_what_is_present_is_asked(case):
    """Each question about each present cell, once, and no other; the votes are those of asking everything."""
    answers, questions, present, k = case
    about, judges = asked_of(questions).about(VOCABULARY), ensemble(answers, questions)
    votes = poll(judges, about, [f"t{i}" for i in range(IMAGES)], present, k, PRESENT)
    assert np.array_equal(votes, np.where(present[:, :, None], answers, UNASKED))
    put = [cell for judge in judges for cell in judge.asked]
    assert len(put) == present.sum() * answers.shape[-1] and all(present[i, j] for i, j, _ in put)


@settings(max_examples=60)
@given(cases(), st.data())
def test_another_agreement_asks_only_what_is_missing(case, data):
    """Partial votes are completed later, and no cell is ever asked about twice."""
    answers, questions, present, _ = case
    n = answers.shape[-1]
    store, judges = Cache(":memory:"), ensemble(answers, questions)
    texts, about = [f"t{i}" for i in range(IMAGES)], asked_of(questions).about(VOCABULARY)
    for k in data.draw(st.lists(st.integers(n // 2 + 1, n), min_size=1, max_size=3)):
        poll(judges, about, texts, present, k, "needed", store)
    everything = poll(judges, about, texts, present, n, "all", store)
    assert (everything == answers).all()
    for judge in judges:
        assert len(judge.asked) == len(set(judge.asked)) == answers[..., :questions].size


# A judge of the user's own that does not do as it should


class OwnJudge:
    """A judge whose votes are a function of the pairs."""

    key, stored = "mine", False

    def __init__(self, make):
        self.make = make

    def answer(self, texts, questions, pairs):
        return self.make(len(pairs))

    def close(self):
        pass


WRONG = {
    "code that turns over": lambda n: [(np.arange(n), np.full(n, 257))],
    "floats": lambda n: [(np.arange(n), np.full(n, 0.5))],
    "row beyond": lambda n: [(np.arange(1, n + 1), np.zeros(n, int))],
    "row below": lambda n: [(np.arange(n) - 1, np.zeros(n, int))],
    "two axes": lambda n: [(np.arange(n)[:, None], np.zeros((n, 1), int))],
    "fewer pairs": lambda n: [(np.arange(n - 1), np.zeros(n - 1, int))],
    "the same again": lambda n: [(np.arange(n), np.zeros(n, int))] * 2,
    "codes alone": lambda n: [np.zeros(n, int)],
    "a margin of infinity": lambda n: [(np.arange(n), np.zeros(n, int), np.full(n, np.inf))],
    "nothing": lambda n: None,
    "an error": lambda n: [{}["prompt"]],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_judge_that_answers_wrongly_is_named(name):
    with pytest.raises(JudgingFailed, match=r"^The judge mine (answered|left|failed)"):
        throne.compute(["A dog.", "A cat."], [["dog"], []], judges=OwnJudge(WRONG[name]), progress=False)


def test_a_judge_of_ones_own():
    for codes in (np.ones, lambda n: np.ones(n, dtype=bool), lambda n: [YES] * n):
        judge = OwnJudge(lambda n, codes=codes: iter([([], []), (range(n), np.asarray(codes(n), dtype=int))]))
        assert throne.compute(["A dog."], [["dog"]], judges=judge, progress=False)["recall_all"] == 1


@pytest.mark.parametrize("lacks", ["answer", "close", "stored", "key"])
def test_what_is_no_judge(lacks):
    judge = OwnJudge(WRONG["nothing"])
    setattr(judge, lacks, None)
    message = "judges: .* is not a judge; expected .* key, stored, answer and close"
    with pytest.raises(ValueError, match=message):
        throne.compute(["A dog."], [["dog"]], judges=[judge])
