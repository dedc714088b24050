"""Percentile intervals by resampling rows (images, captions, sets) from counts: nothing is judged again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from halluscope.stats.ratios import Floats


@dataclass(frozen=True)
class Bootstrap:
    """How an interval is made.

    Attributes:
        resamples: how many; 0 makes no interval.
        seed: of the draws.
        level: the share of the resamples inside the interval, in (0, 1).
    """

    resamples: int = 0
    seed: int = 0
    level: float = 0.95

    def __post_init__(self) -> None:
        """Check the options."""
        if not _whole(self.resamples):
            raise ValueError(
                f"bootstrap is {self.resamples!r:.80}; expected the number of resamples, or 0 for no interval."
            )
        if not _whole(self.seed):
            raise ValueError(f"seed is {self.seed!r:.80}; expected a whole number of at least 0.")
        if not isinstance(self.level, float) or not 0 < self.level < 1:
            raise ValueError(
                f"level is {self.level!r:.80}; expected a fraction between 0 and 1, such as 0.95."
            )

    def __str__(self) -> str:
        """As it stands in a signature."""
        return f"{self.level:g},percentile,{self.resamples},seed{self.seed}" if self.resamples else "no"

    def weights(self, rows: int) -> Floats:
        """How often each row is drawn in each resample: [resamples, rows], each summing to `rows`."""
        draws = np.random.default_rng(self.seed).integers(rows, size=(self.resamples, rows))
        return np.array([np.bincount(draw, minlength=rows) for draw in draws], dtype=float)

    def intervals(
        self, rows: int, score: Callable[[Floats], Mapping[str, Floats]]
    ) -> dict[str, tuple[float, float]]:
        """The interval of each score; `score` gives it [resamples] for weights [resamples, rows]."""
        return {name: self.interval(values) for name, values in score(self.weights(rows)).items()}

    def interval(self, values: Floats) -> tuple[float, float]:
        """The percentile interval of values [resamples]; resamples where the value is undefined are left out."""
        defined = values[~np.isnan(values)]
        if not len(defined):
            return np.nan, np.nan
        low, high = np.quantile(defined, [(1 - self.level) / 2, (1 + self.level) / 2])
        return float(low), float(high)


def _whole(value: object) -> bool:
    """Whether it is a whole number of at least 0."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 0)
