"""One sentence while it is being read: which cues are in force, and which mentions they and the rules take back."""

from collections.abc import Callable

from halluscope.judging.lexical import absence, clauses, rules
from halluscope.judging.lexical.sentences import Candidate, Sentence
from halluscope.judging.lexical.subjects import RECENT, Subjects
from halluscope.judging.lexical.tables import (
    CLAUSE,
    CORRECTIONS,
    DEPICTION,
    GRAMMAR,
    HEDGES,
    PART_OF_COMPOUND,
    Cue,
    at,
    is_determiner,
    words_before,
)

EXCEPTED = Cue("negated", "noun", keeps_definite=False)
TRUTH = Cue("", "ends", keeps_definite=True)

# What takes a mention back before any cue does
RULES: tuple[tuple[str, Callable[[Candidate], bool]], ...] = (
    ("another meaning", rules.other_reading),
    ("quoted", rules.is_quoted),
    ("listed as absent", rules.is_listed_absent),
    ("depicted", rules.shown_on),
    ("depicted", rules.pictured_beside),
    ("depicted", rules.is_called_likeness),
    ("absent owner", rules.belongs_to_nobody),
    ("negated", absence.is_counted_zero),
    ("negated", absence.is_what_lacks),
)


class Reading:
    """A sentence, with all mentions in the text so far, its own among them.

    A cue may be in force up to the clause's end, and another one for the next noun. `opened` is the index after the
    last cue.
    """

    def __init__(self, sentence: Sentence, mentions: list[Candidate]) -> None:
        self.sentence = sentence
        self.words = sentence.words
        self.mentions = mentions
        self._subjects = Subjects(sentence)
        self.opened = 0
        self.hedge = -1  # the index of the last cue, if it is a hedge
        self._clause: Cue | None = None  # the cue in force up to the clause's end
        self._noun: Cue | None = None  # the cue in force for the next noun
        self._next = 0  # the next word that may end a cue
        self._opens = True  # whether the last cue begins its clause
        self._is_modal = False  # whether the cue for the clause is a word such as "might"
        self._is_relative = False  # whether the cue for the clause is in a relative clause
        self._begun = 0  # where the last cue begins
        self._clause_start = 0  # where the clause of the last cue for a clause begins

    def open(self, index: int, cue: Cue, begun: int = 0) -> None:
        """Put a cue in force from the word at `index` on; the cue's own words begin at `begun`."""
        self._begun = begun
        self._opens = begun == 0 or self.words[begun - 1] in {",", "and", "but"}
        if cue.reach in {"clause", "sentence", "ends", "around"}:
            self._noun = None
            self._clause = None if cue.reach == "ends" else cue
            self._clause_start = self._subjects.start_of_clause(begun)
            pronoun = at(self.words, begun - 1)
            self._is_modal = self.words[begun] in GRAMMAR.modals
            self._is_relative = self._is_modal and pronoun in {"that", "which", "who"}
        elif cue.reach in {"noun", "picture"}:
            self._noun = cue
            if at(self.words, index) == ",":
                aside = self.words[index + 1 : index + 9]
                if "," in aside:
                    index += 2 + aside.index(",")  # "shows, ten metres tall, a glass"
        self.opened = index
        self._next = index

    def move_to(self, index: int) -> None:
        """End the cues that no longer reach this word."""
        while self._next <= index and (self._clause or self._noun):
            self._pass(self._next)
            self._next += 1
        self.skip_to(index + 1)

    def skip_to(self, index: int) -> None:
        """Continue at a word; the words skipped end no cue."""
        self._next = max(self._next, index)

    def _pass(self, index: int) -> None:
        if index == self.opened:
            # "Perhaps, there is ..." goes on; "No, there is ..." and "It may rain soon, ..." do not.
            denies = self._clause is not None and self._clause.rule == "negated"
            ends = self.words[index] == "," and (denies or not self._opens)
        else:
            ends = self._ends_clause(index)
            if self._noun and self._ends_noun(index, self._noun):
                self._noun = None
        if ends:
            self._clause = self._noun = None

    def _ends_clause(self, index: int) -> bool:
        word = self.words[index]
        if self._is_relative and index > self.opened + 1 and clauses.is_finite_verb(self.words, index):
            return True  # "An object that could be a phone lies on the table"
        if self._clause is not None and self._clause.reach == "sentence":
            return word == ";"
        if self._clause is not None and self._clause.rule == "corrected" and word in {"is", "are"}:
            # "What I took for a horse is a dog", "the animal I called a wolf is a dog"
            return self.words[0] in {"what", "the", "those", "that"}
        cue = self._noun or self._clause
        if word == "," and cue is not None:
            return not clauses.reaches_past_comma(self.words, index, cue, self._begun)
        if word in {"and", "as"} and index + 1 < len(self.words):
            return self._ends_before_joint(index)
        return word in CLAUSE.ends_clause

    def _ends_before_joint(self, joint: int) -> bool:
        """Whether the cue for the clause ends before "and" or "as"."""
        following = self.words[joint + 1]
        if following in CLAUSE.opens_clause:
            # the next thing that is absent begins with a determiner, as a clause may
            may_be_item = self._clause is absence.ABSENCE and is_determiner(following)
            if not may_be_item:
                return True
            return clauses.new_clause_after(self.words, joint, 0)
        if self._clause is None or self._clause.rule != "negated":
            return False
        if following.endswith("ing"):
            return True
        return clauses.new_clause_after(self.words, joint, self._clause_start)

    def _ends_noun(self, index: int, cue: Cue) -> bool:
        word = self.words[index]
        if cue.reach == "picture":
            # "A portrait of a woman with a dog", "of a man riding a horse".
            if word == "on" and at(self.words, index + 2) in DEPICTION.mounts:
                return self.words[index + 1] not in {"a", "an", "his", "her"}
            return word in GRAMMAR.ends_picture
        if cue.rule == "negated" and clauses.is_finite_verb(self.words, index):
            return True
        if word == "and" and cue.rule == "negated":
            return clauses.new_clause_after(self.words, index, self._subjects.start_of_clause(self._begun))
        if word.endswith("ing") and not is_determiner(self.words[index - 1]):
            return True
        if word == "next" and is_determiner(self.words[index - 1]):
            return False  # "awaits the next train"
        return word in GRAMMAR.after_noun and word not in {"and", "or", "nor"}

    def apply(self, index: int, end: int, cue: Cue) -> bool:
        """Apply a cue to what follows or to what is before it; return whether it is a cue at this place."""
        words = self.words
        quoted = self.sentence.quoted
        if not rules.cue_applies(cue, words, index):
            return False
        if index in quoted or (cue.rule == "quoted" and end in quoted):
            return True
        if cue.reach == "ends" and not self._is_denied() and absence.is_exception(words, index):
            cue = EXCEPTED  # "all the fruits except bananas"
        self.open(end, cue, index)
        self.hedge = index if words[index] in HEDGES.of_identity else -1
        for mention in self._before(index, end, cue):
            if not mention.definite or not cue.keeps_definite:
                mention.take_back(cue.rule)
        return True

    def _is_denied(self) -> bool:
        """Whether a negation is in force."""
        return any(cue is not None and cue.rule == "negated" for cue in (self._clause, self._noun))

    def _before(self, index: int, end: int, cue: Cue) -> list[Candidate]:
        """Return the mentions before a cue that it takes back; a correction corrects what is before it."""
        if cue.reach in {"subject", "around"}:
            return self._subjects.of(index, cue)
        if cue.reach == "before" and index:
            return self._subjects.nearest(index, cue)
        if not self.mentions:
            return []
        if cue.reach in {"before", "previous"}:
            self._correct_before(index)
        elif cue.reach == "restored":
            self._restore_last()
        elif cue.reach == "seeming":
            self._take_back_seeming()
            self.open(end, TRUTH, index)
            if not CORRECTIONS.truths.isdisjoint(self.words[end - 1 : end + 1]):
                return self._subjects.of(index, cue)
        return []

    def _correct_before(self, index: int) -> None:
        """Correct what the previous sentence got wrong, or what this sentence got wrong before a break."""
        if index and self.words[index - 1] not in CORRECTIONS.breaks:
            return
        if not self.sentence.mentions or self.words[index - 1] != ",":
            self._correct()
        self._take_back_seeming()

    def _restore_last(self) -> None:
        """Let the last mention count: "No cup, I was about to say, and then I spotted one"."""
        mention = self.mentions[-1]
        if mention.rule in {"negated", "corrected", "hypothetical"} and not mention.definite:
            mention.rule = ""

    def add(self, index: int, end: int, classes: tuple[str, ...]) -> None:
        """Add a mention with the first rule that takes it back."""
        mention = Candidate(self.sentence, index, end, classes, self.opened)
        if not rules.restates(mention):
            mention.rule = self._rule_against(mention)
        previous = mention.previous
        if previous is not None:
            if rules.tells_what_kind(previous, mention):
                previous.rule = PART_OF_COMPOUND
            elif self._shares_rule(previous, mention):
                previous.take_back(mention.rule)
        self.sentence.mentions.append(mention)
        self.mentions.append(mention)

    def _shares_rule(self, previous: Candidate, mention: Candidate) -> bool:
        """Whether the rule that takes a mention back takes back the one before it too."""
        if mention.rule not in {PART_OF_COMPOUND, "depicted"}:
            return False
        if rules.shares_compound(previous, mention):
            return True
        return mention.rule == "depicted" and rules.shares_surface(previous, mention)

    def _rule_against(self, mention: Candidate) -> str:
        """Return the first rule that takes a mention back, or ""."""
        of_compound = rules.compound(mention)
        if of_compound:
            return of_compound
        for rule, applies in RULES:  # a generator takes twice as long here
            if applies(mention):
                return rule
        of_cue = self._rule_in_force(mention)
        if of_cue:
            return of_cue
        if rules.modal(mention) or rules.place_of(mention):
            return "hypothetical"
        return ""

    def _rule_in_force(self, mention: Candidate) -> str:
        """Return the rule by which the cues in force take a mention back, or ""."""
        for cue in (self._noun, self._clause):
            if cue is None or self._is_known(mention, cue):
                continue
            if cue.rule != "hypothetical":
                return cue.rule
            if mention.definite and rules.conditions(mention):
                return ""
            if self.hedge >= 0 and rules.identity(mention, self.hedge):
                return ""
            return cue.rule
        return ""

    def _is_known(self, mention: Candidate, cue: Cue) -> bool:
        """Whether a cue in force does not reach a mention because the text speaks of something known."""
        is_known = mention.definite and cue.keeps_definite
        if cue is self._clause and self._is_modal and mention.is_the:
            is_known = True  # "it might belong to the woman on the bench"
        if is_known and cue.rule == "negated":
            return not absence.is_denied_presence(mention)
        return is_known

    def _correct(self) -> None:
        """Mark what the text before got wrong: "A dog sits on the couch. Correction: it is a cat."

        The mark goes to the first thing that the last sentence newly names, or to a person if it names nothing else. If
        it denies something, that counts after all: "There is no sink. I was wrong: it is in the corner."
        """
        recent = self.mentions[-RECENT:]
        for mention in recent[-1].sentence.mentions[-RECENT:]:
            if mention.rule == "negated":
                mention.rule = ""
                return
        named = [mention for mention in recent if not mention.rule]
        new = [
            mention for mention in named if mention.sentence is named[-1].sentence and not mention.definite
        ]
        things = [mention for mention in new if not rules.is_of_person(mention)]
        if things:
            things[0].rule = "corrected"
        elif new:
            new[0].rule = "corrected"

    def _take_back_seeming(self) -> None:
        """Mark what only seems to be there: "What looks like a dog ... is actually a rock"."""
        for mention in self.mentions[-1].sentence.mentions[-RECENT:]:
            near = words_before(mention.words, mention.index, 6)
            if not mention.rule and not CORRECTIONS.seeming.isdisjoint(near):
                mention.rule = "corrected"
