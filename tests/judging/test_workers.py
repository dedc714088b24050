"""Judges in Ray's workers give the same votes as in this process."""

import random
from functools import partial

import numpy as np
import pytest

from halluscope.benchmarks.throne import metric as throne
from halluscope.benchmarks.throne.questions import PAPER
from halluscope.judging.cache import Cache
from halluscope.judging.models import weights
from halluscope.judging.models.engine import Seq2SeqJudge, local_judge
from tests.judging.test_language_models import COCO, HOSTILE, collect
from tests.tiny_t5.descriptions import describe

QUESTIONS = PAPER.about(COCO)[0]


@pytest.fixture(scope="module")
def texts():
    rng = random.Random(8)
    return [*(describe(rng.sample(COCO.classes, 1 + n % 4), rng) for n in range(8)), *HOSTILE]


@pytest.fixture(scope="module")
def pairs(texts):
    return np.array([(text, question) for text in range(len(texts)) for question in range(text % 4, 80, 4)])


@pytest.fixture(scope="module")
def expected(tiny_t5, one_thread, texts, pairs):
    return collect(Seq2SeqJudge(weights.find(str(tiny_t5)), device="cpu"), texts, pairs, QUESTIONS)


@pytest.fixture(scope="module")
def fleet(tiny_t5):
    """Two workers of a local Ray; a worker takes seconds to start, so the tests below share them."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("halluscope.judging.models.ray_pool.SHARE", 60)
        yield local_judge(str(tiny_t5), device="cpu", workers=2)
    ray.shutdown()


@pytest.mark.long
def test_two_workers_give_the_answers_of_one_process(fleet, tiny_t5, texts, pairs, expected):
    assert fleet.key == Seq2SeqJudge(weights.find(str(tiny_t5)), device="cpu").key
    assert (collect(fleet, texts, pairs, QUESTIONS) == expected).all()
    assert len(fleet.pool.actors) == 2


@pytest.mark.long
def test_a_worker_that_dies_is_replaced_and_nothing_is_asked_twice(
    fleet, texts, pairs, expected, monkeypatch
):
    """`collect` checks that no pair is answered twice."""
    import ray

    answer = fleet.answer

    def dying(*asked):
        for number, answered in enumerate(answer(*asked)):
            yield answered
            if number == 1:
                ray.kill(fleet.pool.actors[0], no_restart=False)

    monkeypatch.setattr(fleet, "answer", dying)
    assert (collect(fleet, texts, pairs, QUESTIONS) == expected).all()


@pytest.mark.long
def test_what_a_worker_remarks_is_heard_here(fleet):
    with pytest.warns(UserWarning, match="the end of a text of .* was cut off"):
        assert len(collect(fleet, ["dog " * 3000], np.array([[0, 0]]), QUESTIONS)) == 1


@pytest.mark.long
def test_the_same_scores_and_store_with_workers(fleet, tiny_t5, tmp_path, monkeypatch):
    """The second run, in one process, finds every answer of the workers in the store."""
    classes = ["dog", "pizza", "clock", "umbrella"]
    rng = random.Random(1)
    said = [rng.sample(classes, 2) for _ in range(6)]
    texts = [describe(names, rng) for names in said]
    store = Cache(tmp_path / "answers.sqlite")
    score = partial(
        throne.compute, texts, said, vocabulary=classes, store=store, device="cpu", progress=False
    )
    by_workers = score(judges=[fleet])
    monkeypatch.setattr(Seq2SeqJudge, "answer", lambda *_: pytest.fail("asked twice"))
    assert score(judges=[str(tiny_t5)]) == by_workers


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": -1}, "workers is -1"),
        ({"workers": 2, "device": "cuda:1"}, "each worker takes a GPU of its own"),
        (
            {"judges": "lexical", "workers": 2},
            "for language models on this machine, but judges names only 'lexical'",
        ),
        ({"workers": True}, "workers is True"),
    ],
)
def test_bad_options_before_any_model(options, message):
    with pytest.raises(ValueError, match=message):
        throne.compute(["A dog."], [["dog"]], **{"judges": "no/such-model"} | options)
