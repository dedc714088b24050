"""Scores of several models on the same images, corrected by people's marks of a sample of what one judge judged.

A model whose own responses are marked is corrected by strata of the judge's values, as in
`halluscope.stats.samples.corrected_score`. For a model without marks, those of another model say how the judge errs:
given what people would say of a response, the judge gives on average `a + b` times that. This line, fitted to the
marks (weighed by 1 / their chances), is read backwards; for a share it is Rogan's and Gladen's estimate (American
Journal of Epidemiology 107, 1978). What people say, given what the judge said, would not do in its place: it depends on
how often a model is wrong, so it would draw every model towards the one that was marked.

Of two models by the same marks, the line's height cancels: their difference is the judge's, divided by b.

In each resample the images are drawn once for all models, and each sheet's marks are weighed once for all models that
are corrected by them. So the difference of two models is paired.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.ratios import Floats
from halluscope.stats.samples import MarkedStratum, strata_edges, stratum_of_values
from halluscope.stats.tallies import Ints

SMALLEST_SLOPE = 0.05  # b, below which the judge does not follow people


@dataclass(frozen=True)
class Marks:
    """The marked responses of a sheet: [marked] each."""

    judged: Floats  # what each adds to the score's numerator, by the judge
    part: Floats  # the same by people
    whole: Floats  # what each adds to the denominator, by people
    chances: Floats  # the chance with which it was drawn, in (0, 1]


@dataclass(frozen=True)
class Judged:
    """What a judge says of a model's responses, and the marks that correct it: [rows] each."""

    part: Floats  # what each response adds to the score's numerator
    whole: Floats  # what it adds to the denominator
    clusters: Ints  # its image, from 0, in the numbering that all models share
    sheet: int  # the number of the sheet by whose marks it is corrected
    is_own: bool  # whether the sheet is of these responses


@dataclass(frozen=True)
class Corrected:
    """A score of each model, corrected: [resamples, models], and [1, models] for the values themselves.

    NaN where the judge does not follow people, so that their marks say nothing of other models.
    """

    values: Floats
    both: Floats  # images drawn and marks weighed again
    by_images: Floats  # only images drawn again
    by_marks: Floats  # only marks weighed again


# The columns of moments of marks
PART, WHOLE, JUDGED, PART_PART, PART_WHOLE, WHOLE_WHOLE, JUDGED_PART, JUDGED_WHOLE = range(8)


class _Sheet:
    """The marks of a sheet, by strata of the judge's values."""

    def __init__(self, marks: Marks, most: float, resamples: int, random: np.random.Generator) -> None:
        self.edges = strata_edges(marks.judged)
        stratum_of = stratum_of_values(marks.judged, self.edges)
        strata = len(self.edges) + 1
        self.sizes = np.bincount(stratum_of, weights=1 / marks.chances, minlength=strata)
        values = []
        drawn = []
        for stratum in range(strata):
            is_here = stratum_of == stratum
            rows = MarkedStratum(marks.part[is_here], marks.whole[is_here], marks.chances[is_here], most)
            judged = marks.judged[is_here]
            weights = rows.weights / rows.weights.sum()
            values.append(weights @ _moments(rows.part, rows.whole, judged))
            middle = weights @ judged
            with_ends = _moments(
                np.append(rows.part, rows.ends()),
                np.append(rows.whole, [rows.middle, rows.middle]),
                np.append(judged, [middle, middle]),
            )
            drawn.append(rows.resampled_weights(resamples, random) @ with_ends)
        # the mean moments of each stratum's marks: [1 or resamples, strata, moments]
        self.values = np.stack(values)[np.newaxis]
        self.drawn = np.stack(drawn, axis=1)


def _moments(part: Floats, whole: Floats, judged: Floats) -> Floats:
    """Return what moments are the means of: [rows, moments]."""
    columns = [part, whole, judged, part**2, part * whole, whole**2, judged * part, judged * whole]
    return np.stack(columns, axis=1)


def corrected_scores(
    models: Sequence[Judged],
    sheets: Sequence[Marks],
    most: float,
    resampling: Bootstrap,
) -> Corrected:
    """Correct a score of models that answered the same questions.

    Args:
        models: what the judge says of each model's responses; a sheet is at most one model's own.
        sheets: people's marks.
        most: the greatest value of the score; the least is 0.
        resampling: how often is resampled.
    """
    random = np.random.default_rng(resampling.seed)
    drawn_sheets = [_Sheet(marks, most, resampling.resamples, random) for marks in sheets]
    clusters = 1 + max(int(model.clusters.max()) for model in models)
    by_cluster = [_by_cluster(model, drawn_sheets[model.sheet], clusters) for model in models]
    columns = np.concatenate(by_cluster, axis=1)
    all_images = columns.sum(axis=0, keepdims=True)
    drawn_images = resampling.sums(columns)

    widths = [part.shape[1] for part in by_cluster]
    values = [sheet.values for sheet in drawn_sheets]
    drawn = [sheet.drawn for sheet in drawn_sheets]

    def scores(images: Floats, moments: Sequence[Floats]) -> Floats:
        sums = np.split(images, np.cumsum(widths)[:-1], axis=1)
        return np.clip(_scores(models, drawn_sheets, sums, moments), 0, most)

    return Corrected(
        values=scores(all_images, values),
        both=scores(drawn_images, drawn),
        by_images=scores(drawn_images, values),
        by_marks=scores(all_images, drawn),
    )


def _by_cluster(model: Judged, sheet: _Sheet, clusters: int) -> Floats:
    """Return, for each image, the sums of the judge's parts and wholes, and the rows of each stratum."""
    stratum_of = stratum_of_values(model.part, sheet.edges)
    sums = np.zeros((clusters, 2 + len(sheet.edges) + 1))
    np.add.at(sums[:, 0], model.clusters, model.part)
    np.add.at(sums[:, 1], model.clusters, model.whole)
    np.add.at(sums, (model.clusters, 2 + stratum_of), 1)
    return sums


def _scores(
    models: Sequence[Judged],
    sheets: Sequence[_Sheet],
    sums: Sequence[Floats],
    moments: Sequence[Floats],
) -> Floats:
    """Return each model's corrected score: [resamples, models].

    Args:
        models: the models.
        sheets: the sheets.
        sums: of each model, what `_by_cluster` gives, summed over images: [1 or resamples, columns].
        moments: of each sheet: [1 or resamples, strata, moments].
    """
    judged = [model_sums[:, 0] / model_sums[:, 1] for model_sums in sums]
    # of each sheet, the corrected and the judge's score of what was marked
    people_of = []
    judge_of = []
    slopes = []
    for sheet, sheet_moments in zip(sheets, moments, strict=True):
        totals = np.einsum("rsm,s->rm", sheet_moments, sheet.sizes)
        people_of.append(totals[:, PART] / totals[:, WHOLE])
        judge_of.append(totals[:, JUDGED] / totals[:, WHOLE])
        slopes.append(_slope(totals))
    own = {}
    for number, model in enumerate(models):
        if model.is_own:
            strata_sizes = sums[number][:, 2:]
            sheet_moments = moments[model.sheet]
            part = (strata_sizes * sheet_moments[:, :, PART]).sum(axis=1)
            whole = (strata_sizes * sheet_moments[:, :, WHOLE]).sum(axis=1)
            own[number] = part / whole
            people_of[model.sheet] = own[number]
            judge_of[model.sheet] = judged[number]
    columns = []
    for number, model in enumerate(models):
        if model.is_own:
            columns.append(own[number])
        else:
            away = (judged[number] - judge_of[model.sheet]) / slopes[model.sheet]
            columns.append(people_of[model.sheet] + away)
    return np.stack(np.broadcast_arrays(*columns), axis=1)


def _slope(totals: Floats) -> Floats:
    """Return b of the line `judged = a x whole + b x part`, by least squares; NaN below `SMALLEST_SLOPE`."""
    share = totals[:, PART_WHOLE] / totals[:, WHOLE_WHOLE]
    together = totals[:, JUDGED_PART] - share * totals[:, JUDGED_WHOLE]
    apart = totals[:, PART_PART] - share * totals[:, PART_WHOLE]
    slope = np.divide(together, apart, out=np.zeros_like(apart), where=apart > 0)
    return np.where(slope < SMALLEST_SLOPE, np.nan, slope)
