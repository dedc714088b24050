"""Finds the common nouns of an English text as published scripts do: spaCy's en_core_web_sm tags its words.

spaCy comes without the model, which the user brings once. Source: `extract_objs` in utils.py of assafbk/mocha_code.
"""

from functools import cache
from importlib import import_module
from typing import Any

from halluscope.errors import MissingExtra
from halluscope.reading.words.word import Word, as_written

MODEL = "en_core_web_sm"
NOUN = "NOUN"
"""The universal part of speech of a common noun; names have another."""


def common_nouns(text: str) -> list[Word]:
    """A text's common nouns in their dictionary forms, as often as they come; the text is read in lower case.

    Raises:
        MissingExtra: without spaCy.
        FileNotFoundError: without its model.
    """
    nouns = [token for token in _model()(text.lower()) if token.pos_ == NOUN]
    return as_written([Word(one.lemma_, one.idx, one.idx + len(one.text)) for one in nouns], text)


def version() -> str:
    """spaCy's version and the model's, for a signature.

    Raises:
        MissingExtra: without spaCy.
        FileNotFoundError: without its model.
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
            f"reader='spacy' needs spaCy's model {MODEL}, and spaCy does not find it. Bring it with `python -m spacy "
            f"download {MODEL}`; where there is no network, install its wheel. The default reader needs no model."
        ) from error
