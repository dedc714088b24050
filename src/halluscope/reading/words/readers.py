"""Finds the reader of a text's words or of its nouns: the package's dictionary, or what published scripts read with.

That is nltk's tagger; only for words, TextBlob's singular; only for nouns, spaCy's en_core_web_sm. spaCy comes without
the model, which the user downloads once. Source of `spacy_nouns`: `extract_objs` in utils.py of assafbk/mocha_code.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from halluscope.cores import map_texts
from halluscope.errors import needs
from halluscope.reading.words import lemmas, nltk_words, nouns, textblob_words
from halluscope.reading.words.tokens import Word, as_written
from halluscope.sanitize import short_repr
from halluscope.validation import listed, texts, word

LEMMINFLECT, NLTK, SPACY, TEXTBLOB = "lemminflect", "nltk", "spacy", "textblob"
WORDS, NOUNS = "words", "nouns"
MODEL = "en_core_web_sm"


def spacy_nouns(text: str) -> list[Word]:
    """Return a text's common nouns in their dictionary forms, with repetitions; the text is read in lower case."""
    common = [token for token in load_model()(text.lower()) if token.pos_ == "NOUN"]  # names have another tag
    return as_written([Word(one.lemma_, one.idx, one.idx + len(one.text)) for one in common], text)


@cache
def load_model() -> Any:
    """Load spaCy's model."""
    with needs("reader='spacy'", "spacy"):
        spacy = import_module("spacy")
    try:
        return spacy.load(MODEL)
    except OSError as error:
        raise FileNotFoundError(
            f"reader='spacy' needs spaCy's model {MODEL}, which is not installed. Get it with `python -m spacy "
            f"download {MODEL}`; without a network, install its wheel. The default reader needs no model."
        ) from error


def _spacy_version() -> str:
    model = load_model()
    return f"spacy-{import_module('spacy').__version__},{MODEL}-{model.meta['version']}"


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
        SPACY: (spacy_nouns, _spacy_version),
    },
}


def check(name: str, what: str) -> str:
    """Check the name of a reader of `what`, WORDS or NOUNS."""
    return word("reader", name, tuple(_READERS[what]))


def load(name: str, what: str) -> Reader:
    """Load a reader of all words (WORDS) or of nouns (NOUNS), in their dictionary forms.

    Both are in lower case, but nltk's nouns have the case of the text, by which it tags them. A missing package is a
    MissingExtra, and missing data of nltk or a missing model of spaCy a FileNotFoundError.
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
