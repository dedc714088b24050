"""Scores of a judge's labels, corrected by the labels that people gave to a sample of texts.

The estimate is prediction-powered (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, "Prediction-powered inference",
Science 382, 2023): a total over all cells is the total of a prediction `m`, plus what the sample says is wrong with it,

    T = sum over all cells of m + sum over labelled cells of (y - m) / pi,

where `y` is a person's label and `pi` the probability with which the cell came to be labelled. Surveys know it as the
difference estimator, and with a fitted `m` as the generalized regression estimator (Särndal, Swensson and Wretman,
"Model assisted survey sampling", 1992, sections 6.3, 6.4 and, for texts and cells within texts, 8.9). The steps:

1. Prediction. Cells are of six kinds: what the judge says (yes, no, undecided) times whether the object is present. `m`
   is the weighted share of people's yes in the cell's kind; of objects that are absent and that the judge denies, in
   proportion to how often the judge says yes to the class. No class is fitted by itself, so that `m` is not bent to the
   few labels of a rare class.
2. Anchor. A class average is a mean of ratios, and a rare class's `T` is so noisy that its ratio would be biased or
   negative. So the score is taken at totals that never are: labelled cells as they were labelled, the others at the
   class's own share of yes, drawn towards `m` the more, the more alike the classes are. What is left follows the
   score's slopes there (one step of Newton's method): score = score(anchor) + slopes x (T - anchor). Both know the
   same labels, so that the slopes vary with what they multiply; the bias that this leaves is estimated and taken off.
3. Interval. Student's t over three variances, of each text's influence (its cells times the slopes): which texts were
   drawn (Deville's approximation for a drawing of fixed size, "Variance estimation for complex statistics and
   estimators", Survey Methodology 25, 1999, per stratum), which cells were drawn within them (Särndal, result 4.3.1),
   and which images there are.

The `ppi-python` package (0.2.3) does this for means, quantiles and regressions of independent rows; it has neither
clusters nor ratios of totals, and its weights are no inclusion probabilities, so it does not fit.

It assumes that people are right, that the chances are those of the draw, that it could have drawn each text, and that
images are independent. It does not need the judge's errors to be alike in classes or in texts. Which texts to draw:
`halluscope.stats.drawn`. In `perf/coverage.py` (1,000 runs, 200 labelled texts) the 95 % interval holds the truth in
93.3 to 97.1 % for each of 80 scores; it does so least often for class-averaged precision where a few classes have most
errors. Where no error was found, the interval knows of the images only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from halluscope.stats.labelled import UNLABELLED, Kind, Reading, Sample, kinds_of, totals
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools
from halluscope.stats.totals import Totals, linear

__all__ = ["FEWEST_TEXTS", "UNLABELLED", "Corrected", "Sample", "correct"]

FEWEST_TEXTS = 100
"""With 100 labelled texts, 95 % intervals cover 91 to 97 %; with 50 some cover 86 %: a judge that errs in every tenth
text is then seen to err five times."""

MOST_UNSEEN = 0.25
"""The share of the classes that may have no label on what the judge says yes to, or on what is present."""

FEW_CELLS = 0.01
"""A kind of cells may be without any label if there are so few of them, as a share of what the judge says yes to."""

FEWEST_DEGREES, MOST_DEGREES = 3.0, 1e9
LEAST = 1e-300


@dataclass(frozen=True)
class Corrected:
    """Corrected scores.

    Attributes:
        scores: name -> "value", "low" and "high", fractions in [0, 1]; NaN where refused.
        refused: name -> why the labels cannot carry this score; empty if all scores are given.
    """

    scores: dict[str, dict[str, float]]
    refused: dict[str, str]


def correct(
    labels: NDArray[np.int8],
    present: Bools,
    sample: Sample,
    betas: Sequence[float] = (1.0, 0.5),
    class_f: str = "of_means",
    level: float = 0.95,
) -> Corrected:
    """Estimate what the scores would be if people had read every text.

    Args:
        labels: [texts, classes] of the judge: 1, 0, or any other number where too few votes agree.
        present: [texts, classes], the ground truth.
        sample: what people said.
        betas: of the F scores.
        class_f: "of_means" is F of the two class averages, "mean" the mean of each class's F.
        level: of the interval, in (0, 1).

    Returns:
        `precision recall f1 f0.5` (one F per beta), pooled over all cells (`_all`) and averaged over the classes where
        they are defined (`_cls`). All are refused for fewer than `FEWEST_TEXTS` labelled texts (unless these are all
        texts), for a stratum with fewer than two, and for a kind of cells that nobody labelled; class averages if more
        than `MOST_UNSEEN` of the classes have no label on what the judge says yes to, or on what is present.

    Raises:
        ValueError: for tables of unequal shapes, a chance outside (0, 1], a text that comes twice, or chances by which
            the sample stands for another number of texts than there are.
    """
    sample.check(labels, present)
    read = Reading.of(present, sample)
    kinds = [*kinds_of(labels, present, read)]
    anchor, total, wrong = totals(kinds, read)
    at = Totals(anchor[0], anchor[1], present.sum(axis=0).astype(float))
    near = linear(at, betas, class_f)
    slopes, spread = (
        np.stack([score.slopes for score in scores.values()])
        for scores in (near, linear(at, betas, class_f, spread=True))
    )
    values = np.stack([score.value for score in near.values()])
    values += (slopes[:, :2] * (total - anchor)).sum(axis=(1, 2))
    values -= _bias(kinds, read, np.stack([score.curves for score in near.values()]))
    of_texts = _of_texts(read, wrong, slopes)
    variance = of_texts.sum(axis=0) + _of_images(kinds, present, read, wrong, spread)
    half = student(level, _degrees(of_texts, variance)) * np.sqrt(variance)
    refused = _refused(present, kinds, read, sample, dict(zip(near, values.tolist(), strict=True)))
    rows = np.clip([values, values - half, values + half], 0.0, 1.0).T.tolist()
    return Corrected(
        {
            name: dict(zip(("value", "low", "high"), [np.nan] * 3 if name in refused else row, strict=True))
            for name, row in zip(near, rows, strict=True)
        },
        refused,
    )


def student(level: float, degrees: Floats) -> Floats:
    """How many standard errors a two-sided interval reaches, by Student's t: Abramowitz and Stegun, 26.7.5.

    >>> student(0.95, np.array([3.0, 10.0, 1e6])).round(2).tolist()
    [3.16, 2.23, 1.96]
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    terms = z, (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, third
    return np.asarray(sum(term / degrees**power for power, term in enumerate(terms)))


def _bias(kinds: Sequence[Kind], read: Reading, curves: Floats) -> Floats:
    """The bias [scores] of second order: curves x (covariance of true and predicted, variance of predicted).

    If the draw moves the totals by t and the anchor by a, the estimate is off by H (a t - a^2 / 2), with H for twice
    the curves. As far as a class's own share trusts its labels, a is trust x t, and of the variance of t stays the
    part (1 - (1 - trust)^2) / 2. That variance is of what people's labels and the own share differ by.
    """
    off = sum(
        kind.labelled * (1 - (1 - kind.trust) ** 2) * ((read.said - kind.own) / read.cell) ** 2
        for kind in kinds
    )
    squares = off * ((1 - read.chance) / read.chance + 1 - read.cell) / read.chance
    moments = np.stack([(squares * read.present).sum(axis=0), squares.sum(axis=0)])
    bias: Floats = (curves * moments).sum(axis=(1, 2))
    return bias


def _influence(read: Reading, wrong: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """How much what is wrong moves each score, by text [n, scores], and the variance of the draw of cells in that."""
    here, elsewhere = slopes[:, 0] + slopes[:, 1], slopes[:, 1]
    found, invented = wrong * read.present, wrong * ~read.present
    within = (1 - read.cell) * found**2 @ here.T**2 + (1 - read.cell) * invented**2 @ elsewhere.T**2
    return found @ here.T + invented @ elsewhere.T, within


def _of_texts(read: Reading, wrong: Floats, slopes: Floats) -> Floats:
    """Each labelled text's part [n, scores] in the variance of the draw of texts and of cells."""
    moved, within = _influence(read, wrong, slopes)
    moved, parts, left = moved / read.chance, within / read.chance, 1 - read.chance
    for stratum in np.unique(read.strata):
        of = read.strata == stratum
        if left[of].any():
            middle = (left[of] * moved[of]).sum(axis=0) / left[of].sum()
            parts[of] += of.sum() / max(1, of.sum() - 1) * left[of] * (moved[of] - middle) ** 2
    return parts


def _of_images(kinds: Sequence[Kind], present: Bools, read: Reading, wrong: Floats, slopes: Floats) -> Floats:
    """The variance [scores] of the draw of images: the squared influences of what is predicted, corrected like totals.

    It is never less than that of what is predicted, which is smoother than what people say.
    """
    expected = present @ slopes[:, 2].T
    for kind in kinds:
        expected += kind.cells @ (kind.share * (slopes[:, 1] + kind.present * slopes[:, 0])).T
    expected -= expected.mean(axis=0)
    moved, within = _influence(read, wrong, slopes)
    more = ((expected[read.rows] + moved) ** 2 - within - expected[read.rows] ** 2) / read.chance
    variance: Floats = (expected**2).sum(axis=0) + np.maximum(0.0, more.sum(axis=0))
    return variance


def _degrees(parts: Floats, variance: Floats) -> Floats:
    """Degrees of freedom by Satterthwaite, 2 V^2 / Var(V): few where few texts make up the variance."""
    of_variance = (parts**2).sum(axis=0) - parts.sum(axis=0) ** 2 / len(parts)
    degrees: Floats = 2 * variance**2 / np.maximum(of_variance, LEAST)
    return np.clip(degrees, FEWEST_DEGREES, MOST_DEGREES)


def _refused(
    present: Bools, kinds: Sequence[Kind], read: Reading, sample: Sample, values: Mapping[str, float]
) -> dict[str, str]:
    """Why the labels cannot carry a score, by its name."""
    if why := _too_few(len(present), sample) or _unlabelled(kinds):
        return dict.fromkeys(values, why)
    found = {
        name: "It is undefined: nothing is predicted, nothing present, or nothing both."
        for name, value in values.items()
        if np.isnan(value)
    }
    yes = kinds[0].cells | kinds[1].cells
    for cells, what in ((yes, "that the judge says yes to"), (present, "that are present")):
        classes = cells.any(axis=0)
        unseen = classes & ~(cells[read.rows] & read.told).any(axis=0)
        if unseen.sum() > MOST_UNSEEN * classes.sum():
            why = (
                f"Of the {classes.sum()} classes {what}, {unseen.sum()} have no label there; expected at most "
                f"{MOST_UNSEEN:.0%}. Label more texts."
            )
            found |= dict.fromkeys((name for name in values if name.endswith("_cls")), why)
    return found


def _too_few(texts: int, sample: Sample) -> str | None:
    """Why so few labelled texts say nothing of the others."""
    fewest = min(FEWEST_TEXTS, texts)
    if len(sample.texts) < fewest:
        return f"Only {len(sample.texts)} texts are labelled; expected at least {fewest}."
    if sample.strata is not None:
        for stratum, size in zip(*np.unique(sample.strata, return_counts=True), strict=True):
            labelled = int((sample.strata[sample.texts] == stratum).sum())
            if labelled < min(2, size):
                return f"Of stratum {stratum}, with {size} texts, {labelled} are labelled; expected at least two."
    return None


def _unlabelled(kinds: Sequence[Kind]) -> str | None:
    """Why nothing is known of a kind of cells."""
    few = FEW_CELLS * sum(kind.cells.sum() for kind in kinds if kind.says == "yes")
    for kind in kinds:
        if kind.cells.sum() > few and not kind.labelled.any():
            return (
                f"There are {kind.cells.sum()} cells where the judge says {kind}, and none of them is labelled. Label "
                "whole texts, or a random share of such cells."
            )
    return None
