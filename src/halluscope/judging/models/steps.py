"""Models of transformers, one token of each reply at a time, and a lean T5 in the same form.

`begin` reads prompts [batch, length] and returns the logits [batch, vocabulary] of the first tokens, with a state;
`go_on` returns the logits of the tokens after `tokens` [batch], and the next state; `keep` returns the state of only
these rows of the batch.

`LeanT5` leaves out what replies of a few tokens do not need; its logits equal the model's own, up to rounding. With few
queries, the keys and values of cross-attention are never computed: W_k is applied to the query, and W_v after the
weighted sum. Each step reads the few tokens so far again, so there is no cache. Matrices that read the same input are
joined into one, of which the model's own become views.
"""

import copy
from functools import partial
from typing import Any

import torch
from torch.nn.functional import gelu, linear, rms_norm, scaled_dot_product_attention

# The encoder's output for the prompts [batch, length, width], and the replies' tokens so far [batch, steps]
State = tuple[torch.Tensor, torch.Tensor]


class Steps:
    """Any model; its state is its cache, and the encoder's output or a decoder's mask.

    It gets a mask: without one, a prompt that contains the tokenizer's padding token would lose it.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        if model.config.is_encoder_decoder:
            self._start = start_token(model)

    def begin(self, ids: torch.Tensor, prefix: Any = None) -> tuple[torch.Tensor, Any]:
        """Read prompts [batch, length], which continue from the state of a prefix [1, ...] if it is given.

        A prompt that is shorter than the others begins with negative numbers, which are not read.
        """
        if self._model.config.is_encoder_decoder:
            mask = ids.new_ones(ids.shape)
            encoded = self._model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
            start = ids.new_full((len(ids),), self._start)
            return self.go_on(start, (None, encoded))
        cache = None
        mask = (ids >= 0).to(ids.dtype)
        if prefix is not None:
            cache, before = copy.deepcopy(prefix)
            cache.batch_repeat_interleave(len(ids))
            mask = torch.cat([before.expand(len(ids), -1), mask], 1)
        return self._read(ids.clamp(min=0), cache, mask)

    def go_on(self, tokens: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        cache, context = state
        if not self._model.config.is_encoder_decoder:
            mask = torch.cat([context, context.new_ones((len(context), 1))], 1)
            return self._read(tokens[:, None], cache, mask)
        out = self._model(
            encoder_outputs=(context,),
            attention_mask=tokens.new_ones(context.shape[:2]),
            decoder_input_ids=tokens[:, None],
            past_key_values=cache,
            use_cache=True,
        )
        return out.logits[:, -1], (out.past_key_values, context)

    def keep(self, state: Any, rows: list[int]) -> Any:
        cache, context = state
        cache.reorder_cache(torch.tensor(rows))
        return cache, context[rows]

    def _read(self, ids: torch.Tensor, cache: Any, mask: torch.Tensor) -> tuple[torch.Tensor, Any]:
        places = {}
        if not mask.all():
            # each token's place among the tokens that are read in its row
            numbers = (mask.cumsum(1) - 1).clamp(min=0)
            places["position_ids"] = numbers[:, -ids.shape[1] :]
        out = self._model(
            input_ids=ids,
            attention_mask=mask,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
            **places,
        )
        return out.logits[:, -1], (out.past_key_values, mask)


def start_token(model: Any) -> int:
    """Return the token that an encoder-decoder's replies begin after; some folders state it in one of two files."""
    for config in (model.generation_config, model.config):
        token = getattr(config, "decoder_start_token_id", None)
        if token is not None:
            return int(token)
    raise ValueError(
        "generation_config.json has no decoder_start_token_id; expected the token's number there."
    )


class LeanT5:
    """T5, T5 v1.1 or FLAN-T5: a `T5ForConditionalGeneration` in evaluation mode."""

    def __init__(self, model: Any) -> None:
        config = model.config
        self._model = model
        self._start = start_token(model)
        self._width = config.d_model
        self._eps = config.layer_norm_epsilon
        self._per_head = (config.num_heads, config.d_kv, config.d_model)
        self._scale = config.d_model**-0.5 if config.scale_decoder_outputs else 1.0
        self._act = model.encoder.block[0].layer[-1].DenseReluDense.act
        if config.dense_act_fn == "gelu_new":
            self._act = partial(gelu, approximate="tanh")  # in one pass over the memory
        self._biases: dict[Any, torch.Tensor] = {}
        for stack in (model.encoder, model.decoder):
            for block in stack.block:
                attention = block.layer[0].SelfAttention
                attention.qkv = _fused(attention.q, attention.k, attention.v)
                dense = block.layer[-1].DenseReluDense
                if hasattr(dense, "wi_0"):  # T5 v1.1 and FLAN-T5 have a gate
                    dense.inputs = _fused(dense.wi_0, dense.wi_1)
                else:
                    dense.inputs = dense.wi.weight.data

    def begin(self, ids: torch.Tensor) -> tuple[torch.Tensor, State]:
        start = ids.new_full((len(ids), 1), self._start)
        return self._logits((self.layers(self._model.encoder, self._model.shared(ids)), start))

    def go_on(self, tokens: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        encoded, replies = state
        return self._logits((encoded, torch.cat([replies, tokens[:, None]], 1)))

    def keep(self, state: State, rows: list[int]) -> State:
        encoded, replies = state
        return encoded[rows], replies[rows]

    def _logits(self, state: State) -> tuple[torch.Tensor, State]:
        encoded, replies = state
        states = self.layers(self._model.decoder, self._model.shared(replies), encoded)
        return self._model.lm_head(states[:, -1] * self._scale), state

    def layers(self, stack: Any, states: torch.Tensor, encoded: torch.Tensor | None = None) -> torch.Tensor:
        """Return the states after a stack's layers."""
        bias = self._bias(stack, states.shape[1])
        for block in stack.block:
            attention, *cross, feed_forward = block.layer
            self._attend(states, attention, bias)
            if encoded is not None:
                self._cross_attend(states, cross[0], encoded)
            dense = feed_forward.DenseReluDense
            inputs = linear(self._norm(states, feed_forward.layer_norm), dense.inputs)
            gate, *linear_inputs = inputs.split(dense.wo.in_features, -1)
            activated: torch.Tensor = self._act(gate)
            for linear_input in linear_inputs:
                activated.mul_(linear_input)
            _add(states, activated, dense.wo)
        return self._norm(states, stack.final_layer_norm)

    def _attend(self, states: torch.Tensor, layer: Any, bias: torch.Tensor) -> None:
        """Add self-attention to `states` [batch, length, width]."""
        attention = layer.SelfAttention
        fused = linear(self._norm(states, layer.layer_norm), attention.qkv)
        query, key, value = fused.unflatten(-1, (3, *self._per_head[:2])).permute(2, 0, 3, 1, 4)
        attended = scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=1.0)
        _add(states, attended.transpose(1, 2).flatten(2), attention.o)

    def _cross_attend(self, states: torch.Tensor, layer: Any, encoded: torch.Tensor) -> None:
        """Add attention to the prompt to `states` [batch, steps, width]."""
        attention = layer.EncDecAttention
        query = attention.q(self._norm(states, layer.layer_norm)).unflatten(-1, self._per_head[:2])
        queries = torch.einsum("bthk,hkd->bthd", query, attention.k.weight.view(self._per_head))
        weights = torch.bmm(queries.flatten(1, 2), encoded.transpose(1, 2)).softmax(-1, dtype=torch.float32)
        summed = torch.bmm(weights.to(encoded.dtype), encoded).view(queries.shape)
        attended = torch.einsum("bthd,hkd->bthk", summed, attention.v.weight.view(self._per_head))
        _add(states, attended.flatten(2), attention.o)

    def _norm(self, states: torch.Tensor, norm: Any) -> torch.Tensor:
        return rms_norm(states, (self._width,), norm.weight, self._eps)

    def _bias(self, stack: Any, length: int) -> torch.Tensor:
        """Return the position bias [1, heads, length, length]; a decoder's later positions are masked.

        The bias is cut from one for lengths up to a power of two, whose rows begin at multiples of 8: CUDA's attention
        uses the cut without a copy.
        """
        size = length
        if stack is self._model.encoder:
            next_power_of_two = 1 << (length - 1).bit_length()
            size = max(512, next_power_of_two)
        if (stack, size) not in self._biases:
            bias = stack.block[0].layer[0].SelfAttention.compute_bias(size, size)
            if stack is self._model.decoder:
                bias = bias.masked_fill(torch.ones_like(bias, dtype=torch.bool).triu(1), -torch.inf)
            self._biases[stack, size] = bias
        cut = self._biases[stack, size][..., :length, :length]
        if cut.is_cuda:
            return cut
        return cut.contiguous()


def _add(states: torch.Tensor, inputs: torch.Tensor, layer: Any) -> None:
    """Add what a layer makes of its inputs to `states`."""
    states.view(-1, states.shape[-1]).addmm_(inputs.flatten(0, 1), layer.weight.T)


def _fused(*layers: Any) -> torch.Tensor:
    """Return the layers' matrices as one [sum of outputs, inputs]; each layer's own matrix becomes a view of it."""
    whole = torch.cat([layer.weight.data for layer in layers])
    for layer, part in zip(layers, whole.split([len(layer.weight) for layer in layers]), strict=True):
        layer.weight.data = part
    return whole
