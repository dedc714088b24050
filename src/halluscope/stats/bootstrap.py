"""The options of intervals, and draws with replacement for those that need them: correlations, and corrected scores.

Resamples are drawn and scored in parts to save memory; the draws are the same as if all were drawn at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.options import check_values, option
from halluscope.stats.ratios import Floats
from halluscope.validation import LARGEST_SEED, share

AT_ONCE = 2**24  # How many numbers of the resamples are in memory at a time (128 MiB)

# How many resamples every command takes by default.
RESAMPLES = 5000

# The method of `halluscope.stats.intervals`, in a signature.
METHOD = "jackknife-beta"


def parts(resamples: int, numbers: int) -> Iterator[int]:
    """Yield how many resamples to take at a time, so that at most `AT_ONCE` numbers are in memory."""
    most = max(1, AT_ONCE // max(1, numbers))
    for first in range(0, resamples, most):
        yield min(most, resamples - first)


def resamples_option(about: str = "") -> Any:
    """Return the option that says whether intervals are made, and by how many draws, where draws are needed."""
    return option(
        0,
        about=about,
        what="a number of resamples (0 for no interval)",
        limit="resamples",
        called="bootstrap",
    )


def check_level(level: Any) -> float:
    """Check the level of intervals."""
    return share("level", level)


@dataclass(frozen=True)
class Bootstrap:
    """Whether intervals are made, at which level, and by how many draws, where draws are needed."""

    resamples: int = resamples_option()
    seed: int = option(0, most=LARGEST_SEED)  # of the draws
    # the share of the resamples inside the interval
    level: float = option(0.95, check=check_level)

    def __post_init__(self) -> None:
        check_values(self)
        # numpy's narrow floats would round the quantiles
        object.__setattr__(self, "level", float(self.level))

    def __str__(self) -> str:
        """Return the text for a signature."""
        if not self.resamples:
            return "no"
        return f"{self.level:g},percentile,{self.resamples},seed{self.seed}"

    def weights(self, rows: int) -> Iterator[Floats]:
        """Yield how often each row is drawn in each resample, in parts [resamples, rows]; a resample sums to `rows`."""
        random = np.random.default_rng(self.seed)
        for resamples in parts(self.resamples, rows):
            weights = np.empty((resamples, rows))
            for resample in range(resamples):
                drawn = random.integers(rows, size=rows)
                weights[resample] = np.bincount(drawn, minlength=rows)
            yield weights

    def sums(self, rows: Floats) -> Floats:
        """Return the sum of rows [rows, ...] in each resample, each as often as it is drawn: [resamples, ...]."""
        sums = [np.zeros((0, *rows.shape[1:]))]
        for weights in self.weights(len(rows)):
            sums.append(weights @ rows)
        return np.concatenate(sums)

    def interval(self, values: Floats) -> tuple[float, float]:
        """Return the percentile interval of values [resamples]; undefined values are left out.

        NaN for fewer than two values, which would make an interval without a width.
        """
        defined = values[~np.isnan(values)]
        if len(defined) < 2:
            return np.nan, np.nan
        low, high = np.quantile(defined, [(1 - self.level) / 2, (1 + self.level) / 2])
        return float(low), float(high)

    def p(self, values: Floats) -> float:
        """Return the two-sided p value of 0: about the level at which the percentile interval of values [resamples]
        ends there. Undefined values count on both sides.

        With r of R resamples on the other side it is 2 (r + 1) / (R + 1), so never 0 (Davison and Hinkley 1997, 4.2).

        >>> Bootstrap(99).p(np.arange(99) - 0.5)
        0.04
        """
        below = int(np.count_nonzero(~(values > 0)))
        above = int(np.count_nonzero(~(values < 0)))
        return min(1.0, 2 * (min(below, above) + 1) / (len(values) + 1))
