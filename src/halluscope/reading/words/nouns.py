"""Finds the common nouns of an English text, by the dictionary that comes with the package and a few rules.

No model tags the words. A word counts as a noun if the dictionary has it as one, or does not have it at all ("hoodie"),
unless the words around it say otherwise: "silver" before a noun is an adjective, "watch" after "they" is a verb, and so
is "can" before a verb. A word that neither its form nor its neighbours decide counts.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from halluscope.reading.words import lemmas
from halluscope.reading.words.lemmas import BESIDE, beside
from halluscope.reading.words.tokens import Word, forms_of, in_forms, tokenise
from halluscope.vocabularies import WordLists, read_toml

# Raised by every change to these rules, or to their table, that can change which words are nouns
RULES_VERSION = 2

LISTS = WordLists(__file__, "nouns.toml", "words")  # the file says what each list holds

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


class _Readings(NamedTuple):
    """What a word may be: its form as a noun or "", and whether it may be an adjective, a verb, and in which form."""

    noun: str = ""
    is_adjective: bool = False
    is_verb: bool = False
    ending: str = ""  # of a verb: "ing", "s", "ed" for any past form, "" for its dictionary form


def common_nouns(text: str) -> list[Word]:
    """Return a text's common nouns in their dictionary forms, in lower case, with repetitions.

    >>> forms_of(common_nouns("A woman sitting in front of two old men, and a silver car by a building."))
    ['woman', 'front', 'man', 'car', 'building']
    >>> forms_of(common_nouns("They can watch a can of cola."))
    ['can', 'cola']
    """
    words = tokenise(text)
    tokens = forms_of(words)
    verbs: list[bool] = []
    for place in range(len(tokens)):
        verbs.append(_is_verb(tokens, place, verbs))
    return [noun for noun in in_forms(words, _nouns(tokens, verbs)) if noun.form]


def version() -> str:
    """Return the versions of these rules and of the dictionary, for a signature."""
    return f"nouns-{RULES_VERSION},{lemmas.version()}"


def _is_verb(tokens: Sequence[str], place: int, verbs: Sequence[bool]) -> bool:
    """Whether a word is a verb here; `verbs` says so of the words before it."""
    word, readings = tokens[place], _readings(tokens[place])
    last, after = max(_skip(tokens, place, -1), -1), beside(tokens, place + 1)
    before, second = beside(tokens, last), beside(tokens, last - 1)
    if word == "can":
        return before in LISTS.before_verbs or _begins_clause(beside(tokens, _skip(tokens, place, 1)))
    if not readings.is_verb or not readings.noun:
        return readings.is_verb
    follows = bool(_readings(before).noun) and not _readings(before).is_adjective and not verbs[last]
    precedes = after in LISTS.before_nouns
    joins = before in ("and", "or", ",")
    if joins and last > 0 and verbs[last - 1] and _readings(second).ending == readings.ending:
        return True
    if readings.ending == "ing":
        return _is_be(tokens, last) or _is_doing(word, before, after, follows and precedes)
    if before in LISTS.before_verbs or (precedes and joins):
        return True
    if before == "to":
        return not readings.ending and second not in LISTS.before_to
    if before == "that":
        return bool(_readings(second).noun)
    if precedes or not follows:
        return follows
    if readings.ending:
        return readings.ending == "s" and word in LISTS.verbs_after_nouns
    return before in LISTS.plurals or (
        before != "sports" and before.endswith("s") and _readings(before).noun != before
    )


def _is_doing(word: str, before: str, after: str, is_between: bool) -> bool:
    """Whether a word in "-ing" is a verb: "a man sitting", but not "a sitting area" or "a brick building"."""
    if word in LISTS.nouns_in_ing:
        return is_between or (after in LISTS.before_nouns and before not in LISTS.before_nouns)
    is_qualified = before in LISTS.before_nouns or _readings(before).is_adjective
    return not (is_qualified and _readings(after).noun)


def _begins_clause(word: str) -> bool:
    """Whether "can" before this word is no noun: "can be", "can you"."""
    readings = _readings(word)
    return word != "can" and (word in LISTS.after_can or (readings.is_verb and not readings.ending))


def _skip(tokens: Sequence[str], place: int, step: int) -> int:
    """Return the place of the next word in a direction, after up to two adverbs."""
    for at in (place + step, place + 2 * step):
        if not 0 <= at < len(tokens) or not (tokens[at] in LISTS.adverbs or tokens[at].endswith("ly")):
            return at
    return place + 3 * step


def _is_be(tokens: Sequence[str], place: int) -> bool:
    """Whether a word is a form of "be", not the "'s" of a possessive."""
    word = beside(tokens, place)
    return word in BESIDE.forms_of_be and (word != "'s" or beside(tokens, place - 1) in BESIDE.pronouns)


def _nouns(tokens: Sequence[str], verbs: Sequence[bool]) -> list[str]:
    """Return the dictionary form of each noun, and "" for any other word.

    An adjective is followed by a noun, with other adjectives between them or none: "a lush green hill".
    """
    nouns = [""] * len(tokens)
    leads = [False] * (len(tokens) + 2)  # whether the words from here on are adjectives, if any, and a noun
    for place in reversed(range(len(tokens))):
        word, readings = tokens[place], _readings(tokens[place])
        is_joined = beside(tokens, place + 1) in ("and", ",") and _is_adjective(beside(tokens, place + 2))
        continues = leads[place + 1] or (is_joined and leads[place + 2])
        qualifies = readings.is_adjective and (continues or _is_be(tokens, _skip(tokens, place, -1)))
        is_seldom = word in LISTS.seldom_nouns and beside(tokens, place - 1) not in LISTS.before_nouns
        if not (verbs[place] or qualifies or is_seldom):
            nouns[place] = readings.noun
        leads[place] = nouns[place] != "" or (_is_adjective(word) and continues)
    return nouns


def _is_adjective(word: str) -> bool:
    readings = _readings(word)
    return (
        readings.is_adjective or word in LISTS.adjectives or (readings.ending == "ed" and not readings.noun)
    )


@lru_cache(maxsize=2**16)
def _readings(word: str) -> _Readings:
    if word in LISTS.no_nouns or not 1 < len(word) <= lemmas.LONGEST or not _WORD.fullmatch(word):
        return _Readings()
    get, irregular = lemmas.dictionary(), read_toml(__file__, "nouns.toml")["nouns"]
    nouns, verbs, *others = (get(word, upos=part) for part in ("NOUN", "VERB", "ADJ", "ADV"))
    is_known = nouns or verbs or any(others)
    if "-" in word and not is_known:
        first, _, last = word.rpartition("-")
        is_noun = _readings(last).noun and _readings(last).ending not in ("ing", "ed")
        return _Readings(f"{first}-{_readings(last).noun}" if is_noun else "", True)
    if not is_known and not word.endswith("ly"):
        nouns = (*(get(word, upos="NOUN", lemmatize_oov=True) if word.endswith("s") else ()), word)
    if not nouns and word in LISTS.nouns_in_ing:
        nouns = (word,)
    noun = irregular.get(word) or next(filter(_WORD.fullmatch, nouns), "")
    if word in nouns and not word.endswith("s") and word not in irregular:
        noun = word
    ending = next((ending for ending in ("ing", "s") if word.endswith(ending)), "ed")
    return _Readings(
        noun="" if word in LISTS.adjectives else noun,
        is_adjective=(bool(others[0]) or word in LISTS.seldom_nouns) and word not in LISTS.nouns_before_nouns,
        is_verb=bool(verbs),
        ending=ending if verbs and word not in verbs else "",
    )
