"""GAVIE's scores: points per image first, then means, then resampled images.

A response that nobody could rate counts in neither numerator nor denominator.
"""

from collections.abc import Mapping

import numpy as np

from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Ints, Tally, grouped


def tally(ratings: Mapping[str, Floats], image: Ints) -> Tally:
    """Count points by image.

    Args:
        ratings: criterion -> ratings from 0 to 10, NaN if nobody could rate: [instructions].
        image: the number of each instruction's image: [instructions].

    Returns:
        For each criterion, the points of the rated responses, and how many responses are rated.
    """
    rated = {name: ~np.isnan(points) for name, points in ratings.items()}
    parts = {name: (np.where(rated[name], points, 0), rated[name]) for name, points in ratings.items()}
    return grouped(parts, image, {})
