"""Finds what a cue is about that comes before it: the subject of the cue's clause, or the mention right before."""

from bisect import bisect_left
from functools import cached_property

from halluscope.judging.lexical import clauses
from halluscope.judging.lexical.sentences import Candidate, Sentence
from halluscope.judging.lexical.tables import CLAUSE, GRAMMAR, Cue, at

# The most mentions before a cue that the cue may refer to
RECENT = 40


class Subjects:
    """The subjects of a sentence while it is being read: its words, and its mentions so far."""

    def __init__(self, sentence: Sentence) -> None:
        self._sentence = sentence
        self._words = sentence.words
        self._mentions = sentence.mentions
        self._barrier = -1  # the last place, before `_barriers_until`, of a word that no subject goes beyond
        self._barriers_until = 0

    def of(self, index: int, cue: Cue) -> list[Candidate]:
        """Return the subject of the clause that the cue ends: "Dogs and cats are absent", "a dog, which is gone"."""
        before = at(self._words, index - 1)
        if before == "and":
            return self._first_subject(index - 1)
        if before == "," and cue.rule == "negated":
            owner = self._before_aside(index - 1)
            if owner:
                return owner
        if before in {"which", "that", "who"}:
            end = index - 1
            if at(self._words, end - 1) == ",":
                end -= 1
            return self.nearest(end, cue)
        return self._head(index) or self._adjacent(index) or self._joined(index)

    def nearest(self, end: int, cue: Cue) -> list[Candidate]:
        """Return the mentions that end at `end`, anywhere in a sentence: "a sign with a horse painted on it"."""
        mentions = self._mentions[-RECENT:]
        corrects = cue.rule == "corrected"
        if corrects and self._words[end] in {",", "("} and mentions and mentions[-1].end != end:
            # "A cup stands there, or rather a jar"
            last = mentions[-1]
            return [last] if not last.definite and end - last.end <= 5 else []
        nearest = []
        for mention in reversed(mentions):
            if mention.end != end:
                break
            nearest.append(mention)
            if corrects or mention.before_phrase not in {"and", "or"}:
                break
            end = mention.start - 1
        return nearest

    def start_of_clause(self, index: int) -> int:
        """Return where the clause with the word at a place begins."""
        ends_before = bisect_left(self._clause_ends, index)
        if ends_before == 0:
            return 0
        return self._clause_ends[ends_before - 1] + 1

    @cached_property
    def _clause_ends(self) -> list[int]:
        """The places of words that end a clause, in order."""
        return [place for place, word in enumerate(self._words) if word in CLAUSE.ends_clause]

    def _before_aside(self, comma: int) -> list[Candidate]:
        """Return the subject before what stands between commas: "The toilet, which used to be here, is gone"."""
        for mention in self._mentions[-RECENT:]:
            if self._opens_clause(mention.start) and mention.after == "," and mention.end < comma:
                between = self._words[mention.end + 1 : comma]
                return [] if "," in between else [mention]
        return []

    def _opens_clause(self, start: int) -> bool:
        return start == 0 or self._words[start - 1] in CLAUSE.ends_clause

    def _first_subject(self, joint: int) -> list[Candidate]:
        """Return the subject of the verb before "and": "The plane has taken off and is out of sight"."""
        start = self.start_of_clause(joint)
        for mention in self._mentions[-RECENT:]:
            opens = mention.start == start and mention.end < joint
            if opens and clauses.is_finite_verb(self._words, mention.end):
                return [mention]
        return []

    def _head(self, index: int) -> list[Candidate]:
        """Return the first noun of a subject with several nouns: "the people on the bus are not visible"."""
        words = self._words
        mentions = self._mentions[-RECENT:]
        after = self._last_barrier(index)
        if mentions and after == mentions[0].end and words[after] in CLAUSE.heads:
            after = -1  # "The vase that stands on the piano is missing"
        for mention in mentions:
            start = mention.start
            end = mention.end
            opens = self._opens_clause(start) or words[start - 1] == ","
            if not opens or not after < end < index:
                continue
            joined = words[end] in CLAUSE.heads or words[end].endswith("ing")
            of_another = "of" in words[start : mention.index] or end - 1 in self._sentence.possessive
            if joined and not of_another:
                return [mention]
        return []

    def _last_barrier(self, index: int) -> int:
        """Return the last place before `index` of a word that no subject goes beyond, or -1.

        Cues come in their order, so each word is looked at once, however many cues a sentence has.
        """
        for place in range(self._barriers_until, index):
            word = self._words[place]
            if word == "," or (word != "with" and word in CLAUSE.not_in_list):
                self._barrier = place
        self._barriers_until = index
        return self._barrier

    def _joined(self, index: int) -> list[Candidate]:
        """Return the mentions joined to another thing before the cue: "The dog and the blanket have disappeared"."""
        words = self._words
        for mention in self._mentions[-RECENT:]:
            opens = self._opens_clause(mention.start) or mention.before_phrase in GRAMMAR.before_subject
            if not opens or mention.after != "and":
                continue
            rest = words[mention.end + 1 : index]
            if len(rest) > 4 or "," in rest or "of" in words[mention.start : index]:
                continue
            if clauses.has_verb(words, mention.end + 1, index):
                continue
            return [other for other in self._mentions if mention.index <= other.index < index]
        return []

    def _adjacent(self, index: int) -> list[Candidate]:
        """Return the mentions that end right before the cue, if they open the cue's clause."""
        words = self._words
        end = index
        while at(words, end - 1) in CLAUSE.behind_subject:
            end -= 1
        subject = []
        for mention in reversed(self._mentions[-RECENT:]):
            if mention.end != end:
                break
            modifiers = words[mention.start : mention.index]
            if "of" in modifiers and CLAUSE.quantities.isdisjoint(modifiers):
                return []
            subject.append(mention)
            before = mention.before_phrase
            if not before or before in CLAUSE.ends_clause or before in GRAMMAR.before_subject:
                break
            if before not in {"and", "or"}:
                return []
            end = mention.start - 1
        return subject
