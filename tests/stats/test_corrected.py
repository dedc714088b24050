"""Corrected scores: by hand, in limits where they are known, and against a simulated truth."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from halluscope.benchmarks.throne.counting import Conventions, Hits, score
from halluscope.stats.corrected import FEWEST_TEXTS, Sample, correct
from halluscope.stats.intervals import total_of
from halluscope.stats.sample_variance import Variances, half_widths
from halluscope.stats.text_draw import draw

ALL = tuple(f"{name}_{over}" for over in ("all", "cls") for name in ("precision", "recall", "f1", "f0.5"))


def plain(labels, present, **conventions):
    """The scores as THRONE's metric has them."""
    chosen = Conventions(**conventions)
    found = score(total_of(Hits.of(labels, present).counts(chosen)), chosen)
    return {name: float(value[0]) for name, value in found.items()}


def values(corrected):
    return {name: found["value"] for name, found in corrected.scores.items()}


def whole(implied):
    """A sample of all texts."""
    texts = np.arange(len(implied))
    return Sample(texts, np.ones(len(texts)), implied)


def some(implied, rows, chance):
    return Sample(rows, np.full(len(rows), chance), implied[rows])


def by_hand():
    """400 texts and two classes; the first 100 texts were drawn with a chance of 1/4.

    The judge says yes to a everywhere, and a is everywhere; it says yes to b, which is nowhere, in every second text.
    People agree on a in 90 of the 100 texts, and on b in 30 of 50; where the judge denies b, they do too.
    """
    texts = np.arange(400)
    labels = np.stack([np.ones(400), texts % 2], axis=1).astype(np.int8)
    present = np.tile([True, False], (400, 1))
    told = np.stack([texts[:100] >= 10, (texts[:100] % 2 == 1) & (texts[:100] < 60)], axis=1)
    return labels, present, Sample(texts[:100], np.full(100, 0.25), told)


def test_by_hand():
    """True are 0.9 x 400 = 360, predicted 360 + 0.6 x 200 = 480, present 400.

    The interval of recall: a text moves it by (y - 0.9) / 400, so that the squares of the weighted ones add up to
    (90 x 0.1^2 + 10 x 0.9^2) / 100^2 = 0.0009; of the draw it is 3/4 of this, times 100 / 99, 0.000682; and of the
    images 0.09 / 400 = 0.000225. Each of the ten texts where people disagree makes up 0.75 x 100/99 x 0.0081^2 ...
    of the former: 6.136e-5, each other 7.576e-7; their squares add up to 3.770e-8, less 0.000682^2 / 100 it is
    3.305e-8, so that there are 2 x 0.000907^2 / 3.305e-8 = 49.8 degrees of freedom, and t is 2.009.
    """
    labels, present, sample = by_hand()
    found = correct(labels, present, sample)
    assert not found.refused
    expected = {"precision_all": 360 / 480, "recall_all": 0.9, "f1_all": 720 / 880}
    expected |= {"precision_cls": (1 + 0) / 2, "recall_cls": 0.9}
    assert {name: found.scores[name]["value"] for name in expected} == pytest.approx(expected)
    half = 2.009 * (0.000682 + 0.000225) ** 0.5
    assert found.scores["recall_all"]["low"] == pytest.approx(0.9 - half, abs=2e-4)
    assert found.scores["recall_all"]["high"] == pytest.approx(0.9 + half, abs=2e-4)


def test_a_precision_that_nothing_moves_has_no_interval():
    """The judge says yes only where the class is there, in half of these texts, and people agree."""
    texts = np.arange(400)
    present = (texts % 2 == 0)[:, np.newaxis]
    labels = (texts % 4 == 0)[:, np.newaxis].astype(np.int8)
    found = correct(labels, present, some(labels == 1, texts[:100], 0.25)).scores
    assert found["precision_all"] == pytest.approx({"value": 1, "low": np.nan, "high": np.nan}, nan_ok=True)
    assert found["recall_all"]["low"] < found["recall_all"]["value"] == 0.5


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99, 0.999])
def test_intervals_are_students(level):
    """With three degrees of freedom too, where a series in their number is up to an eighth too narrow."""
    degrees = np.array([3.0, 4.0, 10.0, 1e9])
    variances = Variances(of_images=np.zeros(4), of_draw=np.ones(4), degrees=degrees)
    assert half_widths(variances, level) == pytest.approx(stats.t.ppf((1 + level) / 2, degrees), rel=1e-5)


def test_the_bias_of_a_ratio_by_hand():
    """The judge says yes to both classes in all of 400 texts, and both are in every second; of 100 texts, drawn with a
    chance of 1/4, people agree everywhere on a, and on b where it is present and in 10 of the 50 others.

    Of absent objects, 0.6 are thought to be implied, and as 776 / 1176 = 1 / 1.5155 of the variance is between classes,
    this counts as 0.5155 labels: a's own share is 50.309 / 50.5155 = 0.9959, b's 0.2041. The anchors are 399.39 and
    240.61 predicted cells, the estimates 400 and 240. People's labels of a differ from its own share by 0.0041, those
    of b by 0.7959 (10 labels) and 0.2041 (40), so that the variance of b is 12 x (10 x 0.6335 + 40 x 0.0416) = 96.
    A ratio r / w is too high by r / w^2 times that: 0.8312 x 96 / 240.61^2 = 0.001378 for b, and nothing for a.
    """
    texts = np.arange(400)
    present = np.repeat((texts % 2 == 0)[:, None], 2, axis=1)
    implied = np.stack([texts >= 0, (texts % 2 == 0) | (texts < 20)], axis=1)
    found = correct(np.ones((400, 2), dtype=np.int8), present, some(implied, texts[:100], 0.25))
    expected = (200 / 400 + 200 / 240 - 0.001378) / 2
    assert found.scores["precision_cls"]["value"] == pytest.approx(expected, abs=1e-5)
    assert found.scores["recall_cls"]["value"] == pytest.approx(1)


def test_classes_that_differ_no_more_than_by_chance_share_a_prediction():
    """As above, but of 50 labelled absent objects people agree on 20 of a and 22 of b: 0.42 of either are implied.

    The anchors are 200 + 20 + 150 x 0.42 = 283 and 285 predicted cells, the estimates 280 and 288, and the ratios
    200 / 283 + 3 x 200 / 283^2 and 200 / 285 - 3 x 200 / 285^2. No class's own labels move its slope, so that nothing
    is taken off for a bias.
    """
    texts = np.arange(400)
    present = np.repeat((texts % 2 == 0)[:, None], 2, axis=1)
    implied = present | np.stack([texts < 40, texts < 44], axis=1)
    found = correct(np.ones((400, 2), dtype=np.int8), present, some(implied, texts[:100], 0.25))
    expected = (0.714203 + 0.694367) / 2
    assert found.scores["precision_cls"]["value"] == pytest.approx(expected, abs=1e-5)


@st.composite
def tables(draw_, fewest=3, most=40):
    """Make a judge's labels, people's labels, and what is present; nothing is empty."""
    random = np.random.default_rng(draw_(st.integers(0, 2**32)))
    shape = draw_(st.integers(fewest, most)), draw_(st.integers(1, 6))
    often = random.random(shape[1])
    labels = random.choice([0, 1, -1], shape, p=draw_(st.sampled_from([[0.6, 0.3, 0.1], [0.5, 0.5, 0.0]])))
    implied, present = (random.random(shape) < often for _ in range(2))
    labels[0], implied[0], present[0] = 1, True, True
    return labels.astype(np.int8), implied, present


@settings(max_examples=60)
@given(tables(), st.sampled_from(["of_means", "mean"]))
def test_all_texts_labelled_give_the_truth(given_, class_f):
    labels, implied, present = given_
    found = correct(labels, present, whole(implied), class_f=class_f)
    assert values(found) == pytest.approx(plain(implied.astype(np.int8), present, class_f=class_f))


def simulated(seed, texts=400, classes=12, labelled=120):
    """A judge that errs, more in some classes and texts, and a sample of labels."""
    random = np.random.default_rng(seed)
    often = 0.6 / np.arange(1, classes + 1)
    present = random.random((texts, classes)) < often
    implied = random.random(present.shape) < np.where(present, 0.7, 0.3 * often)
    rate = random.gamma(1, 1, (texts, 1)) * np.linspace(0.5, 1.5, classes)
    labels = np.where(
        implied, random.random(present.shape) > 0.1 * rate, random.random(present.shape) < 0.1 * often * rate
    )
    labels = np.where(random.random(present.shape) < 0.1 * (implied | labels), -1, labels).astype(np.int8)
    rows, chances = draw(labels, present, labelled, seed=seed)
    return labels, implied, present, Sample(rows, chances, implied[rows])


def population():
    """The scores in all images: the true share is 0.7 of what is present, and 0.3 more is invented."""
    often = 0.6 / np.arange(1, 13)
    true, predicted = 0.7 * often, 0.7 * often + 0.3 * often * (1 - often)
    pairs = [(true.sum() / predicted.sum(), 0.7), ((true / predicted).mean(), 0.7)]
    f = [[(1 + b * b) * p * r / (b * b * p + r) for b in (1, 0.5)] for p, r in pairs]
    return np.array([[p, r, *fs] for (p, r), fs in zip(pairs, f, strict=True)]).ravel()


def test_intervals_hold_the_truth():
    """In 150 runs, 95 % are 142; a binomial has fewer than 133 in one case of 1,000. Half as wide, they fail."""
    truth, runs = population(), 150
    found, raw = [], []
    for seed in range(runs):
        labels, _, present, sample = simulated(seed)
        scores = correct(labels, present, sample).scores
        found.append([[*scores[name].values()] for name in ALL])
        raw.append([plain(labels, present)[name] for name in ALL])
    value, low, high = np.moveaxis(np.array(found), 2, 0)
    covered = ((low <= truth) & (truth <= high)).sum(axis=0)
    assert (covered >= 133).all(), dict(zip(ALL, covered.tolist(), strict=True))
    middle, half = (low + high) / 2, (high - low) / 4
    assert ((abs(truth - middle) <= half).sum(axis=0) < 125).all()
    bias, of_raw = abs(value.mean(axis=0) - truth), abs(np.mean(raw, axis=0) - truth)
    assert (bias < 0.2 * (high - low).mean(axis=0) / 2).all()
    assert (bias[:4] < 0.3 * of_raw[:4]).all()


def test_too_few_texts_are_refused():
    labels, implied, present, _ = simulated(1)
    few = FEWEST_TEXTS - 1
    found = correct(labels, present, some(implied, np.arange(few), few / 400))
    assert set(found.refused.values()) == {"Only 99 texts are labelled; expected at least 100."}
    assert list(found.refused) == list(found.scores)
    assert all(np.isnan([*one.values()]).all() for one in found.scores.values())


def test_a_kind_of_cells_of_which_nothing_is_known_is_refused():
    """In the 100 labelled texts, the judge says yes to no class that is absent; in the others it does."""
    present = np.zeros((400, 2), dtype=bool)
    present[:, 0] = True
    labels = present.astype(np.int8)
    labels[100:, 1] = 1
    found = correct(labels, present, some(present, np.arange(100), 0.25))
    assert set(found.refused) == set(ALL)
    assert "among the 300 where the judge says yes, and the object is absent" in found.refused["f1_all"]


def test_an_object_that_the_judge_denies_and_that_is_nowhere_labelled():
    present = np.ones((400, 1), dtype=bool)
    labels = np.ones((400, 1), dtype=np.int8)
    labels[100:] = 0
    found = correct(labels, present, some(present, np.arange(100), 0.25))
    assert "among the 300 where the judge says no, and the object is present" in found.refused["recall_all"]


def test_scores_by_class_of_classes_that_are_not_labelled():
    """Of four classes two are only in texts without labels."""
    present = np.zeros((400, 4), dtype=bool)
    present[:, 0] = present[:100, 1] = present[398, 2] = present[399, 3] = True
    found = correct(present.astype(np.int8), present, some(present, np.arange(100), 0.25))
    assert {*found.refused} == {name for name in ALL if name.endswith("_cls")}
    assert "Of the 4 classes that are present, 2 have no labelled cell" in found.refused["recall_cls"]


def test_a_precision_of_nothing_is_undefined():
    nothing = np.zeros((120, 1), dtype=bool)
    found = correct(nothing.astype(np.int8), ~nothing, whole(nothing))
    assert {"precision_all", "precision_cls"} <= found.refused.keys()
    assert found.refused.keys().isdisjoint({"recall_all", "recall_cls"})


def test_texts_that_may_move_the_scores_more_are_drawn_more_often():
    """The judge says yes to both classes in the first ten of 100 texts, and to neither in the others."""
    labels = np.zeros((100, 2), dtype=np.int8)
    labels[:10] = 1
    rows, chances = draw(labels, labels == 1, 50)
    assert chances[rows < 10].min() > 1.5 * chances[rows >= 10].max()


def test_a_text_that_is_hardly_doubted_is_drawn_at_least_three_tenths_as_often_as_by_a_uniform_draw():
    labels = np.zeros((100, 2), dtype=np.int8)
    labels[0] = 1
    outvoted = np.zeros(labels.shape)
    outvoted[:90] = 0.5
    rows, chances = draw(labels, labels == 1, 40, outvoted=outvoted)
    hardly_doubted = chances[rows >= 90]
    assert len(hardly_doubted) > 0
    assert hardly_doubted.min() >= 0.3 * 0.4
    assert hardly_doubted.max() < 0.5 * 0.4


def test_where_no_text_can_move_a_score_all_are_drawn_as_often():
    rows, chances = draw(np.zeros((100, 2), dtype=np.int8), np.zeros((100, 2), dtype=bool), 20)
    assert len(rows) == 20 and chances == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chances": np.ones(100)}, r"represents 100 texts \(give or take 0\), but there are 400"),
        ({"chances": np.full(100, 0.01)}, r"represents 10,000 texts \(give or take 995\), but there are 400"),
    ],
)
def test_a_sample_that_cannot_be(change, message):
    labels, present, sample = by_hand()
    with pytest.raises(ValueError, match=message):
        correct(labels, present, replace(sample, **change))
