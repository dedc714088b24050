"""Finds the common nouns of an English text as published scripts do: spaCy's en_core_web_sm tags its words.

spaCy comes without the model, which the user downloads once. Source: `extract_objs` in utils.py of assafbk/mocha_code.
"""

from functools import cache
from importlib import import_module
from typing import Any

from halluscope.errors import MissingExtra
from halluscope.reading.words.word import Word, as_written

MODEL = "en_core_web_sm"
# spaCy's tag for the part of speech of a common noun; names have another tag
NOUN = "NOUN"


def common_nouns(text: str) -> list[Word]:
    """Return a text's common nouns in their dictionary forms, with repetitions; the text is read in lower case.

    Raises:
        MissingExtra: if spaCy is not installed.
        FileNotFoundError: if its model is missing.
    """
    nouns = [token for token in _model()(text.lower()) if token.pos_ == NOUN]
    return as_written([Word(one.lemma_, one.idx, one.idx + len(one.text)) for one in nouns], text)


def version() -> str:
    """Return the versions of spaCy and its model, for a signature.

    Raises:
        MissingExtra: if spaCy is not installed.
        FileNotFoundError: if its model is missing.
    """
    model = _model()
    return f"spacy-{import_module('spacy').__version__},{MODEL}-{model.meta['version']}"


@cache
def _model() -> Any:
    try:
        spacy = import_module("spacy")
    except ImportError as error:
        raise MissingExtra("reader='spacy' needs spaCy: pip install 'halluscope[spacy]'.") from error
    try:
        return spacy.load(MODEL)
    except OSError as error:
        raise FileNotFoundError(
            f"reader='spacy' needs spaCy's model {MODEL}, which is not installed. Get it with `python -m spacy "
            f"download {MODEL}`; without a network, install its wheel. The default reader needs no model."
        ) from error
