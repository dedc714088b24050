"""What every judge offers: texts and questions in, answers out. A judge knows nothing of metrics."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.questions import Question

Pairs = NDArray[np.int64]
"""[n, 2]: a row asks question `pairs[i, 1]` about text `pairs[i, 0]`."""

Margins = NDArray[np.float64]
"""By how much each answer was given, in the judge's own unit, such as log P(yes) - log P(no); NaN for unknown."""

Answered = tuple[NDArray[np.int64], NDArray[np.int8]]
"""Row numbers of `Pairs` and the answers given to them, as codes of `halluscope.judging.votes`."""

AnsweredBy = tuple[NDArray[np.int64], NDArray[np.int8], Margins]
"""The same with the answers' margins."""


class Judge(Protocol):
    """Anyone who can answer yes or no about a text.

    A judge behind a server may have three more: `settle()` learns what the server takes before the first question is
    put, and may change `key`; `failures` counts by reason what got no reply; `spent` says for people what its votes
    cost.

    Attributes:
        stored: whether answers are worth keeping (a language model's are, a table look-up's are not).
    """

    stored: bool

    @property
    def key(self) -> str:
        """What stands in a signature and in the store: everything about the judge that can move an answer.

        Model, revision, precision, reading rule; never an access key, and never a path of this machine.
        """
        ...

    def answer(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[Answered | AnsweredBy]:
        """Answer each pair once, in any order, a batch at a time, so that the caller can keep each batch.

        A question that gets no reply for good is answered by `halluscope.judging.votes.FAILED`.

        An answer depends on its text and question alone, never on what else is in the batch.
        """
        ...

    def close(self) -> None:
        """Free what the judge holds (a model's memory). It may be asked again afterwards."""
        ...
