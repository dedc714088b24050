"""Reads AMBER's words: those that annotations may hold, the words that stand for them, and the safe words.

The table is `words.toml` in this folder.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class Words:
    """The words by which descriptions are compared with annotations.

    Attributes:
        also: a word of an annotation -> the other words that stand for it.
        safe: words that count as mentions but are never hallucinated.
        known: all words in `also`, keys and values; only nouns among them count as mentions.
        spellings: a noun in its dictionary form -> how AMBER spells it, where that differs.
    """

    also: Mapping[str, tuple[str, ...]]
    safe: frozenset[str]
    known: frozenset[str]
    spellings: Mapping[str, str]

    def standing_for(self, annotated: Sequence[str]) -> list[tuple[str, int]]:
        """Return each word that stands for an annotated word, with the index of the annotated word.

        The other words come first, then the annotated words themselves. This is the order of the authors' script: a
        noun counts for the first word that it equals.
        """
        others = [(word, place) for place, name in enumerate(annotated) for word in self.also[name]]
        return others + [(name, place) for place, name in enumerate(annotated)]

    def spelt(self, noun: str) -> str:
        """Return a lower-case noun as AMBER spells it: "TV" for "tv"."""
        return self.spellings.get(noun, noun)

    def unknown(self, annotated: Iterable[str]) -> list[str]:
        """Return the words that no annotation may hold."""
        return [name for name in annotated if name not in self.also]


@cache
def load() -> Words:
    """Read the table."""
    text = resources.files(__package__).joinpath("words.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    also = dict.fromkeys(table["alone"], ()) | {word: tuple(of) for word, of in table["also"].items()}
    known = frozenset(also).union(*also.values())
    return Words(also, frozenset(table["safe"]), known, table["spellings"])
