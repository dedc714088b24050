"""AMBER's words: those that annotations hold, and those that stand for them in descriptions.

The lists in `word_lists` hold, in a form of our own, the facts of relation.json and safe_words.txt in
https://github.com/junyangwang0410/AMBER (Wang et al., Apache-2.0).
"""

import csv
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LISTS = Path(__file__).with_name("word_lists")

# A word -> the words that count as its synonyms, in both directions.
Synonyms = Mapping[str, frozenset[str]]

# A word that stands for an annotated one -> the index of the annotated one, in the order in which words are tried.
StandIns = Mapping[str, int]


@dataclass(frozen=True)
class Words:
    """The words by which descriptions are compared with annotations."""

    also: Mapping[str, tuple[str, ...]]  # a word of an annotation -> the other words that stand for it
    safe: frozenset[str]  # words that count as mentions but are never hallucinated
    known: frozenset[str]  # all words in `also`, keys and values; only nouns among them count as mentions
    spellings: Mapping[str, str]  # a noun in its dictionary form -> how AMBER spells it, where that differs

    def standing_for(self, annotated: Sequence[str]) -> StandIns:
        """Return each word that stands for an annotated word, with the index of the annotated word.

        The other words come first, then the annotated words themselves. This is the order of the authors' script: a
        noun counts for the first word that it equals.
        """
        indices: dict[str, int] = {}
        for index, name in enumerate(annotated):
            for word in self.also[name]:
                indices.setdefault(word, index)
        for index, name in enumerate(annotated):
            indices.setdefault(name, index)
        return indices


@cache
def load_words() -> Words:
    """Read the lists."""
    also = {}
    known = set()
    with (LISTS / "annotated.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, strict=True):
            stand_ins = tuple(row["others"].split())
            also[row["word"]] = stand_ins
            known.add(row["word"])
            known.update(stand_ins)
    with (LISTS / "spellings.csv").open(encoding="utf-8", newline="") as file:
        spellings = {row["noun"]: row["spelling"] for row in csv.DictReader(file, strict=True)}
    safe = (LISTS / "safe.txt").read_text(encoding="utf-8").split()
    return Words(also, frozenset(safe), frozenset(known), spellings)


def first_index(words: Collection[str], stand_ins: StandIns) -> int | None:
    """Return the index of the first annotated word that one of these words stands for; None if there is none."""
    for word, index in stand_ins.items():
        if word in words:
            return index
    return None


def synonyms_of(pairs: Iterable[tuple[str, str]]) -> Synonyms:
    """Return each word of some pairs -> its synonyms."""
    synonyms: dict[str, frozenset[str]] = {}
    for first, second in pairs:
        synonyms[first] = synonyms.get(first, frozenset()) | {second}
        synonyms[second] = synonyms.get(second, frozenset()) | {first}
    return synonyms
