"""Scopes of cues: how far a cue reaches, such as to the end of its clause, over the next noun, or over a picture."""

from halluscope.judging.voters.lexical.tables import Cue, grammar


class Scopes:
    """The cues in force at a place in a sentence: one up to the clause's end, and one for the next noun.

    Attributes:
        opened: the place after the last cue.
    """

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._clause: Cue | None = None
        self._noun: Cue | None = None
        self._opens = True
        self._next = 0
        self.opened = 0

    def open(self, place: int, cue: Cue, begun: int = 0) -> None:
        """Put a cue in force from the word at `place` on; the cue's own words begin at `begun`."""
        self._opens = begun == 0 or self._words[begun - 1] in {",", "and", "but"}
        if cue.reach in {"clause", "sentence", "ends", "around"}:
            self._clause = self._noun = None
        if cue.reach in {"clause", "sentence", "around"}:
            self._clause = cue
        elif cue.reach in {"noun", "picture"}:
            self._noun = cue
            place = self._behind_aside(place)
        self.opened = self._next = place

    def _behind_aside(self, place: int) -> int:
        """Return the place after an aside that begins here: "shows, ten metres tall, a glass"."""
        words = self._words[place : place + 9]
        return place + 2 + words[1:].index(",") if words[:1] == [","] and "," in words[1:] else place

    @property
    def negated(self) -> bool:
        """Whether something is denied here, so that an exception from it is present."""
        return any(cue is not None and cue.rule == "negated" for cue in (self._clause, self._noun))

    def move_to(self, place: int) -> None:
        """End the cues that no longer reach this word."""
        while self._next <= place and (self._clause or self._noun):
            self._pass(self._next)
            self._next += 1
        self.skip_to(place + 1)

    def skip_to(self, place: int) -> None:
        """Continue at a word; the words skipped end no cue."""
        if place > self._next:
            self._next = place

    def _pass(self, place: int) -> None:
        if place == self.opened:
            # "Perhaps, there is ..." goes on; "No, there is ..." and "It may rain soon, ..." do not.
            denies = self._clause is not None and self._clause.rule == "negated"
            ends = self._words[place] == "," and (denies or not self._opens)
        else:
            ends = self._ends_clause(place)
        if ends:
            self._clause = self._noun = None
        elif place != self.opened and self._noun and self._ends_noun(place, self._noun):
            self._noun = None

    def rule(self, definite: bool) -> str:
        """Return the rule by which the cues in force take a mention back, or ""."""
        for cue in (self._noun, self._clause):
            if cue and not (definite and cue.keeps_definite):
                return cue.rule
        return ""

    def _ends_clause(self, place: int) -> bool:
        word = self._words[place]
        if self._clause is not None and self._clause.reach == "sentence":
            return word == ";"
        following = self._words[place + 1 : place + 2]
        if word in {"is", "are"} and self._clause is not None and self._clause.rule == "corrected":
            # "What I took for a horse is a dog", "the animal I called a wolf is a dog"
            return self._words[0] in {"what", "the", "those", "that"}
        if word == ",":
            return not _list_goes_on(self._words, place)
        if word in {"and", "as"} and following:
            negated = self._clause is not None and self._clause.rule == "negated"
            return following[0] in grammar().opens_clause or (negated and following[0].endswith("ing"))
        return word in grammar().ends_clause

    def _ends_noun(self, place: int, cue: Cue) -> bool:
        word = self._words[place]
        if cue.reach == "picture":
            # "A portrait of a woman with a dog", "of a man riding a horse".
            return word in grammar().ends_picture
        if word.endswith("ing") and not _is_determiner(self._words[place - 1]):
            return True
        return word in grammar().after_noun and word not in {"and", "or", "nor"}


def _list_goes_on(words: list[str], comma: int) -> bool:
    """Whether a list goes on: "no dogs, cats, or people"; or examples follow: "no animals, such as dogs"."""
    if words[comma + 1 : comma + 2] and words[comma + 1] in grammar().examples:
        return True
    bare = True
    for place in range(comma + 1, min(comma + 25, len(words))):
        word = words[place]
        if word in {"or", "nor"}:
            return True
        bare = bare and word not in grammar().indefinite and word not in grammar().definite
        if word == "and" and bare and place > comma + 1 and words[place - 1] == ",":
            # "No people, cars, and dogs.": a list of bare nouns to the sentence's end.
            rest = words[place + 1 :]
            return len(rest) <= 2 and not any(_is_determiner(one) for one in rest)
        if word in grammar().not_in_list:
            return False
    return False


def _is_determiner(word: str) -> bool:
    return word in grammar().indefinite or word in grammar().definite


def phrase_start(words: list[str], floor: int, place: int) -> int:
    """Return where the noun phrase of the noun at `place` begins: at its determiner, or at its first adjective."""
    floor = max(floor, place - 6)
    for before in range(place - 1, floor - 1, -1):
        word = words[before]
        if word in grammar().definite or word in grammar().indefinite:
            return before
        if (word in grammar().after_noun and word != "of") or not word[0].isalnum():
            return before + 1
    return min(floor, place)
