"""Scores of a judge's labels, corrected by the labels that people gave to a sample of texts.

Source: Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, "Prediction-powered inference" (Science 382, 2023): a total over
all cells is the total of the judge's labels plus the weighted total of what it got wrong in the sample,
`sum(f) + sum((y - f) / pi)`; in surveys this is the difference estimator (Särndal, Swensson and Wretman, "Model assisted
survey sampling", 1992, section 6.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halluscope.stats.ratios import Floats, defined_mean, f_of_means, f_score, ratio
from halluscope.stats.tallies import Bools, Ints

UNLABELLED = -1
"""In a table of labels: nobody labelled the cell, or too few votes agree on it."""


@dataclass(frozen=True)
class Sample:
    """What people said about a sample of texts.

    Attributes:
        texts: [n], the rows of the labelled texts, each once.
        chances: [n], with which probability each of them was drawn, in (0, 1].
        labels: [n, classes], 1 where the text implies the class, 0 where it does not, `UNLABELLED` where nobody said.
        cell_chances: [n, classes], with which probability each labelled cell was drawn once its text was, in (0, 1]; by
            default 1, people read the whole text and name every class that it implies.
        strata: [all texts], the number of the stratum that each text was drawn from; by default one stratum.
    """

    texts: Ints
    chances: Floats
    labels: NDArray[np.int8]
    cell_chances: Floats | None = None
    strata: Ints | None = None


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
        `precision recall f1 f0.5` (one F per beta), pooled over all cells (`_all`) and averaged over classes (`_cls`).

    Raises:
        ValueError: for tables of unequal shapes, a chance outside (0, 1], or a text that comes twice.
    """
    judged = (labels == 1).astype(float)
    told = sample.labels != UNLABELLED
    cells = np.ones(told.shape) if sample.cell_chances is None else sample.cell_chances
    weights = np.where(told, 1 / (sample.chances[:, None] * cells), 0.0)
    wrong = weights * (sample.labels - judged[sample.texts])
    predicted = judged.sum(axis=0) + wrong.sum(axis=0)
    true = (judged * present).sum(axis=0) + (wrong * present[sample.texts]).sum(axis=0)
    p, r = ratio(true, predicted), ratio(true, present.sum(axis=0).astype(float))
    pooled = ratio(true.sum(), predicted.sum()), ratio(true.sum(), np.array(float(present.sum())))
    means = defined_mean(p), defined_mean(r)
    scores = {"precision_all": pooled[0], "recall_all": pooled[1]}
    scores |= {f"f{beta:g}_all": f_of_means(*pooled, beta) for beta in betas}
    scores |= {"precision_cls": means[0], "recall_cls": means[1]}
    of_classes = {beta: defined_mean(f_score(p, r, beta)) for beta in betas}
    for beta in betas:
        scores[f"f{beta:g}_cls"] = f_of_means(*means, beta) if class_f == "of_means" else of_classes[beta]
    return Corrected(
        {name: {"value": float(value), "low": np.nan, "high": np.nan} for name, value in scores.items()}, {}
    )


def draw(
    labels: NDArray[np.int8], present: Bools, texts: int, seed: int = 0, doubt: Floats | None = None
) -> tuple[Ints, Floats]:
    """Draw the texts that people should read, so that few labels say much about every score.

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
    rows = np.sort(np.random.default_rng(seed).choice(len(labels), min(texts, len(labels)), replace=False))
    return rows, np.full(len(rows), len(rows) / len(labels))
