"""Reads a caption word by word, as CHAIR does: which words stand for a class, and for which.

Tokens are put into their dictionary forms. Double words ("hot dog", "passenger train") become one word, so neither part
counts by itself. "seat" is dropped from a caption with "toilet". Each remaining word is looked up in the synonym list.
Context is ignored: "no dog" and "dog food" mention a dog too.

Source: Rohrbach et al., "Object Hallucination in Image Captioning" (EMNLP 2018), section 3.1, and the output of the
published script.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from halluscope.mentions.double_words import DOUBLE_WORDS
from halluscope.reading.words import lemmas
from halluscope.reading.words.tokens import Word, forms_of


@dataclass(frozen=True)
class Mentions:
    """What a text mentions. Its lists hold a value per mention, in order."""

    words: list[str]  # the words that stand for a class
    objects: list[str]  # the classes that they stand for
    places: list[list[int] | None]  # the words' [start, end] in the text, or None if unknown

    def shown(self, in_image: Sequence[str]) -> dict[str, Any]:
        """Return the mentions, and which classes they find, hallucinate and miss, for a table of texts."""
        present = set(in_image)
        found = []
        hallucinated = []
        for name in dict.fromkeys(self.objects):
            if name in present:
                found.append(name)
            else:
                hallucinated.append(name)
        return {
            "mentions": [list(mention) for mention in zip(self.words, self.objects, strict=True)],
            "places": self.places,
            "found": found,
            "hallucinated": hallucinated,
            "missed": sorted(present.difference(found)),
        }


NOTHING = Mentions([], [], [])


@dataclass(frozen=True)
class Caption(Mentions):
    """A caption as CHAIR reads it."""

    length: int  # the number of words and punctuation marks, with double words as one


@dataclass(frozen=True)
class CaptionReader:
    """Reads captions by a synonym list."""

    class_of: Mapping[str, str]  # word or double word -> class
    # returns a text's words and punctuation marks in their dictionary forms
    words_of: Callable[[str], Sequence[Word]] = lemmas.words

    def read(self, text: str) -> Caption:
        """Return what a caption mentions.

        >>> reader = CaptionReader({"baby": "person", "elephant": "elephant", "dog": "dog"})
        >>> reader.read("Two baby elephants and a hot dog.").objects
        ['elephant']
        """
        words = self.words(text)
        mentions = [word for word in words if word.form in self.class_of]
        return Caption(
            words=forms_of(mentions),
            objects=[self.class_of[word.form] for word in mentions],
            places=[word.place for word in mentions],
            length=len(words),
        )

    def words(self, text: str) -> list[Word]:
        """Return a caption's words and punctuation marks in their dictionary forms, with double words as one."""
        words = join_double_words(self.words_of(text))
        if "toilet" in forms_of(words):  # a "seat" is then its seat, not a chair
            return [word for word in words if word.form != "seat"]
        return words


def join_double_words(words: Sequence[Word]) -> list[Word]:
    """Join double words, from the left."""
    joined: list[Word] = []
    end = 0  # of the words that are in `joined`
    for place, pair in enumerate(pairwise(forms_of(words))):
        if pair in DOUBLE_WORDS and place >= end:
            joined += words[end:place]
            joined.append(Word(DOUBLE_WORDS[pair], words[place].start, words[place + 1].end))
            end = place + 2
    joined += words[end:]
    return joined
