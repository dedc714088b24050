"""Draws responses at random, each question's with its own seed, instead of decoding greedily.

A token is drawn from the model's whole distribution at a temperature, without top-k or top-p. The draw is greedy
decoding of the tokens' scores with added noise (Gumbel's). Each question has its own noise, so a response depends
neither on the other questions in its batch nor on earlier questions.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.numbers import finite, whole

COLDEST, HOTTEST = 0.01, 10.0
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Sample:
    """How responses are drawn.

    Attributes:
        seed: of all draws, from 0 to `LARGEST_SEED`.
        temperature: the number by which scores are divided before the draw, from `COLDEST` to `HOTTEST`.

    Raises:
        ValueError: for a setting out of range.
    """

    seed: int = 0
    temperature: float = 1.0

    def __post_init__(self) -> None:
        """Check the settings."""
        whole("seed", self.seed, most=LARGEST_SEED)
        finite("temperature", self.temperature, COLDEST, HOTTEST)

    def seeds(self, questions: Sequence[str], turn: str) -> list[int]:
        """Return a seed for each question of a turn, derived from the question's name."""
        each = (hashlib.sha256(f"{self.seed} {turn} {name}".encode()).digest()[:8] for name in questions)
        return [int.from_bytes(digest, "big") >> 1 for digest in each]


class Noise:
    """Adds noise to the scores of the next tokens, [prompts, tokens], when transformers' `generate` calls it.

    Args:
        torch: the module.
        temperature: the temperature of the draws.
        seeds: one per prompt.
    """

    def __init__(self, torch: Any, temperature: float, seeds: Sequence[int]) -> None:
        self._torch, self._temperature = torch, temperature
        self._draws = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return scores whose maximum is the drawn token."""
        noise = self._torch.stack([self._noise(scores.shape[1], draws) for draws in self._draws])
        return scores / self._temperature + noise.to(scores)

    def _noise(self, tokens: int, draws: Any) -> Any:
        """Return Gumbel noise per token, in double precision: in single precision, an exponential is 0 too often."""
        even = self._torch.empty(tokens, dtype=self._torch.float64).exponential_(generator=draws)
        return -even.clamp_(min=2.0**-60).log_()
