"""Divides an English text into words and marks, as the Penn Treebank does.

nltk's `word_tokenize`, which published scripts call, does so; these are its rules, written anew. A hyphen or a slash
divides no word, a full stop divides one only where a sentence ends, and a clitic stands by itself ("the dog 's").
"""

import re
from collections.abc import Iterator

from halluscope.reading.words.word import Word, as_written

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

_ABBREVIATION = re.compile(
    r"(?:[^\W\d]\.)*[^\W\d]|[\d.,]+|mr|mrs|ms|dr|prof|st|jr|sr|inc|corp|co|ltd|vs|gen|rep|sen|lt|col|ph\.d"
)
"""What stands before a full stop that ends no sentence, if the next word begins in lower case: a number does too."""

_REST_IS_EMPTY = re.compile(r"\s*\Z")
_NEXT_WORD = re.compile(r"\s+[^\W\d_]")


def tokenise(text: str) -> list[Word]:
    """The tokens of a text, in lower case, with their places in the text.

    >>> [token.form for token in tokenise('Two dogs, 1.5 m apart, can\\'t see the "cat".')]
    ['two', 'dogs', ',', '1.5', 'm', 'apart', ',', 'ca', "n't", 'see', 'the', '"', 'cat', '"', '.']
    """
    return as_written([*_tokens(text.lower())], text)


def _tokens(text: str) -> Iterator[Word]:
    for found in _TOKEN.finditer(text):
        place = found.start()
        for token in _parts(found.group(), text, found.end()):
            yield Word(token, place, place := place + len(token))


def _parts(token: str, text: str, end: int) -> Iterator[str]:
    """What stands together in the text up to `end`, in parts that follow each other without a gap."""
    if len(token) > 1 and token[-1] == "." and token[-2] != "." and _ends_sentence(token[:-1], text, end):
        yield from _words(token[:-1])
        yield "."
    else:
        yield from _words(token)


def _ends_sentence(before: str, text: str, end: int) -> bool:
    """Whether a full stop at `end` ends a sentence: always at the end of the text, never before a comma."""
    if _REST_IS_EMPTY.match(text, end):
        return True
    if text[end] in ",:-":
        return False
    return not (_ABBREVIATION.fullmatch(before) and _NEXT_WORD.match(text, end))


def _words(token: str) -> Iterator[str]:
    """A token, less the clitic that it ends in and the quotation mark that it begins with."""
    if "'" not in token:
        yield from _JOINED.get(token, (token,))
        return
    if _OPENING.match(token):
        yield "'"
        token = token[1:]
    clitic = _CLITIC.fullmatch(token)
    yield from clitic.groups() if clitic else (token,)
