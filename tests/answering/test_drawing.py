"""Sampled responses, and a first turn before the question, with the tiny vision-language model."""

from collections import Counter

import numpy as np
import pytest
import torch

from halluscope.answering.answer import FIRST_TOKENS, Sample
from halluscope.answering.models import Noise, Vlm
from tests import tiny_vlm
from tests.answering.test_answering import TOKENS, answered, command, lines
from tests.harness import data as harness_data

LIST = "Give a list of objects and locations in the image."


@pytest.fixture
def short(monkeypatch):
    """The tiny model never ends a response by itself."""
    monkeypatch.setattr("halluscope.answering.answer.FIRST_TOKENS", 6)


def test_a_draw_is_the_softmax_at_a_temperature():
    """20,000 draws of one token of four, against the formula; each count within five standard deviations."""
    scores, temperature, n = torch.tensor([[1.0, 0.0, 2.0, float("-inf")]]), 0.5, 20_000
    noise = Noise(torch, temperature, [1])
    found = Counter(int(noise(None, scores).argmax()) for _ in range(n))
    weights = np.exp(np.array([1.0, 0.0, 2.0, -np.inf]) / temperature)
    for token, share in enumerate(weights / weights.sum()):
        assert abs(found[token] - n * share) <= 5 * np.sqrt(n * share * (1 - share)), token


def test_a_file_is_the_same_in_any_batches_and_however_often_it_was_cut_off(vlm, source, tmp_path):
    sample = Sample(seed=3, temperature=1.5)
    whole = answered(vlm, source, tmp_path / "a.jsonl", sample=sample, batch_size=1)
    assert answered(vlm, source, tmp_path / "b.jsonl", sample=sample, batch_size=7) == whole
    out = tmp_path / "c.jsonl"
    for limit in (2, 5, 11):
        answered(vlm, source, out, sample=sample, limit=limit, batch_size=2)
    out.write_bytes(out.read_bytes()[:-40])
    assert answered(vlm, source, out, sample=sample, batch_size=3) == whole
    assert lines(out)[0]["run"]["sample"] == {"seed": 3, "temperature": 1.5}


def test_a_first_turn_is_asked_shown_and_kept(vlm, source, tmp_path, short):
    out = tmp_path / "a.jsonl"
    answered(vlm, source, out, first=LIST, batch_size=4)
    for row, line in zip(source.rows, lines(out), strict=True):
        images = [source.image(row)]
        (first,) = vlm.reply([[LIST]], images, 6)
        (said,) = vlm.reply([[LIST, first, source.benchmark.asked(row)]], images, TOKENS)
        assert (line["first"], line["response"]) == (first, said)
    assert lines(out)[0]["run"]["first"] == {"prompt": LIST, "max_new_tokens": 6}
    answered(vlm, source, tmp_path / "b.jsonl")
    plain = [line["response"] for line in lines(tmp_path / "b.jsonl")]
    assert plain != [line["response"] for line in lines(out)]
    assert FIRST_TOKENS == 1024 and "first" not in lines(tmp_path / "b.jsonl")[0]


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (None, "is missing"),
        ("{{ messages[-1]['content'][0]['text'] }}", "leaves out earlier turns"),
        (
            "{% if messages | length > 1 %}{{ raise_exception('one turn') }}{% endif %}"
            "{% for part in messages[0]['content'] %}{{ part['type'] }}{% endfor %}",
            "fails on a second turn",
        ),
    ],
)
def test_a_first_turn_needs_a_chat_template(template, why, source, tmp_path):
    other = Vlm(str(tiny_vlm.make(tmp_path / "other", chat_template=template)), "cpu")
    with pytest.raises(ValueError, match=f"A first turn needs a chat template, and that of other@.* {why}"):
        answered(other, source, tmp_path / "a.jsonl", first=LIST)
    assert not (tmp_path / "a.jsonl").exists()


@pytest.mark.filterwarnings("ignore:.* questions are scored")
def test_two_runs_of_a_model_are_a_test_and_a_retest(data, model, tmp_path, short, ran, json_of):
    always = ["--device", "cpu", "--quiet", "--images", data / "pictures", "--max-new-tokens", TOKENS]
    always += ["--sample", "--temperature", "1.2", "--first", LIST]
    printed = []
    for seed in (1, 2):
        out = tmp_path / f"{seed}.jsonl"
        ran(*command(model, data / "pope", out, *always, "--seed", seed))
        assert lines(out)[0]["run"]["sample"] == {"seed": seed, "temperature": 1.2}
        printed += json_of(*harness_data.score_command(data, "pope", "--responses", str(out)))
    one, other = printed
    assert one["texts"] != other["texts"] and one["signature"] == other["signature"]
