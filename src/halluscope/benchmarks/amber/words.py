"""AMBER's words, from `words.toml`, and how the nouns of a description compare with the words annotated for its image.

Source: AMBER (Wang et al., 2023), section 3.3, and the authors' script, whose order of steps is kept.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from halluscope.reading.words.tokens import Word, forms_of
from halluscope.vocabularies import read_toml

# A word -> the words that count as its synonyms, in both directions.
Synonyms = Mapping[str, frozenset[str]]


class Words(NamedTuple):
    """The words by which descriptions are compared with annotations."""

    also: Mapping[str, tuple[str, ...]]  # a word of an annotation -> the other words that stand for it
    safe: frozenset[str]  # words that count as mentions but are never hallucinated
    known: frozenset[str]  # all words in `also`, keys and values; only nouns among them count as mentions
    spellings: Mapping[str, str]  # a noun in its dictionary form -> how AMBER spells it, where that differs

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


@cache
def load() -> Words:
    """Read the table."""
    table = read_toml(__file__, "words.toml")
    also = dict.fromkeys(table["alone"], ()) | {word: tuple(of) for word, of in table["also"].items()}
    known = frozenset(also).union(*also.values())
    return Words(also, frozenset(table["safe"]), known, table["spellings"])


class Description(NamedTuple):
    """What a description mentions."""

    mentions: list[str]  # the nouns that are among AMBER's words, repeats included
    places: list[list[int] | None]  # the [start, end] of each mention in the text; None if unknown
    hallucinated: list[str]  # the mentions that stand for nothing in the image, repeats included
    covered: set[int]  # the indices in `truth` of the words that are mentioned
    imagined: set[int]  # the indices in `hallu` of the words that are mentioned


def read(
    nouns: Sequence[Word], truth: Sequence[str], hallu: Sequence[str], words: Words, similar: Synonyms
) -> Description:
    """Compare a description's nouns, in their dictionary form and with repeats, with what is annotated.

    A noun that stands for a word of `truth` is right. Any other noun may stand for a word of `hallu`, which is absent
    but easily imagined there, and is hallucinated unless a word of `truth` is similar to it. Safe words count only as
    mentions.
    """
    there, imaginable = words.standing_for(truth), words.standing_for(hallu)
    known = [noun for noun in nouns if noun.form in words.known]
    found = Description(forms_of(known), [noun.place for noun in known], [], set(), set())
    for noun in found.mentions:
        if noun in words.safe:
            continue
        if right := _first({noun}, there):
            found.covered.update(right)
            continue
        alike = {noun, *similar.get(noun, ())}
        found.imagined.update(_first({noun}, imaginable), _first(alike, imaginable))
        right = _first(alike, there)
        found.covered.update(right)
        found.hallucinated.extend([] if right else [noun])
    return found


def _first(nouns: Collection[str], standing: Sequence[tuple[str, int]]) -> list[int]:
    """Return the index of the first annotated word that one of the nouns stands for, or nothing."""
    return [place for word, place in standing if word in nouns][:1]


def synonyms(pairs: Iterable[tuple[str, str]]) -> Synonyms:
    """Return each word of the pairs -> its synonyms."""
    found: dict[str, frozenset[str]] = {}
    for one, other in pairs:
        found[one] = found.get(one, frozenset()) | {other}
        found[other] = found.get(other, frozenset()) | {one}
    return found
