"""What judges say of an LVLM's texts: what a certificate is made of, before people have said anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.questions import QuestionSet
from halluscope.judging.voters import voting
from halluscope.judging.voters.poll import Poll
from halluscope.stats.tallies import Bools
from halluscope.vocabularies import Vocabulary


@dataclass(frozen=True)
class Judgement:
    """What judges say of texts.

    Attributes:
        texts: one per image, as they are scored.
        present: bool [texts, classes], the ground truth.
        vocabulary: the classes.
        questions: what was asked about each class.
        poll: what came of it.
    """

    texts: Sequence[str]
    present: Bools
    vocabulary: Vocabulary
    questions: QuestionSet
    poll: Poll

    @cached_property
    def labels(self) -> NDArray[np.int8]:
        """The labels [texts, classes] that the votes agree on."""
        return voting.label(*voting.count(self.poll.votes), self.poll.k)

    @property
    def shown(self) -> list[str]:
        """The texts as the judges saw them."""
        return [self.questions.cut(text) for text in self.texts]

    def about(self, texts: str) -> Mapping[str, Any]:
        """What a certificate of it is about.

        Args:
            texts: the name of the texts that labels are drawn from.
        """
        poll = self.poll
        return {
            "judges": list(poll.judges),
            "questions": poll.questions,
            "agreement": f"{poll.k}of{poll.votes.shape[-1]}",
            "vocabulary": self.vocabulary.name,
            "texts": texts,
        }
