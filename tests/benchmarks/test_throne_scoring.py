import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from halluscope.benchmarks.throne import counting
from halluscope.benchmarks.throne.counting import Conventions, Hits, score
from halluscope.benchmarks.throne.metric import compute
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.intervals import total_of
from halluscope.stats.ratios import f_score

# THRONE, Table 1: P, R, F1, F0.5 over all cells, then by class, in percent.
TABLE_1 = {
    "Adapter-v2": (63.6, 73.3, 68.1, 65.3, 68.2, 70.6, 69.4, 68.7),
    "Adapter-v2.1": (63.8, 73.7, 68.4, 65.5, 67.4, 71.2, 69.3, 68.1),
    "InstructBLIP": (70.8, 74.3, 72.5, 71.5, 77.2, 71.9, 74.5, 76.1),
    "Otter-Image": (33.0, 31.2, 32.1, 32.7, 25.2, 16.9, 20.2, 22.9),
    "MiniGPT4": (81.7, 59.8, 69.0, 76.1, 79.9, 61.8, 69.7, 75.5),
    "MiniGPT-v2": (79.0, 66.6, 72.3, 76.2, 77.6, 67.0, 71.9, 75.2),
    "mPLUG-Owl": (55.5, 71.9, 62.6, 58.1, 66.3, 68.3, 67.3, 66.7),
    "LRV-Instruction-v2": (82.0, 56.7, 67.0, 75.3, 78.4, 58.8, 67.2, 73.5),
    "LLaVA-v1.3": (80.5, 65.2, 72.1, 76.9, 79.9, 65.3, 71.9, 76.5),
    "LLaVA-v1.5": (68.1, 61.0, 64.4, 66.6, 69.9, 56.4, 62.5, 66.8),
    "LLaVA-Mistral": (86.8, 71.8, 78.3, 83.6, 84.4, 64.2, 70.8, 77.5),
}

tables = st.tuples(arrays(np.int8, (6, 4), elements=st.integers(-1, 1)), arrays(bool, (6, 4)))


def points(hits: Hits, **options) -> dict[str, float]:
    conventions = Conventions(**options)
    found = score(total_of(hits.counts(conventions)), conventions)
    return {name: float(value[0]) for name, value in found.items()}


@pytest.mark.parametrize("model", TABLE_1)
def test_f_of_the_papers_own_p_and_r(model):
    """In ten rows of Table 1, F is that of the two averages, to the printed decimal; LLaVA-Mistral's class F is not."""
    row = np.array(TABLE_1[model])
    for p, r, f1, f05 in (row[:4], row[4:]):
        inputs = [
            (p + dp, r + dr) for dp in (-0.05, 0.05) for dr in (-0.05, 0.05)
        ]  # P and R are rounded themselves
        for beta, printed in ((1.0, f1), (0.5, f05)):
            possible = [float(f_score(np.array(a), np.array(b), beta)) for a, b in inputs]
            holds = min(possible) - 0.05 <= printed <= max(possible) + 0.05
            consistent = model != "LLaVA-Mistral"
            assert holds == consistent, (model, beta, printed, possible)


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


@given(tables, st.integers(0, 3))
def test_weights_are_the_same_as_repeating_images(table, seed):
    labels, present = table
    (weights,) = Bootstrap(3, seed).weights(len(labels))
    assert (weights.sum(axis=1) == len(labels)).all()
    for all_average in ("pooled", "image"):
        conventions = Conventions(all_average=all_average)
        counts = Hits.of(labels, present).counts(conventions)
        weighted = score({name: weights @ table for name, table in counts.items()}, conventions)
        for i, row in enumerate(weights.astype(int)):
            repeated = points(
                Hits.of(labels.repeat(row, axis=0), present.repeat(row, axis=0)), all_average=all_average
            )
            assert {name: value[i] for name, value in weighted.items()} == pytest.approx(
                repeated, nan_ok=True
            )


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


@pytest.mark.parametrize(
    "options", [{"beta": 0}, {"beta": "1"}, {"class_f": "median"}, {"all_average": "class"}]
)
def test_bad_conventions(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} is .*; expected"):
        Conventions(**options)
