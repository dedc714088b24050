"""The votes on each caption's nouns: given ones, or those of judges that read the right caption."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope import limits
from halluscope.benchmarks.openchair.nouns import Nouns
from halluscope.judging import votes as voting
from halluscope.judging.options import GIVEN, VoteOptions
from halluscope.judging.questions import QuestionSet
from halluscope.judging.votes import IGNORED, NO, OTHER, UNASKED, YES
from halluscope.reading.words.tokens import Word, forms_of
from halluscope.sanitize import short_repr
from halluscope.stats.tallies import Bools, Ints
from halluscope.validation import listed, texts, word
from halluscope.vocabularies import Vocabulary

# A noun's label if too few votes agree, or too few say yes or no; the others are YES (it is there) and NO (it is
# hallucinated)
UNDECIDED = IGNORED

# What a given vote may say -> the noun's label
LABEL_OF = {"yes": YES, "no": NO, "unsure": UNDECIDED}


@dataclass(frozen=True)
class Votes:
    """What the votes say about each caption's nouns."""

    labels: list[dict[str, int]]  # noun -> its label
    judges: str | Sequence[str]
    questions: str
    agreement: str
    unreadable: Ints | None = None  # how many votes are neither yes nor no: [captions]; None for given votes
    cast: Ints | None = None  # how many votes there are: [captions]; None for given votes

    @property
    def signed(self) -> dict[str, Any]:
        """What the signature says of them."""
        return {"judges": self.judges, "questions": self.questions, "agreement": self.agreement}


# Given votes


@dataclass(frozen=True)
class GivenVotes:
    """Votes that name the nouns of each caption."""

    nouns: Nouns
    votes: Votes


def read_votes(votes: Any, captions: int) -> GivenVotes:
    """Check given votes: a list per caption, of pairs of a noun and a vote."""
    nouns = []
    labels = []
    by_caption = listed("votes", votes, "a list of nouns with their votes per caption", captions)
    for number, pairs in enumerate(by_caption):
        name = f"votes[{number}]"
        words = []
        label_of: dict[str, int] = {}
        for place, pair in enumerate(listed(name, pairs, "a list of nouns with a vote each")):
            where = f"{name}[{place}]"
            noun, vote = read_pair(pair, where)
            label = LABEL_OF[word(where, vote, tuple(LABEL_OF))]
            if label_of.setdefault(noun, label) != label:
                raise ValueError(f"{where}: {short_repr(noun)} has a different vote in the same caption.")
            words.append(Word(noun))
        nouns.append(words)
        labels.append(label_of)
    return GivenVotes(nouns, Votes(labels, judges=GIVEN, questions=GIVEN, agreement="1of1"))


def read_pair(pair: Any, where: str) -> tuple[str, str]:
    """Return the noun and the vote of the pair that stands there."""
    entries = texts(where, pair)
    if len(entries) != 2 or not entries[0].strip():
        raise ValueError(f"{where} is {short_repr(pair)}; expected a noun and a vote, such as ['dog', 'no'].")
    return entries[0], entries[1]


# Judges


def ask_judges(
    options: VoteOptions, question_set: QuestionSet, captions: Sequence[str], nouns: Nouns
) -> Votes:
    """Have judges that read the right captions vote on each one's nouns."""
    forms = [forms_of(words) for words in nouns]
    vocabulary = vocabulary_of(forms)
    is_named = vocabulary.presence(forms)  # [captions, classes]
    poll = options.collect_votes(captions, is_named, vocabulary, question_set, only_present=True)
    votes = poll.votes[is_named]  # codes [nouns, voters], of each caption's different nouns
    yes = np.count_nonzero(votes == YES, axis=1)
    no = np.count_nonzero(votes == NO, axis=1)
    caption_of, _ = np.nonzero(is_named)
    return Votes(
        labels_by_caption(voting.label(yes, no, poll.k), is_named, vocabulary.classes),
        judges=poll.judges,
        questions=poll.questions,
        agreement=f"{poll.k}of{votes.shape[1]}",
        unreadable=by_caption(np.count_nonzero(votes == OTHER, axis=1), caption_of, len(captions)),
        cast=by_caption(np.count_nonzero(votes != UNASKED, axis=1), caption_of, len(captions)),
    )


def labels_by_caption(
    labels: NDArray[np.int8], is_named: Bools, classes: Sequence[str]
) -> list[dict[str, int]]:
    """Return each caption's nouns with their labels, given those of the cells where one is named."""
    label_of: list[dict[str, int]] = [{} for _ in is_named]
    captions, columns = np.nonzero(is_named)
    for caption, column, label in zip(captions.tolist(), columns.tolist(), labels.tolist(), strict=True):
        label_of[caption][classes[column]] = label
    return label_of


def vocabulary_of(nouns: Sequence[Sequence[str]]) -> Vocabulary:
    """Return all nouns as the classes that judges are asked about."""
    classes = tuple(sorted(set().union(*nouns)))
    limits.check("classes", len(classes), f"A vocabulary of the captions' {len(classes):,} different nouns")
    return Vocabulary("nouns", classes)


def by_caption(counts: Ints, caption_of: Ints, captions: int) -> Ints:
    """Sum the counts of nouns over those of each caption."""
    return np.bincount(caption_of, weights=counts, minlength=captions).astype(np.int64)
