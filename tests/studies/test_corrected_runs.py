"""Scores of several runs of THRONE, and their differences, corrected by people's labels of texts: by the command."""

import json

import pytest

from halluscope.benchmarks.throne.metric import compute
from halluscope.studies.certificate import sealed
from halluscope.vocabularies import load
from tests.studies.sheets import lines, save, table

pytestmark = pytest.mark.filterwarnings("ignore")

IMAGES = 120
OBJECTS = {number: ["dog", "cat"] if number % 2 else ["dog"] for number in range(IMAGES)}
CLASSES = load("coco").classes


def says(model, number):
    """The classes that a model's text is about: dogs, a car in the first images, and cats in every fourth."""
    cars = {"one": 20, "two": 50, "three": 30}[model]
    classes = ["dog"]
    if number < cars:
        classes.append("car")
    if number % 4 == 1:
        classes.append("cat")
    return classes


def by_people(model, number):
    """People see no car where the judge sees one in every tenth image."""
    return [name for name in says(model, number) if name != "car" or number % 10]


@pytest.fixture
def scored(tmp_path, ran):
    """Score a model's texts, and return the run."""
    (tmp_path / "truth.json").write_text(json.dumps(OBJECTS))

    def make(model, images=IMAGES, *options):
        rows = []
        for number in range(images):
            sentences = " ".join(f"There is a {name}." for name in says(model, number))
            rows.append({"image_id": number, "response": f"Picture {number} by {model}. {sentences}"})
        responses = lines(tmp_path / f"{model}.jsonl", rows)
        words = ("--responses", responses, "--dataset", tmp_path / "truth.json", "--judges", "lexical")
        ran("score throne", *words, *options, "--out", tmp_path / f"run {model}")
        return tmp_path / f"run {model}"

    return make


@pytest.fixture
def certified(tmp_path, ran):
    """Let people label so many of a model's texts, and return the certificate."""

    def make(model, labelled, first=0):
        labels = []
        for number in range(first, first + labelled):
            implied = by_people(model, number)
            for name in CLASSES:
                labels.append({"id": number, "class": name, "answer": "yes" if name in implied else "no"})
        file = lines(tmp_path / f"{model}.labels.jsonl", labels)
        words = ("--responses", tmp_path / f"{model}.jsonl", "--dataset", tmp_path / "truth.json")
        certificate = tmp_path / f"{model} from {first}.json"
        ran("study certify", file, *words, "--judges", "lexical", "--out", certificate)
        return certificate

    return make


def named(rows, score):
    return [row for row in rows if row["score"] == score]


def test_labels_of_all_texts_give_the_difference_by_people(scored, certified, json_of, ran):
    """Of 120 dogs, 30 cats and 20 or 50 cars by the judge people leave 18 or 45 cars; nothing is left to chance.

    Precision by people is 150 / 168 and 150 / 195. More labels cannot be had, and none are needed.
    """
    runs = [scored("one"), scored("two")]
    certificates = [certified("one", IMAGES), certified("two", IMAGES)]
    found = json_of("study certify", *runs, "--certificate", *certificates)
    (difference,) = named(found["differences"], "precision_all")
    assert difference["judge"] == pytest.approx(150 / 170 - 150 / 200)
    assert difference["value"] == pytest.approx(150 / 168 - 150 / 195)
    assert difference["low"] < difference["value"] < difference["high"]
    assert difference["p"] == difference["holm"] < 0.05 and difference["beyond_chance"]
    assert difference["more_marks"] == 0
    scores = []
    for model in ("one", "two"):
        implied = [[[name in by_people(model, number)] for name in CLASSES] for number in range(IMAGES)]
        scores.append(compute([""] * IMAGES, list(OBJECTS.values()), votes=implied))
    for row in found["differences"]:
        assert row["value"] == pytest.approx(scores[0][row["score"]] - scores[1][row["score"]])
    (recall,) = named(found["differences"], "recall_all")
    assert recall["value"] == 0 and recall["p"] == 1 and recall["more_marks"] is None
    assert found["doubts"] == found["uncorrected"] == []
    printed = ran("study certify", *runs, "--certificate", *certificates).out
    assert "120 of its own" in printed and "one - two" in printed and found["digest"] in printed


def test_a_sample_of_labels_leaves_more_to_chance(scored, certified, json_of):
    """The same 100 images of two models, or the first 100 of one and the last 100 of the other."""
    runs = [scored("one"), scored("three")]
    one = certified("one", 100)
    widths = []
    for first in (0, 20):
        found = json_of("study certify", *runs, "--certificate", one, certified("three", 100, first))
        (difference,) = named(found["differences"], "precision_all")
        assert difference["low"] < 150 / 168 - 150 / 177 < difference["high"]
        widths.append(difference["high"] - difference["low"])
    assert widths[0] < widths[1]  # in the same images the judge's errors cancel


@pytest.fixture
def drawn(tmp_path, ran):
    """Draw a model's texts for people to label, and return the sheet."""

    def make(model, *how):
        out = tmp_path / " ".join(["sheet of", model, how[0]])
        words = ("--responses", tmp_path / f"{model}.jsonl", "--judges", "lexical", "--marks", "implied")
        ran("study sheet make", tmp_path / "truth.json", *words, *how, "--out", out)
        return out / "sheet.csv"

    return make


def certified_by(sheet, model, ran, tmp_path):
    """Mark a sheet as people would, and return the certificate."""
    rows = []
    for row in table(sheet):
        mark = "no others"
        if row["class"]:
            mark = "implied" if row["class"] in by_people(model, int(row["id"])) else "not implied"
        rows.append(row | {"mark": mark})
    words = ("--responses", tmp_path / f"{model}.jsonl", "--dataset", tmp_path / "truth.json")
    certificate = sheet.parent / "certificate.json"
    ran("study certify", save(rows, sheet.parent), *words, "--judges", "lexical", "--out", certificate)
    return certificate


def test_the_same_images_are_drawn_for_another_model(scored, drawn, json_of, ran, tmp_path):
    """The judge's errors in the same images cancel, so the interval is narrower than with another draw."""
    runs = [scored("one"), scored("three")]
    first = drawn("one", "--sample", 100)
    same = drawn("three", "--like", first)
    draws = []
    for sheet in (first, same):
        draws.append([(row["id"], row["chance"]) for row in table(sheet) if not row["class"]])
    assert draws[0] == draws[1] and len(draws[0]) == 100
    by_one = certified_by(first, "one", ran, tmp_path)
    widths = []
    for sheet in (same, drawn("three", "--sample", 100, "--seed", 1)):
        certificates = [by_one, certified_by(sheet, "three", ran, tmp_path)]
        found = json_of("study certify", *runs, "--certificate", *certificates)
        (difference,) = named(found["differences"], "precision_all")
        assert difference["low"] < 150 / 168 - 150 / 177 < difference["high"]
        widths.append(difference["high"] - difference["low"])
    assert widths[0] < widths[1]


def test_sheets_that_cannot_be_drawn_alike(scored, drawn, refused, tmp_path):
    """A text about two images would be drawn with one of them, and one of fewer images with none."""
    scored("one")
    scored("two", 110)
    first = drawn("one", "--sample", 100)
    truth = tmp_path / "truth.json"
    words = ("study sheet make", truth, "--judges", "lexical", "--marks", "implied", "--out", tmp_path / "x")
    like = (*words, "--like", first, "--responses")
    assert "120 different texts; these responses are 110 different texts" in refused(
        *like, tmp_path / "two.jsonl"
    )
    rows = [{"image_id": number, "response": "A dog."} for number in range(IMAGES)]
    same = lines(tmp_path / "same.jsonl", rows)
    assert "are 1 different texts about 120 images" in refused(*like, same)
    others = [{"image_id": number + 1, "response": f"Picture {number}."} for number in range(IMAGES)]
    truth.write_text(json.dumps({number: ["dog"] for number in range(IMAGES + 1)}))
    other = lines(tmp_path / "other.jsonl", others)
    assert "have none to the image '0' of the sheet implied-" in refused(*like, other)
    assert "Expected --sample" in refused(*words, "--responses", same)


def test_three_runs_are_corrected_together(scored, certified, json_of, ran):
    """By Holm the least p counts three times, the next twice, and no corrected p is below a lesser one."""
    models = ("one", "two", "three")
    runs = [scored(model) for model in models]
    certificates = [certified(model, IMAGES) for model in models]
    found = json_of("study certify", *runs, "--certificate", *certificates)
    assert len(found["differences"]) == 3 * len({row["score"] for row in found["scores"]})
    differences = sorted(named(found["differences"], "precision_all"), key=lambda row: row["p"])
    least, middle, greatest = [row["p"] for row in differences]
    second = max(3 * least, 2 * middle)
    expected = [3 * least, second, max(second, greatest)]
    assert [row["holm"] for row in differences] == pytest.approx(expected)
    assert [row["beyond_chance"] for row in differences] == [p < 0.05 for p in expected]
    assert "corrected for all differences" in ran("study certify", *runs, "--certificate", *certificates).out


def test_runs_that_cannot_be_corrected(scored, certified, refused, json_of, tmp_path):
    runs = [scored("one"), scored("two")]
    one = certified("one", IMAGES)
    message = refused("study certify", *runs, "--certificate", one)
    assert "No certificate is about the texts of two" in message and "study sheet make" in message
    content = json.loads(one.read_text())
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**content, "labels": []}))
    assert "was changed" in refused("study certify", runs[0], "--certificate", other)
    other.write_text(json.dumps(sealed({**content, "form": "another"})))
    assert "expected a 'halluscope certificate 1'" in refused(
        "study certify", runs[0], "--certificate", other
    )
    other.write_text(json.dumps(sealed({**content, "vocabulary": "objects365"})))
    assert "expected one vocabulary" in refused("study certify", runs[0], "--certificate", other)
    few = certified("two", 99)
    assert "99 labelled texts, too few" in refused("study certify", *runs, "--certificate", one, few)
    assert len(json_of("study certify", runs[0], "--certificate", one)["scores"]) == 8


def test_labels_that_say_nothing_of_some_answers(scored, certified, json_of, ran):
    """The judge says yes to absent cars in the first 20 images only, of which none is labelled."""
    command = ("study certify", scored("one"), "--certificate", certified("one", 100, 20))
    (why, *_) = json_of(*command)["uncorrected"]
    assert "one, precision_all: No cell is labelled among the 20" in why and why in ran(*command).out


def test_labels_of_other_images_than_both_runs_have(scored, certified, refused):
    runs = [scored("one"), scored("two", 20)]
    certificates = [certified("one", 100, 20), certified("two", 20)]
    message = refused("study certify", *runs, "--certificate", *certificates)
    assert "None of the labelled texts of one is about an image that all runs have" in message


def test_scores_that_are_not_the_same(scored, certified, refused, json_of, tmp_path):
    """F of other weights is another score; a mean over images is no ratio of sums, and is left out."""
    by_image = scored("one", IMAGES, "--all-average", "image")
    runs = [by_image, scored("two")]
    certificates = [certified("one", IMAGES), certified("two", IMAGES)]
    assert "all_average" in refused("study certify", *runs, "--certificate", *certificates)
    found = json_of("study certify", by_image, "--certificate", certificates[0])
    assert {row["score"] for row in found["scores"]} == {"precision_cls", "recall_cls", "f1_cls", "f0.5_cls"}


def test_runs_that_share_some_images(scored, certified, json_of, refused):
    """Scores are of the 110 images that both runs have, and so are the labels."""
    runs = [scored("one"), scored("two", 110)]
    certificates = [certified("one", IMAGES), certified("two", 110)]
    found = json_of("study certify", *runs, "--certificate", *certificates)
    (difference,) = named(found["differences"], "precision_all")
    right = 110 + 28  # dogs, and cats in images 1, 5, ... 109
    assert difference["value"] == pytest.approx(right / (right + 18) - right / (right + 45))
