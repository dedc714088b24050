"""OpenCHAIR's score: counts per image first, then ratios.

Source: `get_och_score` in evaluate.py of the authors' repository (mocha_code), which has changed since its first form.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from halluscope.judging.voters.voting import IGNORED
from halluscope.judging.votes import NO, YES
from halluscope.reading.words.word import Word
from halluscope.stats.tallies import Tally

RELEASED, FIRST = "released", "first"
CONVENTIONS = (RELEASED, FIRST)

NO_OBJECTS = frozenset({"painting", "drawing", "photo", "picture", "portrait", "photograph"})
"""What the released script does not count: these words speak of the image itself."""

UNDECIDED = IGNORED
"""The label of a noun that is neither found nor hallucinated: too few votes agree, or say yes or no at all."""

Labels = Mapping[str, int]
"""What became of each noun of a caption: `YES` (it is there), `NO` (it is hallucinated) or `UNDECIDED`."""


def counted(nouns: Sequence[Word], convention: str) -> list[Word]:
    """The nouns of a caption that count.

    "released": as often as they come, but for `NO_OBJECTS`. "first": each once.

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
    """Count by image.

    Args:
        nouns: of each caption, as they count.
        labels: theirs.
        convention: "released" leaves undecided nouns out of the ratio; "first" counts them as hallucinated.

    Returns:
        `openchair`, hallucinated nouns of all that count, and `undecided` nouns of all.
    """
    codes = [[of[noun] for noun in each] for each, of in zip(nouns, labels, strict=True)]
    found, wrong, open_ = (
        np.array([each.count(code) for each in codes], dtype=np.int64) for code in (YES, NO, UNDECIDED)
    )
    part = wrong + open_ if convention == FIRST else wrong
    return {"openchair": (part, found + part), "undecided": (open_, found + wrong + open_)}
