"""Whether the judges agree: how many say yes to the same question, and each two of them compared."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.votes import FAILED, OTHER, UNASKED, YES
from halluscope.reporting.figures.shares import UNDEFINED, Share

Votes = NDArray[np.int8]
"""Codes [items, classes, voters]."""


@dataclass(frozen=True)
class Two:
    """Two voters.

    Attributes:
        first: the place of one of them.
        second: that of the other.
        agree: of the questions that both were asked, those that they answered alike.
        kappa: Cohen's kappa of these; NaN where it is undefined, or asking stopped where a vote could move nothing,
            so that one was asked by what the other had said.
    """

    first: int
    second: int
    agree: Share
    kappa: float


def yeses(votes: Votes) -> list[int]:
    """How many questions got a yes from 0, 1, 2, ... voters, of those that were put to all."""
    voters = votes.shape[2]
    asked = votes[(votes != UNASKED).all(2)]
    return [int(many) for many in np.bincount((asked == YES).sum(1), minlength=voters + 1)]


def pairs(votes: Votes) -> list[Two]:
    """Each two voters. A reply that is neither yes nor no is a third answer, which two may share."""
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
    """Cohen's kappa: how far agreement goes beyond what two would reach by chance (Cohen 1960, equation 1).

    >>> kappa(np.array([[20, 5], [10, 15]]))
    0.4

    Args:
        table: how often the first gave the answer of the row and the second that of the column.

    Returns:
        At most 1; NaN if there is nothing, or both gave one and the same answer always.
    """
    total = int(table.sum())
    by_chance = int(table.sum(0) @ table.sum(1))
    if not total or by_chance == total * total:
        return UNDEFINED
    return (total * int(np.trace(table)) - by_chance) / (total * total - by_chance)
