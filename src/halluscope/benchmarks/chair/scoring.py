"""Computes CHAIR's ratios and means from counts per caption, once or per resample of the captions.

Source: Rohrbach et al. (EMNLP 2018), equations 1 and 2, and the other scores that the published script prints.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halluscope.stats.ratios import Floats, ratio


class Row(NamedTuple):
    """One caption's counts."""

    mentions: int  # words that stand for a class, repeats included
    hallucinated: int  # mentions whose class is not in the image
    found: int  # classes that are mentioned and in the image
    present: int  # classes in the image
    words: int  # the caption's length as CHAIR counts it, with double words as one and with punctuation marks


@dataclass(frozen=True)
class Counts:
    """The captions' counts: one column [captions] per field of `Row`."""

    mentions: NDArray[np.int64]
    hallucinated: NDArray[np.int64]
    found: NDArray[np.int64]
    present: NDArray[np.int64]
    words: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Counts":
        """Collect the counts of at least one caption."""
        return cls(*np.array(rows, dtype=np.int64).T)


def score(counts: Counts, weights: Floats | None = None) -> dict[str, Floats]:
    """Return scores [resamples] by weights [resamples, captions]; NaN where undefined.

    `chair_i`: the share of mentions that are hallucinated; `chair_s`: the share of captions with a hallucinated
    mention; `recall`: the share of present classes that are found, pooled over captions; `mean_words` is no fraction.
    """
    weights = np.ones((1, len(counts.words))) if weights is None else weights
    captions = weights.sum(axis=1)

    def total(column: NDArray[np.int64] | NDArray[np.bool_]) -> Floats:
        summed: Floats = weights @ column.astype(float)
        return summed

    return {
        "chair_i": ratio(total(counts.hallucinated), total(counts.mentions)),
        "chair_s": ratio(total(counts.hallucinated > 0), captions),
        "recall": ratio(total(counts.found), total(counts.present)),
        "mean_words": ratio(total(counts.words), captions),
    }
