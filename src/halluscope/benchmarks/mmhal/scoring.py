"""MMHal-Bench's scores: points per image first, then means and rates, then resampled images.

A response that nobody could rate counts in neither numerator nor denominator.
"""

from collections.abc import Mapping

import numpy as np

from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Ints, Tally, grouped

LEAST_WITHOUT = 3
"""The lowest rating that means no hallucination."""


def tally(rating: Floats, image: Ints, groups: Mapping[str, Bools]) -> Tally:
    """Count ratings by image.

    Args:
        rating: 0 to 6, NaN if nobody could rate: [questions].
        image: the number of each question's image: [questions].
        groups: name -> which questions belong to it: [questions].

    Returns:
        `rating` (the points of the rated responses) and `hallucination_rate` (the responses rated below
        `LEAST_WITHOUT`), both over the rated responses; and the same for each group, such as `rating/counting`.
    """
    rated = ~np.isnan(rating)
    parts = {
        "rating": (np.where(rated, rating, 0), rated),
        "hallucination_rate": (rated & (rating < LEAST_WITHOUT), rated),
    }
    return grouped(parts, image, groups)
