"""The lexical judge, which uses no model, only word lists and a few rules about the words around a mention.

It reads a text sentence by sentence. Every word or phrase that names a class is a mention. A mention counts unless a
rule takes it back ("no dog", "possibly waiting for a bus", "a bus stop", "orange traffic cones"). A class is present
if one of its mentions counts. The word lists for the classes are in `vocabularies/*.toml`; everything else that the
rules know about English is in `lexical.toml`, next to this module.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from halluscope.cores import map_texts
from halluscope.judging import votes
from halluscope.judging.judge import Answered, Pairs
from halluscope.judging.lexical import across, rules
from halluscope.judging.lexical.cues import Scopes, take_back_before, take_back_subject
from halluscope.judging.lexical.sentences import Candidate, Sentence, Spans, quotations, sentences, within
from halluscope.judging.lexical.tables import (
    CORRECTIONS,
    GRAMMAR,
    HEDGES,
    Cue,
    compound_phrases,
    cue_phrases,
    finder,
    forms,
    object_phrases,
    only_with,
    senses,
    tables,
    unless,
)
from halluscope.judging.questions import Question
from halluscope.vocabularies import Vocabulary

# Raised with every change to these modules that can change a vote; changed tables change the key by themselves
RULES_VERSION = 4

TEXTS_A_BATCH = 256

EXCEPTED = Cue("negated", "noun", keeps_definite=False)
TRUTH = Cue("", "ends", keeps_definite=True)


class Mention(NamedTuple):
    """A place where a text names a class."""

    object: str  # the class, by its name in the vocabulary
    start: int  # where the words begin in the text
    end: int  # where they end
    implied: bool  # whether the text says that the object is there
    rule: str = ""  # the rule that takes the mention back, such as "negated"; "" if the object is implied


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
        names = {
            cls: cls.split("/") for cls in self._classes
        }  # "Cabinet/shelf" holds two words for the class
        words = {cls: _spellings([*names[cls], *vocabulary.mentions.get(cls, ())]) for cls in names}
        self._names = frozenset(form for name in names.values() for form in _all_forms(name))
        self._objects = object_phrases(words)
        self._compounds = compound_phrases()
        self._cues = cue_phrases()
        self._inverted = GRAMMAR.inverted | GRAMMAR.orders
        self._places = finder(
            self._cues.beginnings
            | self._objects.beginnings
            | self._compounds.beginnings
            | {(verb, what) for verb in GRAMMAR.orders for what in GRAMMAR.ordered}
            | {(verb,) for verb in GRAMMAR.inverted}
        )
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
            present = np.full((len(rows[batch]), len(self._classes)), votes.NO, dtype=np.int8)
            for i, row in enumerate(rows[batch]):
                while texts[row] not in self._implied:
                    self._implied.update([next(reading)])
                present[i, self._implied[texts[row]]] = votes.YES
            places = order[starts[first] : ends[batch][-1]]
            text_of = np.searchsorted(rows[batch], pairs[places, 0])
            yield places, present[text_of, asked[pairs[places, 1]]]

    def _columns_in(self, text: str) -> list[int]:
        """Return the numbers of the classes that a text implies."""
        return sorted({self._column[found.object] for found in self.mentions(text) if found.implied})

    def mentions(self, text: str) -> list[Mention]:
        """Return all mentions in a text, in their order, including those that a rule takes back."""
        quoted = quotations(text)
        found: list[Candidate] = []
        read: across.Read = []
        for sentence in sentences(text):
            first = len(found)
            self._read(sentence, quoted, found)
            read.append((sentence, found[first:]))
        across.take_back_asked(read)
        across.take_back_listed(read)
        self._take_back_elsewhere(read, found)
        across.take_back_parts(found)
        return [
            Mention(
                cls, one.sentence.starts[one.place], one.sentence.ends[one.end - 1], not one.rule, one.rule
            )
            for one in found
            for cls in one.classes
        ]

    def explain(self, text: str) -> list[dict[str, str | int | None]]:
        """Return which rule took which mention back.

        Returns:
            One row per mention, in their order: `class`, `start` and `end` (its place in the text), `words` (its words
            in the text), and `taken_back_by` (the rule's name, or None if the mention counts).
        """
        return [
            {
                "class": cls,
                "start": start,
                "end": end,
                "words": text[start:end],
                "taken_back_by": rule or None,
            }
            for cls, start, end, _, rule in self.mentions(text)
        ]

    def close(self) -> None:
        """Forget the texts that were read."""
        self._implied.clear()

    def _read(self, sentence: Sentence, quoted: Spans, found: list[Candidate]) -> None:
        """Add the mentions in one sentence, each with the rule that takes it back."""
        words = sentence.words
        places = self._places(words)
        for first in places:
            if inside := self._compounds.at(words, first):
                for star, rule in inside[1]:
                    sentence.compounds.setdefault(first + star, (first, inside[0], rule))
        reading = _Reading(sentence, quoted, found)
        if sentence.hyphened:
            places = sorted({*places, *(place - 1 for place in sentence.hyphened if place)})
        pictured, end = rules.opens_picture(words), 0
        for place in places:
            if place < end:
                continue  # inside the previous phrase
            if 0 < pictured <= place:
                reading.scopes.open(pictured, rules.PICTURE)
                pictured = 0
            end = place + 1
            reading.scopes.move_to(place)
            cue = self._cues.at(words, place)
            if (cue is None or cue[1].reach == "picture") and (named := self._named(sentence, place)):
                end = named[0]
                reading.add(place, *named)
            if cue and reading.open(place, *cue):
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

    def _take_back_elsewhere(self, read: across.Read, found: list[Candidate]) -> None:
        """Take back mentions that mean something else because of a word anywhere in the text."""
        around: set[str] = set()
        for mention in found:
            word = " ".join(mention.own)
            if word in unless() or word in only_with() or word in senses():
                around = around or {word for sentence, _ in read for word in sentence.words}
                if not rules.takes_sense(mention, around):
                    mention.rule = mention.rule or rules.meaning_elsewhere(word, around, self._names)


class _Reading:
    """One sentence while it is being read, with the text's mentions so far; the sentence's own begin at `first`."""

    def __init__(self, sentence: Sentence, quoted: Spans, found: list[Candidate]) -> None:
        self.sentence, self.words, self.quoted = sentence, sentence.words, quoted
        self.found, self.first, self.scopes = found, len(found), Scopes(sentence.words)
        self.listed = not across.signs_of_lists().isdisjoint(sentence.words)
        self.hedged_at = -1

    def open(self, place: int, end: int, cue: Cue) -> bool:
        """Apply a cue to what follows or to what is before it; return whether it is a cue at this place."""
        words, starts = self.words, self.sentence.starts
        if not rules.cue_applies(cue, words, place):
            return False
        if within(starts[place], self.quoted) or (
            cue.rule == "quoted" and end < len(words) and within(starts[end], self.quoted)
        ):
            return True
        before = words[max(0, place - 12) : place]
        if cue.reach == "ends" and not self.scopes.negated and not GRAMMAR.every.isdisjoint(before):
            cue = EXCEPTED  # "all the fruits except bananas"
        self.scopes.open(end, cue, place)
        self.hedged_at = place if words[place] in HEDGES.of_identity else -1
        if cue.reach in {"subject", "around"}:
            take_back_subject(words, self._recent(), place, cue)
        elif cue.reach == "before" and place:
            take_back_before(words, self._recent(), place, cue)
        elif cue.reach in {"before", "previous"} and self.found:
            if place == 0 or words[place - 1] in CORRECTIONS.breaks:
                # what the previous sentence got wrong, or what this sentence got wrong before a break
                if len(self.found) == self.first:
                    across.take_back_corrected(self.found, self.sentence)
                elif words[place - 1] != ",":
                    across.take_back_corrected(self.found, None)
                across.take_back_seeming(self.found, self.sentence)
        elif cue.reach == "restored":
            across.give_back(self.found)
        elif cue.reach == "seeming" and self.found:
            across.take_back_seeming(self.found, self.sentence)
            self.scopes.open(end, TRUTH, place)
            if not CORRECTIONS.truths.isdisjoint(words[end - 1 : end + 1]):
                take_back_subject(words, self._recent(), place, cue)
        return True

    def _recent(self) -> list[Candidate]:
        """Return the sentence's last mentions."""
        return self.found[max(self.first, len(self.found) - across.RECENT) :]

    def add(self, place: int, end: int, classes: tuple[str, ...]) -> None:
        """Add a mention with the first rule that takes it back."""
        previous = self.found[-1] if len(self.found) > self.first else None
        one = Candidate(self.sentence, place, end, classes, self.scopes.opened, previous)
        quoted = within(self.sentence.starts[place], self.quoted)
        rule = (
            rules.compound(one)
            or rules.other_reading(one)
            or ("quoted" if quoted else "")
            or (across.absent_in_list(one) if self.listed else "")
            or rules.shown_on(one)
            or rules.pictured_beside(one)
            or rules.belongs_to_nobody(one)
            or self._scoped(one)
            or rules.modal(one)
            or rules.place_of(one)
        )
        one.rule = "" if quoted and rules.restates(one) else rule
        if previous and rules.tells_what_kind(previous, one):
            previous.rule = "part of a compound"
        elif previous and (
            (one.rule in {"part of a compound", "depicted"} and rules.shares_compound(previous, one))
            or (one.rule == "depicted" and rules.shares_surface(previous, one))
        ):
            previous.rule = previous.rule or one.rule
        self.found.append(one)

    def _scoped(self, one: Candidate) -> str:
        rule, opened = self.scopes.rule(one.definite), self.scopes.opened
        if rule == "hypothetical" and (
            (one.definite and rules.conditions(one, opened))
            or (self.hedged_at >= 0 and rules.identity(one, self.hedged_at, opened))
        ):
            return ""
        return rule


def _all_forms(phrases: Iterable[str]) -> list[str]:
    """Return words and phrases as a sentence would hold them, singular and plural."""
    normal = (" ".join(word for one in sentences(phrase) for word in one.words) for phrase in phrases)
    return sorted({form for phrase in normal for form in forms(phrase)} - {""})


def _spellings(phrases: Iterable[str]) -> list[str]:
    """Return the forms of names; those of two words also as one word: "firehydrant"."""
    known = _all_forms(phrases)
    return sorted({*known} | {form.replace(" ", "") for form in known if form.count(" ") == 1})
