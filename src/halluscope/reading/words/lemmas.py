"""Gives English words their dictionary form, much as published scripts do with nltk's tagger and WordNet.

The dictionary is lemminflect's, which comes with the package. It gives a word's forms as a noun and as a verb. Which of
them a text means is decided in published scripts by nltk's tagger, and here by a few rules about the words around it.
Where WordNet's form differs from lemminflect's, and mentions of objects depend on it, `lemmas.toml` in this folder
holds WordNet's form.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from halluscope.reading.words.tokens import Word, forms_of, in_forms, tokenise
from halluscope.vocabularies import WordLists, read_toml

_DASHES = ("‒", "–", "—", "―")

# What nltk divides from a word only from 3.10 on
_DIVIDED = frozenset("'‒–—―")

# The most characters of a word; anything longer keeps its form
LONGEST = 40

# Words that the dictionary lacks because they have only one form, such as "for"
GRAMMAR = WordLists(__file__, "nouns.toml", "words")

# Words that mark the next word as a noun or a verb
BESIDE = WordLists(__file__, "lemmas.toml", "beside")


@dataclass(frozen=True)
class _Readings:
    """A word's forms as a noun and as a verb, and what the word itself may be."""

    noun: str
    verb: str
    is_noun: bool = False
    is_adjective: bool = False
    is_adverb: bool = False
    # whether it is in the dictionary, which lacks names and abbreviations, or a word of grammar
    is_known: bool = True


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
    if _DIVIDED.isdisjoint(forms_of(tokens)):
        return tokens
    joined: list[Word] = []
    for token in tokens:
        if _is_joined(token, joined):
            last = joined.pop()
            token = Word(last.form + token.form, last.start, token.end)
        joined.append(token)
    return joined


def _is_joined(token: Word, before: Sequence[Word]) -> bool:
    """Whether a token belongs to the one before it: to a word, to a dash, or to an opening quotation mark."""
    if not before or before[-1].end != token.start:
        return False
    last = before[-1]
    if token.form in _DASHES:
        return last.form[-1:].isalnum()
    if not token.form[:1].isalnum():
        return False
    if last.form[-1:] in _DASHES:
        return True
    is_opening = len(before) < 2 or before[-2].end < last.start
    return last.form == "'" and is_opening and len(token.form) > 1


def lemmatise(tokens: Sequence[str]) -> list[str]:
    """Return the dictionary form of each token, in lower case.

    >>> lemmatise(["two", "men", "seated", "on", "benches", "near", "the", "seating", "area"])
    ['two', 'men', 'seat', 'on', 'bench', 'near', 'the', 'seating', 'area']
    """
    forms = []
    for place, word in enumerate(tokens):
        readings = _readings(word)
        form = readings.noun
        if readings.noun == word and readings.verb != word and _is_verb(tokens, place):
            form = readings.verb
        forms.append(form)
    return forms


def _is_verb(tokens: Sequence[str], place: int) -> bool:
    """Whether a word that has a verb's ending is a verb here: "a person skiing", but not "the skiing trip"."""
    readings = _readings(tokens[place])
    if not tokens[place].endswith("ing"):
        return not readings.is_noun
    before = beside(tokens, place - 1)
    after = beside(tokens, place + 1)
    if before not in BESIDE.determiners and after in BESIDE.determiners:
        return True  # it has an object: "a plane bearing a flag"
    if _wants_noun(tokens, place):
        return False
    return not readings.is_noun or before in BESIDE.forms_of_be


def _wants_noun(tokens: Sequence[str], place: int) -> bool:
    """Whether the two words before a word in "-ing" make it a noun: "a boy 's skiing", "ample seating".

    After "to the", nltk's tagger takes the word for a verb: "in addition to the seating area".
    """
    before = beside(tokens, place - 1)
    second = beside(tokens, place - 2)
    if second == "to" and before == "the":
        return tokens[place] in BESIDE.nouns_after_to_the
    if before == "'s":
        return second not in BESIDE.pronouns
    if before in BESIDE.determiners:
        return True
    readings = _readings(before)
    if not readings.is_known:  # "they enjoy bmx biking.", but "snoopy skiing downhill"
        return not beside(tokens, place + 1).isalpha()
    if before in BESIDE.no_adjectives or not readings.is_adjective:
        return False
    # "a small seating area", but "people down skiing"
    return not readings.is_adverb or second in BESIDE.determiners


def beside(tokens: Sequence[str], place: int) -> str:
    """Return the token at a place, or "" outside the text."""
    if place < 0 or place >= len(tokens):
        return ""
    return tokens[place]


@lru_cache(maxsize=2**16)
def _readings(word: str) -> _Readings:
    if len(word) > LONGEST or not word.isascii() or not word.isalpha():
        return _Readings(noun=word, verb=word)
    nouns = forms_in_dictionary(word, "NOUN")
    if not nouns and word.endswith("s"):
        nouns = forms_in_dictionary(word, "NOUN", guess=True)
    verbs = forms_in_dictionary(word, "VERB")
    is_adjective = word in forms_in_dictionary(word, "ADJ")
    is_adverb = word in forms_in_dictionary(word, "ADV")
    return _Readings(
        noun=_form(word, "nouns", nouns),
        verb=_form(word, "verbs", verbs),
        is_noun=word in nouns,
        is_adjective=is_adjective,
        is_adverb=is_adverb,
        is_known=bool(nouns or verbs or is_adjective or is_adverb) or word in GRAMMAR.no_nouns,
    )


def _form(word: str, table: str, forms: Sequence[str]) -> str:
    """Return the form that WordNet has, or else the dictionary's first."""
    wordnet = read_toml(__file__, "lemmas.toml")
    if word in wordnet["unknown"]:
        return word
    if word in wordnet[table]:
        form: str = wordnet[table][word]
        return form
    if forms and forms[0]:  # a guess at "s" leaves nothing
        return forms[0]
    return word


def forms_in_dictionary(word: str, part: str, guess: bool = False) -> tuple[str, ...]:
    """Return a word's dictionary forms as a part of speech: NOUN, VERB, ADJ or ADV; () if it has none.

    With `guess`, a word that is not in the dictionary has the form that its ending suggests.
    """
    return dictionary()(word, upos=part, lemmatize_oov=guess)


@cache
def dictionary() -> Callable[..., tuple[str, ...]]:
    """Load the dictionary."""
    from lemminflect import getLemma  # type: ignore[import-untyped]

    look_up: Callable[..., tuple[str, ...]] = getLemma
    return look_up


def version() -> str:
    """Return the dictionary's name and version for a signature: another dictionary may give other words."""
    from importlib import metadata

    return f"lemminflect-{metadata.version('lemminflect')}"
