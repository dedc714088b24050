"""Counts a language model's FLOP by its shape; a multiplication and an addition count as two.

Norms, activations and look-ups are left out (under 1 %), and so are the shortcuts that an engine takes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# How many tokens of a reply are generated: the word, and the end of the reply
STEPS = 2

Flop = NDArray[np.float64]


@dataclass(frozen=True)
class EncoderDecoder:
    """The shape of T5 and similar models."""

    width: int  # the width of a token's state
    inner: int  # heads x the width of a head
    hidden: int  # the width of the feed-forward layers
    layers: int  # the number of the encoder's layers
    decoder_layers: int  # the number of the decoder's layers
    vocabulary: int  # how many different tokens there are
    gated: bool = True  # whether a feed-forward layer has two matrices that read its input

    def flop(self, tokens: ArrayLike, steps: int = STEPS) -> Flop:
        """Return the FLOP for reading a prompt of this many tokens and generating `steps` tokens of a reply.

        For FLAN-T5-base and 170 tokens these are, in GFLOP: 28.9 in the encoder's matrices, 4.8 for the keys and values
        of cross-attention, 1.1 in the encoder's attention, and 0.5 in two steps.

        >>> SHAPES["google/flan-t5-base"].flop(170).round(-8)
        np.float64(35300000000.0)
        """
        read = np.asarray(tokens, dtype=np.float64)
        attention, feed_forward = 4 * self.width * self.inner, (2 + self.gated) * self.width * self.hidden
        encoder = self.layers * (2 * read * (attention + feed_forward) + 4 * read**2 * self.inner)
        cross = self.decoder_layers * 4 * read * self.width * self.inner
        decoder = self.decoder_layers * (2 * (1.5 * attention + feed_forward) + 4 * read * self.inner)
        result: Flop = encoder + cross + steps * (decoder + 2 * self.width * self.vocabulary)
        return result


@dataclass(frozen=True)
class DecoderOnly:
    """The shape of a decoder-only model."""

    width: int  # the width of a token's state
    inner: int  # heads x the width of a head
    # the width of the keys, and of the values, that attention keeps per token: their heads x a head's width
    kept: int
    hidden: int  # the width of the feed-forward layers that a token passes through
    layers: int  # the number of layers
    vocabulary: int  # how many different tokens there are
    gated: bool = True  # whether a feed-forward layer has two matrices that read its input
    # whether prompts can share the model's cache of their common beginning (neither windows nor running
    # states)
    shares: bool = True

    def read(self, tokens: ArrayLike, before: ArrayLike = 0) -> Flop:
        """Return the FLOP for reading this many tokens after `before` others."""
        new, old = np.asarray(tokens, dtype=np.float64), np.asarray(before, dtype=np.float64)
        attention = 2 * self.width * (self.inner + self.kept)
        feed_forward = (2 + self.gated) * self.width * self.hidden
        seen = new * old + new * (new + 1) / 2
        result: Flop = self.layers * (2 * new * (attention + feed_forward) + 4 * seen * self.inner)
        return result

    def flop(self, tokens: ArrayLike, before: ArrayLike = 0, steps: int = STEPS) -> Flop:
        """Return the FLOP for reading this many tokens after `before` others and generating `steps` tokens."""
        read = np.asarray(tokens, dtype=np.float64) + (steps - 1)
        return self.read(read, before) + steps * 2 * self.width * self.vocabulary


Shape = EncoderDecoder | DecoderOnly

# The shapes of the paper's judges, as their configurations state them
SHAPES: dict[str, Shape] = {
    "google/flan-t5-base": EncoderDecoder(768, 12 * 64, 2048, 12, 12, 32_128),
    "google/flan-t5-large": EncoderDecoder(1024, 16 * 64, 2816, 24, 24, 32_128),
    "google/flan-t5-xl": EncoderDecoder(2048, 32 * 64, 5120, 24, 24, 32_128),
}


def shape(config: Mapping[str, Any]) -> Shape | None:
    """Return the shape in a model's configuration, if it uses the names of T5, BART, GPT-2 or Llama; else None."""
    stated = _Stated(config.get("text_config") or config)
    try:
        return _encoder_decoder(stated) if stated.config.get("is_encoder_decoder") else _decoder_only(stated)
    except (StopIteration, TypeError, ValueError, ZeroDivisionError):
        return None


@dataclass(frozen=True)
class _Stated:
    config: Mapping[str, Any]

    def number(self, *names: str) -> int:
        return int(next(self.config[name] for name in names if self.config.get(name) is not None))

    def number_or(self, otherwise: int, *names: str) -> int:
        return self.number(*names) if any(self.config.get(name) is not None for name in names) else otherwise

    @property
    def width(self) -> int:
        return self.number("d_model", "hidden_size", "n_embd")


def _encoder_decoder(of: _Stated) -> EncoderDecoder:
    heads = of.number("num_heads", "encoder_attention_heads")
    layers = of.number("num_layers", "encoder_layers")
    return EncoderDecoder(
        of.width,
        inner=heads * of.number_or(of.width // heads, "d_kv"),
        hidden=of.number("d_ff", "encoder_ffn_dim"),
        layers=layers,
        decoder_layers=of.number_or(layers, "num_decoder_layers", "decoder_layers"),
        vocabulary=of.number("vocab_size"),
        gated="gated" in str(of.config.get("feed_forward_proj")),
    )


def _decoder_only(of: _Stated) -> DecoderOnly:
    heads = of.number("num_attention_heads", "n_head")
    head = of.number_or(of.width // heads, "head_dim")
    hidden = of.number_or(4 * of.width, "moe_intermediate_size", "intermediate_size", "n_inner", "ffn_dim")
    layer_types = of.config.get("layer_types") or []
    windows = of.config.get("sliding_window") is not None and not layer_types
    gemma = str(of.config.get("model_type")).startswith("gemma")
    return DecoderOnly(
        of.width,
        inner=heads * head,
        kept=of.number_or(heads, "num_key_value_heads") * head,
        hidden=hidden * of.number_or(1, "num_experts_per_tok"),
        layers=of.number("num_hidden_layers", "n_layer"),
        vocabulary=of.number("vocab_size"),
        gated=of.config.get("hidden_act") in ("silu", "swish") or gemma,
        shares=not windows and all(kind == "full_attention" for kind in layer_types),
    )
