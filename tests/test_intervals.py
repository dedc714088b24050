"""Intervals of scores and of differences, through `compute` and the commands: known answers, edges, coverage."""

import json

import numpy as np
import pytest
from scipy import stats

import halluscope
from halluscope.benchmarks.pope import metric as pope
from halluscope.benchmarks.throne import metric as throne
from halluscope.stats.intervals import AMOUNT, LeftOut, interval, shifted
from tests import small_datasets

pytestmark = pytest.mark.filterwarnings("ignore:The predictions fit", "ignore:.*state neither question")

LEVEL = 0.95


def answers(right):
    """Responses to questions of which every second one is to be affirmed, right or wrong as given."""
    labels = ["yes" if number % 2 else "no" for number in range(len(right))]
    other = {"yes": "No", "no": "Yes"}
    said = [
        label.title() if is_right else other[label] for label, is_right in zip(labels, right, strict=True)
    ]
    return said, labels


def accuracy(right, **options):
    said, labels = answers(right)
    result = pope.compute(said, labels, **{"bootstrap": 1, **options})
    return result["accuracy"], result["interval"]["accuracy"]


def clopper_pearson(right, rows, level=LEVEL):
    outside = (1 - level) / 2
    low = stats.beta.ppf(outside, right, rows - right + 1) if right else 0.0
    high = stats.beta.ppf(1 - outside, right + 1, rows - right) if right < rows else 1.0
    return low, high


@pytest.mark.parametrize(
    ("right", "rows"),
    [(0, 1), (1, 1), (0, 50), (50, 50), (49, 50), (3, 4), (240, 300), (297, 300), (1500, 3000)],
)
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_independent_rows_are_clopper_and_pearson(right, rows, level):
    marks = [True] * right + [False] * (rows - right)
    for options in ({}, {"image_ids": list(range(rows))}):
        value, ends = accuracy(marks, level=level, **options)
        assert value == right / rows
        assert ends == pytest.approx(clopper_pearson(right, rows, level), abs=1e-12)


def test_an_interval_always_has_a_width_and_holds_its_score(rng):
    """Every score that has an interval, also of perfect models, of one image, and of equal images."""
    for images, share in ((1, 1.0), (1, 0.5), (2, 1.0), (40, 1.0), (40, 0.0), (40, 0.97)):
        rows = 6 * images
        said, labels = answers(rng.random(rows) < share)
        image_ids = [row // 6 for row in range(rows)]
        sampling = [("random", "popular", "adversarial")[row % 3] for row in range(rows)]
        result = pope.compute(said, labels, bootstrap=1, image_ids=image_ids, sampling=sampling)
        assert "accuracy/random" in result["interval"]
        for name, (low, high) in result["interval"].items():
            assert 0 <= low <= result[name] <= high <= 1 and high - low > 0.001, name
    half = [row % 2 == 0 for row in range(200)]  # each image has one right answer and one wrong one
    value, ends = accuracy(half, image_ids=[row // 2 for row in range(200)])
    assert value == 0.5 and ends == pytest.approx(clopper_pearson(50, 100))


def test_a_share_that_is_rounded_to_all_is_all():
    """1,999 of 2,000 are right; rounded to 100.0 %, the interval is that of 2,000 of 2,000."""
    without = np.full(2000, 1998 / 1999)
    without[0] = 1.0
    rounded = shifted(LeftOut(1999 / 2000, without, counting=2000), 1.0)
    assert interval(rounded, LEVEL) == pytest.approx(clopper_pearson(2000, 2000))


def test_images_that_leave_a_score_as_it_is_lower_nothing():
    """20 of 100 images raise a score of 90 %, 2 lower it: of so few, no more than all 100 are counted."""
    without = np.full(100, 0.9)
    without[:20] -= 1e-4
    without[20:22] += 1e-3
    assert interval(LeftOut(0.9, without, counting=100), LEVEL) == pytest.approx(clopper_pearson(90, 100))


def test_equal_amounts_of_the_images_that_count():
    """2 of each of 4 images, of 10: Byar's limit of one event, with t = 2.262, is 4.435 in 4 images."""
    amounts = LeftOut(2.0, np.full(10, 2.0), counting=4, range=AMOUNT)
    assert interval(amounts, LEVEL)[1] == pytest.approx(2 + 4.435 / 4, abs=0.001)


def test_few_predictions_tell_little():
    """Of 500 images a model affirms 3 questions, rightly: a precision of 3 of 3, not of 500."""
    labels = ["yes"] * 250 + ["no"] * 250
    said = ["Yes"] * 3 + ["No"] * 497
    result = pope.compute(said, labels, bootstrap=1, image_ids=list(range(500)))
    assert result["precision"] == 1
    assert result["interval"]["precision"] == pytest.approx(clopper_pearson(3, 3))


def test_the_interval_of_clustered_rows_holds(rng, times=200):
    """30 images x 6 questions, hard and easy images: POPE's accuracy and F1 of 0.9."""
    held = np.zeros(2)
    for _ in range(times):
        right = rng.random((30, 6)) < rng.beta(3.6, 0.4, (30, 1))
        said, labels = answers(right.ravel())
        result = pope.compute(said, labels, bootstrap=1, image_ids=[row // 6 for row in range(180)])
        held += [
            low <= 0.9 <= high for low, high in (result["interval"][name] for name in ("accuracy", "f1"))
        ]
    assert (held / times >= 0.93).all()


def test_a_mean_of_class_averages_holds(rng, times=60):
    """THRONE's f0.5_cls of 100 images: 40 classes, some rare, some named badly."""
    classes = [f"thing {number}" for number in range(40)]
    often = 0.5 / np.arange(1, 41) ** 0.6
    told = np.linspace(0.3, 0.95, 40)

    def drawn(images):
        present = rng.random((images, 40)) < often
        named = rng.random(present.shape) < np.where(present, told, 0.2 * often)
        return present, named

    def scored(present, named, **options):
        references = [[classes[place] for place in np.flatnonzero(row)] for row in present]
        votes = named[..., None].astype(np.int8)
        return throne.compute([""] * len(votes), references, vocabulary=classes, votes=votes, **options)

    truth = scored(*drawn(20_000))["f0.5_cls"]
    found = [scored(*drawn(100), bootstrap=1)["interval"]["f0.5_cls"] for _ in range(times)]
    assert np.mean([low <= truth <= high for low, high in found]) >= 0.93


def test_a_mean_over_classes_without_values_has_no_interval():
    """Three of ten classes are named: seven have no precision; all are present."""
    classes = [f"thing {number}" for number in range(10)]
    votes = np.zeros((40, 10, 1), np.int8)
    votes[:, :3] = 1
    options = {"vocabulary": classes, "votes": votes, "bootstrap": 1}
    result = throne.compute([""] * 40, [classes] * 40, **options)
    assert result["precision_cls"] == 1 and "precision_cls" not in result["interval"]
    assert (
        result["no_interval"]["precision_cls"]
        == "7 of 10 classes are without a precision, more than a fifth."
    )
    assert result["no_interval"]["f0.5_cls"].startswith("7 of 10 classes are without a precision or a recall")
    assert {"recall_cls", "precision_all", "f0.5_all"} <= result["interval"].keys()
    mean = throne.compute([""] * 40, [classes] * 40, **options, class_f="mean")
    assert mean["no_interval"]["f1_cls"] == "7 of 10 classes are without an F, more than a fifth."
    votes[:, :8] = 1
    assert "no_interval" not in throne.compute([""] * 40, [classes] * 40, **options)


def test_neither_draws_nor_a_seed_move_an_interval(rng):
    right = rng.random(90) < 0.9
    first = accuracy(right, bootstrap=1, seed=0)
    assert accuracy(right, bootstrap=5000, seed=7) == first
    said, labels = answers(right)
    signature = pope.compute(said, labels, bootstrap=1, image_ids=list(range(90)))["signature"]
    assert "|interval:0.95,jackknife-beta,images|" in signature
    result = pope.compute(said, labels, bootstrap=0)
    assert "interval" not in result and "|interval:no|" in result["signature"]


def dataset(tmp_path, rows):
    things = [(f"{number}.jpg", f"thing {number}", ("no", "yes")[number % 2]) for number in range(rows)]
    return small_datasets.pope_file(tmp_path / "coco_pope_random.json", things, first=0)


def responses(right):
    said, _ = answers(right)
    return [{"question_id": number, "response": f"{text}, as I see"} for number, text in enumerate(said)]


@pytest.fixture
def runs(tmp_path):
    """Runs of 100 questions: 100, 97, and 50 right."""
    folder = dataset(tmp_path, 100)
    for name, wrong in (("perfect", 0), ("same", 0), ("good", 3), ("bad", 50)):
        right = np.arange(100) >= wrong
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(responses(right)))
        halluscope.score("pope", str(file), folder, out=tmp_path / name, partial=True)
    return tmp_path


@pytest.mark.filterwarnings("ignore:.* questions are scored")
def test_differences_at_the_edge(runs):
    """100 and 97 of 100 right: exactly, p is 0.25 (McNemar). 100 and 50: clear."""
    found = halluscope.compare(runs / "perfect", runs / "good", scores=["accuracy"])["scores"][0]
    assert (
        found["by"]["p"] >= 0.05 and found["by"]["low"] <= 0 < found["by"]["high"] and found["better"] is None
    )
    found = halluscope.compare(runs / "perfect", runs / "bad", scores=["accuracy"])["scores"][0]
    assert found["by"]["p"] < 1e-6 and 0.35 < found["by"]["low"] < 0.5 < found["by"]["high"] < 0.65
    same = halluscope.compare(runs / "perfect", runs / "same", scores=["accuracy"])["scores"][0]["by"]
    assert same["p"] == 1 and same["low"] < 0 < same["high"]


def test_why_a_score_has_no_interval_is_printed(tmp_path):
    """Of 80 classes, 40 images show a dog, and nothing else is named."""
    texts = {f"{number}": "A dog." for number in range(1, 41)}
    (tmp_path / "labels.json").write_text(json.dumps({number: ["dog"] for number in texts}))
    result = halluscope.score("throne", texts, str(tmp_path / "labels.json"), judges="lexical")
    reason = "79 of 80 classes are without a precision, more than a fifth."
    assert result["no_interval"]["precision_cls"] == reason
    assert f"No interval for precision_cls: {reason}" in str(result)
    assert "f0.5_all" in result["interval"] and "f0.5_cls" not in result["interval"]
