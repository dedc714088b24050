"""HQH's scores (equation 5): counts per image first, then ratios, then resampled images.

A response that nobody could judge counts in neither numerator nor denominator. If extra claims were looked for in only
some of the judged responses, the denominators differ, and overall may be below main; the metric's `counts` give each
denominator.
"""

from collections.abc import Mapping

import numpy as np

from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Ints, Tally, grouped


def tally(correct: Floats, extra_claims: Floats, image: Ints, groups: Mapping[str, Bools]) -> Tally:
    """Count equation 5's scores by image.

    Args:
        correct: 1 if the main answer is right, 0 if not, NaN if nobody could judge it: [questions].
        extra_claims: how many extra claims contradict the image, NaN if nobody counted them: [questions].
        image: the number of each question's image: [questions].
        groups: name -> which questions belong to it, such as a type or a level: [questions].

    Returns:
        `main_hal` (wrong main answers among the judged), `extra_hal` (extra claims, which may outnumber the responses)
        and `overall_hal` (responses with either fault, among those where both are known), each with its numerator and
        denominator by image; and the same for each group, such as `main_hal/count`.
    """
    judged, counted = ~np.isnan(correct), ~np.isnan(extra_claims)
    both = judged & counted
    wrong = judged & (correct == 0)
    parts = {
        "main_hal": (wrong, judged),
        "extra_hal": (np.where(counted, extra_claims, 0), counted),
        "overall_hal": (both & (wrong | (extra_claims > 0)), both),
    }
    return grouped(parts, image, groups)
