"""How long responses are: longer ones have more room for hallucination (HQM, Table III)."""

from collections.abc import Sequence

import numpy as np

from halluscope.stats.tallies import Ints

MEAN_WORDS = "mean_words"
"""The key of a result, the same for each benchmark."""


def words(texts: Sequence[str]) -> list[int]:
    """How many words each text has; white space divides words.

    >>> words(["Yes.", "There is a dog."])
    [1, 4]
    """
    return [len(text.split()) for text in texts]


def mean_words(texts: Sequence[str]) -> float:
    """The mean number of words of texts, at least one."""
    return float(np.mean(words(texts)))


def tally(texts: Sequence[str], clusters: Ints) -> tuple[Ints, Ints]:
    """The words and the texts of each cluster, such as an image: `mean_words`, for an interval."""
    counts = np.bincount(clusters, weights=words(texts)).astype(np.int64)
    return counts, np.bincount(clusters)
