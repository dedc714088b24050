"""One sentence while it is being read: which cues are in force, and which mentions they and the rules take back."""

from halluscope.judging.lexical import across, rules
from halluscope.judging.lexical.sentences import Candidate, Sentence, Spans, within
from halluscope.judging.lexical.tables import (
    CLAUSE,
    CORRECTIONS,
    GRAMMAR,
    HEDGES,
    LISTS,
    Cue,
    at,
    is_determiner,
)

EXCEPTED = Cue("negated", "noun", keeps_definite=False)
TRUTH = Cue("", "ends", keeps_definite=True)


class Reading:
    """A sentence, with the text's mentions so far; the sentence's own begin at `first`.

    A cue may be in force up to the clause's end, and another one for the next noun. `opened` is the place after
    the last cue.
    """

    def __init__(self, sentence: Sentence, quoted: Spans, found: list[Candidate]) -> None:
        self.sentence, self.words, self.quoted = sentence, sentence.words, quoted
        self.found, self.first = found, len(found)
        signs = LISTS.marks, LISTS.checks, LISTS.crosses, LISTS.bare, {"~~"}
        self.listed = not all(some.isdisjoint(sentence.words) for some in signs)
        self.hedged_at = -1
        self._clause: Cue | None = None
        self._noun: Cue | None = None
        self._opens = True
        self.opened = self._next = 0

    def open(self, place: int, cue: Cue, begun: int = 0) -> None:
        """Put a cue in force from the word at `place` on; the cue's own words begin at `begun`."""
        self._opens = begun == 0 or self.words[begun - 1] in {",", "and", "but"}
        if cue.reach in {"clause", "sentence", "ends", "around"}:
            self._noun, self._clause = None, None if cue.reach == "ends" else cue
        elif cue.reach in {"noun", "picture"}:
            self._noun = cue
            aside = self.words[place : place + 9]  # "shows, ten metres tall, a glass"
            if aside[:1] == [","] and "," in aside[1:]:
                place += 2 + aside[1:].index(",")
        self.opened = self._next = place

    def move_to(self, place: int) -> None:
        """End the cues that no longer reach this word."""
        while self._next <= place and (self._clause or self._noun):
            self._pass(self._next)
            self._next += 1
        self.skip_to(place + 1)

    def skip_to(self, place: int) -> None:
        """Continue at a word; the words skipped end no cue."""
        self._next = max(self._next, place)

    def _pass(self, place: int) -> None:
        if place == self.opened:
            # "Perhaps, there is ..." goes on; "No, there is ..." and "It may rain soon, ..." do not.
            denies = self._clause is not None and self._clause.rule == "negated"
            ends = self.words[place] == "," and (denies or not self._opens)
        else:
            ends = self._ends_clause(place)
        if ends:
            self._clause = self._noun = None
        elif place != self.opened and self._noun and self._ends_noun(place, self._noun):
            self._noun = None

    def _ends_clause(self, place: int) -> bool:
        word, following = self.words[place], at(self.words, place + 1)
        rule, reach = (self._clause.rule, self._clause.reach) if self._clause else ("", "")
        if reach == "sentence":
            return word == ";"
        if word in {"is", "are"} and rule == "corrected":
            # "What I took for a horse is a dog", "the animal I called a wolf is a dog"
            return self.words[0] in {"what", "the", "those", "that"}
        if word == ",":
            return not _list_goes_on(self.words, place)
        if word in {"and", "as"} and following:
            return following in CLAUSE.opens_clause or (rule == "negated" and following.endswith("ing"))
        return word in CLAUSE.ends_clause

    def _ends_noun(self, place: int, cue: Cue) -> bool:
        word = self.words[place]
        if cue.reach == "picture":
            # "A portrait of a woman with a dog", "of a man riding a horse".
            return word in GRAMMAR.ends_picture
        if word.endswith("ing") and not is_determiner(self.words[place - 1]):
            return True
        return word in GRAMMAR.after_noun and word not in {"and", "or", "nor"}

    def apply(self, place: int, end: int, cue: Cue) -> bool:
        """Apply a cue to what follows or to what is before it; return whether it is a cue at this place."""
        words, starts = self.words, self.sentence.starts
        if not rules.cue_applies(cue, words, place):
            return False
        if within(starts[place], self.quoted) or (
            cue.rule == "quoted" and end < len(words) and within(starts[end], self.quoted)
        ):
            return True
        before = words[max(0, place - 12) : place]
        denied = any(one is not None and one.rule == "negated" for one in (self._clause, self._noun))
        if cue.reach == "ends" and not denied and not GRAMMAR.every.isdisjoint(before):
            cue = EXCEPTED  # "all the fruits except bananas"
        self.open(end, cue, place)
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
            # "No cup, I was about to say, and then I spotted one"
            if (
                self.found
                and self.found[-1].rule in {"negated", "corrected", "hypothetical"}
                and not self.found[-1].definite
            ):
                self.found[-1].rule = ""
        elif cue.reach == "seeming" and self.found:
            across.take_back_seeming(self.found, self.sentence)
            self.open(end, TRUTH, place)
            if not CORRECTIONS.truths.isdisjoint(words[end - 1 : end + 1]):
                take_back_subject(words, self._recent(), place, cue)
        return True

    def _recent(self) -> list[Candidate]:
        """Return the sentence's last mentions."""
        return self.found[max(self.first, len(self.found) - across.RECENT) :]

    def add(self, place: int, end: int, classes: tuple[str, ...]) -> None:
        """Add a mention with the first rule that takes it back."""
        previous = self.found[-1] if len(self.found) > self.first else None
        one = Candidate(self.sentence, place, end, classes, self.opened, previous)
        quoted = within(self.sentence.starts[place], self.quoted)
        rule = (
            rules.compound(one)
            or rules.other_reading(one)
            or ("quoted" if quoted else "")
            or (
                "listed as absent"
                if self.listed and (across.is_crossed(one) or across.is_denied(one))
                else ""
            )
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
        """Return the rule by which the cues in force take a mention back, or ""."""
        for cue in (self._noun, self._clause):
            if cue and not (one.definite and cue.keeps_definite):
                is_there = cue.rule == "hypothetical" and (
                    (one.definite and rules.conditions(one, self.opened))
                    or (self.hedged_at >= 0 and rules.identity(one, self.hedged_at, self.opened))
                )
                return "" if is_there else cue.rule
        return ""


def _list_goes_on(words: list[str], comma: int) -> bool:
    """Whether a list goes on: "no dogs, cats, or people"; or examples follow: "no animals, such as dogs"."""
    if at(words, comma + 1) in CLAUSE.examples:
        return True
    bare = True
    for place in range(comma + 1, min(comma + 25, len(words))):
        word = words[place]
        if word in {"or", "nor"}:
            return True
        bare = bare and not is_determiner(word)
        if word == "and" and bare and place > comma + 1 and words[place - 1] == ",":
            # "No people, cars, and dogs.": a list of bare nouns to the sentence's end.
            rest = words[place + 1 :]
            return len(rest) <= 2 and not any(map(is_determiner, rest))
        if word in CLAUSE.not_in_list:
            return False
    return False


def take_back_subject(words: list[str], found: list[Candidate], place: int, cue: Cue) -> None:
    """Mark the subject of the clause that the cue ends: "Dogs and cats are not visible", "a dog, which is gone"."""
    if at(words, place - 1) in {"which", "that", "who"}:
        take_back_before(words, found, place - 1 - (words[place - 2 : place - 1] == [","]), cue)
    elif head := _head(words, found, place):
        _take_back([head], cue)
    else:
        _take_back(_adjacent(words, found, place), cue)


def _head(words: list[str], found: list[Candidate], place: int) -> Candidate | None:
    """Return the first noun of a subject with several nouns: "the people on the bus are not visible"."""
    barriers = CLAUSE.not_in_list - {"with"} | {","}
    after = next((i for i in range(place - 1, -1, -1) if words[i] in barriers), -1)
    if found and after == found[0].end and words[after] in CLAUSE.heads:
        after = -1  # "The vase that stands on the piano is missing"
    for mention in found:
        start, end = mention.start, mention.end
        opens = start == 0 or words[start - 1] in CLAUSE.ends_clause or words[start - 1] == ","
        joined = after < end < place and (words[end] in CLAUSE.heads or words[end].endswith("ing"))
        of_another = "of" in words[start : mention.place] or end - 1 in mention.sentence.possessive
        if opens and joined and not of_another:
            return mention
    return None


def _adjacent(words: list[str], found: list[Candidate], place: int) -> list[Candidate]:
    """Return the mentions that end right before the cue, if they open the cue's clause."""
    end = place
    while at(words, end - 1) in CLAUSE.behind_subject:
        end -= 1
    subject = []
    for mention in reversed(found):
        if mention.end != end:
            break
        own = words[mention.start : mention.place]
        if "of" in own and CLAUSE.quantities.isdisjoint(own):
            return []
        subject.append(mention)
        before = at(words, mention.start - 1)
        if not before or before in CLAUSE.ends_clause or before in GRAMMAR.before_subject:
            break
        if before not in {"and", "or", ","}:
            return []
        end = mention.start - 1
    return subject


def take_back_before(words: list[str], found: list[Candidate], place: int, cue: Cue) -> None:
    """Mark the mentions that end right before the cue, anywhere in a sentence: "a sign with a horse painted on it"."""
    end = place
    nearest: list[Candidate] = []
    corrects = cue.rule == "corrected"
    if found and corrects and words[place] in {",", "("} and found[-1].end != place:
        # "A cup stands there, or rather a jar"
        if not found[-1].definite and place - found[-1].end <= 5:
            nearest = found[-1:]
        found = []
    for mention in reversed(found):
        if mention.end != end:
            break
        nearest.append(mention)
        if corrects or at(words, mention.start - 1) not in {"and", "or"}:
            break
        end = mention.start - 1
    _take_back(nearest, cue)


def _take_back(mentions: list[Candidate], cue: Cue) -> None:
    for mention in mentions:
        if not (mention.definite and cue.keeps_definite):
            mention.rule = mention.rule or cue.rule
