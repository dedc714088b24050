"""Finds the reader of a text's words or of its nouns: the package's dictionary, or what published scripts read with.

That is nltk's tagger, and only for words, TextBlob's singular.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from halluscope.cores import map_texts
from halluscope.reading.words import lemmas, nltk_words, nouns, textblob_words
from halluscope.reading.words.tokens import Word
from halluscope.sanitize import short_repr
from halluscope.validation import listed, texts, word

LEMMINFLECT, NLTK, TEXTBLOB = "lemminflect", "nltk", "textblob"
WORDS, NOUNS = "words", "nouns"


class Reader(NamedTuple):
    """A function that reads a text, and the versions of what it reads with, for a signature."""

    read: Callable[[str], list[Word]]
    version: str


_READERS: Mapping[str, Mapping[str, tuple[Callable[[str], list[Word]], Callable[[], str]]]] = {
    WORDS: {
        LEMMINFLECT: (lemmas.words, lemmas.version),
        NLTK: (nltk_words.words, nltk_words.version),
        TEXTBLOB: (textblob_words.words, textblob_words.version),
    },
    NOUNS: {
        LEMMINFLECT: (nouns.common_nouns, nouns.version),
        NLTK: (nltk_words.nouns, nltk_words.version),
    },
}


def check(name: str, what: str) -> str:
    """Check the name of a reader of `what`, WORDS or NOUNS."""
    return word("reader", name, tuple(_READERS[what]))


def load(name: str, what: str) -> Reader:
    """Load a reader of all words (WORDS) or of nouns (NOUNS), in their dictionary forms.

    Both are in lower case, but nltk's nouns have the case of the text, by which it tags them. A missing package is a
    MissingExtra, and missing data of nltk a FileNotFoundError.
    """
    read, version = _READERS[what][check(name, what)]
    return Reader(read, version())


def nouns_of(descriptions: Sequence[str], given: Any, name: str) -> tuple[list[list[Word]], str]:
    """Return the nouns of each description, given or found by the reader of this name, and who found them."""
    if given is None:
        read, version = load(name, NOUNS)
        return [*map_texts(read, descriptions)], version
    found = listed("nouns", given, "a list, one list of nouns per description", len(descriptions))
    every = [texts(f"nouns[{row}]", each) for row, each in enumerate(found)]
    for row, each in enumerate(every):
        if blank := [noun for noun in each if not noun.strip()]:
            raise ValueError(f"nouns[{row}] holds {short_repr(blank[0])}; expected a noun.")
    return [[*map(Word, each)] for each in every], "given"
