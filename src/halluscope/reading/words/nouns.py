"""Finds the common nouns of an English text, by the dictionary that comes with the package and a few rules.

No model tags the words. A word counts as a noun if the dictionary has it as one, or does not have it at all ("hoodie"),
unless the words around it say otherwise: "silver" before a noun is an adjective, and "sitting" after a noun is a verb.
A word that neither its form nor its neighbours decide counts too: "they watch" has a watch.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

from halluscope.reading.words import lemmas
from halluscope.reading.words.tokens import tokenise
from halluscope.reading.words.word import Word, forms_of, in_forms

RULES_VERSION = 1
"""Raised by every change to these rules, or to their table, that can change which words are nouns."""

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


class _Readings(NamedTuple):
    """What a word may be: its form as a noun or "", and whether it may be an adjective, a verb, or a verb in "-ing"."""

    noun: str = ""
    is_adjective: bool = False
    is_verb: bool = False
    is_doing: bool = False


class _Tables(NamedTuple):
    """The content of `nouns.toml`: words that are never nouns, or not after a noun, and nouns the dictionary lacks."""

    no_nouns: frozenset[str]
    verbs_after_nouns: frozenset[str]
    nouns: Mapping[str, str]


def common_nouns(text: str) -> list[Word]:
    """Return a text's common nouns in their dictionary forms, in lower case, with repetitions.

    Raises:
        MissingExtra: if lemminflect is not installed.

    >>> forms_of(common_nouns("A woman sitting in front of two old men, and a silver car by a building."))
    ['woman', 'front', 'man', 'car', 'building']
    """
    words = tokenise(text)
    tokens = forms_of(words)
    found = [_noun(tokens, place) for place in range(len(tokens))]
    nouns = enumerate(in_forms(words, found))
    return [noun for place, noun in nouns if noun.form and not _qualifies(tokens, found, place)]


def version() -> str:
    """Return the versions of these rules and of the dictionary, for a signature.

    Raises:
        MissingExtra: if lemminflect is not installed.
    """
    return f"nouns-{RULES_VERSION},{lemmas.version()}"


def _noun(tokens: Sequence[str], place: int) -> str:
    """Return the dictionary form of a word that may be a noun here; "" for any other word.

    A word that can be a verb counts as a verb between a noun and a determiner: "a boy rides his bike". For a word in
    "-ing" one of the two is enough, and so is a form of "be": "a man sitting", "cutting the bread", "is painting".
    """
    readings = _readings(tokens[place])
    if not readings.noun or not readings.is_verb:
        return readings.noun
    before, after = (tokens[at] if 0 <= at < len(tokens) else "" for at in (place - 1, place + 1))
    follows = _readings(before).noun != "" and not _readings(before).is_adjective
    precedes = after in lemmas.load_tables().determiners
    if readings.is_doing:
        is_verb = follows or precedes or before in lemmas.load_tables().forms_of_be
    else:
        is_verb = follows and (precedes or tokens[place] in _tables().verbs_after_nouns)
    return "" if is_verb else readings.noun


def _qualifies(tokens: Sequence[str], nouns: Sequence[str], place: int) -> bool:
    """Whether a word is an adjective before a noun: "a silver car"; but not "a plane flying"."""
    following = nouns[place + 1] if place + 1 < len(nouns) else ""
    return _readings(tokens[place]).is_adjective and following != "" and not following.endswith("ing")


@lru_cache(maxsize=2**16)
def _readings(word: str) -> _Readings:
    tables = _tables()
    if word in tables.no_nouns or not 1 < len(word) <= lemmas.LONGEST or not _WORD.fullmatch(word):
        return _Readings()
    if word in tables.nouns:
        return _Readings(tables.nouns[word])
    get = lemmas.dictionary()
    of = {part: get(word, upos=part) for part in ("NOUN", "VERB", "ADJ", "ADV")}
    if not any(of.values()):
        of["NOUN"] = (*(get(word, upos="NOUN", lemmatize_oov=True) if word.endswith("s") else ()), word)
    noun = next(filter(_WORD.fullmatch, of["NOUN"]), "")
    is_verb = bool(of["VERB"])
    is_doing = is_verb and word.endswith("ing") and of["VERB"][0] != word
    return _Readings(noun, bool(of["ADJ"]), is_verb, is_doing)


@cache
def _tables() -> _Tables:
    file = resources.files(__package__).joinpath("nouns.toml")
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    no_nouns, verbs = (frozenset(tables[name]) for name in ("no_nouns", "verbs_after_nouns"))
    return _Tables(no_nouns, verbs, tables["nouns"])
