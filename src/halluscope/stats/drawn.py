"""Draws the texts that people should label, so that few labels say much about every score.

The probability of drawing a text is in proportion to how much it is expected to move the scores (Isaki and Fuller,
"Survey design under the regression superpopulation model", JASA 77, 1982): texts with doubtful cells, or with cells of
rare classes, are drawn more often. A cell's expected squared error is `doubt (1 - doubt)`, and its slope says how an
error changes a score (`halluscope.stats.totals`). So a text's part in a score's variance is the sum of
`doubt (1 - doubt) slope^2`. The mean of these parts over pooled and class-averaged precision and recall is the square
of the text's size. No text is drawn less often than `EVEN` times as often as in a uniform draw.
"""

import numpy as np
from numpy.typing import NDArray

from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Ints
from halluscope.stats.totals import Totals, linear

# The share of the draw that is uniform; without it, a rarely drawn text would get too large a weight.
EVEN = 0.3

# The assumed probabilities that a label is wrong: a yes, a no, or an undecided one. Only their proportions matter.
DOUBT_YES, DOUBT_NO, UNDECIDED = 0.1, 0.05, 0.5


def draw(
    labels: NDArray[np.int8], present: Bools, texts: int, seed: int = 0, doubt: Floats | None = None
) -> tuple[Ints, Floats]:
    """Draw texts for people to read: their rows, in order, and the probability of drawing each (Särndal, section
    3.6.2).

    `doubt` [texts, classes] is how likely the judge is to be wrong about each cell, in [0, 1], such as the share of
    its votes that are outvoted; by default, it is derived from the label. People should read each text completely and
    name every class that it implies. If that is too much work, they label every cell that the judge says yes to, on
    which its votes disagree, or whose object is present; and a random share of the other cells, which is the same for
    all texts (`Sample.cell_chances`).
    """
    chances = _chances(_sizes(labels, present, doubt), min(texts, len(labels)))
    random = np.random.default_rng(seed)
    order = random.permutation(len(labels))
    steps = np.floor(np.cumsum(chances[order]) + random.random() + 1e-9)
    rows = np.sort(order[np.diff(steps, prepend=0) > 0])
    return rows, chances[rows]


def doubts(labels: NDArray[np.int8], present: Bools) -> Floats:
    """Return the assumed probability that the judge is wrong, from its label: [texts, classes], in [0, 1]."""
    denied = np.where(present, DOUBT_NO, DOUBT_NO * _says(labels).mean(axis=0))
    return np.where(labels == 1, DOUBT_YES, np.where(labels == 0, denied, UNDECIDED))


def _says(labels: NDArray[np.int8]) -> Floats:
    """Return the judge's label of each cell as 1 or 0, and 1/2 where the judge is undecided."""
    return np.where(labels == 1, 1.0, np.where(labels == 0, 0.0, 0.5))


def _sizes(labels: NDArray[np.int8], present: Bools, doubt: Floats | None) -> Floats:
    """Return each text's size, which says how much it is expected to move the scores; the mean is 1."""
    says = _says(labels)
    at = Totals((says * present).sum(axis=0), says.sum(axis=0), present.sum(axis=0).astype(float))
    doubt = doubts(labels, present) if doubt is None else doubt
    variance = doubt * (1 - doubt)
    size = np.zeros(len(labels))
    for score in linear(at, ()).values():
        true, predicted, _ = score.slopes
        part = variance * present @ (true + predicted) ** 2 + variance * ~present @ predicted**2
        if part.mean() > 0:
            size += part / part.mean()
    if not size.any():
        return np.ones(len(size))
    size = np.sqrt(size)
    mixed: Floats = (1 - EVEN) * size / size.mean() + EVEN
    return mixed


def _chances(sizes: Floats, texts: int) -> Floats:
    """Return chances in proportion to the sizes, none above 1, that add up to the number of texts."""
    chances = np.zeros(len(sizes))
    while (open_ := chances < 1).any():
        part = sizes[open_] * (texts - (~open_).sum()) / sizes[open_].sum()
        chances[open_] = np.minimum(1, part)
        if (part <= 1).all():
            break
    return chances
