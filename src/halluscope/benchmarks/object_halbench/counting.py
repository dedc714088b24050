"""Counts what responses mention, beside what is in their images."""

from collections.abc import Sequence

import numpy as np

from halluscope.benchmarks.object_halbench.data import Image
from halluscope.benchmarks.object_halbench.names import OfResponses
from halluscope.stats.ratios import Floats

# What a verdict counts in a response
MENTIONS = "mention_count"
FALSE = "false_count"  # mentions of a class that is not in the image
FOUND = "found_count"  # classes in the image that are mentioned
PRESENT = "present_count"  # classes in the image


def counts_of(repeats: Sequence[OfResponses], rows: Sequence[Image]) -> dict[str, Floats]:
    """Return what responses mention as counts: criterion -> [repeats, rows], NaN for a response that is not read."""
    names = (MENTIONS, FALSE, FOUND, PRESENT)
    counts = {name: np.full((len(repeats), len(rows)), np.nan) for name in names}
    for repeat, of_responses in enumerate(repeats):
        for number, (row, mentions) in enumerate(zip(rows, of_responses, strict=True)):
            if mentions is None:
                continue
            present = set(row.objects)
            is_false = [name not in present for name in mentions.objects]
            counts[MENTIONS][repeat, number] = len(is_false)
            counts[FALSE][repeat, number] = sum(is_false)
            counts[FOUND][repeat, number] = len(present.intersection(mentions.objects))
            counts[PRESENT][repeat, number] = len(present)
    return counts
