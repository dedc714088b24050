"""The tables of `lexical.toml`, which hold what the rules know about English, prepared for look-up."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import chain, product
from typing import Any, Generic, NamedTuple, TypeVar

from halluscope.vocabularies import WordLists, read_toml

Meaning = TypeVar("Meaning")
Words = frozenset[str]
Phrase = tuple[str, ...]


def tables() -> dict[str, Any]:
    """Return the whole of lexical.toml."""
    return read_toml(__file__, "lexical.toml")


(
    ABSENT,
    AFTER,
    CLAUSE,
    COMPOUNDS,
    CORRECTIONS,
    DEPICTION,
    GRAMMAR,
    HEDGES,
    LISTS,
    PARTS,
    QUESTIONS,
    READINGS,
    SPELLING,
) = (
    WordLists(__file__, "lexical.toml", section)
    for section in (
        *("absent", "after", "clause", "compounds", "corrections", "depiction", "grammar"),
        *("hedges", "lists", "parts", "questions", "readings", "spelling"),
    )
)


class Phrases(Generic[Meaning]):
    """Phrases to look for at a place in a sentence; the longest one counts.

    `beginnings` holds the first three words of each phrase, or all of a shorter one: two would find half as many places
    again.
    """

    def __init__(self, meanings: Mapping[Phrase, Meaning]) -> None:
        self.meanings, self.beginnings = meanings, {phrase[:3] for phrase in meanings}
        self._lengths: dict[str, list[int]] = {}  # of the phrases that begin with a word, the longest first
        for first, length in sorted({(phrase[0], -len(phrase)) for phrase in meanings}):
            self._lengths.setdefault(first, []).append(-length)

    def at(self, words: list[str], index: int) -> tuple[int, Meaning] | None:
        """Return where the phrase that begins at `index` ends, and what it means; None without such a phrase."""
        for length in self._lengths.get(words[index], ()):
            phrase = tuple(words[index : index + length])
            if phrase in self.meanings:
                return index + len(phrase), self.meanings[phrase]
        return None


@cache
def phrases_of(section: str, name: str) -> Phrases[str]:
    """Return a list of phrases, by its place in lexical.toml; each phrase means itself."""
    return Phrases({tuple(phrase.split()): phrase for phrase in tables()[section][name]})


def finder(beginnings: set[Phrase]) -> Callable[[list[str]], list[int]]:
    """Return what finds the places in a sentence where phrases may begin, much faster than by looking up each word."""
    alone = {phrase[0] for phrase in beginnings if len(phrase) == 1}
    first_two = {phrase[:2] for phrase in beginnings}

    def indices(words: list[str]) -> list[int]:
        return [
            i
            for i, pair in enumerate(zip(words, [*words[1:], ""], strict=True))
            if pair[0] in alone
            or (pair in first_two and (pair in beginnings or (*pair, *words[i + 2 : i + 3]) in beginnings))
        ]

    return indices


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
            split = 1 + (phrase[1:2] == ("not",))
            verb, rest = " ".join(phrase[:split]), phrase[split:]
            if verb not in predicates or not rest:
                others[phrase] = cue
                continue
            predicates[verb][rest] = cue
            if verb.startswith("is"):
                predicates[verb.replace("is", "was")].setdefault(rest, cue)
            if phrase[:2] == ("has", "been"):
                predicates["was"][phrase[2:]] = cue
        super().__init__(others)
        self._predicates = {verb: Phrases(phrases) for verb, phrases in predicates.items()}
        for form, verb in self._verbs.items():
            after = {(word,) for word in (*self._adverbs, "not")} | self._predicates[verb].beginnings
            self.beginnings |= {(form, *words[:2]) for words in after}

    def at(self, words: list[str], index: int) -> tuple[int, Cue] | None:
        """Return where the cue at `index` ends, and the cue; a verb may have any form, and adverbs after it."""
        found = super().at(words, index)
        verb, after = self._verbs.get(words[index]), index
        while verb and (after := after + 1) < len(words):
            if predicate := self._predicates[verb].at(words, after):
                return predicate if found is None or found[0] < predicate[0] else found
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
    of_words = [
        {"rule": "part of a compound", "words": forms(word), "patterns": patterns, "singular": ()}
        for word, patterns in section["words"].items()
    ]
    compounds: dict[Phrase, list[tuple[int, str]]] = {}
    for kind in (*of_words, *section["kinds"]):
        groups = (section["groups"][name] for name in kind.get("of", ()))
        words = [*kind.get("words", ()), *chain.from_iterable(groups)]
        for pattern, word in product((*kind["patterns"], *kind["singular"]), words):
            star = pattern.split().index("*") + word.count(" ")
            phrase = pattern.replace("*", word)
            for form in forms(phrase) if pattern in kind["patterns"] else [phrase]:
                compounds.setdefault(tuple(form.split()), []).append((star, kind["rule"]))
    for idiom in section["idioms"]:
        phrase = tuple(idiom.split())
        compounds[phrase] = [(star, "part of a compound") for star in range(len(phrase))]
    return Phrases(compounds)


def object_phrases(words: Mapping[str, Iterable[str]]) -> Phrases[Phrase]:
    """Return the phrases that name classes, each with the classes that it names."""
    named: dict[Phrase, Phrase] = {}
    for cls in sorted(words):
        for phrase in map(str.split, words[cls]):
            named[tuple(phrase)] = (*named.get(tuple(phrase), ()), cls)
    return Phrases(named)


@cache
def readings(kind: str) -> dict[str, list[dict[str, Any]]]:
    """Return the forms of the words in a list of groups of the section `readings`, each with its groups."""
    found: dict[str, list[dict[str, Any]]] = {}
    for group in tables()["readings"][kind]:
        for form in (form for word in group["words"] for form in forms(word)):
            found.setdefault(form, []).append(group)
    return found


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
    for ending, plurals in (
        ("child$", ["children"]),
        ("man$", ["men"]),
        ("([^aeiou])y$", [r"\1ies"]),
        ("(s|x|z|ch|sh)$", [r"\1es"]),
        ("o$", ["os", "oes"]),
        ("(.)$", [r"\1s"]),
    ):
        if re.search(ending, word):
            return [re.sub(ending, plural, word) for plural in plurals]
    return []


def at(words: list[str], index: int) -> str:
    """Return the word at a place, or "" outside the sentence."""
    return words[index] if 0 <= index < len(words) else ""


def words_before(words: list[str], index: int, count: int) -> list[str]:
    """Return up to `count` words before a place."""
    return words[max(0, index - count) : index]


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
