"""Compares the nouns of a description, word by word, with the words annotated for the image.

Source: AMBER (Wang et al., 2023), section 3.3, and the authors' script, whose order of steps is kept.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from halluscope.benchmarks.amber.words import Words
from halluscope.reading.words.tokens import Word, forms_of

Synonyms = Mapping[str, frozenset[str]]
"""A word -> the words that count as its synonyms, in both directions."""


@dataclass(frozen=True)
class Description:
    """What a description mentions.

    Attributes:
        mentions: the nouns that are among AMBER's words, repeats included.
        places: the [start, end] of each mention in the text; None if unknown.
        hallucinated: the mentions that stand for nothing in the image, repeats included.
        covered: the indices in `truth` of the words that are mentioned.
        imagined: the indices in `hallu` of the words that are mentioned, which people are apt to imagine there.
    """

    mentions: tuple[str, ...]
    places: tuple[list[int] | None, ...]
    hallucinated: tuple[str, ...]
    covered: frozenset[int]
    imagined: frozenset[int]


def read(
    nouns: Sequence[Word], truth: Sequence[str], hallu: Sequence[str], words: Words, similar: Synonyms
) -> Description:
    """Compare a description's nouns with what is annotated.

    A noun that stands for a word of `truth` is right. Any other noun may stand for a word of `hallu`, and is
    hallucinated unless a word of `truth` is similar to it. Safe words count only as mentions.

    Args:
        nouns: the nouns in their dictionary form, repeats included.
        truth: words for what is in the image.
        hallu: words for what is absent but easily imagined there.
        words: AMBER's words.
        similar: which words count as synonyms; a word is always similar to itself.
    """
    there, imaginable = words.standing_for(truth), words.standing_for(hallu)
    known = [noun for noun in nouns if noun.form in words.known]
    mentions = tuple(forms_of(known))
    hallucinated: list[str] = []
    covered: set[int] = set()
    imagined: set[int] = set()
    for noun in mentions:
        if noun in words.safe:
            continue
        alike = {noun, *similar.get(noun, ())}
        if right := _first({noun}, there):
            covered |= right
            continue
        imagined |= _first({noun}, imaginable) | _first(alike, imaginable)
        covered |= (right := _first(alike, there))
        if not right:
            hallucinated.append(noun)
    places = tuple(noun.place for noun in known)
    return Description(mentions, places, tuple(hallucinated), frozenset(covered), frozenset(imagined))


def _first(nouns: Collection[str], standing: Sequence[tuple[str, int]]) -> set[int]:
    """Return the index of the first annotated word that one of the nouns stands for, or nothing."""
    return {place for word, place in [pair for pair in standing if pair[0] in nouns][:1]}


def synonyms(pairs: Iterable[tuple[str, str]]) -> Synonyms:
    """Return each word of the pairs -> its synonyms."""
    found: dict[str, frozenset[str]] = {}
    for one, other in pairs:
        found[one] = found.get(one, frozenset()) | {other}
        found[other] = found.get(other, frozenset()) | {one}
    return found
