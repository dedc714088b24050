"""HaloQuest's accuracy: counts per image first, then ratios, then resampled images.

A response that nobody could judge is in no part and in no whole.
"""

from collections.abc import Mapping

import numpy as np

from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Ints, Tally, grouped

ACCURACY = "accuracy"


def tally(correct: Floats, image: Ints, groups: Mapping[str, Bools]) -> Tally:
    """Count the right responses per image.

    Args:
        correct: whether a response is right, 1 or 0; NaN where nobody could judge: [questions].
        image: the number of each question's image: [questions].
        groups: name -> which questions belong to it, such as a type: [questions].

    Returns:
        `accuracy`: the right responses of those judged, part and whole per image; and the same of each group, such as
        `accuracy/real`.
    """
    return grouped({ACCURACY: (correct == 1, ~np.isnan(correct))}, image, groups)
