import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from halluscope.benchmarks.throne import counting
from halluscope.benchmarks.throne.counting import Conventions, Hits, score
from halluscope.benchmarks.throne.metric import compute
from halluscope.stats.intervals import total_of

tables = st.tuples(arrays(np.int8, (6, 4), elements=st.integers(-1, 1)), arrays(bool, (6, 4)))


def points(hits: Hits, **options) -> dict[str, float]:
    conventions = Conventions(**options)
    found = score(total_of(hits.counts(conventions)), conventions)
    return {name: float(value[0]) for name, value in found.items()}


def test_a_worked_example():
    """Two classes, three images.

    labels   present   class 0: predicted in images 0, 1; present in 0, 2; hit in 0     -> P 1/2, R 1/2
    1 0      1 1       class 1: predicted in image 2; present in 0, 1 (1 is ignored);
    1 -      0 1                hit nowhere                                             -> P 0/1, R 0/1
    0 1      1 0       all: hits 1, predicted 3, present 3                              -> P 1/3, R 1/3
    """
    labels = np.array([[1, 0], [1, -1], [0, 1]], dtype=np.int8)
    present = np.array([[1, 1], [0, 1], [1, 0]], dtype=bool)
    hits = Hits.of(labels, present)
    got = points(hits)
    assert got["precision_all"] == got["recall_all"] == got["f1_all"] == pytest.approx(1 / 3)
    assert got["precision_cls"] == got["recall_cls"] == got["f0.5_cls"] == 0.25
    # The mean of each class's F leaves out class 1, which has none (0/0).
    assert points(hits, class_f="mean")["f1_cls"] == 0.5
    # By image: 0 has P 1/1, R 1/2; 1 has no present set left and counts 0; 2 has P 0, R 0. F of image 0 alone: 2/3.
    by_image = points(hits, all_average="image")
    assert (by_image["precision_all"], by_image["recall_all"]) == pytest.approx((1 / 3, 1 / 6))
    assert by_image["f1_all"] == pytest.approx(2 / 3)
    table = counting.of_each_class(hits, beta=0.5)
    assert table["true"].tolist() == [1, 0]
    assert table["predicted"].tolist() == [2, 1]
    assert table["present"].tolist() == [2, 1]


def test_classes_without_positives_are_counted_and_break_nothing():
    present = np.array([[1, 0, 0], [1, 0, 1]], dtype=bool)
    labels = np.array([[1, 0, 1], [1, 0, 0]], dtype=np.int8)
    hits = Hits.of(labels, present)
    got = points(hits)
    assert got["precision_cls"] == 0.5  # classes 0 (1/1) and 2 (0/1)
    assert got["recall_cls"] == 0.5


def test_nothing_predicted_is_undefined_and_not_zero():
    got = points(Hits.of(np.zeros((2, 2), np.int8), np.ones((2, 2), bool)))
    assert np.isnan(got["precision_all"])
    assert got["recall_all"] == 0.0


def test_a_perfect_model():
    present = np.eye(4, dtype=bool)
    for options in ({}, {"class_f": "mean"}, {"all_average": "image"}):
        got = points(Hits.of(present.astype(np.int8), present), **options)
        assert set(got.values()) == {1.0}


@given(tables, st.sampled_from(["of_means", "mean"]), st.sampled_from(["pooled", "image"]))
def test_the_order_of_images_and_classes_does_not_matter(table, class_f, all_average):
    labels, present = table
    straight = points(Hits.of(labels, present), class_f=class_f, all_average=all_average)
    turned = points(
        Hits.of(labels[::-1, ::-1], present[::-1, ::-1]), class_f=class_f, all_average=all_average
    )
    assert turned == pytest.approx(straight, nan_ok=True)


@given(tables)
def test_an_absent_object_may_be_ignored_or_denied_alike(table):
    """ask="needed" may stop early because, for absent objects, neither an agreed no nor an ignored cell counts."""
    labels, present = table
    denied = np.where((labels == -1) & ~present, 0, labels).astype(np.int8)
    for all_average in ("pooled", "image"):
        got = points(Hits.of(labels, present), all_average=all_average)
        assert points(Hits.of(denied, present), all_average=all_average) == pytest.approx(got, nan_ok=True)


def test_the_interval_of_a_share(rng):
    """Precision of n independent cells: Clopper and Pearson."""
    n = 2000
    present = rng.random(n) < 0.7
    references = [["thing"] if there else [] for there in present]
    votes = np.ones((n, 1, 1), np.int8)
    got = compute([""] * n, references, vocabulary=["thing"], votes=votes, bootstrap=1)
    right = int(present.sum())
    ends = stats.beta.ppf([0.025, 0.975], [right, right + 1], [n - right + 1, n - right])
    assert got["interval"]["precision_all"] == pytest.approx(tuple(ends))
    assert got["signature"].rpartition("|")[0].endswith("|interval:0.95,jackknife-beta,images")
