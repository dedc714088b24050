"""THRONE's equations on given votes: by hand, by properties, and where nothing is defined."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from halluscope.benchmarks.throne.metric import compute

SCORES = [f"{score}_{over}" for score in ("precision", "recall", "f1", "f0.5") for over in ("all", "cls")]

tables = st.tuples(arrays(np.int8, (6, 4), elements=st.integers(-1, 1)), arrays(bool, (6, 4)))


def scored(labels, present, **options):
    """Score two judges that agree on 1 and 0, and disagree on -1, which is ignored: [images, classes]."""
    labels, present = np.asarray(labels), np.asarray(present, dtype=bool)
    names = [f"class {number}" for number in range(labels.shape[1])]
    votes = np.stack([labels != 0, labels == 1], axis=-1).astype(np.int8)
    references = [[name for name, is_there in zip(names, row, strict=True) if is_there] for row in present]
    result = compute([""] * len(labels), references, vocabulary=names, votes=votes, **options)
    return {name: result[name] for name in SCORES}


def test_a_worked_example():
    """Two classes, three images.

    labels   present   class 0: predicted in images 0, 1; present in 0, 2; hit in 0     -> P 1/2, R 1/2
    1 0      1 1       class 1: predicted in image 2; present in 0, 1 (1 is ignored);
    1 -      0 1                hit nowhere                                             -> P 0/1, R 0/1
    0 1      1 0       all: hits 1, predicted 3, present 3                              -> P 1/3, R 1/3
    """
    table = [[1, 0], [1, -1], [0, 1]], [[1, 1], [0, 1], [1, 0]]
    got = scored(*table)
    assert got["precision_all"] == got["recall_all"] == got["f1_all"] == pytest.approx(1 / 3)
    assert got["precision_cls"] == got["recall_cls"] == got["f0.5_cls"] == 0.25
    # The mean of each class's F leaves out class 1, which has none (0/0).
    assert scored(*table, class_f="mean")["f1_cls"] == 0.5
    # By image: 0 has P 1/1, R 1/2; 1 has no present set left and counts 0; 2 has P 0, R 0. F of image 0 alone: 2/3.
    by_image = scored(*table, all_average="image")
    assert (by_image["precision_all"], by_image["recall_all"]) == pytest.approx((1 / 3, 1 / 6))
    assert by_image["f1_all"] == pytest.approx(2 / 3)


@pytest.mark.filterwarnings("ignore:.* says yes to")
def test_nothing_predicted_is_undefined_and_not_zero():
    got = scored(np.zeros((2, 2)), np.ones((2, 2)))
    assert np.isnan(got["precision_all"]) and got["recall_all"] == 0.0


@settings(max_examples=50)
@given(tables, st.sampled_from(["of_means", "mean"]), st.sampled_from(["pooled", "image"]))
def test_the_order_of_images_and_classes_does_not_matter(table, class_f, all_average):
    labels, present = table
    options = {"class_f": class_f, "all_average": all_average}
    turned = scored(labels[::-1, ::-1], present[::-1, ::-1], **options)
    assert turned == pytest.approx(scored(labels, present, **options), nan_ok=True)


@settings(max_examples=50)
@given(tables, st.sampled_from(["pooled", "image"]))
def test_an_absent_object_may_be_ignored_or_denied_alike(table, all_average):
    """ask="needed" may stop early because, for absent objects, neither an agreed no nor an ignored cell counts."""
    labels, present = table
    denied = np.where((labels == -1) & ~present, 0, labels)
    got = scored(labels, present, all_average=all_average)
    assert scored(denied, present, all_average=all_average) == pytest.approx(got, nan_ok=True)
