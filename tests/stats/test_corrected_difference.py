"""Corrected differences of two models: by hand, in limits where they are known, and against a simulated truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halluscope.benchmarks.throne.counting import Conventions, Hits, score
from halluscope.stats.corrected import Sample, estimate
from halluscope.stats.corrected_difference import differences
from halluscope.stats.intervals import total_of
from halluscope.stats.text_draw import draw

TEXTS = 400


def plain(labels, present):
    """The scores as THRONE's metric has them."""
    found = score(total_of(Hits.of(labels, present).counts(Conventions())), Conventions())
    return {name: float(value[0]) for name, value in found.items()}


def model(wrong, first_row):
    """The judge says yes to a class that is in all 400 images; people do not, in so many of 100 labelled texts."""
    labels = np.ones((TEXTS, 1), dtype=np.int8)
    implied = np.arange(100)[:, np.newaxis] >= wrong
    sample = Sample(first_row + np.arange(100), np.full(100, 0.25), implied)
    return estimate(labels, labels == 1, sample)


def test_two_draws_by_hand():
    """Recall is 0.9 and 0.8, and the judge says 1 of both, so that predictions do not tell images apart.

    A text moves recall by (y - 0.9) / 400. The weighted squares add up to 0.09 / 400 = 0.000225 by images and to 3/4 x
    0.0009 x 100 / 99 = 0.000682 by the draw; of the second model to 0.16 / 400 and 0.001212. Together it is 0.002519.
    The squared parts of the draws add up to 3.305e-8 (test_corrected.py) and 3.306e-8, so there are 2 x 0.002519^2 /
    6.611e-8 = 192 degrees of freedom: t is 1.9724, and |T| is above 0.1 / 0.05019 = 1.9925 with p = 0.0477.
    """
    difference = differences(model(10, 0), model(20, 100), level=0.95)["recall_all"]
    assert difference.value == pytest.approx(0.1)
    assert difference.by_images == pytest.approx(0.000625)
    assert difference.by_labels == pytest.approx(0.000682 + 0.001212, abs=1e-6)
    assert [difference.low, difference.high] == pytest.approx([0.0010, 0.1990], abs=1e-4)
    assert difference.p == pytest.approx(0.0477, abs=1e-4)


def test_one_draw_by_hand():
    """Of the same 100 images, people disagree on 10 with the judge about both texts, on 10 about the second alone.

    The pair moves the difference by -0.1 / 400, in these 10 by 0.9 / 400: as the first model's texts move its recall.
    """
    difference = differences(model(10, 0), model(20, 0), level=0.95)["recall_all"]
    half = 2.009 * (0.000682 + 0.000225) ** 0.5
    assert difference.value == pytest.approx(0.1)
    assert [difference.low, difference.high] == pytest.approx([0.1 - half, 0.1 + half], abs=2e-4)


def test_models_of_which_people_say_all_and_nothing():
    difference = differences(model(0, 0), model(100, 0), level=0.95)["recall_all"]
    assert (difference.value, difference.p) == (1, 0)


@st.composite
def pairs(draw_):
    """What two models imply about the same images, and what is present."""
    random = np.random.default_rng(draw_(st.integers(0, 2**32)))
    shape = draw_(st.integers(120, 200)), draw_(st.integers(1, 4))
    first, second, present = random.random((3, *shape)) < random.uniform(0.3, 0.7, shape[1])
    return first, second, present


@settings(max_examples=30)
@given(pairs(), st.booleans())
def test_a_judge_without_errors_has_the_difference_of_its_own_scores(made, is_same_draw):
    """The labels confirm what it says, so nothing of the variance is due to them."""
    first, second, present = made
    estimates = []
    for implied, seed in ((first, 1), (second, 2)):
        labels = implied.astype(np.int8)
        rows, chances = np.arange(100), np.full(100, 100 / len(labels))
        if not is_same_draw:
            rows, chances = draw(labels, present, 100, seed)
        estimates.append(estimate(labels, present, Sample(rows, chances, implied[rows])))
    found = differences(*estimates, level=0.95)
    scores = [plain(implied.astype(np.int8), present) for implied in (first, second)]
    for name, difference in found.items():
        assert difference.value == pytest.approx(scores[0][name] - scores[1][name])
        assert difference.by_labels == pytest.approx(0)
        assert difference.low < difference.value < difference.high


def test_a_model_does_not_differ_from_itself():
    """Neither the images nor the labels move the difference."""
    found = differences(model(10, 0), model(10, 0), level=0.95)["recall_all"]
    assert (found.value, found.p) == (0, 1)
    assert np.isnan([found.low, found.high]).all()


def test_a_score_that_is_refused_for_one_model_has_no_difference():
    labels = np.ones((TEXTS, 1), dtype=np.int8)
    few = estimate(labels, labels == 1, Sample(np.arange(50), np.full(50, 1 / 8), labels[:50] == 1))
    found = differences(model(10, 0), few, level=0.95)
    assert all(np.isnan([one.value, one.low, one.p]).all() for one in found.values())


@pytest.mark.parametrize("times", [1.0, 1.5])
def test_the_interval_holds_the_true_difference(times):
    """In 150 draws 95 % are 142; a binomial has fewer than 133 in one case of 1,000."""
    random = np.random.default_rng(5)
    often = 0.6 / np.arange(1, 13)
    held = 0
    for seed in range(150):
        present = random.random((500, 12)) < often
        estimates = []
        for more in (1.0, times):
            implied = random.random(present.shape) < np.where(present, 0.7, 0.2 * more * often)
            says = np.where(
                implied, random.random(present.shape) < 0.9, random.random(present.shape) < 0.1 * often
            )
            labels = says.astype(np.int8)
            rows, chances = draw(labels, present, 120, seed)
            estimates.append(estimate(labels, present, Sample(rows, chances, implied[rows])))
        true = 0.7 * often.sum()
        first, second = (true / (true + (0.2 * more * often * (1 - often)).sum()) for more in (1.0, times))
        difference = differences(*estimates, level=0.95)["precision_all"]
        held += difference.low <= first - second <= difference.high
    assert held >= 133
