"""Hallucinations against the text: where in it they stand, and how long it is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from halluscope.reporting.figures.shares import Share
from halluscope.reporting.shown import FOUND, HALLUCINATED, Item

TENTHS = 10

BINS = 8
"""Bins of lengths at the most."""

ROWS_OF_A_BIN = 10
"""Rows of each, at least on average."""

JUDGED = ("bad", "good")
"""The kinds of marks that say whether a mention is right."""


def by_tenth(items: Iterable[Item]) -> list[Share]:
    """Of the mentions that begin in each tenth of their text, those that are errors.

    A mention is a marked place of one class that is right or an error; one that nobody could judge, or that a rule
    took back, is none.
    """
    mentions = np.zeros((2, TENTHS), np.int64)
    for item in items:
        judged = {(mark.start, mark.end, mark.of, mark.kind) for mark in item.marks if mark.kind in JUDGED}
        for start, _, _, kind in judged:
            mentions[JUDGED.index(kind), min(TENTHS - 1, TENTHS * start // len(item.text))] += 1
    return [Share(int(bad), int(bad + good)) for bad, good in mentions.T]


@dataclass(frozen=True)
class Length:
    """Rows whose responses are about as long.

    Attributes:
        words: the median of their numbers of words.
        rows: of them, those in which something is hallucinated.
        said: of the classes that were said in them, those that are not there.
    """

    words: float
    rows: Share
    said: Share


def by_length(items: Sequence[Item]) -> list[Length]:
    """Rows in bins of similar size by the number of words, the shortest first; equal lengths share a bin."""
    words = np.array([len(item.text.split()) for item in items])
    bins = min(BINS, len(items) // ROWS_OF_A_BIN)
    if bins < 2:
        return []
    edges = np.unique(np.quantile(words, np.arange(1, bins) / bins, method="lower"))
    of = np.searchsorted(edges, words, side="right")
    return [
        _length([items[int(row)] for row in np.flatnonzero(of == one)], words[of == one])
        for one in np.unique(of)
    ]


def hallucinates(item: Item) -> bool:
    """Whether something in a row is hallucinated: a class of it, or the row as a whole."""
    return HALLUCINATED in item.classes.values() or HALLUCINATED in item.errors


def _length(items: Sequence[Item], words: Sequence[int]) -> Length:
    came = [one for item in items for one in item.classes.values()]
    wrong, right = came.count(HALLUCINATED), came.count(FOUND)
    rows = Share(sum(map(hallucinates, items)), len(items))
    return Length(float(np.median(words)), rows, Share(wrong, wrong + right))
