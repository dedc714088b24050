"""What every judge offers: texts and questions in, answers out. A judge knows nothing of metrics."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.questions import Question

Pairs = NDArray[np.int64]
"""[n, 2]: a row asks question `pairs[i, 1]` about text `pairs[i, 0]`."""

Answered = tuple[NDArray[np.int64], NDArray[np.int8]]
"""Row numbers of `Pairs` and the answers given to them, as codes of `halluscope.judging.votes`."""


class Judge(Protocol):
    """Anyone who can answer yes or no about a text.

    Attributes:
        key: what stands in a signature and in the store: everything about the judge that can move an answer
            (model, revision, precision, reading rule), and never a path of this machine.
        stored: whether answers are worth keeping (a language model's are, a table look-up's are not).
    """

    key: str
    stored: bool

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Answer each pair once, in any order, a batch at a time, so that the caller can keep each batch.

        An answer depends on its text and question alone, never on what else is in the batch.
        """
        ...

    def close(self) -> None:
        """Free what the judge holds (a model's memory). It may be asked again afterwards."""
        ...
