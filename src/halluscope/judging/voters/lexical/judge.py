"""The judge itself, which finds the mentions in a text and asks the rules which of them count."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from halluscope.cores import map_texts
from halluscope.judging import votes as answers
from halluscope.judging.judge import Answered, Pairs
from halluscope.judging.questions import Question
from halluscope.judging.voters.lexical import across, lists, owners, parts, pictures, rules, subjects
from halluscope.judging.voters.lexical.found import Found
from halluscope.judging.voters.lexical.scopes import Scopes, phrase_start
from halluscope.judging.voters.lexical.sentences import Sentence, Spans, quotations, sentences, within
from halluscope.judging.voters.lexical.tables import (
    Cue,
    Phrases,
    Starts,
    all_forms,
    beginnings_of,
    compound_phrases,
    cue_phrases,
    grammar,
    object_phrases,
    readings,
    spellings,
    tables,
    words_of,
)
from halluscope.vocabularies import Vocabulary

RULES_VERSION = 4
"""Raised with every change to these modules that can change a vote; changed tables change the key by themselves."""

TEXTS_A_BATCH = 256

EXCEPTED = Cue("negated", "noun", keeps_definite=False)
TRUTH = Cue("", "ends", keeps_definite=True)


class Mention(NamedTuple):
    """A place where a text names a class.

    Attributes:
        object: the class, by its name in the vocabulary.
        start: where the words begin in the text.
        end: where they end.
        implied: whether the text says that the object is there.
        rule: the rule that takes the mention back, such as "negated"; empty if the object is implied.
    """

    object: str
    start: int
    end: int
    implied: bool
    rule: str = ""


class LexicalJudge:
    """Votes yes if a text mentions a class and no rule takes the mention back.

    Only the class that a question asks about matters, not the question's wording.

    >>> from halluscope import vocabularies
    >>> judge = LexicalJudge(vocabularies.load("coco"))
    >>> [(found.object, found.rule) for found in judge.mentions("A man without a dog waits for the bus.")]
    [('person', ''), ('dog', 'negated'), ('bus', 'hypothetical')]
    """

    stored = False

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._classes = vocabulary.classes
        self._column = {cls: i for i, cls in enumerate(self._classes)}
        self._implied: dict[str, list[int]] = {}  # text -> the numbers of the classes that it implies
        names = {cls: _names(cls) for cls in vocabulary.classes}
        words = {cls: spellings([*names[cls], *vocabulary.mentions.get(cls, ())]) for cls in names}
        self._names = frozenset(form for name in names.values() for form in all_forms(name))
        self._objects = object_phrases(words)
        self._compounds = compound_phrases()
        self._cues = cue_phrases()
        self._inverted = grammar().inverted | grammar().orders
        orders = Phrases({(verb, what): "" for verb in grammar().orders for what in grammar().ordered})
        conditions = Phrases({(verb,): "" for verb in grammar().inverted})
        self._starts = Starts(beginnings_of(self._cues, self._objects, self._compounds, orders, conditions))
        known = json.dumps([words, tables()], sort_keys=True)
        self.key = f"lexical-{RULES_VERSION}-{hashlib.sha256(known.encode()).hexdigest()[:8]}"

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Vote on each pair once; a text is read once for all its questions, also for those of a later call."""
        asked = np.array([self._column[question.object] for question in questions], dtype=np.int64)
        order = np.argsort(pairs[:, 0], kind="stable")
        rows, starts = np.unique(pairs[order, 0], return_index=True)
        ends = np.append(starts[1:], len(order))
        new = list(dict.fromkeys(text for row in rows if (text := texts[row]) not in self._implied))
        reading = zip(new, map_texts(self._columns_in, new), strict=True)
        for first in range(0, len(rows), TEXTS_A_BATCH):
            batch = slice(first, first + TEXTS_A_BATCH)
            present = np.full((len(rows[batch]), len(self._classes)), answers.NO, dtype=np.int8)
            for i, row in enumerate(rows[batch]):
                while texts[row] not in self._implied:
                    self._implied.update([next(reading)])
                present[i, self._implied[texts[row]]] = answers.YES
            places = order[starts[first] : ends[batch][-1]]
            text_of = np.searchsorted(rows[batch], pairs[places, 0])
            yield places, present[text_of, asked[pairs[places, 1]]]

    def _columns_in(self, text: str) -> list[int]:
        """Return the numbers of the classes that a text implies."""
        return sorted({self._column[found.object] for found in self.mentions(text) if found.implied})

    def mentions(self, text: str) -> list[Mention]:
        """Return all mentions in a text, in their order, including those that a rule takes back."""
        quoted = quotations(text)
        found: list[Found] = []
        read: across.Read = []
        for sentence in sentences(text):
            first = len(found)
            self._read(sentence, quoted, found)
            read.append((sentence, found[first:]))
        across.take_back_asked(read)
        across.take_back_listed(read)
        self._look_elsewhere(read, found)
        parts.take_back_parts(found)
        return [
            Mention(cls, mention.start, mention.end, not mention.rule, mention.rule)
            for mention in found
            for cls in mention.classes
        ]

    def explain(self, text: str) -> list[dict[str, str | int | None]]:
        """Return which rule took which mention back.

        Returns:
            One row per mention, in their order: `class`, `start` and `end` (its place in the text), `words` (its words
            in the text), and `taken_back_by` (the rule's name, or None if the mention counts).
        """
        return [
            {
                "class": found.object,
                "start": found.start,
                "end": found.end,
                "words": text[found.start : found.end],
                "taken_back_by": found.rule or None,
            }
            for found in self.mentions(text)
        ]

    def close(self) -> None:
        """Forget the texts that were read."""
        self._implied.clear()

    def _read(self, sentence: Sentence, quoted: Spans, found: list[Found]) -> None:
        """Add the mentions in one sentence, each with the rule that takes it back."""
        words = sentence.words
        places = self._starts.places(words)
        compounds, listed = self._compound_places(words, places), lists.is_list(words)
        reading = _Reading(sentence, quoted, Scopes(words), compounds, found, len(found), listed)
        if sentence.hyphened:
            places = sorted({*places, *(place - 1 for place in sentence.hyphened if place)})
        pictured, end = pictures.opens_picture(words), 0
        for place in places:
            if place < end:
                continue  # inside the previous phrase
            if 0 < pictured <= place:
                reading.scopes.open(pictured, pictures.PICTURE)
                pictured = 0
            end = place + 1
            reading.scopes.move_to(place)
            cue = self._cues.at(words, place)
            named = cue is None or cue[1].reach == "picture"
            if named and (mention := self._named(sentence, place)):
                end = mention[0]
                reading.add(place, end, mention[1])
            if cue and reading.open(place, cue[0], cue[1]):
                end = cue[0]
            elif words[place] in self._inverted and rules.opens_hypothesis(words, place):
                reading.scopes.open(end, rules.HYPOTHESIS)
            reading.scopes.skip_to(end)

    def _named(self, sentence: Sentence, place: int) -> tuple[int, tuple[str, ...]] | None:
        """Return the end and the classes of the longest class name at this place; "surf-board" is "surfboard" too."""
        found = self._objects.at(sentence.words, place)
        if place + 1 in sentence.hyphened and (found is None or found[0] == place + 1):
            classes = self._objects.word("".join(sentence.words[place : place + 2]))
            return found if classes is None else (place + 2, classes)
        return found

    def _compound_places(self, words: list[str], starts: list[int]) -> rules.Places:
        """Map each word that is only part of a compound to the compound's first place, its end, and its rule."""
        places: dict[int, tuple[int, int, str]] = {}
        for first in starts:
            if found := self._compounds.at(words, first):
                for star, rule in found[1]:
                    places.setdefault(first + star, (first, found[0], rule))
        return places

    def _look_elsewhere(self, read: across.Read, found: list[Found]) -> None:
        """Take back mentions that mean something else because of a word anywhere in the text."""
        if not any(" ".join(mention.words) in readings().dependent for mention in found):
            return
        around = {word for sentence, _ in read for word in sentence.words}
        for mention in found:
            if not rules.takes_sense(mention, around):
                mention.rule = mention.rule or rules.meaning_elsewhere(mention.words, around, self._names)


@dataclass
class _Reading:
    """One sentence while it is being read, with the text's mentions so far; the sentence's own begin at `first`."""

    sentence: Sentence
    quoted: Spans
    scopes: Scopes
    compounds: rules.Places
    found: list[Found]
    first: int
    listed: bool
    hedged_at: int = -1

    def open(self, place: int, end: int, cue: Cue) -> bool:
        """Apply a cue to what follows or to what is before it; return whether it is a cue at this place."""
        words = self.sentence.words
        if not pictures.cue_applies(cue, words, place):
            return False
        if within(self.sentence.starts[place], self.quoted):
            return True
        if cue.rule == "quoted" and end < len(words) and within(self.sentence.starts[end], self.quoted):
            return True
        if cue.reach == "ends" and not self.scopes.negated and _all_but(words, place):
            cue = EXCEPTED
        self.scopes.open(end, cue, place)
        self.hedged_at = place if words[place] in words_of("hedges", "of_identity") else -1
        if cue.reach in {"subject", "around"}:
            subjects.take_back_subject(words, self._recent(), place, cue)
        elif cue.reach == "before" and place:
            subjects.take_back_before(words, self._recent(), place, cue)
        elif cue.reach in {"before", "previous"} and self.found and _opens(words, place):
            self._correct(place)
        elif cue.reach == "restored":
            across.give_back(self.found)
        elif cue.reach == "seeming" and self.found:
            across.take_back_seeming(self.found, self.sentence)
            self.scopes.open(end, TRUTH, place)
            if words_of("corrections", "truths").intersection(words[end - 1 : end + 1]):
                subjects.take_back_subject(words, self._recent(), place, cue)
        return True

    def _correct(self, place: int) -> None:
        """Take back what the previous sentence got wrong, or what this sentence got wrong before a break."""
        if len(self.found) == self.first:
            across.take_back_corrected(self.found, self.sentence)
        elif self.sentence.words[place - 1] != ",":
            across.take_back_corrected(self.found, None)
        across.take_back_seeming(self.found, self.sentence)

    def _recent(self) -> list[Found]:
        """Return the sentence's last mentions."""
        return self.found[max(self.first, len(self.found) - across.RECENT) :]

    def add(self, place: int, end: int, classes: tuple[str, ...]) -> None:
        """Add a mention with the first rule that takes it back."""
        words = self.sentence.words
        own = self._recent()[-1:]
        definite = self._definite(place)
        start = phrase_start(words, 0, place)
        rule = (
            rules.compound(self.sentence, place, end, self.compounds)
            or rules.other_reading(words, place, end, own)
            or ("quoted" if within(self.sentence.starts[place], self.quoted) else "")
            or (lists.absent_in_list(self.sentence, place, end) if self.listed else "")
            or pictures.shown_on(words, place, end)
            or pictures.pictured_beside(words, start)
            or owners.belongs_to_nobody(self.sentence, place, end, definite)
            or self._scoped(place, end, definite)
            or rules.modal(words, end, definite)
            or rules.place_of(words, start, end)
        )
        if rule and rules.put_right(self.sentence, place, self.quoted):
            rule = ""
        if own and rules.tells_what_kind(own[-1], words, place):
            own[-1].rule = "part of a compound"
        elif own and (
            (rule in {"part of a compound", "depicted"} and rules.shares_compound(own[-1], place, end))
            or (rule == "depicted" and pictures.shares_surface(own[-1], start, place, end))
        ):
            own[-1].rule = own[-1].rule or rule
        self.found.append(Found(classes, self.sentence, place, end, definite, rule))

    def _scoped(self, place: int, end: int, definite: bool) -> str:
        rule = self.scopes.rule(definite)
        hedged = rule == "hypothetical" and self.hedged_at >= 0
        words, opened = self.sentence.words, self.scopes.opened
        if definite and rule == "hypothetical" and rules.conditions(words, opened, place, end):
            return ""
        return "" if hedged and rules.identity(words, self.hedged_at, opened, place, end) else rule

    def _definite(self, place: int) -> bool:
        """Whether the noun phrase begins with "the", "his", "the man's" and the like."""
        words = self.sentence.words
        start = phrase_start(words, self.scopes.opened, place)
        owners = self.sentence.possessive
        owned = bool(owners) and any(owner in owners for owner in range(start, place))
        return owned or words[start] in grammar().definite


def _opens(words: list[str], place: int) -> bool:
    """Whether a correction begins here, at the start of the sentence or after a break in it."""
    return place == 0 or words[place - 1] in words_of("corrections", "breaks")


def _all_but(words: list[str], place: int) -> bool:
    """Whether "except" follows a word for everything: "all the fruits except bananas"."""
    return any(word in grammar().every for word in words[max(0, place - 12) : place])


def _names(cls: str) -> list[str]:
    """Return the words in a class's name. A name such as "Cabinet/shelf" holds two words for the class."""
    return cls.split("/")
