"""Models from transformers as `decoding.Steps`: one token of each reply at a time, with the models' own caches.

Each model gets a mask: without one, a prompt that contains the tokenizer's padding token would lose it.
"""

import copy
from typing import Any

import torch


class Seq2SeqSteps:
    """Any encoder-decoder, step by step."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def begin(self, ids: torch.Tensor) -> tuple[torch.Tensor, Any]:
        """Read prompts [batch, length]; return the logits of each reply's first token, and the state."""
        mask = ids.new_ones(ids.shape)
        encoded = self._model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        start = ids.new_full((len(ids),), self._model.generation_config.decoder_start_token_id)
        return self.go_on(start, (encoded, None))

    def go_on(self, tokens: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        """Read one more token of each reply; return the logits of the next token, and the state."""
        encoded, cache = state
        out = self._model(
            encoder_outputs=(encoded,),
            attention_mask=tokens.new_ones(encoded.shape[:2]),
            decoder_input_ids=tokens[:, None],
            past_key_values=cache,
            use_cache=True,
        )
        return out.logits[:, -1], (encoded, out.past_key_values)

    def keep(self, state: Any, rows: list[int]) -> Any:
        """Return the state of only these rows."""
        encoded, cache = state
        cache.reorder_cache(torch.tensor(rows))
        return encoded[rows], cache


class CausalSteps:
    """Any decoder-only model, step by step."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def begin(self, ids: torch.Tensor, prefix: Any = None) -> tuple[torch.Tensor, Any]:
        """Read prompts [batch, length], which continue from the state of a prefix [1, ...] if it is given.

        A prompt that is shorter than the others begins with negative numbers, which are not read.
        """
        cache, before = copy.deepcopy(prefix) if prefix is not None else (None, ids[:1, :0])
        if cache is not None:
            cache.batch_repeat_interleave(len(ids))
        mask = torch.cat([before.expand(len(ids), -1), (ids >= 0).to(ids.dtype)], 1)
        return self._read(ids.clamp(min=0), (cache, mask))

    def go_on(self, tokens: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        """Read one more token of each reply; return the logits of the next token, and the state."""
        cache, mask = state
        return self._read(tokens[:, None], (cache, torch.cat([mask, mask.new_ones((len(mask), 1))], 1)))

    def keep(self, state: Any, rows: list[int]) -> Any:
        """Return the state of only these rows."""
        cache, mask = state
        cache.reorder_cache(torch.tensor(rows))
        return cache, mask[rows]

    def _read(self, ids: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        cache, mask = state
        places = {} if mask.all() else {"position_ids": _places(mask)[:, -ids.shape[1] :]}
        out = self._model(
            input_ids=ids,
            attention_mask=mask,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
            **places,
        )
        return out.logits[:, -1], (out.past_key_values, mask)


def _places(mask: torch.Tensor) -> torch.Tensor:
    """Return each token's place among the tokens that are read in its row [batch, length]."""
    return (mask.cumsum(1) - 1).clamp(min=0)
