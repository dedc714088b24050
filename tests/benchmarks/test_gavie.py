"""GAVIE: dataset, metric, judge and command, on small rows made here, and on the real rows if available."""

import json

import pytest
from datasets import load_dataset

from halluscope.benchmarks.gavie import metric as gavie
from halluscope.benchmarks.gavie.data import QUESTIONS
from halluscope.benchmarks.gavie.metric import METRIC
from halluscope.benchmarks.gavie.reading import PROMPTS, read_words
from halluscope.errors import BuildError
from tests import small_datasets
from tests.fake_judge import FakeJudge

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")

DOG = {"phrase": "a dog", "x": 1, "y": 2, "width": 30, "height": 40}
BALL = {"phrase": 'a "red" ball', "x": 5, "y": 6, "width": 7, "height": 8}


def rows(regions=(DOG, BALL)):
    """Four instructions about two images."""
    return [
        {"id": n, "image_id": 10 + n // 2, "question": f"What about thing {n}?", "regions": [*regions]}
        for n in range(4)
    ]


def upstream_rows():
    """Return the same instructions in the format of evaluation_set.json."""
    return [{"image_id": str(row["image_id"]), "question": row["question"]} for row in rows()]


TEXTS = ["A dog."] * 4


def rated(relevancy, accuracy):
    return {"relevancy": relevancy, "accuracy": accuracy}


# Means


def test_ratings_worked_by_hand():
    """Relevancy 9 + 7.5 + 1 of three; accuracy 3 + 8 of two: one has no accuracy, one nothing."""
    made = [rated(9, 3), rated(7.5, None), None, rated(1, 8)]
    got = gavie.compute([""] * 4, rows(), ratings=made, per_question=True)
    assert got["relevancy"] == pytest.approx(17.5 / 3) and got["accuracy"] == 11 / 2
    assert (got["unreadable"], got["rated"], got["questions"], got["images"]) == (2 / 4, 2, 4, 2)
    rated_in_part = {"relevancy": 7.5, "accuracy": None, "unreadable": True}
    assert got["per_question"][1] == {"id": 1, "image_id": 10, **rated_in_part}


# Language models


def test_replies_about_several_answers_are_told():
    """The authors' script asks about the responses of several models at once; the first one's scores are read."""
    both = "{}:\nscore of the answer1: {}\nscore of the answer2: 1\nreason: so"
    reply = "\n".join([both.format("Relevancy", 9), both.format("Accuracy", 7)])
    with pytest.warns(UserWarning, match="4 of the 4 replies score several answers; the scores of answer1"):
        result = gavie.compute(TEXTS, rows(), ratings=[reply] * 4)
    assert (result["relevancy"], result["accuracy"]) == (9, 7)


def test_a_judge_needs_the_regions():
    made = rows()
    made[1]["regions"] = None
    judge = FakeJudge(lambda *_: "")
    with pytest.raises(ValueError, match=r"references\[1\] has no regions .* 1 of 4.*--regions"):
        gavie.compute(TEXTS, made, judge=judge, progress=False)
    assert not judge.asked


def asked_about(region, wording, question, response):
    (row,) = QUESTIONS.read_all([{"id": 1, "image_id": 1, "question": question, "regions": [region]}])
    return PROMPTS[wording].ask(METRIC.fields(row), response).prompt


def test_a_region_is_a_line_of_the_prompt():
    """In the authors' words its width stands for its height too; in ours its phrase cannot leave its quotes."""
    authors = asked_about(DOG, "authors", "Is it red?", "Yes.")
    assert "\nbounding box:\na dog X:1 Y:2 Width:30 Height:30\n\n" in authors
    assert "\nHere is the instruction for the image:\nIs it red?\n\nAnswer1: Yes.\n\nSuppose" in authors
    assert '"a \\"red\\" ball" X:5 Y:6 Width:7 Height:8\n' in asked_about(BALL, "ours", "q", "a")
    hostile = asked_about(DOG | {"phrase": "a {answer}\nbox"}, "ours", "q", "{question} {regions}\u2028")
    assert '"a {answer}\\nbox" X:1' in hostile
    assert len(hostile.splitlines()) == len(asked_about(DOG, "ours", "q", "a").splitlines())


def worded(relevancy, accuracy):
    return (
        f"Relevancy:\nscore of the answer1: {relevancy}\nreason: It follows it.\n\n"
        f"Accuracy:\nscore of the answer1: {accuracy}\nreason: It is made up."
    )


@pytest.mark.parametrize(
    ("reply_", "expected"),
    [
        (worded(9, 3), (9, 3)),
        (worded("9/10", "3 / 10"), (9, 3)),
        (worded(" **10** ", "_0_"), (10, 0)),
        ("**Relevancy**\nScore of answer1: 4\n### ACCURACY:\n- score of answer 1: 5", (4, 5)),
        (worded(11, 3), None),
        (worded("9/100", 3), None),
        (worded("8 to 9", 3), None),
        (worded("4 out of 5", 3), None),
        (worded("9 out of 10", "3 of 10"), (9, 3)),
        (worded("7,5", 3), None),
        (worded("9\nscore of the answer1: 2", 3), None),
        (worded(9, 3) + "\nRelevancy:\nscore of the answer1: 2", None),
        ("score of the answer1: 9\n" + worded(9, 3), None),
        ("Relevancy:\nscore of the answer1: 9", None),
        ("", None),
    ],
)
def test_words_are_read_strictly(reply_, expected):
    found = read_words(reply_, "A dog.")
    assert (found and (found.numbers["relevancy"], found.numbers["accuracy"])) == expected


# The dataset


builder = small_datasets.builder("gavie")


@pytest.fixture
def files(tmp_path):
    """evaluation_set.json, and the regions in both forms."""
    (tmp_path / "evaluation_set.json").write_text(json.dumps(upstream_rows()))
    own = [{"id": image, "regions": [DOG | {"image_id": image}, BALL]} for image in (10, 99, 11)]
    (tmp_path / "region_descriptions.json").write_text(json.dumps(own))
    theirs = [{"caption": one["phrase"], "bbox": [*one.values()][1:]} for one in (DOG, BALL)]
    (tmp_path / "vg_annotation.json").write_text(json.dumps({"10": theirs, "99": [], "11": theirs}))
    return tmp_path


def build(files, **options):
    return builder.build(files / "evaluation_set.json", out=files / "out", subset=True, **options)


@pytest.mark.parametrize("regions", ["region_descriptions.json", "vg_annotation.json", None])
def test_it_is_built_from_what_a_user_has(files, regions):
    build(files, **({"regions": files / regions} if regions else {}))
    dataset = load_dataset(str(files / "out"), split="test", cache_dir=str(files / "hf"))
    assert dataset[3]["regions"] == ([DOG, BALL] if regions else None)
    assert (list(dataset["id"]), list(dataset["image_id"])) == ([0, 1, 2, 3], [10, 10, 11, 11])
    same = rows() if regions else upstream_rows()
    signatures = {gavie.compute(TEXTS, of, judge="none")["signature"] for of in (list(dataset), same)}
    assert len(signatures) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"id": 10, "regions": [DOG]}], "says nothing of 1 of the 2 images: image id 11"),
        ([{"id": 10}], "entry 1 is .* expected an object with id and regions"),
        ({"10": [{"caption": "x", "bbox": [1, 2]}], "11": []}, "the image 10 is .*expected a region"),
        ({"10": [], "12": []}, "has no 11; expected"),
        ({"10": 5}, "10 is 5, no list; expected"),
    ],
)
def test_bad_regions(files, content, message):
    (files / "region_descriptions.json").write_text(json.dumps(content))
    with pytest.raises(BuildError, match=message):
        build(files, regions=files / "region_descriptions.json")
