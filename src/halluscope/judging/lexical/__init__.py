"""The lexical judge, which uses no model, only word lists and a few rules about the words around a mention.

It reads a text sentence by sentence. Every word or phrase that names a class is a mention. A mention counts unless a
rule takes it back ("no dog", "possibly waiting for a bus", "a bus stop", "orange traffic cones"). A class is present
if one of its mentions counts. The word lists for the classes are in `vocabularies/*.toml`; everything else that the
rules know about English is in `lexical.toml`, next to this module.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from halluscope.cores import map_texts
from halluscope.judging import votes
from halluscope.judging.judge import Answered, Pairs, Voter
from halluscope.judging.lexical import absence, across, rules, spelling
from halluscope.judging.lexical.cues import Reading
from halluscope.judging.lexical.sentences import Candidate, Compound, Sentence, sentences
from halluscope.judging.lexical.tables import (
    GRAMMAR,
    SPELLING,
    Cue,
    PhraseMatch,
    PlaceFinder,
    compound_phrases,
    cue_phrases,
    forms,
    object_phrases,
    tables,
)
from halluscope.judging.questions import Question
from halluscope.vocabularies import Vocabulary

# Raised with every change to these modules that can change a vote; changed tables change the key by themselves
RULES_VERSION = 7

TEXTS_A_BATCH = 256


@dataclass(slots=True)
class Mention:
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
    >>> [(mention.object, mention.rule) for mention in judge.mentions("A man without a dog waits for the bus.")]
    [('person', ''), ('dog', 'negated'), ('bus', 'hypothetical')]
    """

    stored = False

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._classes = vocabulary.classes
        self._column = {cls: column for column, cls in enumerate(self._classes)}
        self._implied: dict[str, list[int]] = {}  # text -> the numbers of the classes that it implies
        names: set[str] = set()  # all forms of the classes' own names
        words = {}  # class -> all spellings of its names, and of other words for it
        for cls in self._classes:
            own_names = cls.split("/")  # "Cabinet/shelf" holds two words for the class
            names |= _all_forms(own_names)
            words[cls] = _spellings(own_names + list(vocabulary.mentions.get(cls, ())))
        self._names = frozenset(names)
        self._meant = _misspellings(words, self._names)
        self._objects = object_phrases(words)
        self._compounds = compound_phrases()
        self._cues = cue_phrases()
        self._inverted = GRAMMAR.inverted | GRAMMAR.orders  # verbs that may open a hypothesis
        # finds the places of a sentence where any of these may begin; all others are passed over
        self._finder = PlaceFinder(
            self._cues.beginnings
            | self._objects.beginnings
            | self._compounds.beginnings
            | {(verb, thing) for verb in GRAMMAR.orders for thing in GRAMMAR.ordered}
            | {(verb,) for verb in GRAMMAR.inverted}
        )
        self._digest = _digest_of(words)

    @property
    def key(self) -> str:
        return f"lexical-{RULES_VERSION}-{self._digest}"

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Vote on each pair once; a text is read once for all its questions, also for those of a later call."""
        columns = np.array([self._column[question.object] for question in questions], dtype=np.int64)
        order = np.argsort(pairs[:, 0], kind="stable")
        rows, starts = np.unique(pairs[order, 0], return_index=True)
        reading = self._read_new([texts[row] for row in rows])
        for indices in np.split(order, starts[TEXTS_A_BATCH::TEXTS_A_BATCH]):
            batch, text_of = np.unique(pairs[indices, 0], return_inverse=True)
            present = np.full((len(batch), len(self._classes)), votes.NO, dtype=np.int8)
            for place, row in enumerate(batch):
                while texts[row] not in self._implied:
                    text, implied = next(reading)
                    self._implied[text] = implied
                present[place, self._implied[texts[row]]] = votes.YES
            yield indices, present[text_of, columns[pairs[indices, 1]]]

    def _read_new(self, texts: Iterable[str]) -> Iterator[tuple[str, list[int]]]:
        """Return the texts that were not read before, each with the numbers of the classes that it implies."""
        unread = []
        for text in dict.fromkeys(texts):
            if text not in self._implied:
                unread.append(text)
        return zip(unread, map_texts(self._columns_in, unread), strict=True)

    def _columns_in(self, text: str) -> list[int]:
        """Return the numbers of the classes that a text implies."""
        implied = set()
        for mention in self.mentions(text):
            if mention.implied:
                implied.add(self._column[mention.object])
        return sorted(implied)

    def mentions(self, text: str) -> list[Mention]:
        """Return all mentions in a text, in their order, including those that a rule takes back."""
        candidates: list[Candidate] = []
        read = list(sentences(text))
        for sentence in read:
            self._read(sentence, candidates)
        across.take_back_asked(read)
        across.take_back_listed(read)
        across.take_back_other_senses(read, candidates, self._names)
        across.take_back_parts(candidates)
        mentions = []
        for candidate in candidates:
            start = candidate.spans[0][0]
            end = candidate.spans[-1][1]
            for cls in candidate.classes:
                mentions.append(Mention(cls, start, end, not candidate.rule, candidate.rule))
        return mentions

    def explain(self, text: str) -> list[dict[str, str | int | None]]:
        """Return which rule took which mention back.

        Returns:
            One row per mention, in their order: `class`, `start` and `end` (its place in the text), `words` (its words
            in the text), and `taken_back_by` (the rule's name, or None if the mention counts).
        """
        return [
            {
                "class": mention.object,
                "start": mention.start,
                "end": mention.end,
                "words": text[mention.start : mention.end],
                "taken_back_by": mention.rule or None,
            }
            for mention in self.mentions(text)
        ]

    def close(self) -> None:
        """Forget the texts that were read."""
        self._implied.clear()

    def _read(self, sentence: Sentence, candidates: list[Candidate]) -> None:
        """Add the mentions in one sentence, each with the rule that takes it back."""
        words = sentence.words
        if not self._meant.keys().isdisjoint(words):
            words[:] = [self._meant.get(word, word) for word in words]
        places = self._finder.places(words)
        self._find_compounds(sentence, places)
        rules.look_for_list(sentence)
        if sentence.hyphened:
            # the second part of a name such as "surf-board" is after a hyphen
            parts = {place - 1 for place in sentence.hyphened if place}
            places = sorted(parts.union(places))
        reading = Reading(sentence, candidates)
        pictured = rules.opens_picture(words)
        missing = absence.opens_absence(words)
        end = 0
        for place in places:
            if place < end:
                continue  # inside the previous phrase
            if 0 < pictured <= place:
                reading.open(pictured, rules.PICTURE)
                pictured = 0
            if 0 < missing <= place:
                reading.open(missing, absence.ABSENCE)
                missing = 0
            end = self._read_at(place, reading)
            reading.skip_to(end)

    def _find_compounds(self, sentence: Sentence, places: Iterable[int]) -> None:
        for start in places:
            match = self._compounds.at(sentence.words, start)
            if match is None:
                continue
            for part in match.meaning:
                compound = Compound(start, match.end, part.rule)
                sentence.compounds.setdefault(start + part.place, compound)

    def _read_at(self, place: int, reading: Reading) -> int:
        """Read what begins at a place, a class name or a cue; return where it ends."""
        words = reading.words
        end = place + 1
        reading.move_to(place)
        cue = self._cue_at(place, reading.sentence)
        if cue is None or cue.meaning.reach == "picture":
            named = self._named(reading.sentence, place)
            if named is not None:
                end = named.end
                reading.add(place, named.end, named.meaning)
        if cue is not None and reading.apply(place, cue.end, cue.meaning):
            return cue.end
        if words[place] in self._inverted and rules.opens_hypothesis(words, place):
            reading.open(end, rules.HYPOTHESIS)
        return end

    def _cue_at(self, place: int, sentence: Sentence) -> PhraseMatch[Cue] | None:
        """Return the cue that begins at a place, unless it ends within a class name that begins in it.

        So "is a toy" is no cue in "there is a toy bear"; but "no" is one in "no parking meters".
        """
        cue = self._cues.at(sentence.words, place)
        if cue is None:
            return None
        for start in range(place + 1, cue.end):
            named = self._named(sentence, start)
            if named is not None and named.end > cue.end:
                alone = self._cues.at([sentence.words[place]], 0)
                return None if alone is None else PhraseMatch(place + 1, alone.meaning)
        return cue

    def _named(self, sentence: Sentence, place: int) -> PhraseMatch[tuple[str, ...]] | None:
        """Return the longest class name at this place; "surf-board" is "surfboard" too."""
        named = self._objects.at(sentence.words, place)
        if place + 1 not in sentence.hyphened:
            return named
        if named is None or named.end == place + 1:
            joined = "".join(sentence.words[place : place + 2])
            classes = self._objects.meanings.get((joined,))
            if classes is not None:
                return PhraseMatch(place + 2, classes)
        return named


def _digest_of(words: dict[str, list[str]]) -> str:
    """Return eight hexadecimal digits that depend on the words for the classes and on all tables."""
    import hashlib

    known = json.dumps([words, tables()], sort_keys=True)
    return hashlib.sha256(known.encode()).hexdigest()[:8]


def _spellings(phrases: Iterable[str]) -> list[str]:
    """Return the forms of names; those of two words also as one word: "firehydrant"."""
    spellings = _all_forms(phrases)
    for form in list(spellings):
        if form.count(" ") == 1:
            spellings.add(form.replace(" ", ""))
    return sorted(spellings)


def _all_forms(phrases: Iterable[str]) -> set[str]:
    """Return words and phrases as a sentence would hold them, singular and plural."""
    all_forms: set[str] = set()
    for phrase in phrases:
        words = []
        for sentence in sentences(phrase):
            words += sentence.words
        if words:
            all_forms.update(forms(" ".join(words)))
    return all_forms


def _misspellings(words: dict[str, list[str]], names: frozenset[str]) -> dict[str, str]:
    """Return words that a mistyped letter makes of long words for the classes, each with the word that is meant."""
    known: set[str] = set()
    for phrases in words.values():
        known.update(phrases)
    long = names | (SPELLING.as_usual & known)
    meant = {}
    for typed, word in (spelling.misspellings(sorted(long)) | spelling.common()).items():
        if word in known and typed not in known:
            meant[typed] = word
    return meant
