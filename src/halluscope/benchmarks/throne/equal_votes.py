"""How often each judge votes as the others do: a judge that is far from all others is the one to look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.votes import NO, UNASKED, YES


@dataclass
class EqualVotes:
    """A judge's votes, each beside another judge's vote on the same question about the same cell."""

    pairs: int = 0  # how many pairs of votes there are
    equal: int = 0  # how many of them are both yes or both no

    @property
    def share(self) -> float | None:
        if self.pairs == 0:
            return None
        return self.equal / self.pairs


def count_equal(votes: NDArray[np.int8], judges: Sequence[str]) -> dict[str, EqualVotes]:
    """Count how often each judge's vote equals that of each other judge; a vote that is neither yes nor no equals none.

    Args:
        votes: codes [images, classes, judges x questions]; only questions that both judges were asked count.
        judges: the judges' names.
    """
    columns = np.ascontiguousarray(votes.reshape(-1, votes.shape[-1]).T)  # one row per voter
    is_asked = columns != UNASKED
    is_yes = columns == YES
    is_no = columns == NO
    questions = len(columns) // len(judges)
    counts = {judge: EqualVotes() for judge in judges}
    for first, second in combinations(range(len(judges)), 2):
        for question in range(questions):
            of_first = first * questions + question
            of_second = second * questions + question
            pairs = np.count_nonzero(is_asked[of_first] & is_asked[of_second])
            equal = np.count_nonzero(is_yes[of_first] & is_yes[of_second])
            equal += np.count_nonzero(is_no[of_first] & is_no[of_second])
            for judge in (judges[first], judges[second]):
                counts[judge].pairs += int(pairs)
                counts[judge].equal += int(equal)
    return counts


def shares(counts: dict[str, EqualVotes]) -> dict[str, float | None]:
    """Return each judge's share of equal votes; None where no other judge was asked the same."""
    return {judge: count.share for judge, count in counts.items()}
