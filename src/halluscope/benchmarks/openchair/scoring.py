"""Computes OpenCHAIR's score: counts per image first, then ratios.

Source: `get_och_score` in evaluate.py of the authors' repository (mocha_code), which has two versions.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from halluscope.judging.votes import NO, YES
from halluscope.judging.voting import IGNORED
from halluscope.reading.words.tokens import Word
from halluscope.stats.tallies import Tally

RELEASED, FIRST = "released", "first"
CONVENTIONS = (RELEASED, FIRST)

NO_OBJECTS = frozenset({"painting", "drawing", "photo", "picture", "portrait", "photograph"})
"""Words that the released script does not count, because they name the image itself."""

UNDECIDED = IGNORED
"""The label of a noun that is neither found nor hallucinated: too few votes agree, or too few say yes or no."""

Labels = Mapping[str, int]
"""The label of each noun of a caption: `YES` (it is there), `NO` (it is hallucinated) or `UNDECIDED`."""


def counted(nouns: Sequence[Word], convention: str) -> list[Word]:
    """Return the nouns of a caption that count.

    "released" counts them as often as they occur, except `NO_OBJECTS`; "first" counts each noun once.

    >>> nouns = [*map(Word, ["dog", "photo", "dog"])]
    >>> [[noun.form for noun in counted(nouns, convention)] for convention in CONVENTIONS]
    [['dog', 'dog'], ['dog', 'photo']]
    """
    if convention == FIRST:
        first: dict[str, Word] = {}
        for noun in nouns:
            first.setdefault(noun.form, noun)
        return [*first.values()]
    return [noun for noun in nouns if noun.form not in NO_OBJECTS]


def tally(nouns: Sequence[Sequence[str]], labels: Sequence[Labels], convention: str) -> Tally:
    """Count nouns per image.

    Args:
        nouns: the nouns of each caption that count.
        labels: the labels of each caption's nouns.
        convention: "released" leaves undecided nouns out of the ratio; "first" counts them as hallucinated.

    Returns:
        Numerators and denominators per image: `openchair`, hallucinated nouns of all nouns in the ratio, and
        `undecided`, undecided nouns of all nouns.
    """
    codes = [[of[noun] for noun in each] for each, of in zip(nouns, labels, strict=True)]
    found, wrong, open_ = (
        np.array([each.count(code) for each in codes], dtype=np.int64) for code in (YES, NO, UNDECIDED)
    )
    part = wrong + open_ if convention == FIRST else wrong
    return {"openchair": (part, found + part), "undecided": (open_, found + wrong + open_)}
