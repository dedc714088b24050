"""Gives English words their dictionary form, much as published scripts do with nltk's tagger and WordNet.

The dictionary is lemminflect's, which comes with the package. It gives a word's forms as a noun and as a verb. Which of
them a text means is decided in published scripts by nltk's tagger, and here by a few rules about the words around it.
Where WordNet's form differs from lemminflect's, and mentions of objects depend on it, `lemmas.toml` in this folder
holds WordNet's form.
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from typing import NamedTuple

from halluscope.errors import needs
from halluscope.reading.words.tokens import Word, forms_of, in_forms, tokenise
from halluscope.vocabularies import WordLists, read_toml

_DASHES = tuple("‒–—―")
_DIVIDING = frozenset(("'", *_DASHES))

# The most characters of a word; anything longer keeps its form
LONGEST = 40

# Words that the dictionary lacks because they have only one form, such as "for"
GRAMMAR = WordLists(__file__, "nouns.toml", "words")

# Words that mark the next word as a noun or a verb
BESIDE = WordLists(__file__, "lemmas.toml", "beside")


class _Readings(NamedTuple):
    """A word's forms as a noun and as a verb, and what the word itself may be."""

    noun: str
    verb: str
    is_noun: bool
    is_adjective: bool
    is_adverb: bool
    is_known: (
        bool  # whether it is in the dictionary, which lacks names and abbreviations, or a word of grammar
    )


def words(text: str) -> list[Word]:
    """Return a text's tokens in their dictionary forms, in lower case."""
    tokens = script_tokens(text)
    return in_forms(tokens, lemmatise(forms_of(tokens)))


def script_tokens(text: str) -> list[Word]:
    """Return a text's tokens, in lower case, as nltk divides it up to version 3.9."""
    return _undivided(tokenise(text))


def _undivided(tokens: list[Word]) -> list[Word]:
    """Join what nltk divides only from 3.10 on: a word with the quotation mark or the dashes that touch it.

    >>> forms_of(_undivided(tokenise("a 'dog' on a desk—one")))
    ['a', "'dog", "'", 'on', 'a', 'desk—one']
    """
    if _DIVIDING.isdisjoint(forms_of(tokens)):
        return tokens
    joined: list[Word] = []
    for token in tokens:
        last = joined[-1] if joined else token
        touches = last.end == token.start > 0
        opens = last.form == "'" and len(token.form) > 1 and (len(joined) < 2 or joined[-2].end < last.start)
        if touches and (
            (token.form[:1].isalnum() and (opens or last.form[-1:] in _DASHES))
            or (token.form in _DASHES and last.form[-1:].isalnum())
        ):
            joined[-1] = Word(last.form + token.form, last.start, token.end)
        else:
            joined.append(token)
    return joined


def lemmatise(tokens: Sequence[str]) -> list[str]:
    """Return the dictionary form of each token, in lower case.

    >>> lemmatise(["two", "men", "seated", "on", "benches", "near", "the", "seating", "area"])
    ['two', 'men', 'seat', 'on', 'bench', 'near', 'the', 'seating', 'area']
    """
    forms = []
    for place, word in enumerate(tokens):
        noun, verb, *_ = _readings(word)
        forms.append(verb if noun == word != verb and _is_verb(tokens, place) else noun)
    return forms


def version() -> str:
    """Return the dictionary's name and version for a signature: another dictionary may give other words."""
    from importlib import metadata

    dictionary()
    return f"lemminflect-{metadata.version('lemminflect')}"


def _is_verb(tokens: Sequence[str], place: int) -> bool:
    """Whether a word that has a verb's ending is a verb here: "a person skiing", but not "the skiing trip"."""
    readings = _readings(tokens[place])
    if not tokens[place].endswith("ing"):
        return not readings.is_noun
    before, after = beside(tokens, place - 1), beside(tokens, place + 1)
    if before not in BESIDE.determiners and after in BESIDE.determiners:
        return True  # it has an object: "a plane bearing a flag"
    if _wants_noun(tokens, place):
        return False
    return not readings.is_noun or before in BESIDE.forms_of_be


def _wants_noun(tokens: Sequence[str], place: int) -> bool:
    """Whether the two words before a word in "-ing" make it a noun: "a boy 's skiing", "ample seating".

    After "to the", nltk's tagger takes the word for a verb: "in addition to the seating area".
    """
    before, second = beside(tokens, place - 1), beside(tokens, place - 2)
    if (second, before) == ("to", "the"):
        return tokens[place] in BESIDE.nouns_after_to_the
    if before == "'s":
        return second not in BESIDE.pronouns
    if before in BESIDE.determiners:
        return True
    readings = _readings(before)
    if not readings.is_known:
        return not beside(
            tokens, place + 1
        ).isalpha()  # "they enjoy bmx biking.", but "snoopy skiing downhill"
    if before in BESIDE.no_adjectives or not readings.is_adjective:
        return False
    # "a small seating area", but "people down skiing"
    return not readings.is_adverb or second in BESIDE.determiners


def beside(tokens: Sequence[str], place: int) -> str:
    """Return the token at a place, or "" outside the text."""
    return tokens[place] if 0 <= place < len(tokens) else ""


@lru_cache(maxsize=2**16)
def _readings(word: str) -> _Readings:
    if len(word) > LONGEST or not (word.isascii() and word.isalpha()):
        return _Readings(word, word, False, False, False, True)
    get, wordnet = dictionary(), read_toml(__file__, "lemmas.toml")
    nouns, verbs = get(word, upos="NOUN"), get(word, upos="VERB")
    if not nouns and word.endswith("s"):
        nouns = get(word, upos="NOUN", lemmatize_oov=True)
    if word in wordnet["unknown"]:
        noun = verb = word
    else:
        noun = wordnet["nouns"].get(word) or (nouns and nouns[0]) or word
        verb = wordnet["verbs"].get(word) or (verbs and verbs[0]) or word
    is_adjective, is_adverb = word in get(word, upos="ADJ"), word in get(word, upos="ADV")
    is_known = bool(nouns or verbs or is_adjective or is_adverb) or word in GRAMMAR.no_nouns
    return _Readings(noun, verb, word in nouns, is_adjective, is_adverb, is_known)


@cache
def dictionary() -> Callable[..., tuple[str, ...]]:
    """Load the dictionary: `get(word, upos="NOUN")` gives a word's dictionary forms as a noun, () if it is no noun."""
    with needs("The dictionary of word forms", "words"):
        from lemminflect import getLemma  # type: ignore[import-untyped]
    return partial(getLemma, lemmatize_oov=False)
