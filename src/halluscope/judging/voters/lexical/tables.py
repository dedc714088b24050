"""The tables of `lexical.toml`, which hold what the rules know about English, prepared for look-up."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import groupby
from typing import Any, Generic, NamedTuple, TypeVar

from halluscope.judging.voters.lexical.sentences import sentences

Meaning = TypeVar("Meaning")
Words = frozenset[str]


class Beginnings(NamedTuple):
    """How phrases begin: phrases of one word, phrases of two words, and the first three words of longer phrases."""

    alone: Words
    pairs: frozenset[tuple[str, ...]]
    triples: frozenset[tuple[str, ...]]

    @property
    def first_two(self) -> frozenset[tuple[str, ...]]:
        """The first two words of all phrases of two words or more."""
        return self.pairs | {triple[:2] for triple in self.triples}


class Cue(NamedTuple):
    """The fields of a cue, a phrase that takes back what is said around it; lexical.toml explains them."""

    rule: str
    reach: str
    keeps_definite: bool
    after: Words = frozenset()
    near: int = 10


class Compound(NamedTuple):
    """A phrase that names another thing: the place of the word in it that names no object there, and the rule."""

    star: int
    rule: str


class Phrases(Generic[Meaning]):
    """Phrases to look for at a place in a sentence; the longest one counts."""

    def __init__(self, meanings: Mapping[tuple[str, ...], Meaning]) -> None:
        self._alone = {phrase[0]: meaning for phrase, meaning in meanings.items() if len(phrase) == 1}
        self._after: dict[str, dict[str, list[tuple[list[str], Meaning]]]] = {}
        for phrase in sorted(meanings, key=lambda phrase: (-len(phrase), phrase)):
            if len(phrase) > 1:
                seconds = self._after.setdefault(phrase[0], {})
                seconds.setdefault(phrase[1], []).append((list(phrase), meanings[phrase]))
        self.beginnings = Beginnings(
            frozenset(self._alone),
            frozenset(phrase for phrase in meanings if len(phrase) == 2),
            frozenset(phrase[:3] for phrase in meanings if len(phrase) > 2),
        )

    def at(self, words: list[str], place: int) -> tuple[int, Meaning] | None:
        """Return where the phrase that begins at `place` ends, and what it means; None without such a phrase."""
        first = words[place]
        if (seconds := self._after.get(first)) and place + 1 < len(words):
            for phrase, meaning in seconds.get(words[place + 1], ()):
                if words[place : place + len(phrase)] == phrase:
                    return place + len(phrase), meaning
        return (place + 1, self._alone[first]) if first in self._alone else None

    def word(self, word: str) -> Meaning | None:
        """Return what a single word means, or None."""
        return self._alone.get(word)


def beginnings_of(*kinds: Phrases[Any]) -> Beginnings:
    """Return how any of the phrases may begin."""
    alone, pairs, triples = zip(*(phrases.beginnings for phrases in kinds), strict=True)
    return Beginnings(frozenset().union(*alone), frozenset().union(*pairs), frozenset().union(*triples))


class Starts:
    """Finds where phrases may begin, by up to three words, which is much faster than looking up each word."""

    def __init__(self, beginnings: Beginnings) -> None:
        self._alone, self._pairs, self._triples = beginnings
        self._first_two = beginnings.first_two

    def places(self, words: list[str]) -> list[int]:
        """Return the places in a sentence where phrases may begin, in their order."""
        alone, first_two = self._alone, self._first_two
        follow = [*words[1:], ""]
        return [
            i
            for i, pair in enumerate(zip(words, follow, strict=True))
            if pair[0] in alone or (pair in first_two and self._goes_on(words, i, pair))
        ]

    def _goes_on(self, words: list[str], place: int, pair: tuple[str, str]) -> bool:
        return pair in self._pairs or (*pair, *words[place + 2 : place + 3]) in self._triples


@cache
def tables() -> dict[str, Any]:
    """Return the whole of lexical.toml."""
    return tomllib.loads(resources.files(__package__).joinpath("lexical.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Grammar:
    """Word lists from the sections `clause`, `grammar` and `compounds` of lexical.toml, by their names there."""

    ends_clause: Words
    opens_clause: Words
    examples: Words
    not_in_list: Words
    definite: Words
    indefinite: Words
    after_noun: Words
    ends_picture: Words
    participles: Words
    colors: Words
    seen: Words
    modals: Words
    every: Words
    inverted: Words
    orders: Words
    ordered: Words
    subjects: Words
    before_subject: Words
    before_any: Words
    after_any: Words
    after_hyphen: Words
    before_object: Words
    possessive: Words


@cache
def grammar() -> Grammar:
    """Return the word lists of `Grammar`."""
    sections = (tables()[name] for name in ("clause", "grammar", "compounds"))
    lists = {
        name: words
        for section in sections
        for name, words in section.items()
        if name in Grammar.__dataclass_fields__
    }
    return Grammar(**{name: frozenset(words) for name, words in lists.items()})


@dataclass(frozen=True)
class Readings:
    """The section `readings` of lexical.toml; its mappings go from a word to the words that decide on its meaning."""

    adjectives: Words
    verbs: Words
    subjects: Words
    after_plural: Words
    before_verb: Words
    before_preposition: Words
    after_verb: Words
    unless: Mapping[str, list[tuple[Words, Words]]]
    only_with: Mapping[str, Words]
    senses: Mapping[str, tuple[str, Words]]
    dependent: Words


_READINGS = (
    "adjectives",
    "verbs",
    "subjects",
    "after_plural",
    "before_verb",
    "before_preposition",
    "after_verb",
)


@cache
def readings() -> Readings:
    """Return the words that are not always the noun, and what decides on their meaning."""
    section = tables()["readings"]
    only_with = _by_word(section["only_with"])
    unless: dict[str, list[tuple[Words, Words]]] = {}
    for group in section["unless"]:
        for form in (form for word in group["words"] for form in forms(word)):
            unless.setdefault(form, []).append((frozenset(group["by"]), frozenset(group.get("but", ()))))
    senses = {
        form: (group["class"], frozenset(group["by"]))
        for group in section["senses"]
        for word in group["words"]
        for form in forms(word)
    }
    return Readings(
        **{name: frozenset(section[name]) for name in _READINGS},
        unless=unless,
        only_with=only_with,
        senses=senses,
        dependent=frozenset({*unless, *only_with, *senses}),
    )


def _by_word(groups: list[dict[str, list[str]]]) -> dict[str, Words]:
    found: dict[str, Words] = {}
    for group in groups:
        for form in (form for word in group["words"] for form in forms(word)):
            found[form] = found.get(form, frozenset()) | frozenset(group["by"])
    return found


@cache
def words_of(section: str, name: str) -> Words:
    """Return a list of single words, by its place in lexical.toml."""
    return frozenset(tables()[section][name])


@cache
def phrases_of(section: str, name: str) -> Phrases[str]:
    """Return a list of phrases, by its place in lexical.toml; each phrase means itself."""
    return Phrases({tuple(phrase.split()): phrase for phrase in tables()[section][name]})


class Cues(Phrases[Cue]):
    """The cues; "is gone" also stands for "were already gone", and "is not visible" for "aren't really visible"."""

    def __init__(self, meanings: Mapping[tuple[str, ...], Cue]) -> None:
        verbs = tables()["verbs"]
        self._verbs = {form: listed for listed, forms in verbs["forms"].items() for form in forms}
        self._adverbs = frozenset(verbs["adverbs"])
        predicates: dict[str, dict[tuple[str, ...], Cue]] = {listed: {} for listed in verbs["forms"]}
        others = {}
        for phrase, cue in meanings.items():
            verb = " ".join(phrase[: 1 + (phrase[1:2] == ("not",))])
            if verb in predicates and verb != " ".join(phrase):
                predicates[verb][phrase[len(verb.split()) :]] = cue
                if verb.startswith("is"):
                    predicates[verb.replace("is", "was")].setdefault(phrase[len(verb.split()) :], cue)
                if phrase[:2] == ("has", "been"):
                    predicates["was"][phrase[2:]] = cue
            else:
                others[phrase] = cue
        super().__init__(others)
        self._predicates = {verb: Phrases(phrases) for verb, phrases in predicates.items()}
        self.beginnings = beginnings_of(self, *self._in_sentences())

    def at(self, words: list[str], place: int) -> tuple[int, Cue] | None:
        """Return where the cue at `place` ends, and the cue; a verb may have any form, and adverbs after it."""
        found = super().at(words, place)
        if (verb := self._verbs.get(words[place])) is None:
            return found
        said = self._said(verb, words, place + 1)
        return max(found, said, key=lambda one: one[0]) if found and said else found or said

    def _said(self, verb: str, words: list[str], place: int) -> tuple[int, Cue] | None:
        """Return the end and the cue of the words that follow a verb, which ends before `place`."""
        while place < len(words):
            if said := self._predicates[verb].at(words, place):
                return said
            if words[place] == "not" and f"{verb} not" in self._predicates:
                verb = f"{verb} not"
            elif words[place] not in self._adverbs:
                return None
            place += 1
        return None

    def _in_sentences(self) -> Iterator[Phrases[str]]:
        """Yield what may follow each form of a verb, for `beginnings`."""
        for form, verb in self._verbs.items():
            said = self._predicates[verb].beginnings
            follow = {*said.alone, *self._adverbs, "not"}
            yield Phrases(
                {(form, word): "" for word in follow} | {(form, *two): "" for two in said.first_two}
            )


def _before_cue(name: str) -> Words:
    return words_of("after" if name in tables()["after"] else "depiction", name)


@cache
def cue_phrases() -> Cues:
    """Return all cues."""
    return Cues(
        {
            tuple(phrase.split()): Cue(
                group["rule"],
                group["reach"],
                group["definite"] == "kept",
                _before_cue(group["after"]) if "after" in group else frozenset(),
                group.get("near", 10),
            )
            for group in tables()["cues"]
            for phrase in group["phrases"]
        }
    )


@cache
def compound_phrases() -> Phrases[list[Compound]]:
    """Return compounds, each with the words in it that name no object there."""
    section = tables()["compounds"]
    patterns = [
        ("part of a compound", forms(word), pattern, True)
        for word, listed in section["words"].items()
        for pattern in listed
    ]
    for kind in section["kinds"]:
        words = kind.get("words", []) + [
            word for name in kind.get("of", ()) for word in section["groups"][name]
        ]
        patterns += [(kind["rule"], words, pattern, True) for pattern in kind["patterns"]]
        patterns += [(kind["rule"], words, pattern, False) for pattern in kind["singular"]]
    compounds: dict[tuple[str, ...], list[Compound]] = {}
    for rule, words, pattern, plural in patterns:
        for word in words:
            star = pattern.split().index("*") + word.count(" ")
            phrase = pattern.replace("*", word)
            for form in forms(phrase) if plural else [phrase]:
                compounds.setdefault(tuple(form.split()), []).append(Compound(star, rule))
    return Phrases(compounds)


def object_phrases(words: Mapping[str, Iterable[str]]) -> Phrases[tuple[str, ...]]:
    """Return the phrases that name classes, each with the classes that it names."""
    pairs = sorted((tuple(phrase.split()), cls) for cls, phrases in words.items() for phrase in phrases)
    return Phrases(
        {phrase: tuple(cls for _, cls in group) for phrase, group in groupby(pairs, lambda pair: pair[0])}
    )


def all_forms(phrases: Iterable[str]) -> list[str]:
    """Return words and phrases as a sentence would hold them, singular and plural."""
    return sorted({form for phrase in phrases for form in forms(" ".join(_normal(phrase)))} - {""})


def spellings(phrases: Iterable[str]) -> list[str]:
    """Return the forms of names; those of two words also as one word: "firehydrant"."""
    known = all_forms(phrases)
    return sorted({*known} | {form.replace(" ", "") for form in known if form.count(" ") == 1})


def _normal(phrase: str) -> list[str]:
    """Return a phrase's words as a sentence would hold them."""
    return [word for sentence in sentences(phrase) for word in sentence.words]


def forms(phrase: str) -> list[str]:
    """Return a phrase with its plurals: of its last word, or of the word before "of" or "in"."""
    head, joint, tail = phrase, "", ""
    for preposition in (" of ", " in "):
        if preposition in phrase:
            head, joint, tail = phrase.partition(preposition)
    before, space, last = head.rpartition(" ")
    return [phrase] + [before + space + plural + joint + tail for plural in _plurals(last)]


def _plurals(word: str) -> list[str]:
    if word in tables()["plurals"]:
        return list(tables()["plurals"][word])
    if word.endswith("child"):
        return [word + "ren"]
    if word.endswith("man"):
        return [word[:-2] + "en"]
    if re.search(r"[^aeiou]y$", word):
        return [word[:-1] + "ies"]
    if re.search(r"(s|x|z|ch|sh)$", word):
        return [word + "es"]
    if word.endswith("o"):
        return [word + "s", word + "es"]
    return [word + "s"] if word else []
