"""From nouns and their labels to OpenCHAIR's scores."""

import re
from collections.abc import Sequence

import numpy as np

from halluscope.benchmarks.openchair.nouns import FIRST, Nouns
from halluscope.benchmarks.openchair.votes import UNDECIDED, Votes
from halluscope.judging.votes import NO, YES
from halluscope.stats.intervals import Counts
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.row_order import with_words
from halluscope.stats.tallies import Bools, Ints

# Names of counts: a caption's nouns by their labels
FOUND_NOUNS = "found"
HALLUCINATED_NOUNS = "hallucinated"
UNDECIDED_NOUNS = "undecided"
# and the votes on them
UNREADABLE_VOTES = "unreadable votes"
VOTES = "votes"

_WORD = re.compile(r"\w+")

COUNT_OF = {YES: FOUND_NOUNS, NO: HALLUCINATED_NOUNS, UNDECIDED: UNDECIDED_NOUNS}


def count(nouns: Nouns, votes: Votes) -> dict[str, Ints]:
    """Count each caption's nouns by their labels, and the votes on them: name -> [captions]."""
    counts = {name: np.zeros(len(nouns), dtype=np.int64) for name in COUNT_OF.values()}
    for caption, words in enumerate(nouns):
        label_of = votes.labels[caption]
        for word in words:
            name = COUNT_OF[label_of[word.form]]
            counts[name][caption] += 1
    if votes.unreadable is not None and votes.cast is not None:
        counts[UNREADABLE_VOTES] = votes.unreadable
        counts[VOTES] = votes.cast
    return counts


def mentioned_and_there(nouns: Nouns, captions: Sequence[str]) -> tuple[Bools, Bools]:
    """Return which nouns responses name, and which stand in the right captions, both [captions, nouns]."""
    mentioned = []
    for words in nouns:
        mentioned.append([word.form for word in words])
    there = [_WORD.findall(caption.lower()) for caption in captions]
    return with_words(mentioned, mentioned), with_words(there, mentioned)


def score(sums: Counts, convention: str) -> dict[str, Floats]:
    """Return scores [sums], fractions in [0, 1] and NaN where undefined, of sums of counts."""
    hallucinated = sums[HALLUCINATED_NOUNS]
    undecided = sums[UNDECIDED_NOUNS]
    nouns = nouns_of(sums)
    decided = sums[FOUND_NOUNS] + hallucinated
    scores = {"openchair": ratio(hallucinated, decided)}
    if convention == FIRST:
        scores["openchair"] = ratio(hallucinated + undecided, nouns)
    scores["undecided"] = ratio(undecided, nouns)
    if VOTES in sums:
        scores["unreadable"] = ratio(sums[UNREADABLE_VOTES], sums[VOTES])
    return scores


def nouns_of(counts: Counts) -> Floats:
    """Return the number of nouns that count: [captions], or [sums] of sums of counts."""
    return counts[FOUND_NOUNS] + counts[HALLUCINATED_NOUNS] + counts[UNDECIDED_NOUNS]
