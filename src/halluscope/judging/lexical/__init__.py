"""The lexical judge, which uses no model, only word lists and a few rules about the words around a mention.

It reads a text sentence by sentence. Every word or phrase that names a class is a mention. A mention counts unless a
rule takes it back ("no dog", "possibly waiting for a bus", "a bus stop", "orange traffic cones"). A class is present
if one of its mentions counts. The word lists for the classes are in `vocabularies/*.toml`; everything else that the
rules know about English is in `lexical.toml`, next to this module.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from halluscope.cores import map_texts
from halluscope.judging import votes
from halluscope.judging.judge import Answered, Pairs, Voter
from halluscope.judging.lexical import absence, across, rules, spelling
from halluscope.judging.lexical.cues import Reading
from halluscope.judging.lexical.sentences import Candidate, Sentence, sentences
from halluscope.judging.lexical.tables import (
    GRAMMAR,
    SPELLING,
    compound_phrases,
    cue_phrases,
    finder,
    forms,
    object_phrases,
    tables,
)
from halluscope.judging.questions import Question
from halluscope.vocabularies import Vocabulary

# Raised with every change to these modules that can change a vote; changed tables change the key by themselves
RULES_VERSION = 5

TEXTS_A_BATCH = 256


class Mention(NamedTuple):
    """A place where a text names a class."""

    object: str  # the class, by its name in the vocabulary
    start: int  # where the words begin in the text
    end: int  # where they end
    implied: bool  # whether the text says that the object is there
    rule: str = ""  # the rule that takes the mention back, such as "negated"; "" if the object is implied


class LexicalJudge(Voter):
    """Votes yes if a text mentions a class and no rule takes the mention back.

    Only the class that a question asks about matters, not the question's wording.

    >>> from halluscope import vocabularies
    >>> judge = LexicalJudge(vocabularies.load("coco"))
    >>> [(found.object, found.rule) for found in judge.mentions("A man without a dog waits for the bus.")]
    [('person', ''), ('dog', 'negated'), ('bus', 'hypothetical')]
    """

    stored = False

    def __init__(self, vocabulary: Vocabulary) -> None:
        import hashlib

        self._classes = vocabulary.classes
        self._column = {cls: i for i, cls in enumerate(self._classes)}
        self._implied: dict[str, list[int]] = {}  # text -> the numbers of the classes that it implies
        # "Cabinet/shelf" holds two words for the class
        names = {cls: cls.split("/") for cls in self._classes}
        words = {cls: _spellings([*names[cls], *vocabulary.mentions.get(cls, ())]) for cls in names}
        self._names = frozenset().union(*map(_all_forms, names.values()))
        self._meant = _misspellings(words, self._names)
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
        self._digest = hashlib.sha256(known.encode()).hexdigest()[:8]

    @property
    def key(self) -> str:
        return f"lexical-{RULES_VERSION}-{self._digest}"

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Vote on each pair once; a text is read once for all its questions, also for those of a later call."""
        asked = np.array([self._column[question.object] for question in questions], dtype=np.int64)
        order = np.argsort(pairs[:, 0], kind="stable")
        rows, starts = np.unique(pairs[order, 0], return_index=True)
        new = list(dict.fromkeys(text for row in rows if (text := texts[row]) not in self._implied))
        reading = zip(new, map_texts(self._columns_in, new), strict=True)
        for indices in np.split(order, starts[TEXTS_A_BATCH::TEXTS_A_BATCH]):
            batch, text_of = np.unique(pairs[indices, 0], return_inverse=True)
            present = np.full((len(batch), len(self._classes)), votes.NO, dtype=np.int8)
            for i, row in enumerate(batch):
                while texts[row] not in self._implied:
                    self._implied.update([next(reading)])
                present[i, self._implied[texts[row]]] = votes.YES
            yield indices, present[text_of, asked[pairs[indices, 1]]]

    def _columns_in(self, text: str) -> list[int]:
        """Return the numbers of the classes that a text implies."""
        return sorted({self._column[found.object] for found in self.mentions(text) if found.implied})

    def mentions(self, text: str) -> list[Mention]:
        """Return all mentions in a text, in their order, including those that a rule takes back."""
        found: list[Candidate] = []
        read = [*sentences(text)]
        for sentence in read:
            self._read(sentence, found)
        across.take_back_asked(read)
        across.take_back_listed(read)
        across.take_back_other_senses(read, found, self._names)
        across.take_back_parts(found)
        return [
            Mention(cls, mention.spans[0][0], mention.spans[-1][1], not mention.rule, mention.rule)
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

    def _read(self, sentence: Sentence, found: list[Candidate]) -> None:
        """Add the mentions in one sentence, each with the rule that takes it back."""
        words = sentence.words
        if not self._meant.keys().isdisjoint(words):
            words[:] = [self._meant.get(word, word) for word in words]
        indices = self._places(words)
        for first in indices:
            if inside := self._compounds.at(words, first):
                for star, rule in inside[1]:
                    sentence.compounds.setdefault(first + star, (first, inside[0], rule))
        reading = Reading(sentence, found)
        if sentence.hyphened:
            indices = sorted({*indices, *(index - 1 for index in sentence.hyphened if index)})
        pictured, end = rules.opens_picture(words), 0
        missing = absence.opens_absence(words)
        for index in indices:
            if index < end:
                continue  # inside the previous phrase
            if 0 < pictured <= index:
                reading.open(pictured, rules.PICTURE)
                pictured = 0
            if 0 < missing <= index:
                reading.open(missing, absence.ABSENCE)
                missing = 0
            end = index + 1
            reading.move_to(index)
            cue = self._cues.at(words, index)
            if cue and self._cuts_name(sentence, index, cue[0]):
                alone = self._cues.at([words[index]], 0)  # "no" in "no parking meters"
                cue = (index + 1, alone[1]) if alone else None
            if (cue is None or cue[1].reach == "picture") and (named := self._named(sentence, index)):
                end = named[0]
                reading.add(index, *named)
            if cue and reading.apply(index, *cue):
                end = cue[0]
            elif words[index] in self._inverted and rules.opens_hypothesis(words, index):
                reading.open(end, rules.HYPOTHESIS)
            reading.skip_to(end)

    def _cuts_name(self, sentence: Sentence, begun: int, end: int) -> bool:
        """Whether a phrase ends within a class name that begins in it: "is a toy" in "there is a toy bear"."""
        for index in range(begun + 1, end):
            named = self._named(sentence, index)
            if named is not None and named[0] > end:
                return True
        return False

    def _named(self, sentence: Sentence, index: int) -> tuple[int, tuple[str, ...]] | None:
        """Return the end and the classes of the longest class name at this place; "surf-board" is "surfboard" too."""
        found = self._objects.at(sentence.words, index)
        if index + 1 in sentence.hyphened and (found is None or found[0] == index + 1):
            classes = self._objects.meanings.get(("".join(sentence.words[index : index + 2]),))
            return found if classes is None else (index + 2, classes)
        return found


def _all_forms(phrases: Iterable[str]) -> set[str]:
    """Return words and phrases as a sentence would hold them, singular and plural."""
    normal = (" ".join(word for one in sentences(phrase) for word in one.words) for phrase in phrases)
    return {form for phrase in normal if phrase for form in forms(phrase)}


def _misspellings(words: dict[str, list[str]], names: frozenset[str]) -> dict[str, str]:
    """Return words that a mistyped letter makes of long words for the classes, each with the word that is meant."""
    known = {word for phrases in words.values() for word in phrases}
    long = names | (SPELLING.as_usual & known)
    meant = spelling.misspellings(sorted(long)) | spelling.common()
    return {typed: word for typed, word in meant.items() if typed not in known and word in known}


def _spellings(phrases: Iterable[str]) -> list[str]:
    """Return the forms of names; those of two words also as one word: "firehydrant"."""
    known = _all_forms(phrases)
    return sorted(known | {form.replace(" ", "") for form in known if form.count(" ") == 1})
