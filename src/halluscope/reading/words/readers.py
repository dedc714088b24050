"""Who reads a text's words: the dictionary that comes with the package, or a tagger as in published
scripts: nltk, or for nouns alone spaCy.
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
    """A reader.

    Attributes:
        words: gives a text's tokens in their dictionary forms, in lower case.
        nouns: gives its nouns; without a tagger, all its tokens.
        version: the reader and what it reads with, for a signature.
    """

    words: Callable[[str], list[Word]]
    nouns: Callable[[str], list[Word]]
    version: str


def check(name: str) -> str:
    """Check the name of a reader.

    Raises:
        ValueError: for any but "lemminflect" and "nltk".
    """
    return word("reader", name, tuple(_MODULES))


def load(name: str) -> Reader:
    """A reader that is ready.

    Args:
        name: "lemminflect" or "nltk".

    Raises:
        ValueError: as `check`.
        MissingExtra: without the package that it needs.
        FileNotFoundError: without the data that nltk needs.
    """
    module = _MODULES[check(name)]
    return Reader(module.words, module.nouns, module.version())


def check_of_common_nouns(name: str) -> str:
    """Check the name of a reader of common nouns.

    Raises:
        ValueError: for any but "lemminflect", "nltk" and "spacy".
    """
    return word("reader", name, tuple(_OF_COMMON_NOUNS))


def common_nouns(name: str) -> tuple[Callable[[str], list[Word]], str]:
    """What finds the common nouns of a text, and nothing else; and the reader with what it reads with, for a signature.

    Args:
        name: "lemminflect", "nltk" or "spacy".

    Raises:
        ValueError: as `check_of_common_nouns`.
        MissingExtra: without the package that it needs.
        FileNotFoundError: without the data that nltk needs, or spaCy's model.
    """
    module = _OF_COMMON_NOUNS[check_of_common_nouns(name)]
    return module.common_nouns, module.version()
