"""Finds the reader of a text's words or of its nouns: the package's dictionary, or a tagger of published scripts.

The taggers are nltk and, only for nouns, spaCy.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from halluscope.inputs import word
from halluscope.reading.words import lemmas, nltk_words, nouns, spacy_nouns
from halluscope.reading.words.word import Word

Read = Callable[[str], list[Word]]

LEMMINFLECT = "lemminflect"
NLTK = "nltk"
SPACY = "spacy"

WORDS = "words"
NOUNS = "nouns"

_READERS: Mapping[str, Mapping[str, tuple[Read, Callable[[], str]]]] = {
    WORDS: {
        LEMMINFLECT: (lemmas.words, lemmas.version),
        NLTK: (nltk_words.words, nltk_words.version),
    },
    NOUNS: {
        LEMMINFLECT: (nouns.common_nouns, nouns.version),
        NLTK: (nltk_words.nouns, nltk_words.version),
        SPACY: (spacy_nouns.common_nouns, spacy_nouns.version),
    },
}


class Reader(NamedTuple):
    """A function that reads a text, and the versions of what it reads with, for a signature."""

    read: Read
    version: str


def check(name: str, what: str) -> str:
    """Check the name of a reader of `what`, WORDS or NOUNS.

    Raises:
        ValueError: for any other name.
    """
    return word("reader", name, tuple(_READERS[what]))


def load(name: str, what: str) -> Reader:
    """Load a reader of all words (WORDS) or of nouns (NOUNS), in their dictionary forms.

    Both are in lower case, but nltk's nouns have the case of the text, by which it tags them.

    Raises:
        ValueError: as `check`.
        MissingExtra: if the reader's package is not installed.
        FileNotFoundError: if nltk's data or spaCy's model are missing.
    """
    read, version = _READERS[what][check(name, what)]
    return Reader(read, version())
