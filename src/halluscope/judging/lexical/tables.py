"""The tables of `lexical.toml`, which hold what the rules know about English, prepared for look-up."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from halluscope.vocabularies import WordLists, read_toml

Meaning = TypeVar("Meaning")
Words = frozenset[str]
Phrase = tuple[str, ...]

# The rule that takes back words such as "bus" in "bus stop"
PART_OF_COMPOUND = "part of a compound"


def tables() -> dict[str, Any]:
    """Return the whole of lexical.toml."""
    return read_toml(__file__, "lexical.toml")


def _word_lists(section: str) -> WordLists:
    return WordLists(__file__, "lexical.toml", section)


ABSENT = _word_lists("absent")
AFTER = _word_lists("after")
CLAUSE = _word_lists("clause")
COMPOUNDS = _word_lists("compounds")
CORRECTIONS = _word_lists("corrections")
DEPICTION = _word_lists("depiction")
GRAMMAR = _word_lists("grammar")
HEDGES = _word_lists("hedges")
LISTS = _word_lists("lists")
PARTS = _word_lists("parts")
QUESTIONS = _word_lists("questions")
READINGS = _word_lists("readings")
SPELLING = _word_lists("spelling")


# ---- Phrases, and where they stand ----


@dataclass(slots=True)
class PhraseMatch(Generic[Meaning]):
    """A phrase that was found in a sentence."""

    end: int  # the place after its last word
    meaning: Meaning


class Phrases(Generic[Meaning]):
    """Phrases to look for at a place in a sentence; the longest one counts.

    `beginnings` holds the first three words of each phrase, or all of a shorter one: two would find half as many places
    again.
    """

    def __init__(self, meanings: Mapping[Phrase, Meaning]) -> None:
        self.meanings = meanings
        self.beginnings = {phrase[:3] for phrase in meanings}
        lengths: dict[str, set[int]] = {}
        for phrase in meanings:
            lengths.setdefault(phrase[0], set()).add(len(phrase))
        # of the phrases that begin with a word, the longest first
        self._lengths = {first: sorted(known, reverse=True) for first, known in lengths.items()}

    def at(self, words: list[str], index: int) -> PhraseMatch[Meaning] | None:
        """Return the phrase that begins at `index`; None without one."""
        for length in self._lengths.get(words[index], ()):
            phrase = tuple(words[index : index + length])
            if phrase in self.meanings:
                return PhraseMatch(index + len(phrase), self.meanings[phrase])
        return None


@cache
def phrases_of(section: str, name: str) -> Phrases[str]:
    """Return a list of phrases, by its place in lexical.toml; each phrase means itself."""
    return Phrases({tuple(phrase.split()): phrase for phrase in tables()[section][name]})


class PlaceFinder:
    """Finds the places in a sentence where phrases may begin, much faster than by looking up each word."""

    def __init__(self, beginnings: set[Phrase]) -> None:
        self._beginnings = beginnings
        self._alone = {phrase[0] for phrase in beginnings if len(phrase) == 1}
        self._first_two = {phrase[:2] for phrase in beginnings}

    def places(self, words: list[str]) -> list[int]:
        """Return the places, in their order."""
        places = []
        following = words[1:]
        following.append("")
        for place, pair in enumerate(zip(words, following, strict=True)):
            if pair[0] in self._alone:
                places.append(place)
            elif pair in self._first_two:
                triple = pair + tuple(words[place + 2 : place + 3])
                if pair in self._beginnings or triple in self._beginnings:
                    places.append(place)
        return places


# ---- Cues ----


@dataclass(frozen=True, slots=True)
class Cue:
    """The fields of a cue, a phrase that takes back what is said around it; lexical.toml explains them."""

    rule: str
    reach: str
    keeps_definite: bool
    after: Words = frozenset()
    near: int = 10


class Cues(Phrases[Cue]):
    """The cues; "is gone" also stands for "were already gone", and "is not visible" for "aren't really visible"."""

    def __init__(self, meanings: Mapping[Phrase, Cue]) -> None:
        verbs = tables()["verbs"]
        predicates: dict[str, dict[Phrase, Cue]] = {verb: {} for verb in verbs["forms"]}
        others = {}
        for phrase, cue in meanings.items():
            verb_ends = 2 if phrase[1:2] == ("not",) else 1
            verb = " ".join(phrase[:verb_ends])
            predicate = phrase[verb_ends:]
            if verb not in predicates or not predicate:
                others[phrase] = cue
                continue
            predicates[verb][predicate] = cue
            # "is" or "is not": the past has its predicates too, unless it has its own
            if verb.startswith("is"):
                predicates[verb.replace("is", "was")].setdefault(predicate, cue)
            if phrase[:2] == ("has", "been"):  # what has been, was
                predicates["was"][phrase[2:]] = cue
        super().__init__(others)
        self._adverbs = frozenset(verbs["adverbs"])
        self._predicates = {verb: Phrases(phrases) for verb, phrases in predicates.items()}
        self._verbs: dict[str, str] = {}  # form -> the verb under which its predicates are listed
        for verb, verb_forms in verbs["forms"].items():
            for form in verb_forms:
                self._verbs[form] = verb
        self._add_beginnings()

    def _add_beginnings(self) -> None:
        for form, verb in self._verbs.items():
            self.beginnings.add((form, "not"))
            for adverb in self._adverbs:
                self.beginnings.add((form, adverb))
            for beginning in self._predicates[verb].beginnings:
                self.beginnings.add((form, *beginning[:2]))

    def at(self, words: list[str], index: int) -> PhraseMatch[Cue] | None:
        """Return the cue that begins at `index`; a verb may have any form, and adverbs after it."""
        plain = super().at(words, index)
        verb = self._verbs.get(words[index])
        if verb is None:
            return plain
        for place in range(index + 1, len(words)):
            predicate = self._predicates[verb].at(words, place)
            if predicate is not None:
                if plain is None or plain.end < predicate.end:
                    return predicate
                return plain
            if words[place] == "not" and f"{verb} not" in self._predicates:
                verb = f"{verb} not"
            elif words[place] not in self._adverbs:
                break
        return plain


@cache
def cue_phrases() -> Cues:
    """Return all cues."""
    carriers = tables()["depiction"] | tables()["after"]
    cues = {}
    for group in tables()["cues"]:
        after: Words = frozenset()
        if "after" in group:
            after = frozenset(carriers[group["after"]])
        keeps_definite = group["definite"] == "kept"
        cue = Cue(group["rule"], group["reach"], keeps_definite, after, group.get("near", 10))
        for phrase in group["phrases"]:
            cues[tuple(phrase.split())] = cue
    return Cues(cues)


# ---- Compounds, objects, and other meanings ----


@dataclass(frozen=True, slots=True)
class CompoundPart:
    """A word of a compound that names no object there."""

    place: int  # in the compound
    rule: str  # the rule that takes it back


Compounds = dict[Phrase, list[CompoundPart]]


@cache
def compound_phrases() -> Phrases[list[CompoundPart]]:
    """Return compounds, each with the words in it that name no object there."""
    compounds: Compounds = {}
    section = tables()["compounds"]
    for word, patterns in section["words"].items():
        _add_compounds(compounds, patterns, forms(word), PART_OF_COMPOUND, with_plurals=True)
    for kind in section["kinds"]:
        words = list(kind.get("words", ()))
        for group in kind.get("of", ()):
            words += section["groups"][group]
        _add_compounds(compounds, kind["patterns"], words, kind["rule"], with_plurals=True)
        _add_compounds(compounds, kind["singular"], words, kind["rule"], with_plurals=False)
    for idiom in section["idioms"]:
        parts = []
        phrase = tuple(idiom.split())
        for place in range(len(phrase)):
            parts.append(CompoundPart(place, PART_OF_COMPOUND))
        compounds[phrase] = parts
    return Phrases(compounds)


def _add_compounds(
    compounds: Compounds,
    patterns: Iterable[str],
    words: Iterable[str],
    rule: str,
    *,
    with_plurals: bool,
) -> None:
    """Add the compounds that words make in patterns, in which "*" stands for the word."""
    for pattern in patterns:
        star = pattern.split().index("*")
        for word in words:
            part = CompoundPart(star + word.count(" "), rule)
            compound = pattern.replace("*", word)
            spellings = forms(compound) if with_plurals else [compound]
            for spelling in spellings:
                phrase = tuple(spelling.split())
                compounds.setdefault(phrase, []).append(part)


def object_phrases(words: Mapping[str, Iterable[str]]) -> Phrases[Phrase]:
    """Return the phrases that name classes, each with the classes that it names."""
    classes: dict[Phrase, list[str]] = {}
    for cls in sorted(words):
        for phrase in words[cls]:
            classes.setdefault(tuple(phrase.split()), []).append(cls)
    return Phrases({phrase: tuple(named) for phrase, named in classes.items()})


@cache
def readings(kind: str) -> dict[str, list[dict[str, Any]]]:
    """Return the forms of the words in a list of groups of the section `readings`, each with its groups."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for group in tables()["readings"][kind]:
        for word in group["words"]:
            for form in forms(word):
                groups.setdefault(form, []).append(group)
    return groups


# ---- Words ----


def forms(phrase: str) -> list[str]:
    """Return a phrase with its plurals: of its last word, or of the word before "of" or "in"."""
    head = phrase
    for preposition in (" of ", " in "):
        if preposition in phrase:
            head = phrase.partition(preposition)[0]
    tail = phrase.removeprefix(head)
    before, space, last = head.rpartition(" ")
    return [phrase] + [before + space + plural + tail for plural in _plurals(last)]


# An ending in a pattern -> what it is in the plural; the first one that fits counts
_PLURAL_ENDINGS = {
    "child$": ["children"],
    "man$": ["men"],
    "([^aeiou])y$": [r"\1ies"],
    "(s|x|z|ch|sh)$": [r"\1es"],
    "o$": ["os", "oes"],
}


def _plurals(word: str) -> list[str]:
    if word in tables()["plurals"]:
        return list(tables()["plurals"][word])
    for ending, plurals in _PLURAL_ENDINGS.items():
        if re.search(ending, word):
            return [re.sub(ending, plural, word) for plural in plurals]
    return [word + "s"]


def at(words: list[str], index: int) -> str:
    """Return the word at a place, or "" outside the sentence."""
    return words[index] if 0 <= index < len(words) else ""


def words_before(words: list[str], index: int, count: int) -> list[str]:
    """Return up to `count` words before a place."""
    return words[max(0, index - count) : index]


def last_of(words: list[str], listed: Words, start: int, end: int) -> int:
    """Return the place of the last of the listed words between two places; -1 without one."""
    for place in range(end - 1, start - 1, -1):
        if words[place] in listed:
            return place
    return -1


def has_plural_ending(word: str) -> bool:
    """Whether a word looks like a plural in "s"."""
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))


def is_determiner(word: str) -> bool:
    """Whether a word is one such as "the", "his", "a" or "two"."""
    return word in GRAMMAR.definite or word in GRAMMAR.indefinite


def phrase_start(words: list[str], floor: int, index: int) -> int:
    """Return where the noun phrase of the noun at `index` begins: at its determiner, or at its first adjective."""
    floor = max(floor, index - 6)
    for before in range(index - 1, floor - 1, -1):
        word = words[before]
        if is_determiner(word):
            return before
        if (word in GRAMMAR.after_noun and word != "of") or not word[0].isalnum():
            return before + 1
    return min(floor, index)
