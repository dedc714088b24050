"""The tables of `lexical.toml`, which hold what the rules know about English, prepared for look-up."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

from halluscope.vocabularies import WordLists, read_toml

Meaning = TypeVar("Meaning")
Words = frozenset[str]
Phrase = tuple[str, ...]


def tables() -> dict[str, Any]:
    """Return the whole of lexical.toml."""
    return read_toml(__file__, "lexical.toml")


ABSENT, CLAUSE, COMPOUNDS, CORRECTIONS, DEPICTION, GRAMMAR, HEDGES, LISTS, PARTS, QUESTIONS, READINGS = (
    WordLists(__file__, "lexical.toml", section)
    for section in (
        *("absent", "clause", "compounds", "corrections", "depiction", "grammar"),
        *("hedges", "lists", "parts", "questions", "readings"),
    )
)


class Phrases(Generic[Meaning]):
    """Phrases to look for at a place in a sentence; the longest one counts.

    `beginnings` holds the first three words of each phrase, or all of a shorter one.
    """

    def __init__(self, meanings: Mapping[Phrase, Meaning]) -> None:
        self._alone = {phrase[0]: meaning for phrase, meaning in meanings.items() if len(phrase) == 1}
        self._after: dict[str, dict[str, list[tuple[list[str], Meaning]]]] = {}
        for phrase in sorted(meanings, key=lambda phrase: (-len(phrase), phrase)):
            if len(phrase) > 1:
                seconds = self._after.setdefault(phrase[0], {})
                seconds.setdefault(phrase[1], []).append((list(phrase), meanings[phrase]))
        self.beginnings = {phrase[:3] for phrase in meanings}

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


@cache
def phrases_of(section: str, name: str) -> Phrases[str]:
    """Return a list of phrases, by its place in lexical.toml; each phrase means itself."""
    return Phrases({tuple(phrase.split()): phrase for phrase in tables()[section][name]})


def finder(beginnings: set[Phrase]) -> Callable[[list[str]], list[int]]:
    """Return what finds the places in a sentence where phrases may begin, much faster than by looking up each word."""
    alone = {phrase[0] for phrase in beginnings if len(phrase) == 1}
    first_two = {phrase[:2] for phrase in beginnings if len(phrase) > 1}

    def places(words: list[str]) -> list[int]:
        return [
            i
            for i, pair in enumerate(zip(words, [*words[1:], ""], strict=True))
            if pair[0] in alone
            or (pair in first_two and (pair in beginnings or (*pair, *words[i + 2 : i + 3]) in beginnings))
        ]

    return places


class Cue(NamedTuple):
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
        self._verbs = {form: listed for listed, forms in verbs["forms"].items() for form in forms}
        self._adverbs = frozenset(verbs["adverbs"])
        predicates: dict[str, dict[Phrase, Cue]] = {listed: {} for listed in verbs["forms"]}
        others = {}
        for phrase, cue in meanings.items():
            verb = " ".join(phrase[: 1 + (phrase[1:2] == ("not",))])
            rest = phrase[1 + verb.count(" ") :]
            if verb in predicates and rest:
                predicates[verb][rest] = cue
                if verb.startswith("is"):
                    predicates[verb.replace("is", "was")].setdefault(rest, cue)
                if phrase[:2] == ("has", "been"):
                    predicates["was"][phrase[2:]] = cue
            else:
                others[phrase] = cue
        super().__init__(others)
        self._predicates = {verb: Phrases(phrases) for verb, phrases in predicates.items()}
        for form, verb in self._verbs.items():
            self.beginnings |= {(form, word) for word in (*self._adverbs, "not")}
            self.beginnings |= {(form, *said[:2]) for said in self._predicates[verb].beginnings}

    def at(self, words: list[str], place: int) -> tuple[int, Cue] | None:
        """Return where the cue at `place` ends, and the cue; a verb may have any form, and adverbs after it."""
        found = super().at(words, place)
        if (verb := self._verbs.get(words[place])) is None:
            return found
        for after in range(place + 1, len(words)):
            if said := self._predicates[verb].at(words, after):
                return max(found, said, key=lambda one: one[0]) if found else said
            if words[after] == "not" and f"{verb} not" in self._predicates:
                verb = f"{verb} not"
            elif words[after] not in self._adverbs:
                break
        return found


@cache
def cue_phrases() -> Cues:
    """Return all cues."""
    carriers = tables()["depiction"] | tables()["after"]
    return Cues(
        {
            tuple(phrase.split()): Cue(
                group["rule"],
                group["reach"],
                group["definite"] == "kept",
                Words(carriers[group["after"]] if "after" in group else ()),
                group.get("near", 10),
            )
            for group in tables()["cues"]
            for phrase in group["phrases"]
        }
    )


@cache
def compound_phrases() -> Phrases[list[tuple[int, str]]]:
    """Return compounds: for each word in them that names no object there, its place in the compound and the rule."""
    section = tables()["compounds"]
    patterns = [
        ("part of a compound", forms(word), pattern, True)
        for word, listed in section["words"].items()
        for pattern in listed
    ]
    for kind in section["kinds"]:
        words = [
            *kind.get("words", ()),
            *(word for of in kind.get("of", ()) for word in section["groups"][of]),
        ]
        patterns += [(kind["rule"], words, pattern, True) for pattern in kind["patterns"]]
        patterns += [(kind["rule"], words, pattern, False) for pattern in kind["singular"]]
    compounds: dict[Phrase, list[tuple[int, str]]] = {}
    for rule, words, pattern, plural in patterns:
        for word in words:
            star = pattern.split().index("*") + word.count(" ")
            phrase = pattern.replace("*", word)
            for form in forms(phrase) if plural else [phrase]:
                compounds.setdefault(tuple(form.split()), []).append((star, rule))
    return Phrases(compounds)


def object_phrases(words: Mapping[str, Iterable[str]]) -> Phrases[Phrase]:
    """Return the phrases that name classes, each with the classes that it names."""
    named: dict[Phrase, Phrase] = {}
    for cls in sorted(words):
        for phrase in map(str.split, words[cls]):
            named[tuple(phrase)] = (*named.get(tuple(phrase), ()), cls)
    return Phrases(named)


def _forms_in(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the forms of the words in a list of groups of the section `readings`, each with its group."""
    for group in tables()["readings"][name]:
        for word in group["words"]:
            yield from ((form, group) for form in forms(word))


@cache
def unless() -> dict[str, list[tuple[Words, Words]]]:
    """Return the words with another meaning if certain words, but not certain others, are in the text."""
    found: dict[str, list[tuple[Words, Words]]] = {}
    for form, group in _forms_in("unless"):
        found.setdefault(form, []).append((Words(group["by"]), Words(group.get("but", ()))))
    return found


@cache
def only_with() -> dict[str, Words]:
    """Return the words with another meaning unless certain words are in the text."""
    found: dict[str, Words] = {}
    for form, group in _forms_in("only_with"):
        found[form] = found.get(form, Words()).union(group["by"])
    return found


@cache
def senses() -> dict[str, tuple[str, Words]]:
    """Return the words that name one class, instead of others, if certain words are in the text."""
    return {form: (group["class"], Words(group["by"])) for form, group in _forms_in("senses")}


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


def at(words: list[str], place: int) -> str:
    """Return the word at a place, or "" outside the sentence."""
    return words[place] if 0 <= place < len(words) else ""


def is_determiner(word: str) -> bool:
    """Whether a word is one such as "the", "his", "a" or "two"."""
    return word in GRAMMAR.definite or word in GRAMMAR.indefinite


def phrase_start(words: list[str], floor: int, place: int) -> int:
    """Return where the noun phrase of the noun at `place` begins: at its determiner, or at its first adjective."""
    floor = max(floor, place - 6)
    for before in range(place - 1, floor - 1, -1):
        word = words[before]
        if is_determiner(word):
            return before
        if (word in GRAMMAR.after_noun and word != "of") or not word[0].isalnum():
            return before + 1
    return min(floor, place)
