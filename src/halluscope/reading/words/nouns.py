"""Finds the common nouns of an English text, by the dictionary that comes with the package and a few rules.

No model tags the words. A word counts as a noun if the dictionary has it as one, or does not have it at all ("hoodie"),
unless the words around it say otherwise: "silver" before a noun is an adjective, "watch" after "they" is a verb, and so
is "can" before a verb. A word that neither its form nor its neighbours decide counts.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from halluscope.reading.words import lemmas
from halluscope.reading.words.lemmas import BESIDE, beside, forms_in_dictionary
from halluscope.reading.words.tokens import Word, forms_of, in_forms, tokenise
from halluscope.vocabularies import WordLists, read_toml

# Raised by every change to these rules, or to their table, that can change which words are nouns
RULES_VERSION = 2

LISTS = WordLists(__file__, "nouns.toml", "words")  # the file says what each list holds

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


@dataclass(frozen=True)
class _Readings:
    """What a word may be."""

    noun: str = ""  # its form as a noun; "" if it is none
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
    nouns = in_forms(words, _nouns(tokens, verbs))
    return [noun for noun in nouns if noun.form]


def _is_verb(tokens: Sequence[str], place: int, verbs: Sequence[bool]) -> bool:
    """Whether a word is a verb here; `verbs` says so of the words before it."""
    word = tokens[place]
    if word == "can":
        return _is_can_a_verb(tokens, place)
    readings = _readings(word)
    if not readings.is_verb or not readings.noun:
        return readings.is_verb
    last = max(_skip(tokens, place, -1), -1)
    before = beside(tokens, last)
    second = beside(tokens, last - 1)
    after = beside(tokens, place + 1)
    is_joined = before in ("and", "or", ",")
    if is_joined and last > 0 and verbs[last - 1] and _readings(second).ending == readings.ending:
        return True  # "is sitting and smiling"
    may_be_object = _readings(before)
    follows_noun = may_be_object.noun != "" and not may_be_object.is_adjective and not verbs[last]
    has_object = after in LISTS.before_nouns
    if readings.ending == "ing":
        return _is_be(tokens, last) or _is_doing(word, before, after, follows_noun and has_object)
    if before in LISTS.before_verbs or (has_object and is_joined):
        return True
    if before == "to":
        return readings.ending == "" and second not in LISTS.before_to
    if before == "that":
        return _readings(second).noun != ""
    if not follows_noun:
        return False
    if has_object:
        return True
    if readings.ending:
        return readings.ending == "s" and word in LISTS.verbs_after_nouns
    return _is_plural(before)


def _is_can_a_verb(tokens: Sequence[str], place: int) -> bool:
    """Whether "can" is no noun here: "they can", "can be", "can you"."""
    before = beside(tokens, _skip(tokens, place, -1))
    after = beside(tokens, _skip(tokens, place, 1))
    if before in LISTS.before_verbs or after in LISTS.after_can:
        return True
    readings = _readings(after)
    return after != "can" and readings.is_verb and readings.ending == ""


def _is_plural(word: str) -> bool:
    """Whether a noun is in the plural, so that a verb after it has no ending; "sports" is said of "sports car"."""
    if word in LISTS.plurals:
        return True
    return word != "sports" and word.endswith("s") and _readings(word).noun != word


def _is_doing(word: str, before: str, after: str, is_between: bool) -> bool:
    """Whether a word in "-ing" is a verb: "a man sitting", but not "a sitting area" or "a brick building"."""
    if word in LISTS.nouns_in_ing:
        return is_between or (after in LISTS.before_nouns and before not in LISTS.before_nouns)
    is_qualified = before in LISTS.before_nouns or _readings(before).is_adjective
    return not (is_qualified and _readings(after).noun)


def _skip(tokens: Sequence[str], place: int, step: int) -> int:
    """Return the place of the next word in a direction, after up to two adverbs; it may be outside the text."""
    place += step
    for _ in range(2):
        word = beside(tokens, place)
        if word not in LISTS.adverbs and not word.endswith("ly"):
            return place
        place += step
    return place


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
        word = tokens[place]
        readings = _readings(word)
        is_joined = beside(tokens, place + 1) in ("and", ",") and _is_adjective(beside(tokens, place + 2))
        continues = leads[place + 1] or (is_joined and leads[place + 2])
        qualifies = readings.is_adjective and (continues or _is_be(tokens, _skip(tokens, place, -1)))
        is_seldom = word in LISTS.seldom_nouns and beside(tokens, place - 1) not in LISTS.before_nouns
        if not verbs[place] and not qualifies and not is_seldom:
            nouns[place] = readings.noun
        leads[place] = nouns[place] != "" or (_is_adjective(word) and continues)
    return nouns


def _is_adjective(word: str) -> bool:
    readings = _readings(word)
    if readings.is_adjective or word in LISTS.adjectives:
        return True
    return readings.ending == "ed" and readings.noun == ""


@lru_cache(maxsize=2**16)
def _readings(word: str) -> _Readings:
    if word in LISTS.no_nouns or not 1 < len(word) <= lemmas.LONGEST or not _WORD.fullmatch(word):
        return _Readings()
    nouns = forms_in_dictionary(word, "NOUN")
    verbs = forms_in_dictionary(word, "VERB")
    adjectives = forms_in_dictionary(word, "ADJ")
    is_known = bool(nouns or verbs or adjectives or forms_in_dictionary(word, "ADV"))
    if "-" in word and not is_known:
        return _readings_of_compound(word)
    if not is_known and not word.endswith("ly"):
        nouns = (word,)
        if word.endswith("s"):
            nouns = forms_in_dictionary(word, "NOUN", guess=True) + nouns
    if not nouns and word in LISTS.nouns_in_ing:
        nouns = (word,)
    is_adjective = bool(adjectives) or word in LISTS.seldom_nouns
    return _Readings(
        noun=_noun_form(word, nouns),
        is_adjective=is_adjective and word not in LISTS.nouns_before_nouns,
        is_verb=bool(verbs),
        ending=_verb_ending(word, verbs),
    )


def _readings_of_compound(word: str) -> _Readings:
    """Return the readings of a word with a hyphen: a noun as its last part is, or an adjective ("red-haired")."""
    first, _, last = word.rpartition("-")
    readings = _readings(last)
    noun = ""
    if readings.noun and readings.ending not in ("ing", "ed"):
        noun = f"{first}-{readings.noun}"
    return _Readings(noun, is_adjective=True)


def _noun_form(word: str, nouns: Sequence[str]) -> str:
    """Return a word's form as a noun, of those in the dictionary; "" if it is none."""
    if word in LISTS.adjectives:
        return ""
    irregular = read_toml(__file__, "nouns.toml")["nouns"]
    if word in irregular:
        form: str = irregular[word]
        return form
    if word in nouns and not word.endswith("s"):
        return word
    for noun in nouns:
        if _WORD.fullmatch(noun):
            return noun
    return ""


def _verb_ending(word: str, verbs: Sequence[str]) -> str:
    """Return the ending of a verb, whose dictionary forms are given: "ing", "s", or "ed" for any past form."""
    if not verbs or word in verbs:
        return ""
    for ending in ("ing", "s"):
        if word.endswith(ending):
            return ending
    return "ed"


def version() -> str:
    """Return the versions of these rules and of the dictionary, for a signature."""
    return f"nouns-{RULES_VERSION},{lemmas.version()}"
