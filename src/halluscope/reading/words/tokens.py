"""Divides an English text into words and punctuation marks, as the Penn Treebank does.

These are the rules of nltk's `word_tokenize`, which published scripts call, in new code. A hyphen or a slash does not
divide a word, a full stop is divided from a word only at the end of a sentence, and a clitic is a token of its own
("the dog 's").
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

_MARKS = r";@#$%&?!*()\[\]{}<>\"«»“”„‘’‒–—―"
_TOKEN = re.compile(
    rf"""
    [{_MARKS}] | `+ | '' | \.{{2,}} | -- | [:,](?!\d)
    | (?: [^\s'`:,.\-{_MARKS}]+ | '(?!') | [:,](?=\d) | \.(?!\.) | -(?!-) )+
    """,
    re.VERBOSE,
)
_CLITIC = re.compile(r"(.*[^'])('(?:s|m|d|ll|re|ve)?|n't)", re.DOTALL)
_OPENING = re.compile(r"'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)")
_JOINED = {
    "cannot": ("can", "not"),
    "gimme": ("gim", "me"),
    "gonna": ("gon", "na"),
    "gotta": ("got", "ta"),
    "lemme": ("lem", "me"),
    "wanna": ("wan", "na"),
}

# An abbreviation, a letter or a number, whose full stop does not end the sentence if another word follows
_ABBREVIATION = re.compile(
    r"(?:[^\W\d]\.)*[^\W\d]|[\d.,]+|mr|mrs|ms|dr|prof|st|jr|sr|inc|corp|co|ltd|vs|gen|rep|sen|lt|col|ph\.d"
)

_LETTER = re.compile(r"[^\W\d_]")
_LONGEST = 40  # the most characters of a piece whose tokens are remembered


class Word(NamedTuple):
    """A word with its place in its text."""

    form: str  # the word as it is written, or its dictionary form
    start: int = 0  # the index of its first character in the text
    end: int = 0  # the index after its last character; equal to `start` if the word's place is unknown

    @property
    def place(self) -> list[int] | None:
        """Its place as [start, end], for a table of rows; None if unknown."""
        return [self.start, self.end] if self.start < self.end else None


# Makes a word of its three values, in half the time that `Word` takes
_word: Callable[[tuple[str, int, int]], Word] = partial(tuple.__new__, Word)


def forms_of(words: Iterable[Word]) -> list[str]:
    """Return the words' forms, without their places."""
    return [form for form, _, _ in words]


def in_forms(words: Iterable[Word], forms: Iterable[str]) -> list[Word]:
    """Return the same words with other forms."""
    return [
        word if word.form == form else _word((form, word.start, word.end))
        for word, form in zip(words, forms, strict=True)
    ]


def as_written(words: Sequence[Word], text: str) -> list[Word]:
    """Turn places of words in `text.lower()` into places in the text itself: "İ" is two characters in lower case.

    >>> as_written([Word("dog", 3, 6)], "İ dog")
    [Word(form='dog', start=2, end=5)]
    """
    if len(text.lower()) == len(text):
        return [*words]
    at = [place for place, character in enumerate(text) for _ in character.lower()]
    return [Word(form, at[start], at[end - 1] + 1) for form, start, end in words]


def tokenise(text: str) -> list[Word]:
    """Return the tokens of a text, in lower case, with their places in the text.

    >>> [token.form for token in tokenise('Two dogs, 1.5 m apart, can\\'t see the "cat".')]
    ['two', 'dogs', ',', '1.5', 'm', 'apart', ',', 'ca', "n't", 'see', 'the', '"', 'cat', '"', '.']
    """
    lower, tokens, end = text.lower(), list[Word](), 0
    pieces = lower.split()
    for piece, after in zip(pieces, [*pieces, ""][1:], strict=True):
        place = lower.index(piece, end)
        end = place + len(piece)
        if piece.isalpha() and piece not in _JOINED:  # nearly every word: there is nothing to divide
            tokens.append(_word((piece, place, end)))
            continue
        divide = _divide if len(piece) <= _LONGEST else _divide.__wrapped__
        for token in divide(piece, piece[-1] == "." and bool(_LETTER.match(after))):
            tokens.append(_word((token, place, place := place + len(token))))
    return as_written(tokens, text)


@lru_cache(maxsize=2**16)
def _divide(piece: str, before_word: bool) -> tuple[str, ...]:
    """Return the tokens in a piece of text without spaces; a word may follow it."""
    tokens = list[str]()
    for found in _TOKEN.finditer(piece):
        token, after = found.group(), piece[found.end() : found.end() + 1]
        # a full stop ends a sentence at the end of the text, never before a comma
        continues = after in ",:-" if after else before_word and _ABBREVIATION.fullmatch(token[:-1])
        if len(token) > 1 and token[-1] == "." and token[-2] != "." and not continues:
            tokens += [*_words(token[:-1]), "."]
        else:
            tokens += _words(token)
    return tuple(tokens)


def _words(token: str) -> Iterator[str]:
    """Yield the parts of a token: a quotation mark at its beginning, the word, and a clitic at its end."""
    if "'" not in token:
        yield from _JOINED.get(token, (token,))
        return
    if _OPENING.match(token):
        yield "'"
        token = token[1:]
    clitic = _CLITIC.fullmatch(token)
    yield from clitic.groups() if clitic else (token,)
