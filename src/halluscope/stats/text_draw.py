"""Draws the texts that people should label, so that their labels correct a judge's scores."""

import numpy as np
from numpy.typing import NDArray

from halluscope.stats.linear import PREDICTED, TRUE, Totals, linear
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Ints

# The share of a draw of texts that is uniform; without it, a rarely drawn text would get too large a weight.
EVEN = 0.3

# The assumed probabilities that a label is wrong: a yes, a no, or an undecided one. Only their proportions matter.
DOUBT_YES = 0.1
DOUBT_NO = 0.05
UNDECIDED = 0.5


def draw(
    labels: NDArray[np.int8],
    present: Bools,
    texts: int,
    seed: int = 0,
    outvoted: Floats | float = 0.0,
) -> tuple[Ints, Floats]:
    """Draw texts for people to read: their rows, in order, and the probability of drawing each (Särndal, section
    3.6.2).

    The probability is in proportion to how much a text is expected to move the scores (Isaki and Fuller, JASA 77,
    1982), and never less than `EVEN` times that of a uniform draw. The judge is doubted by its label, and at least by
    the share of a cell's votes that are `outvoted` [texts, classes].
    """
    sizes = _sizes(labels, present, outvoted)
    chances = _chances(sizes, min(texts, len(labels)))
    random = np.random.default_rng(seed)
    order = random.permutation(len(labels))
    # a text is drawn where the running sum of the chances, from a random start, passes a whole number
    steps = np.floor(np.cumsum(chances[order]) + random.random() + 1e-9)
    is_drawn = np.diff(steps, prepend=0) > 0
    rows = np.sort(order[is_drawn])
    return rows, chances[rows]


def _sizes(labels: NDArray[np.int8], present: Bools, outvoted: Floats | float) -> Floats:
    """Return how much each text is expected to move the scores, in proportion: [texts].

    A cell's expected squared error is `doubt (1 - doubt)`, and its slope says how an error changes a score. So a text's
    part in a score's variance is the sum of `doubt (1 - doubt) slope^2`. The mean of these parts over pooled and
    class-averaged precision and recall is the square of the text's size.
    """
    is_yes = labels == 1
    is_no = labels == 0
    says = np.select([is_yes, is_no], [1.0, 0.0], default=0.5)
    # an absent object that the judge denies is doubted as far as the judge says yes to the class elsewhere
    doubt_of_no = np.where(present, DOUBT_NO, DOUBT_NO * says.mean(axis=0))
    doubt = np.select([is_yes, is_no], [DOUBT_YES, doubt_of_no], default=UNDECIDED)
    doubt = np.maximum(doubt, outvoted)
    variance = doubt * (1 - doubt)

    totals = Totals(
        true=(says * present).sum(axis=0),
        predicted=says.sum(axis=0),
        present=present.sum(axis=0).astype(float),
    )
    squares = np.zeros(len(labels))
    for slopes in linear(totals, betas=()).slopes:
        by_true = slopes[TRUE]
        by_predicted = slopes[PREDICTED]
        of_present = variance * present @ (by_true + by_predicted) ** 2
        of_absent = variance * ~present @ by_predicted**2
        part = of_present + of_absent
        if part.mean() > 0:
            squares += part / part.mean()
    if not squares.any():
        return np.ones(len(labels))
    return np.sqrt(squares)


def _chances(sizes: Floats, texts: int) -> Floats:
    """Return the probability with which each of the texts is drawn, if so many are drawn: [texts]."""
    sizes = (1 - EVEN) * sizes / sizes.mean() + EVEN
    chances = np.zeros(len(sizes))
    is_open = chances < 1
    while is_open.any():
        # texts that are drawn for certain leave the rest of the draw to the others
        remaining = texts - (~is_open).sum()
        shares = sizes[is_open] * remaining / sizes[is_open].sum()
        chances[is_open] = np.minimum(1, shares)
        if (shares <= 1).all():
            break
        is_open = chances < 1
    return chances
