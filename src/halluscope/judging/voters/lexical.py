"""The lexical judge: no model, only word lists and a few rules about the words around a mention.

It reads a text sentence by sentence. Every word or phrase that names a class is a mention; a mention counts
unless a rule takes it back ("no dog", "possibly waiting for a bus", "a bus stop", "orange traffic cones").
A class is present if one of its mentions counts. The word lists stand in `vocabularies/*.toml`, everything
else that the rules know of English in `lexical.toml` beside this module.
"""

import hashlib
import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import groupby
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from halluscope.judging import votes as answers
from halluscope.judging.questions import Question
from halluscope.judging.voter import Answered, Pairs
from halluscope.vocabularies import Vocabulary

RULES_VERSION = 1
"""Raised by every change to this module that can move an answer; changed tables show in the key by themselves."""

TEXTS_A_BATCH = 256

Meaning = TypeVar("Meaning")


@dataclass(frozen=True)
class Mention:
    """A place where a text names a class.

    Attributes:
        object: the class, by its name in the vocabulary.
        start: where the words begin in the text.
        end: where they end.
        implied: whether the text says that the object is there.
        rule: why not, such as "negated"; empty if it is implied.
    """

    object: str
    start: int
    end: int
    implied: bool
    rule: str = ""


class LexicalJudge:
    """Answers yes where a text mentions a class and no rule takes the mention back.

    The question's wording plays no part, only the class that it asks about.

    >>> from halluscope import vocabularies
    >>> judge = LexicalJudge(vocabularies.load("coco"))
    >>> [(found.object, found.rule) for found in judge.mentions("A man without a dog waits for the bus.")]
    [('person', ''), ('dog', 'negated'), ('bus', 'hypothetical')]
    """

    stored = False

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._classes = vocabulary.classes
        names = {cls: _names(cls) for cls in vocabulary.classes}
        words = {cls: _all_forms([*names[cls], *vocabulary.mentions.get(cls, ())]) for cls in names}
        self._names = frozenset(form for name in names.values() for form in _all_forms(name))
        self._objects = _object_phrases(words)
        self._compounds = _compound_phrases()
        self._cues = _cue_phrases()
        tables = json.dumps([words, _tables()], sort_keys=True)
        self.key = f"lexical-{RULES_VERSION}-{hashlib.sha256(tables.encode()).hexdigest()[:8]}"

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Answer each pair once; a text is read once for all of its questions."""
        column = {cls: i for i, cls in enumerate(self._classes)}
        asked = np.array([column[question.object] for question in questions], dtype=np.int64)
        order = np.argsort(pairs[:, 0], kind="stable")
        rows, starts = np.unique(pairs[order, 0], return_index=True)
        ends = np.append(starts[1:], len(order))
        for first in range(0, len(rows), TEXTS_A_BATCH):
            batch = slice(first, first + TEXTS_A_BATCH)
            present = np.full((len(rows[batch]), len(self._classes)), answers.NO, dtype=np.int8)
            for i, row in enumerate(rows[batch]):
                implied = [column[found.object] for found in self.mentions(texts[row]) if found.implied]
                present[i, implied] = answers.YES
            places = order[starts[first] : ends[batch][-1]]
            text_of = np.searchsorted(rows[batch], pairs[places, 0])
            yield places, present[text_of, asked[pairs[places, 1]]]

    def mentions(self, text: str) -> list[Mention]:
        """All the mentions in a text, in their order, with those that a rule takes back."""
        quotations = _quotations(text)
        sentences = list(_sentences(text))
        found = [mention for sentence in sentences for mention in self._read(sentence, quotations)]
        if any(word in _readings().dependent for mention in found for word in mention.words):
            around = {word for sentence in sentences for word in sentence.words}
            for mention in found:
                mention.rule = mention.rule or _meaning_elsewhere(mention.words, around, self._names)
        return [
            Mention(cls, mention.start, mention.end, not mention.rule, mention.rule)
            for mention in found
            for cls in mention.classes
        ]

    def close(self) -> None:
        """Nothing to free."""

    def _read(self, sentence: "_Sentence", quotations: list[tuple[int, int]]) -> list["_Found"]:
        """The mentions in one sentence, each with what the words around it do to it."""
        words = sentence.words
        compounds = self._compound_places(words)
        scopes = _Scopes(words)
        found: list[_Found] = []
        place = 0
        while place < len(words):
            end = place + 1
            scopes.move_to(place)
            if cue := self._cues.at(words, place):
                end, meaning = cue
                if not _within(sentence.starts[place], quotations):
                    scopes.open(end, meaning)
                    if meaning.reach == "subject":
                        _take_back_subject(words, found, place, meaning.rule)
            elif mention := self._objects.at(words, place):
                end, classes = mention
                definite = _definite(sentence, scopes.opened, place)
                rule = (
                    _compound(sentence, place, end, compounds)
                    or _other_reading(words, place, end, found)
                    or ("quoted" if _within(sentence.starts[place], quotations) else "")
                    or ("asked" if sentence.asked else "")
                    or scopes.rule(definite)
                    or _modal(words, end, definite)
                )
                if found and _tells_what_kind(found[-1], words, place):
                    found[-1].rule = "part of a compound"
                found.append(_Found(classes, sentence, place, end, rule))
            place = end
        return found

    def _compound_places(self, words: list[str]) -> dict[int, tuple[int, int]]:
        """Place of a word -> the compound that it is no object in, from its first word to past its last."""
        places: dict[int, tuple[int, int]] = {}
        for first in range(len(words)):
            if compound := self._compounds.at(words, first):
                end, star = compound
                places.setdefault(first + star, (first, end))
        return places


# What is read.


@dataclass
class _Sentence:
    """A sentence's words and marks, in lowercase, with their places in the text.

    Attributes:
        possessive: the places in `words` of words that had an "'s".
        hyphened: the places of words right after a hyphen.
        asked: whether it ends in a question mark.
    """

    words: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    possessive: set[int] = field(default_factory=set)
    hyphened: set[int] = field(default_factory=set)
    asked: bool = False


@dataclass
class _Found:
    """A mention while its text is read: the words of a sentence from `place` to before `place_after`."""

    classes: tuple[str, ...]
    sentence: _Sentence
    place: int
    place_after: int
    rule: str

    @property
    def words(self) -> list[str]:
        return self.sentence.words[self.place : self.place_after]

    @property
    def start(self) -> int:
        return self.sentence.starts[self.place]

    @property
    def end(self) -> int:
        return self.sentence.ends[self.place_after - 1]


# A line break ends a sentence unless the next line goes on in lowercase.
_TOKEN = re.compile(
    r"(?P<word>\d+(?:[.,]\d+)+|[^\W_]+(?:['’][^\W_]+)*)"
    r"|(?P<stop>[.!?]|\n(?![^\S\n]*[a-z]))"
    r"|(?P<mark>[,;:()\[\]—–]|(?<=\s)-+(?=\s))"
)
_QUOTATION = re.compile(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|(?<!\w)['‘][^'’\n]{1,80}['’](?!\w)")


def _sentences(text: str) -> Iterator[_Sentence]:
    sentence = _Sentence()
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "stop":
            sentence.asked = token.group() == "?"
            if sentence.words:
                yield sentence
            sentence = _Sentence()
            continue
        word = token.group().lower().replace("’", "'")
        if word.endswith("'s"):
            word = word[:-2]
            sentence.possessive.add(len(sentence.words))
        if text[token.start() - 1 : token.start()] == "-":
            sentence.hyphened.add(len(sentence.words))
        sentence.words.append("-" if word.startswith("-") else word)
        sentence.starts.append(token.start())
        sentence.ends.append(token.end())
    if sentence.words:
        yield sentence


def _quotations(text: str) -> list[tuple[int, int]]:
    """Words shown or said, such as those on a sign; a quotation that opens a sentence is the description itself."""
    return [
        found.span()
        for found in _QUOTATION.finditer(text)
        if text[max(0, found.start() - 3) : found.start()].rstrip()[-1:] not in {"", ".", "!", "?"}
    ]


def _within(start: int, spans: list[tuple[int, int]]) -> bool:
    nearest = bisect_right(spans, (start, start)) - 1
    return nearest >= 0 and start < spans[nearest][1]


# What the words around a mention do to it. Each rule gives its name, or "" where it does not apply.


class _Cue(NamedTuple):
    """A phrase that takes back what is said around it; lexical.toml explains the three."""

    rule: str
    reach: str
    keeps_definite: bool


class _Scopes:
    """The cues in force at a place in a sentence: one that reaches to the clause's end, one for the next noun.

    Attributes:
        opened: the place after the last cue.
    """

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._clause: _Cue | None = None
        self._noun: _Cue | None = None
        self.opened = 0

    def open(self, place: int, cue: _Cue) -> None:
        """Put a cue in force from the word at `place` on."""
        if cue.reach in {"clause", "ends"}:
            self._clause = self._noun = None
        if cue.reach == "clause":
            self._clause = cue
        elif cue.reach == "noun":
            self._noun = cue
        self.opened = place

    def move_to(self, place: int) -> None:
        """Close what ends at this word."""
        if not (self._clause or self._noun):
            return
        if place == self.opened:
            # "Perhaps, there is ..." goes on; "No, there is ..." does not.
            ends = self._words[place] == "," and self._clause is not None and self._clause.rule == "negated"
        else:
            ends = self._ends_clause(place)
        if ends:
            self._clause = self._noun = None
        elif place != self.opened and self._ends_noun(place):
            self._noun = None

    def rule(self, definite: bool) -> str:
        """What the cues in force do to a mention."""
        for cue in (self._clause, self._noun):
            if cue and not (definite and cue.keeps_definite):
                return cue.rule
        return ""

    def _ends_clause(self, place: int) -> bool:
        word = self._words[place]
        following = self._words[place + 1 : place + 2]
        if word == ",":
            return not _list_goes_on(self._words, place)
        if word in {"and", "as"} and following:
            negated = self._clause is not None and self._clause.rule == "negated"
            return following[0] in _grammar().opens_clause or (negated and following[0].endswith("ing"))
        return word in _grammar().ends_clause

    def _ends_noun(self, place: int) -> bool:
        word = self._words[place]
        return word.endswith("ing") or (word in _grammar().after_noun and word not in {"and", "or", "nor"})


def _list_goes_on(words: list[str], comma: int) -> bool:
    """Whether a list goes on: "no dogs, cats, or people"; or examples follow: "no animals, such as dogs"."""
    if words[comma + 1 : comma + 2] and words[comma + 1] in _grammar().examples:
        return True
    for word in words[comma + 1 : comma + 25]:
        if word in {"or", "nor"}:
            return True
        if word in _grammar().not_in_list:
            return False
    return False


def _take_back_subject(words: list[str], found: list[_Found], cue: int, rule: str) -> None:
    """Mark the mentions that end right before the cue, if they open its clause: "Dogs and cats are not visible"."""
    end = cue
    subject = []
    for mention in reversed(found):
        if mention.place_after != end:
            return
        subject.append(mention)
        start = _phrase_start(words, 0, mention.place)
        if start == 0 or words[start - 1] in _grammar().ends_clause:
            break
        if words[start - 1] not in {"and", "or", ","}:
            return
        end = start - 1
    for mention in subject:
        mention.rule = mention.rule or rule


def _phrase_start(words: list[str], floor: int, place: int) -> int:
    """Where the noun phrase begins whose noun stands at `place`: its determiner, or its first adjective."""
    floor = max(floor, place - 6)
    for before in range(place - 1, floor - 1, -1):
        word = words[before]
        if word in _grammar().definite or word in _grammar().indefinite:
            return before
        if (word in _grammar().after_noun and word != "of") or not word[0].isalnum():
            return before + 1
    return min(floor, place)


def _definite(sentence: _Sentence, floor: int, place: int) -> bool:
    """Whether the noun phrase begins with "the", "his", "the man's" and the like."""
    start = _phrase_start(sentence.words, floor, place)
    possessive = any(before in sentence.possessive for before in range(start, place))
    return possessive or sentence.words[start] in _grammar().definite


def _compound(sentence: _Sentence, place: int, end: int, compounds: Mapping[int, tuple[int, int]]) -> str:
    """Whether a mention is only part of another thing's name: "bus stop", "toy car", "cat-shaped"."""
    if end - 1 in sentence.possessive and sentence.words[end - 1] not in _grammar().possessive:
        return ""
    before = sentence.words[place - 1] if place else ""
    after = sentence.words[end] if end < len(sentence.words) else ""
    inside = compounds.get(end - 1) or compounds.get(place)
    part = inside and (inside[0] < place or inside[1] > end)
    likeness = before in _grammar().before_any or after in _grammar().after_any
    hyphened = end in sentence.hyphened and after in _grammar().after_hyphen
    return "part of a compound" if part or likeness or hyphened else ""


def _tells_what_kind(mention: _Found, words: list[str], place: int) -> bool:
    """Whether a mention belongs to the one at `place`: "baby elephant" (but not "a child skiing down")."""
    adjacent = mention.place_after == place and mention.words[-1] in _grammar().before_object
    return adjacent and not words[place].endswith("ing") and words[place] not in _grammar().after_noun


def _other_reading(words: list[str], place: int, end: int, found: list[_Found]) -> str:
    """Whether a word that can be a noun is something else here: "an orange sign", "a remote area", "to tie"."""
    word = words[place]
    before = words[place - 1] if place else ""
    if end - place > 1:
        return ""
    if word in _readings().verbs.get(before, ()):
        return "another meaning"
    if word not in _readings().adjectives:
        return ""
    after, then = [*words[end : end + 2], "", ""][:2]
    noun_ends = after in _grammar().after_noun or after in _grammar().participles or not after[:1].isalnum()
    determiner = words[_phrase_start(words, 0, place)]
    determined = determiner in _grammar().definite or determiner in _grammar().indefinite
    in_list = before in {",", "and", "or"} and bool(found) and found[-1].place_after >= place - 2
    color = before in _grammar().colors or (after in {"and", "or", ","} and then in _grammar().colors)
    return "" if noun_ends and (determined or in_list) and not color else "another meaning"


def _modal(words: list[str], end: int, definite: bool) -> str:
    """Whether an indefinite mention only may do something: "where people can sit" (but not "people can be seen")."""
    modal = words[end] if words[end : end + 1] and words[end] in _grammar().modals else ""
    then = words[end + 1 : end + 4]
    there = "be" in then and (modal == "can" or any(word in _grammar().seen for word in then))
    return "hypothetical" if modal and not there and not definite else ""


def _meaning_elsewhere(mention: list[str], around: set[str], names: frozenset[str]) -> str:
    """Whether the rest of the text gives a word another meaning: after "teddy bear", "the bear" is one.

    A word that is a class's own name needs no support by the text.
    """
    word = mention[0] if len(mention) == 1 else ""
    taken = _readings().unless.get(word, frozenset()) & around
    alone = word not in names and word in _readings().only_with and not _readings().only_with[word] & around
    return "another meaning" if taken or alone else ""


# The tables.


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("lexical.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class _Grammar:
    """The word lists of lexical.toml's sections `clause`, `grammar` and `compounds`, by their names there."""

    ends_clause: frozenset[str]
    opens_clause: frozenset[str]
    examples: frozenset[str]
    not_in_list: frozenset[str]
    definite: frozenset[str]
    indefinite: frozenset[str]
    after_noun: frozenset[str]
    participles: frozenset[str]
    colors: frozenset[str]
    seen: frozenset[str]
    modals: frozenset[str]
    before_any: frozenset[str]
    after_any: frozenset[str]
    after_hyphen: frozenset[str]
    before_object: frozenset[str]
    possessive: frozenset[str]


@cache
def _grammar() -> _Grammar:
    sections = (_tables()[name] for name in ("clause", "grammar", "compounds"))
    lists = {
        name: words for section in sections for name, words in section.items() if isinstance(words, list)
    }
    return _Grammar(**{name: frozenset(words) for name, words in lists.items()})


@dataclass(frozen=True)
class _Readings:
    """The section `readings` of lexical.toml: word -> the words that decide on its meaning."""

    adjectives: frozenset[str]
    verbs: Mapping[str, frozenset[str]]
    unless: Mapping[str, frozenset[str]]
    only_with: Mapping[str, frozenset[str]]
    dependent: frozenset[str]


@cache
def _readings() -> _Readings:
    readings = _tables()["readings"]
    unless, only_with = _by_word(readings["unless"]), _by_word(readings["only_with"])
    return _Readings(
        adjectives=frozenset(readings["adjectives"]),
        verbs={before: frozenset(words) for before, words in readings["verbs"].items()},
        unless=unless,
        only_with=only_with,
        dependent=frozenset(unless | only_with),
    )


def _by_word(groups: list[dict[str, list[str]]]) -> dict[str, frozenset[str]]:
    return {
        form: frozenset(group["by"]) for group in groups for word in group["words"] for form in _forms(word)
    }


class _Phrases(Generic[Meaning]):
    """Phrases that are looked for at a place in a sentence; the longest one counts."""

    def __init__(self, meanings: Mapping[tuple[str, ...], Meaning]) -> None:
        longest_first = sorted(meanings, key=lambda phrase: (-len(phrase), phrase))
        self._after: dict[str, list[tuple[list[str], Meaning]]] = {}
        for phrase in longest_first:
            self._after.setdefault(phrase[0], []).append((list(phrase), meanings[phrase]))

    def at(self, words: list[str], place: int) -> tuple[int, Meaning] | None:
        """Where the phrase that begins at `place` ends, and what it means."""
        for phrase, meaning in self._after.get(words[place], ()):
            end = place + len(phrase)
            if words[place:end] == phrase:
                return end, meaning
        return None


def _names(cls: str) -> list[str]:
    """What a class name names. A name such as "Cabinet/shelf" is two words for it."""
    return cls.split("/")


def _all_forms(phrases: Iterable[str]) -> list[str]:
    """Words and phrases as a sentence would hold them, singular and plural."""
    return sorted({form for phrase in phrases for form in _forms(" ".join(_normal(phrase)))} - {""})


def _normal(phrase: str) -> list[str]:
    """A phrase's words as a sentence would hold them."""
    return [word for sentence in _sentences(phrase) for word in sentence.words]


def _object_phrases(words: Mapping[str, Iterable[str]]) -> _Phrases[tuple[str, ...]]:
    pairs = sorted((tuple(phrase.split()), cls) for cls, phrases in words.items() for phrase in phrases)
    return _Phrases(
        {phrase: tuple(cls for _, cls in group) for phrase, group in groupby(pairs, lambda pair: pair[0])}
    )


@cache
def _compound_phrases() -> _Phrases[int]:
    """Phrases, each with the place in it of the word that is no object there."""
    compounds: dict[tuple[str, ...], int] = {}
    for word, patterns in _tables()["compounds"]["words"].items():
        for pattern in patterns:
            star = pattern.split().index("*")
            for form in _forms(word):
                compounds |= {tuple(phrase.split()): star for phrase in _forms(pattern.replace("*", form))}
    return _Phrases(compounds)


@cache
def _cue_phrases() -> _Phrases[_Cue]:
    return _Phrases(
        {
            tuple(phrase.split()): _Cue(group["rule"], group["reach"], group["definite"] == "kept")
            for group in _tables()["cues"]
            for phrase in group["phrases"]
        }
    )


def _forms(phrase: str) -> list[str]:
    """A phrase with its plurals: of its last word, or of what stands before "of" or "in"."""
    head, joint, tail = phrase, "", ""
    for preposition in (" of ", " in "):
        if preposition in phrase:
            head, joint, tail = phrase.partition(preposition)
    before, space, last = head.rpartition(" ")
    return [phrase] + [before + space + plural + joint + tail for plural in _plurals(last)]


def _plurals(word: str) -> list[str]:
    if word in _tables()["plurals"]:
        return list(_tables()["plurals"][word])
    if word.endswith("man"):
        return [word[:-2] + "en"]
    if re.search(r"[^aeiou]y$", word):
        return [word[:-1] + "ies"]
    if re.search(r"(s|x|z|ch|sh)$", word):
        return [word + "es"]
    if word.endswith("o"):
        return [word + "s", word + "es"]
    return [word + "s"] if word else []
