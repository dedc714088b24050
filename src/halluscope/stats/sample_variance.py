"""The variance of scores that are corrected by people's labels of a sample of texts (`halluscope.stats.corrected`).

It is the sum of two: by which texts were drawn (Deville, Survey Methodology 25, 1999), and by which images are in the
dataset.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from halluscope.stats.beta import student_quantile
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Ints

FEWEST_DEGREES = 3.0
MOST_DEGREES = 1e9
SMALLEST = 1e-300  # stands for 0 where a number divides
ROUNDING = 1e-12  # a smaller standard error comes from rounding


@dataclass(frozen=True)
class SampleErrors:
    """The labelled texts of a sample, and how much the errors of the prediction in each move each score."""

    texts: Ints  # [n], their rows
    chances: Floats  # [n, 1], the probability with which each was drawn
    moved: Floats  # [n, scores], by the slopes of the scores
    spread: Floats  # [n, scores], by slopes whose squares add up to a variance

    def of_same_draw(self, other: "SampleErrors") -> bool:
        """Whether these are the same rows, drawn with the same chances."""
        return np.array_equal(self.texts, other.texts) and np.array_equal(self.chances, other.chances)

    def negative(self) -> "SampleErrors":
        """Return the same with all signs changed."""
        return replace(self, moved=-self.moved, spread=-self.spread)

    def less(self, other: "SampleErrors") -> "SampleErrors":
        """Return by how much more each text moves a score than it does in another table, of the same draw."""
        return replace(self, moved=self.moved - other.moved, spread=self.spread - other.spread)


@dataclass(frozen=True)
class Variances:
    """The variance of each score, or of each difference of two: [scores] each."""

    of_images: Floats  # from which images are in the dataset
    of_draw: Floats  # from which texts were drawn
    degrees: Floats  # of freedom

    @property
    def whole(self) -> Floats:
        return self.of_images + self.of_draw

    @classmethod
    def of(cls, expected: Floats, samples: Sequence[SampleErrors]) -> "Variances":
        """Return the variances, given how much each text moves each score [texts, scores], and independent samples."""
        of_images = _image_variance(expected, samples)
        of_draw = np.zeros(expected.shape[1])
        uncertainty = np.zeros(expected.shape[1])
        for sample in samples:
            of_texts = _draw_variances(sample)
            of_draw += of_texts.sum(axis=0)
            uncertainty += (of_texts**2).sum(axis=0) - of_texts.sum(axis=0) ** 2 / len(of_texts)
        return cls(of_images, of_draw, _degrees_of_freedom(of_images + of_draw, uncertainty))


def _draw_variances(sample: SampleErrors) -> Floats:
    """Return each labelled text's part of the variance from the draw [n, scores]."""
    moved = sample.moved / sample.chances
    left = 1 - sample.chances
    middle = (left * moved).sum(axis=0) / (left.sum() or 1)
    texts = len(moved)
    variances: Floats = texts / max(1, texts - 1) * left * (moved - middle) ** 2
    return variances


def _image_variance(expected: Floats, samples: Sequence[SampleErrors]) -> Floats:
    """Return the variance from the choice of images: [scores].

    It is that of squared influences of predictions [texts, scores], corrected by labels, and never less than the
    variance of the prediction alone, which is smoother than people's labels.
    """
    more = np.zeros(expected.shape[1])
    for sample in samples:
        predicted = expected[sample.texts]
        observed = predicted + sample.spread
        more += ((observed**2 - predicted**2) / sample.chances).sum(axis=0)
    variance: Floats = (expected**2).sum(axis=0) + np.maximum(0.0, more)
    return variance


def _degrees_of_freedom(variance: Floats, uncertainty: Floats) -> Floats:
    """Return Satterthwaite's, 2 V^2 / Var(V), which are few if few texts make up the variance V: [scores].

    Args:
        variance: the whole variance: [scores].
        uncertainty: the variance of the sum of the labelled texts' parts of it: [scores].
    """
    degrees = 2 * variance**2 / np.maximum(uncertainty, SMALLEST)
    return np.asarray(np.clip(degrees, FEWEST_DEGREES, MOST_DEGREES))


def half_widths(variances: Variances, level: float) -> Floats:
    """Return how far an interval reaches on either side, by Student's t: [scores].

    NaN where a score is undefined, and where nothing varies, such as the precision of a model that never errs: then
    nothing says how far.
    """
    errors = np.sqrt(variances.whole)
    widths = np.full(len(errors), np.nan)
    for number in np.flatnonzero(errors > ROUNDING):
        widths[number] = student_quantile(level, float(variances.degrees[number])) * errors[number]
    return widths
