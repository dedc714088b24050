"""Gives English words their dictionary form, much as published scripts do with nltk's tagger and WordNet.

The dictionary is lemminflect's, which comes with the package. It gives a word's forms as a noun and as a verb. Which of
them a text means is decided in published scripts by nltk's tagger, and here by a few rules about the words around it.
Where WordNet's form differs from lemminflect's, and mentions of objects depend on it, `lemmas.toml` in this folder
holds WordNet's form.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import metadata, resources
from typing import NamedTuple

from halluscope.errors import MissingExtra
from halluscope.reading.words.tokens import tokenise
from halluscope.reading.words.word import Word, forms_of, in_forms

_DASHES = tuple("‒–—―")
_DIVIDING = frozenset(("'", *_DASHES))

# The most characters of a word; anything longer keeps its form
LONGEST = 40


class _Readings(NamedTuple):
    """A word's forms as a noun and as a verb, and whether the word itself may be a noun or an adjective."""

    noun: str
    verb: str
    is_noun: bool
    is_adjective: bool


class _Tables(NamedTuple):
    """The content of `lemmas.toml`: the forms that WordNet gives, and words that mark the next word as noun or verb."""

    nouns: Mapping[str, str]
    verbs: Mapping[str, str]
    determiners: frozenset[str]
    pronouns: frozenset[str]
    forms_of_be: frozenset[str]
    no_adjectives: frozenset[str]
    nouns_after_to_the: frozenset[str]


def words(text: str) -> list[Word]:
    """Return a text's tokens in their dictionary forms, in lower case.

    Raises:
        MissingExtra: if lemminflect is not installed.
    """
    tokens = _undivided(tokenise(text))
    return in_forms(tokens, lemmatise(forms_of(tokens)))


def _undivided(tokens: Sequence[Word]) -> list[Word]:
    """Join what nltk divides only from 3.10 on: a word with the quotation mark or the dashes that touch it.

    >>> forms_of(_undivided(tokenise("a 'dog' on a desk—one")))
    ['a', "'dog", "'", 'on', 'a', 'desk—one']
    """
    joined: list[Word] = []
    if _DIVIDING.isdisjoint(forms_of(tokens)):
        return [*tokens]
    for token in tokens:
        last = joined[-1] if joined else token
        touches = last.end == token.start > 0 and token.form[:1].isalnum()
        opens = last.form == "'" and len(token.form) > 1 and (len(joined) < 2 or joined[-2].end < last.start)
        if (touches and (opens or last.form[-1:] in _DASHES)) or (
            token.form in _DASHES and last.end == token.start > 0 and last.form[-1:].isalnum()
        ):
            joined[-1] = Word(last.form + token.form, last.start, token.end)
        else:
            joined.append(token)
    return joined


def lemmatise(tokens: Sequence[str]) -> list[str]:
    """Return the dictionary form of each token, in lower case.

    Raises:
        MissingExtra: if lemminflect is not installed.

    >>> lemmatise(["two", "men", "seated", "on", "benches", "near", "the", "seating", "area"])
    ['two', 'men', 'seat', 'on', 'bench', 'near', 'the', 'seating', 'area']
    """
    return [_lemma(tokens, place) for place in range(len(tokens))]


def version() -> str:
    """Return the dictionary's name and version for a signature: another dictionary may give other words.

    Raises:
        MissingExtra: if lemminflect is not installed.
    """
    dictionary()
    return f"lemminflect-{metadata.version('lemminflect')}"


def _lemma(tokens: Sequence[str], place: int) -> str:
    word = tokens[place]
    readings = _readings(word)
    if readings.noun != word:
        return readings.noun
    if readings.verb == word or not _is_verb(tokens, place):
        return word
    return readings.verb


def _is_verb(tokens: Sequence[str], place: int) -> bool:
    """Whether a word that has a verb's ending is a verb here: "a person skiing", but not "the skiing trip"."""
    word, before, after = tokens[place], _beside(tokens, place - 1), _beside(tokens, place + 1)
    readings, tables = _readings(word), load_tables()
    if not word.endswith("ing"):
        return not readings.is_noun
    if _wants_noun(_beside(tokens, place - 2), before, word):
        return False
    return not readings.is_noun or before in tables.forms_of_be or after in tables.determiners


def _wants_noun(second: str, before: str, word: str) -> bool:
    """Whether the two words before a word in "-ing" make it a noun: "a boy 's skiing", "ample seating".

    After "to the", nltk's tagger takes the word for a verb: "in addition to the seating area".
    """
    tables = load_tables()
    if (second, before) == ("to", "the"):
        return word in tables.nouns_after_to_the
    if before == "'s":
        return second not in tables.pronouns
    is_adjective = _readings(before).is_adjective and before not in tables.no_adjectives
    return is_adjective or before in tables.determiners


def _beside(tokens: Sequence[str], place: int) -> str:
    return tokens[place] if 0 <= place < len(tokens) else ""


@lru_cache(maxsize=2**16)
def _readings(word: str) -> _Readings:
    if len(word) > LONGEST or not (word.isascii() and word.isalpha()):
        return _Readings(word, word, False, False)
    get, tables = dictionary(), load_tables()
    nouns, verbs = get(word, upos="NOUN"), get(word, upos="VERB")
    if not nouns and word.endswith("s"):
        nouns = get(word, upos="NOUN", lemmatize_oov=True)
    noun = tables.nouns.get(word) or (nouns and nouns[0]) or word
    verb = tables.verbs.get(word) or (verbs and verbs[0]) or word
    is_adjective = word in get(word, upos="ADJ") and word not in get(word, upos="ADV")
    return _Readings(noun, verb, word in nouns, is_adjective)


@cache
def dictionary() -> Callable[..., tuple[str, ...]]:
    """Load the dictionary: `get(word, upos="NOUN")` gives a word's dictionary forms as a noun, () if it is not a noun.

    Raises:
        MissingExtra: if lemminflect is not installed.
    """
    try:
        from lemminflect import getLemma  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra(
            "Word forms are looked up in the dictionary of lemminflect: pip install 'halluscope[words]'."
        ) from error

    def get(word: str, upos: str, lemmatize_oov: bool = False) -> tuple[str, ...]:
        found: tuple[str, ...] = getLemma(word, upos=upos, lemmatize_oov=lemmatize_oov)
        return found

    return get


@cache
def load_tables() -> _Tables:
    """Read `lemmas.toml`."""
    file = resources.files(__package__).joinpath("lemmas.toml")
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    unknown = {word: word for word in tables["unknown_to_wordnet"]}
    beside = {name: frozenset(tables["beside"][name]) for name in tables["beside"]}
    return _Tables(nouns=tables["nouns"] | unknown, verbs=tables["verbs"] | unknown, **beside)
