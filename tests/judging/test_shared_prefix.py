"""A causal judge reads a text once for all questions about it, and gives the same votes as whole prompts."""

import warnings

import numpy as np
import pytest
import torch
import transformers

from halluscope.benchmarks.throne.questions import PAPER
from halluscope.judging.models import engine, weights
from halluscope.judging.models.engine import CausalJudge
from halluscope.vocabularies import load

QUESTIONS = PAPER.about(load("coco"))[0]
TEXTS = ["A dog runs after two cats.", "Nothing to see here, only snow."]
PAIRS = np.array([(text, question) for text in range(2) for question in range(0, 80, 8)])
SHAPE = {
    "vocab_size": 49_152, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 1024, "eos_token_id": 2, "pad_token_id": 2,
}  # fmt: skip


def logits(judge):
    """The first token's logits of every pair, as the judge's own batches give them, and the votes."""
    found, codes, decide = [], np.full(len(PAIRS), -1), judge._decide

    def keep(begun):
        found.append(begun[0])
        return decide(begun)

    judge._decide = keep
    table = None
    try:
        for rows, given, *_ in judge.answer(TEXTS, QUESTIONS, PAIRS):
            assert (codes[rows] == -1).all()
            codes[rows] = given
            table = torch.empty(len(PAIRS), found[0].shape[1]) if table is None else table
            table[torch.as_tensor(rows)] = found.pop(0)
    finally:
        del judge._decide
    assert (codes != -1).all()
    return table, codes


@pytest.mark.long
def test_the_same_logits_and_votes_as_whole_prompts(smollm2, monkeypatch):
    read = []
    begin = type(smollm2._voting).begin
    monkeypatch.setattr(
        type(smollm2._voting),
        "begin",
        lambda self, ids, *more: (read.append(ids.numel()), begin(self, ids, *more))[1],
    )
    (shared, shared_votes), shared_tokens = logits(smollm2), sum(read)
    monkeypatch.setattr(engine, "SHARED_FROM", 1000)
    read.clear()
    (apart, apart_votes), tokens = logits(smollm2), sum(read)
    assert (shared - apart).abs().max() < 1e-3
    assert (shared_votes == apart_votes).all()
    assert shared_tokens < tokens / 3


def test_what_follows_padding_is_placed_after_what_was_read(smollm2):
    """Compare two more steps of prompts of three lengths with each prompt alone."""
    steps, prompts = smollm2._voting, [[5, 6, 7, 8, 9], [11, 12, 13], [21]]
    prefix, said = [1, 2, 3], torch.tensor([[30, 31], [40, 41], [50, 51]])
    with torch.inference_mode():
        _, read = steps.begin(torch.tensor([prefix]))
        first, state = steps.begin(torch.tensor([[-1] * (5 - len(one)) + one for one in prompts]), read)
        state = steps.go_on(said[:, 0], state)[1]
        last, _ = steps.go_on(said[[2, 0], 1], steps.keep(state, [2, 0]))
        for row, one in enumerate(prompts):
            alone = torch.tensor([prefix + one])
            torch.testing.assert_close(first[row], steps.begin(alone)[0][0], rtol=1e-4, atol=1e-3)
        for row, place in ((2, 0), (0, 1)):
            alone = torch.tensor([prefix + prompts[row] + said[row].tolist()])
            torch.testing.assert_close(last[place], steps.begin(alone)[0][0], rtol=1e-4, atol=1e-3)


def made(smollm2, folder, config):
    """A random model with SmolLM2's tokenizer."""
    torch.manual_seed(2)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    smollm2._tokenizer.save_pretrained(folder)
    return CausalJudge(weights.find(str(folder)), device="cpu")


def test_a_text_that_holds_the_padding_token_is_read_whole(smollm2, tmp_path):
    """SmolLM2 pads with a token that its chat template uses; a mask made from it would hide what was read."""
    judge = made(smollm2, tmp_path, transformers.LlamaConfig(**SHAPE))
    got, _ = logits(judge)
    model, tokenizer = judge._model, judge._tokenizer
    assert tokenizer.pad_token_id in tokenizer(judge.prompt("A dog.", QUESTIONS[0]))["input_ids"]
    for row in (0, 13):
        text, question = PAIRS[row]
        prompt = judge.prompt(TEXTS[text], QUESTIONS[question])
        ids = torch.tensor([tokenizer(prompt, add_special_tokens=False)["input_ids"]])
        with torch.inference_mode():
            expected = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0, -1]
        torch.testing.assert_close(got[row], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        (transformers.MistralConfig(**SHAPE, sliding_window=16), "DynamicSlidingWindowLayer"),
        (
            transformers.Lfm2Config(**SHAPE, layer_types=["conv", "full_attention"]),
            "DynamicLayer, LinearAttentionLayer",
        ),
    ],
)
def test_a_model_that_keeps_less_than_it_read_says_so(smollm2, tmp_path, monkeypatch, config, kept):
    judge = made(smollm2, tmp_path, config)
    with pytest.warns(UserWarning, match=f"keeps {kept} as its cache, which prompts cannot share"):
        found, _ = logits(judge)
    monkeypatch.setattr(engine, "SHARED_FROM", 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        apart, _ = logits(judge)
    torch.testing.assert_close(found, apart, rtol=1e-4, atol=1e-5)
