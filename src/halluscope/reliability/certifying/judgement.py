"""Holds judges' votes on an LVLM's responses, from which a certificate is made."""

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
    """Judges' votes on texts.

    Attributes:
        texts: the texts as they are scored, one per image.
        present: the ground truth, bool [texts, classes].
        vocabulary: the classes.
        questions: the question set that was asked about each class.
        poll: the judges' votes.
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
        """Return what a certificate of these votes is about.

        Args:
            texts: the name of the texts from which labelled texts are drawn.
        """
        poll = self.poll
        return {
            "judges": list(poll.judges),
            "questions": poll.questions,
            "agreement": f"{poll.k}of{poll.votes.shape[-1]}",
            "vocabulary": self.vocabulary.name,
            "texts": texts,
        }
