"""The nouns of captions, and which of them count.

Source: `get_och_score` in evaluate.py of the authors' repository (mocha_code), in two versions.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from halluscope.reading.words import readers
from halluscope.reading.words.tokens import Word, as_written

# The conventions: the script as released, and its first version
RELEASED = "released"
FIRST = "first"

# Words that the released script does not count, because they name the image itself
NO_OBJECTS = frozenset({"painting", "drawing", "photo", "picture", "portrait", "photograph"})

# The nouns of each caption, in their dictionary form; given nouns have no place in the text
Nouns = list[list[Word]]


@dataclass(frozen=True)
class FoundNouns:
    """Nouns, and who found them."""

    nouns: Nouns
    found_by: str  # for the signature


def check_reader(name: str) -> str:
    """Check the name of what finds nouns."""
    return readers.check(name, readers.NOUNS)


def find_nouns(captions: Sequence[str], reader: str) -> FoundNouns:
    """Find the nouns of each caption, which is read in lower case."""
    in_lower_case = [caption.lower() for caption in captions]
    nouns_in_lower_case, found_by = readers.nouns_of(in_lower_case, None, reader)
    nouns = []
    for words, caption in zip(nouns_in_lower_case, captions, strict=True):
        nouns.append(as_written(words, caption))
    return FoundNouns(nouns, found_by)


def given_nouns(nouns: Sequence[Sequence[str]], captions: Sequence[str]) -> FoundNouns:
    """Check the nouns that another program found in each caption."""
    checked, found_by = readers.nouns_of(captions, nouns, readers.LEMMINFLECT)
    return FoundNouns(checked, found_by)


def counting_nouns(nouns: Nouns, concrete: Collection[str] | None, convention: str) -> Nouns:
    """Return the nouns of each caption that count; `concrete` are the only words that do, None if all do.

    >>> nouns = [[Word("dog"), Word("photo"), Word("dog")]]
    >>> [noun.form for noun in counting_nouns(nouns, None, RELEASED)[0]]
    ['dog', 'dog']
    >>> [noun.form for noun in counting_nouns(nouns, None, FIRST)[0]]
    ['dog', 'photo']
    """
    counting = []
    for words in nouns:
        if concrete is not None:
            words = [word for word in words if word.form in concrete]
        if convention == FIRST:
            words = first_of_equal(words)
        else:
            words = [word for word in words if word.form not in NO_OBJECTS]
        counting.append(words)
    return counting


def first_of_equal(words: Sequence[Word]) -> list[Word]:
    """Return the words without those that are equal to an earlier one."""
    first: dict[str, Word] = {}
    for word in words:
        first.setdefault(word.form, word)
    return list(first.values())
