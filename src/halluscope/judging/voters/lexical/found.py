"""A mention while its text is read."""

from dataclasses import dataclass

from halluscope.judging.voters.lexical.sentences import Sentence


@dataclass
class Found:
    """The words of a sentence from `place` to before `place_after`, which name classes.

    Attributes:
        definite: whether it is "the dog" or "his dog", not "a dog".
        rule: what takes it back; empty if nothing does.
    """

    classes: tuple[str, ...]
    sentence: Sentence
    place: int
    place_after: int
    definite: bool
    rule: str

    @property
    def words(self) -> list[str]:
        """As the sentence has them."""
        return self.sentence.words[self.place : self.place_after]

    @property
    def start(self) -> int:
        """Where the words begin in the text."""
        return self.sentence.starts[self.place]

    @property
    def end(self) -> int:
        """Where they end."""
        return self.sentence.ends[self.place_after - 1]
