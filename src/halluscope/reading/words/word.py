"""Defines a word of a text with its place in the text."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Word(NamedTuple):
    """A word of a text.

    Attributes:
        form: the word as it is written, or its dictionary form.
        start: the index of its first character in the text.
        end: the index after its last character; equal to `start` if the word's place is unknown.
    """

    form: str
    start: int = 0
    end: int = 0

    @property
    def place(self) -> list[int] | None:
        """Its place as [start, end], for a table of rows; None if unknown."""
        return [self.start, self.end] if self.start < self.end else None


def forms_of(words: Iterable[Word]) -> list[str]:
    """Return the words' forms, without their places."""
    return [word.form for word in words]


def in_forms(words: Iterable[Word], forms: Iterable[str]) -> list[Word]:
    """Return the same words with other forms."""
    return [Word(form, word.start, word.end) for word, form in zip(words, forms, strict=True)]


def as_written(words: Sequence[Word], text: str) -> list[Word]:
    """Turn places of words in `text.lower()` into places in the text itself: "İ" is two characters in lower case.

    >>> as_written([Word("dog", 3, 6)], "İ dog")
    [Word(form='dog', start=2, end=5)]
    """
    if len(text.lower()) == len(text):
        return [*words]
    at = [place for place, character in enumerate(text) for _ in character.lower()]
    return [Word(word.form, at[word.start], at[word.end - 1] + 1) for word in words]
