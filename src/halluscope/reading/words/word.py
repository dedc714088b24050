"""A word of a text, and where it stands there."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Word(NamedTuple):
    """A word, as whoever reads the text has it.

    Attributes:
        form: as it is written, or its dictionary form.
        start: the place of its first character in the text.
        end: the place after its last one; the same as `start` where nobody knows where the word stands.
    """

    form: str
    start: int = 0
    end: int = 0

    @property
    def place(self) -> list[int] | None:
        """Where it stands, for a table of rows; None where nobody knows."""
        return [self.start, self.end] if self.start < self.end else None


def forms_of(words: Iterable[Word]) -> list[str]:
    """The words as they are called, without their places."""
    return [word.form for word in words]


def in_forms(words: Iterable[Word], forms: Iterable[str]) -> list[Word]:
    """The same words in other forms."""
    return [Word(form, word.start, word.end) for word, form in zip(words, forms, strict=True)]


def as_written(words: Sequence[Word], text: str) -> list[Word]:
    """Words of `text.lower()` with their places in the text itself: "İ" is two characters in lower case.

    >>> as_written([Word("dog", 3, 6)], "İ dog")
    [Word(form='dog', start=2, end=5)]
    """
    if len(text.lower()) == len(text):
        return [*words]
    at = [place for place, character in enumerate(text) for _ in character.lower()]
    return [Word(word.form, at[word.start], at[word.end - 1] + 1) for word in words]
