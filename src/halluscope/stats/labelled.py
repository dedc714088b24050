"""Estimates the totals over all texts from the labels that people gave to a sample of texts.

These are steps 1 and 2 of `halluscope.stats.corrected`: the kinds of cells, the prediction, the anchor, the estimate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Ints

# The value in a table of labels for a cell that nobody labelled, or on which too few votes agree.
UNLABELLED = -1

# A kind's share of yes counts in a class at least as much as this many labels, however different the classes are.
LEAST_PRIOR = 0.01

FARTHEST = 6.0  # The greatest error, in standard errors, of the number of texts that a sample represents


@dataclass(frozen=True)
class Sample:
    """People's labels of a sample of texts."""

    texts: Ints  # [n], the rows of the labelled texts, each once
    chances: Floats  # [n], the probability with which each text was drawn, in (0, 1]
    # [n, classes], 1 if the text implies the class, 0 if it does not, `UNLABELLED` if nobody said
    labels: NDArray[np.int8]
    # [n, classes], the probability, in (0, 1], with which each labelled cell was drawn after its text,
    # independently of other cells; by default 1: people read the whole text and name every class that it implies
    cell_chances: Floats | None = None
    # [all texts], the number of the stratum that each text was drawn from; by default there is one stratum
    strata: Ints | None = None

    def check(self, labels: NDArray[np.int8], present: Bools) -> None:
        """Check that the sample fits the tables [texts, classes], and that its chances can be those of the draw."""
        drawn = (len(self.texts), labels.shape[1])
        cells = np.ones(drawn) if self.cell_chances is None else self.cell_chances
        if labels.shape != present.shape or not self.labels.shape == cells.shape == drawn:
            raise ValueError(
                f"labels, present, and the sample's labels and cell_chances have the shapes {labels.shape}, "
                f"{present.shape}, {self.labels.shape} and {cells.shape}; expected two equal shapes, and twice {drawn}."
            )
        if self.chances.shape != drawn[:1] or (self.strata is not None and len(self.strata) != len(labels)):
            raise ValueError("The sample's chances or strata have another length; expected one chance per labelled "
                             f"text ({drawn[0]}) and one stratum per text ({len(labels)}).")  # fmt: skip
        if len(np.unique(self.texts)) != drawn[0]:
            raise ValueError("A text is in the sample twice; expected each text once.")
        for name, chances in ("chances", self.chances), ("cell_chances", cells[self.labels != UNLABELLED]):
            if not ((chances > 0) & (chances <= 1)).all():
                raise ValueError(
                    f"{name} has a number outside (0, 1]; expected the probability of each draw."
                )
        self._check_size(len(labels))

    def _check_size(self, texts: int) -> None:
        stands = (1 / self.chances).sum()
        error = np.sqrt(((1 - self.chances) / self.chances**2).sum())
        if abs(stands - texts) > FARTHEST * error + texts / 1e6:
            raise ValueError(
                f"By its chances the sample represents {stands:,.0f} texts (give or take {error:,.0f}), but there are "
                f"{texts:,}; expected the probability with which each text was drawn."
            )


@dataclass(frozen=True)
class Reading:
    """A sample with the ground truth of its texts."""

    rows: Ints  # [n], the texts' rows
    strata: Ints  # [n], the texts' strata
    chance: Floats  # [n, 1], the probability of drawing each text
    cell: Floats  # [n, classes], the probability of drawing each cell within its text
    told: Bools  # [n, classes], whether people labelled the cell
    said: Bools  # [n, classes], whether they said yes
    present: Bools  # [n, classes], the ground truth

    @classmethod
    def of(cls, present: Bools, sample: Sample) -> "Reading":
        """Make a reading from a sample that was checked."""
        told = sample.labels != UNLABELLED
        cell = np.where(told, 1.0 if sample.cell_chances is None else sample.cell_chances, 1.0)
        strata = np.zeros(len(told), dtype=np.int64) if sample.strata is None else sample.strata[sample.texts]
        chance = sample.chances[:, np.newaxis]
        return cls(sample.texts, strata, chance, cell, told, sample.labels == 1, present[sample.texts])


@dataclass(frozen=True)
class Kind:
    """A kind of cells: those with the same label of the judge whose objects are all present, or all absent."""

    says: str  # the judge's label, "yes", "no" or "undecided"
    present: bool  # whether the objects are present
    cells: Bools  # [texts, classes], which cells are of this kind
    labelled: Bools  # [n, classes], which of them people labelled
    share: Floats  # [classes], the prediction: the probability that people say yes
    own: Floats  # [classes], the share, drawn towards people's labels of the class
    trust: Floats  # [classes], how far it is drawn, from 0 to 1

    def __str__(self) -> str:
        """Return the kind in words, for a message."""
        return f"{self.says}, and the object is {'present' if self.present else 'absent'}"


def kinds_of(labels: NDArray[np.int8], present: Bools, read: Reading) -> Iterator[Kind]:
    """Yield the six kinds of cells, with their shares of yes by people's labels."""
    yes, no = labels == 1, labels == 0
    often = yes.sum(axis=0) * labels.shape[1] / max(1, yes.sum())
    for says, cells, guess in (("yes", yes, 1.0), ("no", no, 0.0), ("undecided", ~(yes | no), 0.5)):
        for there in (True, False):
            of = cells & (present == there)
            labelled = of[read.rows] & read.told
            size = often if says == "no" and not there else np.ones(labels.shape[1])
            share = _share(np.where(labelled, 1 / (read.chance * read.cell), 0.0), read.said, size, guess)
            yield Kind(says, there, of, labelled, share, *_own(share, labelled, read.said))


def totals(kinds: Sequence[Kind], read: Reading) -> tuple[Floats, Floats, Floats]:
    """Return the anchor and the estimate of true and predicted cells [2, classes], and the prediction's errors [n,
    classes].
    """
    anchor, total = np.zeros((2, 2, read.told.shape[1]))
    shares = np.zeros(read.told.shape)
    for kind in kinds:
        count, seen = kind.cells.sum(axis=0), kind.labelled.sum(axis=0)
        found = (kind.labelled & read.said).sum(axis=0)
        counted = slice(0 if kind.present else 1, 2)
        anchor[counted] += found + (count - seen) * kind.own
        total[counted] += count * kind.share
        shares += kind.labelled * kind.share
    wrong = np.where(read.told, (read.said - shares) / read.cell, 0.0)
    weighted = wrong / read.chance
    total += np.stack([(weighted * read.present).sum(axis=0), weighted.sum(axis=0)])
    return anchor, total, wrong


def _share(weights: Floats, said: Bools, size: Floats, guess: float) -> Floats:
    """Return the weighted share of yes, in each class in proportion to `size`; `guess` if nobody labelled a cell."""
    whole = (weights * size).sum()
    if not whole:
        return np.full(len(size), guess)
    share: Floats = np.minimum(1.0, (weights * said).sum() / whole * size)
    return share


def _own(share: Floats, labelled: Bools, said: Bools) -> tuple[Floats, Floats]:
    """Return the kind's share of yes, drawn towards each class's own share, and how far it is drawn, from 0 to 1.

    It is drawn further if classes differ more. Their difference is measured by the intraclass correlation r of the
    beta-binomial distribution, estimated by moments (Kleinman, "Proportions with extraneous variance", JASA 68, 1973):
    the number of yes among n labels has the variance n s (1 - s) (1 + (n - 1) r). The kind's share then counts as much
    as (1 - r) / r labels.
    """
    yes, seen = (labelled & said).sum(axis=0), labelled.sum(axis=0)
    variance = share * (1 - share)
    pairs = (seen * (seen - 1) * variance).sum()
    more = ((yes - seen * share) ** 2 - seen * variance).sum()
    prior = max(LEAST_PRIOR, pairs / more - 1) if pairs > 0 and more > 0 else np.inf
    return share + (yes - seen * share) / (seen + prior), seen / (seen + prior)
