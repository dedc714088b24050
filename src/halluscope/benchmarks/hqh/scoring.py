"""HQH's scores (equation 5): counts an image first, then ratios, then resampled images.

A question that nobody could judge is in no part and in no whole. Where extra claims were looked for beside some of the
judged answers only, the wholes differ, and overall may be below main; `metrics.hqh` gives each whole in its counts.
"""

from collections.abc import Mapping

import numpy as np

from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Ints, Tally, grouped


def tally(correct: Floats, extra_claims: Floats, image: Ints, groups: Mapping[str, Bools]) -> Tally:
    """Count equation 5's scores by image.

    Args:
        correct: whether the main answer is right, 1 or 0, NaN where nobody could judge it: [questions].
        extra_claims: how many claims beside it contradict the image, NaN where nobody counted them: [questions].
        image: the number of each question's image: [questions].
        groups: name -> which questions belong to it, such as a type or a level: [questions].

    Returns:
        `main_hal` (wrong main answers of those judged), `extra_hal` (extra claims, a number that may exceed the
        answers') and `overall_hal` (answers with either, where both are known), each with its part and whole by
        image; and the same of each group, such as `main_hal/count`.
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
