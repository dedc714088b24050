"""Reads responses: which of AMBER's words a description mentions, and whether an answer is yes or no.

Source: AMBER (Wang et al., 2023), section 3.3, and the authors' script, whose order of steps is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from halluscope.benchmarks.amber.data import AmberRow
from halluscope.benchmarks.amber.words import Synonyms, Words, first_index, load_words
from halluscope.reading.words import readers
from halluscope.reading.words.tokens import Word, forms_of, in_forms
from halluscope.responses import parsers

# [questions]: `NO`, `YES`, or `OTHER` for an unreadable response
Answers = NDArray[np.int8]

OFFICIAL = "official"

# "official" is the rule of the authors' script; lmms-eval reads AMBER and POPE by different rules.
RULES = {
    parsers.STRICT: parsers.strict,
    OFFICIAL: parsers.exact,
    "lmms-eval": parsers.contained,
    "vlmevalkit": parsers.vlmevalkit,
    "first-word": parsers.first_word,
}


@dataclass
class Description:
    """What a description mentions."""

    mentions: list[str] = field(default_factory=list)  # the nouns among AMBER's words, repeats included
    # the [start, end] of each mention in the text; None if unknown
    places: list[list[int] | None] = field(default_factory=list)
    # the mentions that stand for nothing in the image, repeats included
    hallucinated: list[str] = field(default_factory=list)
    covered: set[int] = field(default_factory=set)  # the indices in `truth` of the words that are mentioned
    imagined: set[int] = field(default_factory=set)  # the indices in `hallu` of the words that are mentioned


@dataclass(frozen=True)
class Readings:
    """What responses say."""

    texts: Sequence[str]  # the responses, without thoughts: [rows]
    descriptions: list[Description]
    nouns_by: str  # who found their nouns; "no" without descriptions
    answers: Answers


def nouns_in(
    texts: Sequence[str], given_nouns: Sequence[Sequence[str]] | None, reader: str
) -> tuple[list[list[Word]], str]:
    """Return the nouns of each description, as AMBER spells them, and who found them."""
    if not texts and given_nouns is None:
        return [], "no"
    nouns, nouns_by = readers.nouns_of(texts, given_nouns, reader)
    if not nouns:
        return [], "no"
    if given_nouns is None and reader != readers.NLTK:
        nouns = [respelt(words, load_words()) for words in nouns]
    return nouns, nouns_by


def respelt(nouns: Sequence[Word], words: Words) -> list[Word]:
    """Return nouns as AMBER spells them."""
    forms = [words.spellings.get(form, form) for form in forms_of(nouns)]
    return in_forms(nouns, forms)


def describe(nouns: Sequence[Word], row: AmberRow, synonyms: Synonyms) -> Description:
    """Compare a description's nouns, in their dictionary form and with repeats, with what is annotated.

    A noun that stands for a word of `truth` is right. Any other noun may stand for a word of `hallu`, which is absent
    but easily imagined there, and is hallucinated unless a word of `truth` is similar to it. Safe words count only as
    mentions.
    """
    words = load_words()
    there = words.standing_for(row.truth)
    imaginable = words.standing_for(row.hallu)
    description = Description()
    for noun in nouns:
        name = noun.form
        if name not in words.known:
            continue
        description.mentions.append(name)
        description.places.append(noun.place)
        if name in words.safe:
            continue
        if name in there:
            description.covered.add(there[name])
            continue
        if name in imaginable:
            description.imagined.add(imaginable[name])
        alike = {name} | synonyms.get(name, frozenset())
        imagined = first_index(alike, imaginable)
        if imagined is not None:
            description.imagined.add(imagined)
        similar = first_index(alike, there)
        if similar is None:
            description.hallucinated.append(name)
        else:
            description.covered.add(similar)
    return description
