"""Finds the reader of a text's words: the dictionary that comes with the package, or a tagger of published scripts.

The taggers are nltk and, only for nouns, spaCy.
"""

from collections.abc import Callable
from typing import NamedTuple

from halluscope.inputs import word
from halluscope.reading.words import lemmas, nltk_words, nouns, spacy_nouns
from halluscope.reading.words.word import Word

LEMMINFLECT = "lemminflect"
NLTK = "nltk"
SPACY = "spacy"

_MODULES = {LEMMINFLECT: lemmas, NLTK: nltk_words}

_OF_COMMON_NOUNS = {LEMMINFLECT: nouns, NLTK: nltk_words, SPACY: spacy_nouns}


class Reader(NamedTuple):
    """A reader of words.

    Attributes:
        words: returns a text's tokens in their dictionary forms, in lower case.
        nouns: returns a text's nouns; without a tagger, all tokens.
        version: the versions of the reader and its data, for a signature.
    """

    words: Callable[[str], list[Word]]
    nouns: Callable[[str], list[Word]]
    version: str


def check(name: str) -> str:
    """Check the name of a reader.

    Raises:
        ValueError: for any name but "lemminflect" and "nltk".
    """
    return word("reader", name, tuple(_MODULES))


def load(name: str) -> Reader:
    """Load a reader.

    Args:
        name: "lemminflect" or "nltk".

    Raises:
        ValueError: as `check`.
        MissingExtra: if the reader's package is not installed.
        FileNotFoundError: if nltk's data are missing.
    """
    module = _MODULES[check(name)]
    return Reader(module.words, module.nouns, module.version())


def check_of_common_nouns(name: str) -> str:
    """Check the name of a reader of common nouns.

    Raises:
        ValueError: for any name but "lemminflect", "nltk" and "spacy".
    """
    return word("reader", name, tuple(_OF_COMMON_NOUNS))


def common_nouns(name: str) -> tuple[Callable[[str], list[Word]], str]:
    """Return a function that finds the common nouns of a text, and the reader's version for a signature.

    Args:
        name: "lemminflect", "nltk" or "spacy".

    Raises:
        ValueError: as `check_of_common_nouns`.
        MissingExtra: if the reader's package is not installed.
        FileNotFoundError: if nltk's data or spaCy's model are missing.
    """
    module = _OF_COMMON_NOUNS[check_of_common_nouns(name)]
    return module.common_nouns, module.version()
