"""What THRONE's judges say about each class of each text, without a score; and names for the texts they read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope import registry, vocabularies
from halluscope.judging import votes as voting
from halluscope.judging.cache import Cache, sha256
from halluscope.judging.judge import Margins
from halluscope.judging.questions import QuestionSet
from halluscope.responses.thoughts import take_out
from halluscope.signature import data_of
from halluscope.stats.tallies import Bools
from halluscope.validation import class_names, paired
from halluscope.vocabularies import Vocabulary


@dataclass(frozen=True)
class Judgement:
    """What judges say about each class of each text."""

    texts: Sequence[str]  # as they are scored, one per image
    present: Bools  # the ground truth: [texts, classes]
    vocabulary: Vocabulary
    questions: QuestionSet  # what was asked about each class
    poll: voting.VoteResult  # the votes

    @property
    def labels(self) -> NDArray[np.int8]:
        """The label on which enough votes agree: [texts, classes]."""
        yes, no = voting.count(self.poll.votes)
        return voting.label(yes, no, self.poll.k)


def judge(texts: Sequence[str], objects: Sequence[Sequence[str]], options: Mapping[str, Any]) -> Judgement:
    """Ask the judges about texts, given the classes in their images; the options are those of THRONE's metric."""
    throne: Any = registry.benchmark("throne")
    chosen = throne.chosen(options)
    responses, references = paired(texts, objects)
    without_thoughts = take_out(responses, chosen.thoughts).texts
    vocabulary = vocabularies.load(chosen.vocabulary)
    present = vocabulary.presence(class_names(references))
    questions = chosen.question_set
    poll = chosen.collect_votes(without_thoughts, present, vocabulary, questions)
    return Judgement(without_thoughts, present, vocabulary, questions, poll)


def margins_of(
    judge: str, texts: Sequence[str], questions: QuestionSet, vocabulary: Vocabulary, cache: Cache
) -> list[Margins]:
    """Return what a cache knows of a judge's margins, a table [texts, classes] for each template of the questions."""
    shown = [questions.cut(text) for text in texts]
    margins = []
    for questions_of_template in questions.about(vocabulary):
        _, of_votes = cache.votes(judge, questions_of_template, shown)
        margins.append(of_votes)
    return margins


# Texts are known by the sha256 of what they say.


def digest(text: str) -> str:
    """Return the sha256 of a text in hexadecimal digits."""
    return sha256(text).hex()


def rows_of(texts: Sequence[str]) -> dict[str, int]:
    """Return the digest of each text -> the first row that has it."""
    rows: dict[str, int] = {}
    for row, text in enumerate(texts):
        rows.setdefault(digest(text), row)
    return rows


def name_of(digests: Iterable[str]) -> str:
    """Return the name that identifies texts, in any order, by their different digests."""
    return data_of("texts", ([text] for text in digests))
