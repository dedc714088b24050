"""Brings words into the singular as a published script does: by the pattern library's `singularize`, without tags.

TextBlob carries that function, and needs no data for it. A verb stays as it is ("seated" is no seat), and a word that
only looks like a plural loses its ending ("bus" becomes "bu").

Source: `caption_to_words` in LisaAnne/Hallucination and in its copy by Maxlinn, and the words in an output of the copy.
"""

from functools import lru_cache
from typing import Any

from halluscope.errors import needs
from halluscope.reading.words import lemmas
from halluscope.reading.words.tokens import Word


def words(text: str) -> list[Word]:
    """Return a text's tokens in the singular, in lower case."""
    singulars = []
    for token in lemmas.script_tokens(text):
        singulars.append(Word(_singular(token.form), token.start, token.end))
    return singulars


def version() -> str:
    """Return TextBlob's name and version for a signature."""
    from importlib import metadata

    _library()  # if it is missing, the error says what to install
    return f"textblob-{metadata.version('textblob')}"


@lru_cache(maxsize=2**16)
def _singular(word: str) -> str:
    if len(word) > lemmas.LONGEST:
        return word
    library = _library()
    for ending in library.singular_ie:
        if word.endswith(f"{ending}s"):
            return word  # pattern leaves "collies" as it is, where TextBlob gives "collie"
    singular: str = library.singularize(word)
    return singular


def _library() -> Any:
    with needs("reader='textblob'", "textblob"):
        from textblob.en import inflect
    return inflect
