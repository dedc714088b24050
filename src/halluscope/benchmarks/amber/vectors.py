"""Finds which of AMBER's words the authors' script counts as synonyms: those whose word vectors are alike.

Source: the authors' inference.py, which uses spaCy's model en_core_web_lg. The user brings the vectors; this package
has none.
"""

import warnings
from collections.abc import Collection
from itertools import combinations
from typing import Any

from halluscope.errors import BuildError, MissingExtra
from halluscope.sanitize import one_line, short_repr

ALIKE = 0.8
"""Two words are synonyms if the cosine of their vectors is greater (the script's --similarity_score)."""

NO_VECTOR = r"\[W008\]"
"""spaCy's warning for a word without a vector, whose cosine with any other word is 0."""


def pairs(words: Collection[str], nlp: Any) -> list[tuple[str, str]]:
    """Return the pairs of words that are alike, in alphabetical order.

    Args:
        words: the words to compare, all with each other; an entry of several words has the mean of their vectors.
        nlp: a spaCy model with word vectors.
    """
    texts = {word: nlp.make_doc(word) for word in sorted(words)}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", NO_VECTOR)
        return [
            (one, other)
            for one, other in combinations(texts, 2)
            if texts[one].similarity(texts[other]) > ALIKE
        ]


def load(model: str) -> Any:
    """Load a spaCy model with word vectors.

    Args:
        model: the model's name, such as "en_core_web_lg", or its folder.

    Raises:
        MissingExtra: without spaCy.
        BuildError: for anything but a model, or for a model without word vectors.
    """
    try:
        import spacy
    except ImportError:
        raise MissingExtra("--vectors needs spaCy: pip install 'halluscope[spacy]'.") from None
    try:
        nlp = spacy.load(model)
    except (OSError, ValueError, ImportError) as error:
        raise BuildError(
            f"--vectors {short_repr(model)} is not a spaCy model that can be loaded ({one_line(error, 200)}). "
            "Expected a "
            "name or a folder; `python -m spacy download en_core_web_lg` installs the model of the authors' script."
        ) from error
    if not nlp.vocab.vectors.n_keys:
        raise BuildError(
            f"--vectors {short_repr(model)} has no word vectors; expected a model with word vectors, such as "
            "en_core_web_lg."
        )
    return nlp


def name_of(nlp: Any) -> str:
    """Return the full name of a model, such as "en_core_web_lg-3.8.0"."""
    return "{lang}_{name}-{version}".format_map(nlp.meta)
