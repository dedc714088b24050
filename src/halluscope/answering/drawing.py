"""Answers that are drawn, not the likeliest: each question by a seed of its own.

A token is drawn from the model's whole distribution at a temperature, without top-k or top-p. The draw is greedy
decoding of scores with noise added (Gumbel's), and the noise is a question's own: so an answer depends neither on the
questions beside it in a batch nor on those before it.
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
    """How answers are drawn.

    Attributes:
        seed: of all draws, 0 to `LARGEST_SEED`.
        temperature: by which scores are divided before the draw, `COLDEST` to `HOTTEST`.

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
        """A seed for each question of a turn, by what the question is called."""
        each = (hashlib.sha256(f"{self.seed} {turn} {name}".encode()).digest()[:8] for name in questions)
        return [int.from_bytes(digest, "big") >> 1 for digest in each]


class Noise:
    """What `generate` of transformers calls with the scores of the next tokens, one row a prompt.

    Args:
        torch: the module.
        temperature: of the draws.
        seeds: one per prompt.
    """

    def __init__(self, torch: Any, temperature: float, seeds: Sequence[int]) -> None:
        self._torch, self._temperature = torch, temperature
        self._draws = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores whose greatest is a draw."""
        noise = self._torch.stack([self._noise(scores.shape[1], draws) for draws in self._draws])
        return scores / self._temperature + noise.to(scores)

    def _noise(self, tokens: int, draws: Any) -> Any:
        """Gumbel's noise for each token; in double precision, for in single an exponential is too often 0."""
        even = self._torch.empty(tokens, dtype=self._torch.float64).exponential_(generator=draws)
        return -even.clamp_(min=2.0**-60).log_()
