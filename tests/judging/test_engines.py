"""Judges run by CTranslate2 and by Ray's workers give the same votes as in this process."""

import random
from functools import partial

import ctranslate2
import numpy as np
import pytest
import torch

from halluscope.benchmarks.throne import metric as throne
from halluscope.benchmarks.throne.questions import PAPER
from halluscope.errors import JudgeUnavailable
from halluscope.judging.cache import Cache
from halluscope.judging.models import weights
from halluscope.judging.models.engine import ConvertedJudge, Seq2SeqJudge, local_judge
from tests.files.disk import full
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


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Use a separate cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "halluscope" / "ctranslate2"


def test_ctranslate2_in_float32_gives_the_same_answers(cache, tiny_t5, texts, pairs, expected):
    judge = ConvertedJudge(weights.find(str(tiny_t5)), "float32", device="cpu")
    assert (collect(judge, texts, pairs, QUESTIONS) == expected).all()
    assert judge.key.endswith(f":ctranslate2-{ctranslate2.__version__}-cpu-float32:whole")


def test_a_model_is_converted_once(cache, tiny_t5, texts, pairs):
    made = set()
    for _ in range(2):
        judge = ConvertedJudge(weights.find(str(tiny_t5)), "int8", device="cpu")
        judge.load()
        collect(judge, texts, pairs[:5], QUESTIONS)
        (folder,) = (path for path in cache.iterdir() if path.is_dir())
        made.add((folder.name, (folder / "model.bin").stat().st_mtime_ns))
    assert len(made) == 1
    assert folder.name.startswith("checkpoint-") and "-int8-" in folder.name


def test_a_full_disk_leaves_no_half_conversion(cache, tiny_t5):
    with full(at=10_000), pytest.raises(JudgeUnavailable, match="File too large"):
        ConvertedJudge(weights.find(str(tiny_t5)), "int8", device="cpu").load()
    assert not [path for path in cache.iterdir() if path.is_dir()]


def test_memory_that_runs_out_halves_a_batch(cache, tiny_t5, texts, pairs, expected, monkeypatch):
    """CTranslate2 says it in a RuntimeError."""
    judge = ConvertedJudge(weights.find(str(tiny_t5)), "float32", device="cpu")
    answers = judge._answers

    def small(block):
        if len(block) > 2:
            raise RuntimeError("CUDA failed with error out of memory")
        return answers(block)

    monkeypatch.setattr(judge, "_answers", small)
    assert (collect(judge, texts, pairs[:60], QUESTIONS) == expected[:60]).all()


def test_the_scale_of_the_logits_is_the_models(cache, tiny_t5, texts, pairs):
    """transformers 5 calls every T5's embeddings tied, and the converter scales the logits of tied ones.

    A scale does not change which token is best, but it would shrink every lead. So the best token's lead is compared
    with torch's.
    """
    judge = ConvertedJudge(weights.find(str(tiny_t5)), "float32", device="cpu")
    judge._recheck = 1.0
    judge.load()
    prompt = judge.prompt(texts[0], QUESTIONS[0])
    block = torch.tensor([judge._tokenizer(prompt)["input_ids"]])
    ((_, lead),) = judge._answers(block)
    model = Seq2SeqJudge(weights.find(str(tiny_t5)), device="cpu")
    model.load()
    leads = []
    with torch.inference_mode():
        logits, state = model._replying.begin(block)
        for _ in range(2):
            best, second = logits[0].topk(2).values
            leads.append(float(best - second))
            logits, state = model._replying.go_on(logits.argmax(-1), state)
    assert lead == pytest.approx(min(leads), abs=1e-3)


def test_close_answers_are_asked_again_in_float32(cache, tiny_t5, texts, pairs, expected, monkeypatch):
    """With a threshold above every lead, all are asked again; with 0, none are."""
    again = []
    votes = Seq2SeqJudge._votes

    def counted(self, ids, about):
        if type(self) is Seq2SeqJudge:
            again.append(len(ids))
        return votes(self, ids, about)

    monkeypatch.setattr(Seq2SeqJudge, "_votes", counted)
    for recheck, share in ((1e9, 1.0), (0.0, 0.0)):
        again.clear()
        judge = ConvertedJudge(weights.find(str(tiny_t5)), "int8", recheck, device="cpu")
        found = collect(judge, texts, pairs, QUESTIONS)
        assert sum(again) == share * len(pairs)
        assert (found == expected).all() or not recheck
        assert ("float32-below-1e+09" in judge.key) == bool(recheck)
        assert judge._slow is None or judge._slow.dtype == torch.float32


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
        ({"engine": "tensorrt"}, "engine is 'tensorrt'; expected 'torch', 'torch-float32', "),
        ({"recheck": 1.0}, "recheck needs engine='ctranslate2-int8'; engine"),
        ({"engine": "ctranslate2-int8", "recheck": -1}, "recheck is -1; expected a number of logits"),
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


def test_a_decoder_only_model_is_not_converted(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(JudgeUnavailable, match="engine='ctranslate2' runs encoder-decoders"):
        local_judge(str(tmp_path), "ctranslate2")


def test_bfloat16_by_name(tiny_t5, texts, pairs, expected, monkeypatch):
    """Nearly all votes equal those of float32; the key names the precision, and a slow CPU gives a warning."""
    judge = local_judge(str(tiny_t5), "torch-bfloat16", device="cpu")
    assert judge.key.endswith(":bfloat16:whole")
    assert local_judge(str(tiny_t5), "torch-float32", device="cpu").key.endswith(":float32:whole")
    for flag in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"):
        monkeypatch.setattr(torch.cpu, flag, lambda: False)
    with pytest.warns(UserWarning, match="neither AMX nor AVX512-BF16"):
        found = collect(judge, texts, pairs, QUESTIONS)
    assert (found == expected).mean() > 0.95
