"""Reads which objects a caption mentions, word by word, as CHAIR does.

Tokens are put into their dictionary forms. Double words ("hot dog", "passenger train") become one word, so neither part
counts by itself. "seat" is dropped from a caption with "toilet". Each remaining word is looked up in the synonym list.
Context is ignored: "no dog" and "dog food" mention a dog too.

Source: Rohrbach et al., "Object Hallucination in Image Captioning" (EMNLP 2018), section 3.1, and the output of the
published script.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise

from halluscope.reading.words import lemmas
from halluscope.reading.words.word import Word, forms_of


@dataclass(frozen=True)
class Caption:
    """A caption as CHAIR reads it."""

    words: tuple[str, ...]  # the dictionary forms, with double words as one and with punctuation marks
    # (word, class) for each word that stands for a class, in order; a class may be repeated
    mentions: tuple[tuple[str, str], ...]
    # the [start, end] of each mention in the text, or None if unknown
    places: tuple[list[int] | None, ...] = ()

    @property
    def objects(self) -> tuple[str, ...]:
        """The mentioned classes, one per mention."""
        return tuple(name for _, name in self.mentions)


def read(
    text: str, class_of: Mapping[str, str], words_of: Callable[[str], Sequence[Word]] = lemmas.words
) -> Caption:
    """Read one caption.

    >>> read("Two baby elephants and a hot dog.", {"baby": "person", "elephant": "elephant", "dog": "dog"}).mentions
    (('elephant', 'elephant'),)
    """
    words = _without_seat_of_toilet(_join(words_of(text)))
    known = [word for word in words if word.form in class_of]
    return Caption(
        tuple(forms_of(words)),
        tuple((word.form, class_of[word.form]) for word in known),
        tuple(word.place for word in known),
    )


def _join(words: Sequence[Word]) -> list[Word]:
    """Join double words, from the left."""
    forms, doubles = forms_of(words), _double_words()
    double_at: dict[int, str] = {}
    for place, pair in enumerate(pairwise(forms)):
        if pair in doubles and place - 1 not in double_at:
            double_at[place] = doubles[pair]
    return [
        Word(double_at[place], word.start, words[place + 1].end) if place in double_at else word
        for place, word in enumerate(words)
        if place - 1 not in double_at
    ]


def _without_seat_of_toilet(words: list[Word]) -> list[Word]:
    """Drop every "seat" from a text with a toilet: it is taken for the toilet's seat, not for a chair."""
    has_toilet = any(word.form == "toilet" for word in words)
    return [word for word in words if word.form != "seat"] if has_toilet else words


@cache
def _double_words() -> dict[tuple[str, ...], str]:
    """Return two words -> the word that is read in their place."""
    file = resources.files(__package__).joinpath("double_words.toml")
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    joined = {words: words for words in table["joined"]}
    for modified in table["modified"].values():
        joined |= {f"{by} {word}": word for by in modified["by"] for word in modified["words"]}
    return {tuple(words.split()): word for words, word in (joined | table["read_as"]).items()}
