"""AMBER's words: those that an annotation may hold, the others that stand for them, and those that are never counted.

The table is `words.toml` beside this module.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources


@dataclass(frozen=True)
class Words:
    """The words by which descriptions are compared with annotations.

    Attributes:
        also: a word of an annotation -> the other words that stand for it.
        safe: words that are mentions, and never hallucinated.
        known: all words. A noun that is none of them is no mention.
    """

    also: Mapping[str, tuple[str, ...]]
    safe: frozenset[str]
    known: frozenset[str]

    def standing_for(self, annotated: Sequence[str]) -> list[tuple[str, int]]:
        """Each word that stands for an annotated one, and the annotated one's place: first the other words, then these.

        The order is the authors' script's: a noun counts for the first word that it equals.
        """
        others = [(word, place) for place, name in enumerate(annotated) for word in self.also[name]]
        return others + [(name, place) for place, name in enumerate(annotated)]

    def spelt(self, noun: str) -> str:
        """A noun that a reader has put in lower case, as AMBER writes it: "tv" as "TV"."""
        return self._capitals.get(noun, noun)

    @cached_property
    def _capitals(self) -> Mapping[str, str]:
        return {word.lower(): word for word in self.known if word != word.lower()}

    def unknown(self, annotated: Iterable[str]) -> list[str]:
        """The words that no annotation may hold."""
        return [name for name in annotated if name not in self.also]


@cache
def load() -> Words:
    """Read the table."""
    text = resources.files(__package__).joinpath("words.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    also = dict.fromkeys(table["alone"], ()) | {word: tuple(of) for word, of in table["also"].items()}
    known = frozenset(also).union(*also.values())
    return Words(also, frozenset(table["safe"]), known)
