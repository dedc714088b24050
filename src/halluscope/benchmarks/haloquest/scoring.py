"""HaloQuest's accuracy: counts per image first, then ratios, then resampled images.

A response that nobody could judge counts in neither numerator nor denominator.
"""

from collections.abc import Mapping

import numpy as np

from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Ints, Tally, grouped

ACCURACY = "accuracy"


def tally(correct: Floats, image: Ints, groups: Mapping[str, Bools]) -> Tally:
    """Count the right responses per image.

    Args:
        correct: 1 if a response is right, 0 if not, NaN if nobody could judge it: [questions].
        image: the number of each question's image: [questions].
        groups: name -> which questions belong to it, such as a type: [questions].

    Returns:
        `accuracy`: the right and the judged responses per image; and the same for each group, such as `accuracy/real`.
    """
    return grouped({ACCURACY: (correct == 1, ~np.isnan(correct))}, image, groups)
