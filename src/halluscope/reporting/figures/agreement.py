"""Measures whether judges agree: how many say yes to the same question, and how often each pair agrees."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.votes import FAILED, OTHER, UNASKED, YES
from halluscope.reporting.figures.shares import UNDEFINED, Share

Votes = NDArray[np.int8]
"""Codes of votes, of shape [items, classes, voters]."""


@dataclass(frozen=True)
class Two:
    """How two voters agree.

    Attributes:
        first: the place of the one voter.
        second: the place of the other voter.
        agree: of the questions that both were asked, those on which they voted alike.
        kappa: Cohen's kappa of these votes; NaN if it is undefined, or if votes that could change nothing were not
            asked for, so that one voter's votes decided what the other was asked.
    """

    first: int
    second: int
    agree: Share
    kappa: float


def yeses(votes: Votes) -> list[int]:
    """Return how many questions got a yes from 0, 1, 2, ... voters, among those that all voters were asked."""
    voters = votes.shape[2]
    asked = votes[(votes != UNASKED).all(2)]
    return [int(many) for many in np.bincount((asked == YES).sum(1), minlength=voters + 1)]


def pairs(votes: Votes) -> list[Two]:
    """Compare each pair of voters. A vote that is neither yes nor no counts as a third kind, on which two may agree."""
    answers = np.where(votes == FAILED, OTHER, votes).reshape(-1, votes.shape[2])
    return [
        _two(first, second, answers[:, first], answers[:, second])
        for first, second in combinations(range(votes.shape[2]), 2)
    ]


def _two(first: int, second: int, one: Votes, other: Votes) -> Two:
    both = (one != UNASKED) & (other != UNASKED)
    table = np.zeros((3, 3), np.int64)
    np.add.at(table, (one[both], other[both]), 1)
    agree = Share(int(np.trace(table)), int(table.sum()))
    return Two(first, second, agree, kappa(table) if both.all() else UNDEFINED)


def kappa(table: NDArray[np.int64]) -> float:
    """Return Cohen's kappa: how far agreement goes beyond that by chance (Cohen 1960, equation 1).

    >>> kappa(np.array([[20, 5], [10, 15]]))
    0.4

    Args:
        table: how often the first voter gave the vote of the row while the second gave that of the column.

    Returns:
        At most 1; NaN if the table is empty, or both always gave one and the same vote.
    """
    total = int(table.sum())
    by_chance = int(table.sum(0) @ table.sum(1))
    if not total or by_chance == total * total:
        return UNDEFINED
    return (total * int(np.trace(table)) - by_chance) / (total * total - by_chance)
