"""Judges in Ray's workers: the same votes, scores and cache as in one process."""

import json
import random

import numpy as np
import pytest

from halluscope import cli
from halluscope.benchmarks.throne import metric as throne
from halluscope.benchmarks.throne.questions import PAPER
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
def cluster():
    """A local Ray of two workers' CPUs; starting one takes seconds, so the tests below share it."""
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("halluscope.judging.models.ray_pool.SHARE", 60)  # so that each worker gets several
        yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def fleet(cluster, tiny_t5):
    fleet = local_judge(str(tiny_t5), device="cpu", workers=2)
    yield fleet
    fleet.close()


@pytest.mark.long
def test_two_workers_score_as_one_process_does(
    cluster, tiny_t5, throne_files, tmp_path, monkeypatch, capsys, one_thread
):
    """By the command line; then one process finds all the workers' votes in the cache."""
    rng = random.Random(1)
    objects = [rng.sample(["dog", "pizza", "clock", "umbrella"], 2) for _ in range(3)]
    words = ["score", *throne_files([describe(names, rng) for names in objects], objects), "--ask", "all"]
    words += ["--judges", str(tiny_t5), "--device", "cpu", "--quiet", "--json"]

    def scores(store, *more):
        assert cli.main([*words, "--store", str(tmp_path / store), *more]) == 0
        (result,) = json.loads(capsys.readouterr().out)
        return result

    here = scores("here")
    monkeypatch.setattr(Seq2SeqJudge, "answer", lambda *_: pytest.fail("asked in this process"))
    assert scores("workers", "--workers", "2") == here
    assert scores("workers") == here


@pytest.mark.long
def test_a_worker_that_dies_is_replaced_and_nothing_is_asked_twice(
    cluster, fleet, tiny_t5, one_thread, texts, monkeypatch
):
    """`collect` checks that no pair is answered twice."""
    judge = Seq2SeqJudge(weights.find(str(tiny_t5)), device="cpu")
    pairs = np.array([(text, question) for text in range(len(texts)) for question in range(text % 4, 80, 4)])
    answer = fleet.answer

    def dying(*asked):
        for number, batch in enumerate(answer(*asked)):
            yield batch
            if number == 1:
                cluster.kill(fleet.pool.actors[0], no_restart=False)

    monkeypatch.setattr(fleet, "answer", dying)
    assert (collect(fleet, texts, pairs, QUESTIONS) == collect(judge, texts, pairs, QUESTIONS)).all()
    assert fleet.key == judge.key


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": -1}, "workers is -1"),
        ({"workers": 2, "device": "cuda:1"}, "each worker takes a GPU of its own"),
        ({"judges": "lexical", "workers": 2}, "on this machine, but judges names only 'lexical'"),
    ],
)
def test_bad_options_before_any_model(options, message):
    with pytest.raises(ValueError, match=message):
        throne.compute(["A dog."], [["dog"]], **{"judges": "no/such-model"} | options)
