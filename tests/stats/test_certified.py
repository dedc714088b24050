"""Scores of several models, corrected by one sheet of marks: by hand, and by what a judge with known errors shows."""

import numpy as np
import pytest

from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.certified import Judged, Marks, corrected_scores
from halluscope.stats.samples import Marked, corrected_score

ROWS = 1000
CLUSTERS = np.arange(ROWS)
RESAMPLING = Bootstrap(2000)


def judged(yes, sheet=0, is_own=False):
    """A judge says yes to so many of the rows, the first ones."""
    part = (np.arange(ROWS) < yes).astype(float)
    return Judged(part, np.ones(ROWS), CLUSTERS, sheet, is_own)


def marks():
    """Of 100 responses that the judge says yes to, 90 are right; of 100 others, 20 are: drawn from 500 and 500."""
    said = np.repeat([1.0, 0.0], 100)
    people = np.concatenate([np.arange(100) < 90, np.arange(100) < 20]).astype(float)
    return Marks(said, people, np.ones(200), np.full(200, 0.2))


def test_a_model_with_marks_and_one_without():
    """P(yes | right) is .9 / 1.1, P(yes | wrong) .1 / .9: 100 more yes are 100 / (.818 - .111) more right ones."""
    corrected = corrected_scores([judged(500, is_own=True), judged(600)], [marks()], 1.0, RESAMPLING)
    slope = 0.9 / 1.1 - 0.1 / 0.9
    first, second = corrected.values[0]
    assert first == pytest.approx(0.5 * 0.9 + 0.5 * 0.2)
    assert second - first == pytest.approx(0.1 / slope)


def test_a_model_with_marks_is_corrected_as_its_certificate_says():
    mine = judged(500, is_own=True)
    corrected = corrected_scores([mine], [marks()], 1.0, RESAMPLING)
    rows = np.concatenate([np.arange(100), 500 + np.arange(100)])
    of_people = marks()
    marked = Marked(rows, of_people.part, of_people.whole, of_people.chances)
    alone = corrected_score(mine.part, marked, CLUSTERS, 1.0, RESAMPLING)
    assert corrected.values[0, 0] == pytest.approx(alone["value"])
    assert RESAMPLING.interval(corrected.both[:, 0]) == pytest.approx((alone["low"], alone["high"]), abs=1e-9)


def test_models_with_the_same_verdicts_do_not_differ():
    """Neither the images nor the marks move the difference of two models with the same verdicts on each response."""
    corrected = corrected_scores([judged(500), judged(500)], [marks()], 1.0, RESAMPLING)
    for values in (corrected.values, corrected.both, corrected.by_images, corrected.by_marks):
        assert np.ptp(values, axis=1).max() == pytest.approx(0)


def test_a_judge_that_does_not_follow_people_corrects_no_other_model():
    of_people = marks()
    nothing = Marks(of_people.judged, np.tile([0.0, 1.0], 100), of_people.whole, of_people.chances)
    corrected = corrected_scores([judged(500, is_own=True), judged(600)], [nothing], 1.0, RESAMPLING)
    assert np.isnan(corrected.values[0]).tolist() == [False, True]


@pytest.mark.parametrize("times", [1.0, 1.5])
def test_the_interval_holds_the_true_difference(times):
    """In 200 draws about 95 % of the intervals hold it; fewer than 178 (z = 3.9) would be too few."""
    random = np.random.default_rng(3)
    held = 0
    for seed in range(200):
        hard = random.random(600)
        both = []
        for rate in (1.0, times):
            true = random.random(600) < 0.5 * rate * hard
            said = true ^ (random.random(600) < np.where(true, 0.12, 0.04))
            both.append((true.astype(float), said.astype(float)))
        true, said = both[0]
        rows = np.concatenate([random.permutation(np.flatnonzero(said == value))[:60] for value in (0, 1)])
        chances = np.where(said == 1, 60 / (said == 1).sum(), 60 / (said == 0).sum())
        sheet = Marks(said[rows], true[rows], np.ones(len(rows)), np.minimum(1, chances[rows]))
        models = []
        for number, (_, verdicts) in enumerate(both):
            models.append(Judged(verdicts, np.ones(600), np.arange(600), 0, number == 0))
        corrected = corrected_scores(models, [sheet], 1.0, Bootstrap(300, seed))
        low, high = Bootstrap(300).interval(corrected.both[:, 0] - corrected.both[:, 1])
        held += low <= 0.25 * (1 - times) <= high
    assert held >= 178
