"""Finds the reader of a text's words or of its nouns: the package's dictionary, or what published scripts read with.

That is nltk's tagger, and only for words, TextBlob's singular.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.cores import map_texts
from halluscope.reading.words import lemmas, nltk_words, nouns, textblob_words
from halluscope.reading.words.tokens import Word
from halluscope.sanitize import short_repr
from halluscope.validation import listed, texts, word

LEMMINFLECT = "lemminflect"
NLTK = "nltk"
TEXTBLOB = "textblob"

# What a reader may read
WORDS = "words"
NOUNS = "nouns"


@dataclass(frozen=True)
class Reader:
    """A function that reads a text, and the versions of what it reads with, for a signature."""

    read: Callable[[str], list[Word]]
    version: str


@dataclass(frozen=True)
class _Loader:
    """A reader before it is loaded: its version is known only where what it reads with is installed."""

    read: Callable[[str], list[Word]]
    version: Callable[[], str]


_READERS = {
    WORDS: {
        LEMMINFLECT: _Loader(lemmas.words, lemmas.version),
        NLTK: _Loader(nltk_words.words, nltk_words.version),
        TEXTBLOB: _Loader(textblob_words.words, textblob_words.version),
    },
    NOUNS: {
        LEMMINFLECT: _Loader(nouns.common_nouns, nouns.version),
        NLTK: _Loader(nltk_words.nouns, nltk_words.version),
    },
}


def check(name: str, kind: str) -> str:
    """Check the name of a reader of a kind, WORDS or NOUNS."""
    return word("reader", name, tuple(_READERS[kind]))


def load(name: str, kind: str) -> Reader:
    """Load a reader of all words (WORDS) or of nouns (NOUNS), in their dictionary forms.

    Both are in lower case, but nltk's nouns have the case of the text, by which it tags them. A missing package is a
    MissingExtra, and missing data of nltk a FileNotFoundError.
    """
    loader = _READERS[kind][check(name, kind)]
    return Reader(loader.read, loader.version())


def nouns_of(descriptions: Sequence[str], given_nouns: Any, reader: str) -> tuple[list[list[Word]], str]:
    """Return the nouns of each description, and who found them.

    Args:
        descriptions: the texts.
        given_nouns: a list of nouns per description; None to let the reader find them.
        reader: the name of the reader.
    """
    if given_nouns is None:
        loaded = load(reader, NOUNS)
        return list(map_texts(loaded.read, descriptions)), loaded.version
    rows = listed("nouns", given_nouns, "a list, one list of nouns per description", len(descriptions))
    nouns_of_descriptions = []
    for row, values in enumerate(rows):
        words = []
        for noun in texts(f"nouns[{row}]", values):
            if not noun.strip():
                raise ValueError(f"nouns[{row}] holds {short_repr(noun)}; expected a noun.")
            words.append(Word(noun))
        nouns_of_descriptions.append(words)
    return nouns_of_descriptions, "given"
