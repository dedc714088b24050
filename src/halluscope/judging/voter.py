"""The interface of every judge: texts and questions go in, votes come out. A judge knows nothing about metrics."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.questions import Question

Pairs = NDArray[np.int64]  # [n, 2]: row `i` asks question `pairs[i, 1]` about text `pairs[i, 0]`

# The margin of each vote, in the judge's own unit, such as log P(yes) - log P(no); NaN where it is unknown
Margins = NDArray[np.float64]

# Row numbers of `Pairs`, and the vote on each of these rows, as a code of `halluscope.judging.votes`
Answered = tuple[NDArray[np.int64], NDArray[np.int8]]

# `Answered`, with the margin of each vote
AnsweredBy = tuple[NDArray[np.int64], NDArray[np.int8], Margins]


class Judge(Protocol):
    """Anything that can vote yes or no about a text.

    A judge behind a server may have three more members: `settle()` finds out, before the first question, which
    settings the server accepts, and may change `key`; `failures` counts by reason the questions that got no reply;
    `spent` describes in words what the votes cost.

    Attributes:
        stored: whether votes are worth keeping (a language model's are; those looked up in a table are not).
    """

    stored: bool

    @property
    def key(self) -> str:
        """The judge's name in signatures and in the cache: everything about it that can change a vote.

        It gives model, revision, precision and reading rule, but never an access key or a path on this machine.
        """
        ...

    def answer(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[Answered | AnsweredBy]:
        """Vote on each pair once, in any order, one batch at a time, so that the caller can keep each batch.

        A question that gets no reply after all attempts has the vote `halluscope.judging.votes.FAILED`.

        A vote depends only on its text and question, never on the rest of the batch.
        """
        ...

    def close(self) -> None:
        """Free what the judge holds, such as a model's memory. The judge may be asked again afterwards."""
        ...
