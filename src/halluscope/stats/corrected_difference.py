"""The difference of two models' scores, each corrected by people's labels of a sample of texts (`stats.corrected`).

An image moves the difference by how much it moves the first model's score, less how much it moves the second's. So of
the variance that is due to the choice of images, what both models share cancels: the squared influences of both
predictions' difference are corrected by each model's labels, as those of one model are. What the draw of texts adds is
the sum over both draws.

What the labels show of one model's text and what they show of the other's on the same image is taken to be independent,
since few images are labelled for both. If a judge errs alike on both texts of an image, the interval is too wide. It is
not if the same images were labelled for both, drawn with the same chances: that is one draw of pairs of texts, in which
these errors cancel too.
"""

import math
from dataclasses import dataclass

import numpy as np

from halluscope.stats.beta import student_tail
from halluscope.stats.corrected import Estimate
from halluscope.stats.sample_variance import Variances, half_widths


@dataclass(frozen=True)
class Difference:
    """The difference of a score of two models; NaN where it is refused for one of them.

    Its ends are NaN too where nothing varies.
    """

    value: float = math.nan  # the first model's score less the second's, in [-1, 1]
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan  # two-sided, of no difference
    by_images: float = math.nan  # the part of its variance that is due to the choice of images
    by_labels: float = math.nan  # and the part due to which texts were labelled


def differences(first: Estimate, second: Estimate, level: float) -> dict[str, Difference]:
    """Return the difference of each score of two models, by the score's name.

    Both are estimated from tables about the same images, row by row.
    """
    if first.sample.of_same_draw(second.sample):
        samples = [first.sample.less(second.sample)]
    else:
        samples = [first.sample, second.sample.negative()]
    variances = Variances.of(first.expected - second.expected, samples)
    errors = np.sqrt(variances.whole)
    values = first.values - second.values
    half_width = half_widths(variances, level)
    ends = np.clip([values - half_width, values + half_width], -1.0, 1.0)
    by_name = {}
    for number, name in enumerate(first.names):
        if name in first.refused or name in second.refused:
            by_name[name] = Difference()
            continue
        by_name[name] = Difference(
            value=float(values[number]),
            low=float(ends[0, number]),
            high=float(ends[1, number]),
            p=_p(values[number], errors[number], variances.degrees[number]),
            by_images=float(variances.of_images[number]),
            by_labels=float(variances.of_draw[number]),
        )
    return by_name


def _p(value: float, error: float, degrees: float) -> float:
    """Return the two-sided p value of 0, given a value and its standard error."""
    if value == 0:
        return 1.0
    if error == 0:
        return 0.0
    return student_tail(abs(value) / error, degrees)
