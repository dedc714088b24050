"""CHAIR from counts a caption: ratios and means, once or for resampled captions.

Source: Rohrbach et al. (EMNLP 2018), equations 1 and 2, and what the published script prints beside them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halluscope.stats.ratios import Floats, ratio


class Row(NamedTuple):
    """One caption's counts.

    Attributes:
        mentions: words that stand for a class, each time they come.
        hallucinated: those of them whose class is not in the image.
        found: classes that are mentioned and in the image.
        present: classes in the image.
        words: the caption's length as CHAIR counts it: double words once, marks too.
    """

    mentions: int
    hallucinated: int
    found: int
    present: int
    words: int


@dataclass(frozen=True)
class Counts:
    """The captions' counts: a column [captions] for each field of `Row`."""

    mentions: NDArray[np.int64]
    hallucinated: NDArray[np.int64]
    found: NDArray[np.int64]
    present: NDArray[np.int64]
    words: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Counts":
        """The counts of at least one caption."""
        return cls(*np.array(rows, dtype=np.int64).T)


def score(counts: Counts, weights: Floats | None = None) -> dict[str, Floats]:
    """CHAIR's scores.

    Args:
        counts: of the captions.
        weights: [resamples, captions], how often each caption counts; by default once.

    Returns:
        name -> array [resamples]. `chair_i`: hallucinated mentions of all mentions; `chair_s`: captions with one of
        all captions; `recall`: found classes of all present ones, pooled; `mean_words`. Fractions in [0, 1] but for
        `mean_words`, NaN where undefined.
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
