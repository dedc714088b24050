"""Divides an English text into words and punctuation marks, as the Penn Treebank does.

These are the rules of nltk's `word_tokenize`, which published scripts call, in new code. A hyphen or a slash does not
divide a word, a full stop is divided from a word only at the end of a sentence, and a clitic is a token of its own
("the dog 's").
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
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
        if self.start == self.end:
            return None
        return [self.start, self.end]


def forms_of(words: Iterable[Word]) -> list[str]:
    """Return the words' forms, without their places."""
    return [word.form for word in words]


def in_forms(words: Iterable[Word], forms: Iterable[str]) -> list[Word]:
    """Return the same words with other forms."""
    changed = []
    for word, form in zip(words, forms, strict=True):
        if form != word.form:
            word = Word(form, word.start, word.end)
        changed.append(word)
    return changed


def as_written(words: Sequence[Word], text: str) -> list[Word]:
    """Turn places of words in `text.lower()` into places in the text itself: "İ" is two characters in lower case.

    >>> as_written([Word("dog", 3, 6)], "İ dog")
    [Word(form='dog', start=2, end=5)]
    """
    if len(text.lower()) == len(text):
        return list(words)
    places = []  # of each character in lower case, the place of the one in the text
    for place, character in enumerate(text):
        for _ in character.lower():
            places.append(place)
    return [Word(word.form, places[word.start], places[word.end - 1] + 1) for word in words]


def tokenise(text: str) -> list[Word]:
    """Return the tokens of a text, in lower case, with their places in the text.

    >>> [token.form for token in tokenise('Two dogs, 1.5 m apart, can\\'t see the "cat".')]
    ['two', 'dogs', ',', '1.5', 'm', 'apart', ',', 'ca', "n't", 'see', 'the', '"', 'cat', '"', '.']
    """
    lower = text.lower()
    pieces = lower.split()
    tokens: list[Word] = []
    end = 0
    for number, piece in enumerate(pieces, 1):
        start = lower.index(piece, end)
        end = start + len(piece)
        if piece.isalpha() and piece not in _JOINED:  # nearly every word: there is nothing to divide
            tokens.append(Word(piece, start, end))
            continue
        is_before_word = False  # which matters only to a full stop
        if piece.endswith(".") and number < len(pieces):
            is_before_word = _LETTER.match(pieces[number]) is not None
        for token in _divide(piece, is_before_word):
            tokens.append(Word(token, start, start + len(token)))
            start += len(token)
    return as_written(tokens, text)


def _divide(piece: str, is_before_word: bool) -> tuple[str, ...]:
    """Return the tokens in a piece of text without spaces."""
    if len(piece) > _LONGEST:
        return _tokens_in(piece, is_before_word)
    return _remembered(piece, is_before_word)


@lru_cache(maxsize=2**16)
def _remembered(piece: str, is_before_word: bool) -> tuple[str, ...]:
    return _tokens_in(piece, is_before_word)


def _tokens_in(piece: str, is_before_word: bool) -> tuple[str, ...]:
    tokens: list[str] = []
    for match in _TOKEN.finditer(piece):
        token = match.group()
        next_character = piece[match.end() : match.end() + 1]
        if _ends_sentence(token, next_character, is_before_word):
            tokens += _parts(token[:-1])
            tokens.append(".")
        else:
            tokens += _parts(token)
    return tuple(tokens)


def _ends_sentence(token: str, next_character: str, is_before_word: bool) -> bool:
    """Whether a token ends in a full stop that ends a sentence."""
    if len(token) < 2 or token[-1] != "." or token[-2] == ".":
        return False
    if next_character:
        return next_character not in ",:-"
    return not is_before_word or _ABBREVIATION.fullmatch(token[:-1]) is None


def _parts(token: str) -> tuple[str, ...]:
    """Return the parts of a token: a quotation mark at its beginning, the word, and a clitic at its end."""
    if "'" not in token:
        return _JOINED.get(token, (token,))
    if _OPENING.match(token):
        return ("'", *_split_at_clitic(token[1:]))
    return _split_at_clitic(token)


def _split_at_clitic(token: str) -> tuple[str, ...]:
    """Return a word, and the clitic at its end if it has one."""
    match = _CLITIC.fullmatch(token)
    if match is None:
        return (token,)
    return match.groups()
