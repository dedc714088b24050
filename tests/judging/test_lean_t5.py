"""The lean T5 against transformers' own, and prompts read in parts against prompts read whole."""

import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration

from halluscope.judging.models.steps import LeanT5

SHAPE = {
    "vocab_size": 90,
    "d_model": 48,
    "d_kv": 8,
    "d_ff": 56,
    "num_layers": 3,
    "num_decoder_layers": 2,
    "num_heads": 4,
}
KINDS = {
    "FLAN-T5, T5 v1.1": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    "T5": {"feed_forward_proj": "relu", "tie_word_embeddings": True},
}


def random_t5(kind: str) -> T5ForConditionalGeneration:
    torch.manual_seed(4)
    special = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
    model = T5ForConditionalGeneration(T5Config(**SHAPE, **special, **KINDS[kind])).eval()
    for name, weight in model.named_parameters():
        if "layer_norm" in name:
            torch.nn.init.uniform_(weight, 0.5, 1.5)
    return model


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 7, 600])
def test_the_same_logits_as_the_model(kind, length):
    """Compare logits of the first token, of the next two, and of some rows alone; prompts contain padding tokens."""
    model = random_t5(kind)
    ids = torch.randint(0, SHAPE["vocab_size"], (3, length))
    said = torch.tensor([[0, 5, 6], [0, 0, 7], [0, 1, 8]])
    with torch.inference_mode():
        expected = model(input_ids=ids, attention_mask=torch.ones_like(ids), decoder_input_ids=said).logits
        lean = LeanT5(model)
        first, state = lean.begin(ids)
        second, state = lean.go_on(said[:, 1], state)
        third, _ = lean.go_on(said[[2, 0], 2], lean.keep(state, [2, 0]))
        after = model(input_ids=ids, attention_mask=torch.ones_like(ids), decoder_input_ids=said).logits
    assert expected.abs().max() > 0.1
    for got, wanted in ((first, expected[:, 0]), (second, expected[:, 1]), (third, expected[[2, 0], 2])):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(after, expected, rtol=0, atol=0, msg="the model itself has changed")
