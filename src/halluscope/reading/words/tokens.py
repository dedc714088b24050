"""Divides an English text into words and punctuation marks, as the Penn Treebank does.

These are the rules of nltk's `word_tokenize`, which published scripts call, in new code. A hyphen or a slash does not
divide a word, a full stop is divided from a word only at the end of a sentence, and a clitic is a token of its own
("the dog 's").
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

# An abbreviation, a letter or a number, whose full stop does not end the sentence if another word follows
_ABBREVIATION = re.compile(
    r"(?:[^\W\d]\.)*[^\W\d]|[\d.,]+|mr|mrs|ms|dr|prof|st|jr|sr|inc|corp|co|ltd|vs|gen|rep|sen|lt|col|ph\.d"
)

_REST_IS_EMPTY = re.compile(r"\s*\Z")
_NEXT_WORD = re.compile(r"\s+[^\W\d_]")


def tokenise(text: str) -> list[Word]:
    """Return the tokens of a text, in lower case, with their places in the text.

    >>> [token.form for token in tokenise('Two dogs, 1.5 m apart, can\\'t see the "cat".')]
    ['two', 'dogs', ',', '1.5', 'm', 'apart', ',', 'ca', "n't", 'see', 'the', '"', 'cat', '"', '.']
    """
    return as_written([*_tokens(text.lower())], text)


def _tokens(text: str) -> Iterator[Word]:
    for found in _TOKEN.finditer(text):
        whole, (place, end) = found.group(), found.span()
        if whole.isalpha() and whole not in _JOINED:  # nearly every word: there is nothing to divide
            yield Word(whole, place, end)
            continue
        for token in _parts(whole, text, end):
            yield Word(token, place, place := place + len(token))


def _parts(token: str, text: str, end: int) -> Iterator[str]:
    """Yield the tokens in a piece of text without spaces, which ends at `end`; together they make up the piece."""
    if len(token) > 1 and token[-1] == "." and token[-2] != "." and _ends_sentence(token[:-1], text, end):
        yield from _words(token[:-1])
        yield "."
    else:
        yield from _words(token)


def _ends_sentence(before: str, text: str, end: int) -> bool:
    """Whether the full stop before `end` ends a sentence: always at the end of the text, never before a comma."""
    if _REST_IS_EMPTY.match(text, end):
        return True
    if text[end] in ",:-":
        return False
    return not (_ABBREVIATION.fullmatch(before) and _NEXT_WORD.match(text, end))


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
