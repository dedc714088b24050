"""From mentions to CHAIR's scores: counts by caption, and the ratios of their sums."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halluscope.mentions.reading import Caption
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.stats.intervals import Counts
from halluscope.stats.ratios import Floats, ratio

# Names of counts
MENTIONS = "mentions"
HALLUCINATED = "hallucinated"  # mentions of a class that is not in the image
CAPTIONS = "captions"
WITH_HALLUCINATION = "with_hallucination"  # captions with such a mention
PRESENT = "present"  # classes in the image
FOUND = "found"  # and mentioned
WORDS = "words"


@dataclass(frozen=True)
class MentionCounts:
    """How often captions mention each class, beside what is in their images."""

    times: NDArray[np.int32]  # [captions, classes]
    present: NDArray[np.bool_]  # [captions, classes]
    lengths: NDArray[np.int64]  # the numbers of words and punctuation marks: [captions]

    @classmethod
    def of(
        cls, captions: Sequence[Caption], classes: Sequence[str], present: NDArray[np.bool_]
    ) -> "MentionCounts":
        """Count the mentions in captions that were read; `classes` are the columns of `present`."""
        number_of = {name: number for number, name in enumerate(classes)}
        rows = []
        columns = []
        for row, caption in enumerate(captions):
            for name in caption.objects:
                rows.append(row)
                columns.append(number_of[name])
        times = np.zeros(present.shape, dtype=np.int32)
        np.add.at(times, (rows, columns), 1)
        lengths = np.array([caption.length for caption in captions], dtype=np.int64)
        return cls(times, present, lengths)

    @property
    def mentioned(self) -> NDArray[np.bool_]:
        """Which classes are mentioned: [captions, classes]."""
        return self.times > 0

    def counts(self) -> Counts:
        """Return what scores are made from, by caption."""
        hallucinated = np.where(self.present, 0, self.times).sum(axis=1)
        return {
            MENTIONS: self.times.sum(axis=1),
            HALLUCINATED: hallucinated,
            CAPTIONS: np.ones(len(self.times), dtype=np.int64),
            WITH_HALLUCINATION: hallucinated > 0,
            PRESENT: self.present.sum(axis=1),
            FOUND: (self.mentioned & self.present).sum(axis=1),
            WORDS: self.lengths,
        }


def score(sums: Counts) -> dict[str, Floats]:
    """Return scores [sums] of sums of counts: equations 1 and 2, and what the published script prints beside them."""
    return {
        "chair_i": ratio(sums[HALLUCINATED], sums[MENTIONS]),
        "chair_s": ratio(sums[WITH_HALLUCINATION], sums[CAPTIONS]),
        "recall": ratio(sums[FOUND], sums[PRESENT]),
        MEAN_WORDS: ratio(sums[WORDS], sums[CAPTIONS]),
    }
