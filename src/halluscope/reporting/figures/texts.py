"""Counts hallucinations by their place in the text, and by the length of the text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halluscope.reporting.figures.shares import Share
from halluscope.reporting.shown import FOUND, HALLUCINATED, Item

TENTHS = 10

BINS = 8
"""The most bins of lengths."""

ROWS_OF_A_BIN = 10
"""The fewest rows per bin, on average."""

JUDGED = ("bad", "good")
"""The kinds of marks that say whether a mention is right."""

UNJUDGED = frozenset({"unreadable", "unjudged"})
"""Errors of a row that could not be judged."""


def by_tenth(items: Iterable[Item]) -> list[Share]:
    """Return, for each tenth of the text, the share of the mentions beginning there that are errors.

    A mention is a marked place that names a class and is right or an error. A place that could not be judged, or that a
    rule took back, does not count.
    """
    mentions = np.zeros((2, TENTHS), np.int64)
    for item in items:
        judged = {(mark.start, mark.end, mark.of, mark.kind) for mark in item.marks if mark.kind in JUDGED}
        for start, _, of, kind in judged:
            mentions[JUDGED.index(kind), min(TENTHS - 1, TENTHS * start // len(item.text))] += bool(of)
    return [Share(int(bad), int(bad + good)) for bad, good in mentions.T]


@dataclass(frozen=True)
class Length:
    """Rows whose responses have similar lengths.

    Attributes:
        words: the median number of words of these responses.
        rows: of these rows, those in which something is wrong (`is_wrong`).
        said: of the classes that these responses mention, those that are absent.
    """

    words: float
    rows: Share
    said: Share


def by_length(items: Iterable[Item]) -> list[Length]:
    """Put rows into bins of similar size by their number of words, the shortest first; equal lengths share a bin.

    Only rows with classes count; if no row has classes, all rows that could be judged.
    """
    known = [item for item in items if _is_judged(item)]
    known = [item for item in known if item.classes] or known
    words = np.array([len(item.text.split()) for item in known])
    bins = min(BINS, len(known) // ROWS_OF_A_BIN)
    if bins < 2:
        return []
    edges = np.unique(np.quantile(words, np.arange(1, bins) / bins, method="lower"))
    of = np.searchsorted(edges, words, side="right")
    return [
        _length([known[row] for row in np.flatnonzero(of == one)], words[of == one]) for one in np.unique(of)
    ]


def is_wrong(item: Item) -> bool:
    """Whether a class is hallucinated in a row; for a row without classes, whether it has any error."""
    return HALLUCINATED in item.classes.values() if item.classes else bool(item.errors)


def _is_judged(item: Item) -> bool:
    return bool(item.classes) or UNJUDGED.isdisjoint(item.errors)


def _length(items: Sequence[Item], words: NDArray[np.int64]) -> Length:
    came = [one for item in items for one in item.classes.values()]
    wrong, right = came.count(HALLUCINATED), came.count(FOUND)
    rows = Share(sum(map(is_wrong, items)), len(items))
    return Length(float(np.median(words)), rows, Share(wrong, wrong + right))
