"""Which texts people should read, so that few labels say much about every score.

A text is drawn with a probability in proportion to how much it is expected to move the scores (Isaki and Fuller,
"Survey design under the regression superpopulation model", JASA 77, 1982): more often one whose cells are doubtful, or
of rare classes. A cell's expected squared error is `doubt (1 - doubt)`, and its slope says what an error does to a
score (`halluscope.stats.totals`): a text's part in a score's variance is the sum of `doubt (1 - doubt) slope^2`. The
mean of its parts over pooled and class-averaged precision and recall is the square of its size. No text is drawn
less often than `EVEN` of a plain draw.
"""

import numpy as np
from numpy.typing import NDArray

from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Ints
from halluscope.stats.totals import Totals, linear

EVEN = 0.3
"""The share of the draw that is the same for each text: without it, a text that looks harmless would weigh too much."""

DOUBT_YES, DOUBT_NO, UNDECIDED = 0.1, 0.05, 0.5
"""How likely a label is taken to be wrong before anybody looked; only their proportions matter."""


def draw(
    labels: NDArray[np.int8], present: Bools, texts: int, seed: int = 0, doubt: Floats | None = None
) -> tuple[Ints, Floats]:
    """Draw texts for people to read (systematic sampling in random order, Särndal, section 3.6.2).

    People read the whole of each text and name every class that it implies; if that is too much, they label each cell
    that the judge says yes to, each on which its votes disagree and each object that is present, and of the other cells
    a random share, the same everywhere (`Sample.cell_chances`).

    Args:
        labels: [texts, classes] of the judge, as `correct` has them.
        present: [texts, classes], the ground truth.
        texts: how many to draw; all if there are no more.
        seed: of the draw.
        doubt: [texts, classes], how likely the judge is to be wrong about each cell, in [0, 1] (such as the share of
            its votes that are outvoted); by default from the label alone.

    Returns:
        The rows that were drawn, in order, and the probability with which each was.
    """
    chances = _chances(_sizes(labels, present, doubt), min(texts, len(labels)))
    random = np.random.default_rng(seed)
    order = random.permutation(len(labels))
    steps = np.floor(np.cumsum(chances[order]) + random.random() + 1e-9)
    rows = np.sort(order[np.diff(steps, prepend=0) > 0])
    return rows, chances[rows]


def doubts(labels: NDArray[np.int8], present: Bools) -> Floats:
    """How likely the judge is taken to be wrong about each cell, from the label alone: [texts, classes] in [0, 1]."""
    denied = np.where(present, DOUBT_NO, DOUBT_NO * _says(labels).mean(axis=0))
    return np.where(labels == 1, DOUBT_YES, np.where(labels == 0, denied, UNDECIDED))


def _says(labels: NDArray[np.int8]) -> Floats:
    """What a judge says of each cell, 1/2 where it is undecided."""
    return np.where(labels == 1, 1.0, np.where(labels == 0, 0.0, 0.5))


def _sizes(labels: NDArray[np.int8], present: Bools, doubt: Floats | None) -> Floats:
    """How much each text is expected to move the scores, 1 on average."""
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
    """Chances in proportion to the sizes, none above 1, that add up to the number of texts."""
    chances = np.zeros(len(sizes))
    while (open_ := chances < 1).any():
        part = sizes[open_] * (texts - (~open_).sum()) / sizes[open_].sum()
        chances[open_] = np.minimum(1, part)
        if (part <= 1).all():
            break
    return chances
