"""A mention, as the rules hold it while its text is being read."""

from dataclasses import dataclass

from halluscope.judging.voters.lexical.sentences import Sentence


@dataclass
class Found:
    """The words of a sentence from `place` to before `place_after`, which name classes.

    Attributes:
        definite: whether it is "the dog" or "his dog", not "a dog".
        rule: the rule that takes the mention back; empty if no rule does.
    """

    classes: tuple[str, ...]
    sentence: Sentence
    place: int
    place_after: int
    definite: bool
    rule: str

    @property
    def words(self) -> list[str]:
        """The mention's words, as the sentence has them."""
        return self.sentence.words[self.place : self.place_after]

    @property
    def start(self) -> int:
        """Where the mention begins in the text."""
        return self.sentence.starts[self.place]

    @property
    def end(self) -> int:
        """Where the mention ends in the text."""
        return self.sentence.ends[self.place_after - 1]
