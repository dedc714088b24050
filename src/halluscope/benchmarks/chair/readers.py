"""Who reads a caption's words: the dictionary that comes with the package, or nltk as in the published script."""

from collections.abc import Callable
from typing import NamedTuple

from halluscope.benchmarks.chair import lemmas, nltk_words
from halluscope.inputs import word

LEMMINFLECT = "lemminflect"
NLTK = "nltk"

_MODULES = {LEMMINFLECT: lemmas, NLTK: nltk_words}


class Reader(NamedTuple):
    """A reader.

    Attributes:
        words: gives the dictionary forms of a text's tokens, in lower case.
        version: the reader and what it reads with, for a signature.
    """

    words: Callable[[str], list[str]]
    version: str


def load(name: str) -> Reader:
    """A reader that is ready.

    Args:
        name: "lemminflect" or "nltk".

    Raises:
        ValueError: for another name.
        MissingExtra: without the package that it needs.
        FileNotFoundError: without the data that nltk needs.
    """
    module = _MODULES[word("reader", name, tuple(_MODULES))]
    return Reader(module.words, module.version())
