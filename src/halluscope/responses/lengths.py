"""Counts the words of responses: longer responses have more room for hallucination (HQM, Table III)."""

from collections.abc import Sequence

import numpy as np

from halluscope.stats.tallies import Ints

# The key of a result, the same for each benchmark
MEAN_WORDS = "mean_words"


def words(texts: Sequence[str]) -> list[int]:
    """Count the words of each text; white space divides words.

    >>> words(["Yes.", "There is a dog."])
    [1, 4]
    """
    return [len(text.split()) for text in texts]


def mean_words(texts: Sequence[str]) -> float:
    """Return the mean number of words per text; there must be at least one text."""
    return float(np.mean(words(texts)))


def tally(texts: Sequence[str], clusters: Ints) -> tuple[Ints, Ints]:
    """Count the words and the texts of each cluster, such as an image; their ratio is `mean_words`."""
    counts = np.bincount(clusters, weights=words(texts)).astype(np.int64)
    return counts, np.bincount(clusters)
