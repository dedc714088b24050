"""MMHal-Bench: dataset, metric, judge and command, on small rows made here."""

import json
import math
import zipfile

import numpy as np
import pytest
from datasets import load_dataset
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from halluscope.benchmarks.mmhal import metric as mmhal
from halluscope.benchmarks.mmhal.data import TYPES
from halluscope.benchmarks.mmhal.reading import read_officially, read_words
from tests import small_datasets
from tests.scripted_server import refuse, reply

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")


def rows(each=1):
    """Return rows as in response_template.json: the types in turn, topic by topic; two questions per image."""
    made = []
    for number in range(8 * each):
        image = number // 2
        row = {"question_type": TYPES[number % 8], "question_topic": f"topic {number // 8}"}
        row |= {"image_id": f"{image:016x}", "image_src": f"https://example.org/8/{image}_o.jpg"}
        row |= {"question": f"What about thing {number}?", "gt_answer": "There are two dogs."}
        made.append(row | {"image_content": ["Dog", "Grass"], "model_answer": ""})
    return made


# Means and rates


def test_ratings_worked_by_hand():
    """6 + 2 + 3 + 0 + 5 + 2 + 4 points of seven; 2, 0 and 2 are below 3; the fourth has no rating."""
    got = mmhal.compute([""] * 8, rows(), ratings=[6, 2, 3, None, 0, 5, 2, 4], per_question=True)
    assert got["rating"] == pytest.approx(22 / 7) and got["hallucination_rate"] == pytest.approx(3 / 7)
    assert (got["rating/attribute"], got["hallucination_rate/attribute"]) == (6.0, 0.0)
    assert (got["rating/relation"], got["hallucination_rate/relation"]) == (0.0, 1.0)
    assert math.isnan(got["rating/counting"]) and math.isnan(got["hallucination_rate/counting"])
    assert got["unreadable"] == 1 / 8 and (got["questions"], got["images"]) == (8, 4)
    assert got["counts"]["all"] == {"rated": 7, "points": 22, "hallucinated": 3}
    assert got["counts"]["counting"] == {"rated": 0, "points": None, "hallucinated": None}
    nothing = {"rating": None, "hallucination_rate": None, "unreadable": True}
    assert got["per_question"][3] == {"id": 3, "type": "counting", **nothing}
    assert got["per_question"][4]["rating"] == 0


def script(replies):
    """Return what the authors' script prints for its replies: mean, rate, and each type's mean, by position."""
    found = [[s for s in range(7) if f"rating: {s}" in one.lower()] for one in replies]
    scores = [one[0] if len(one) == 1 else 0 for one in found]
    each = [[score for place, score in enumerate(scores) if place % 8 == kind] for kind in range(8)]
    return [np.mean(scores), np.mean([score < 3 for score in scores]), *map(np.mean, each)]


REPLIES = st.sampled_from(
    [
        "Rating: 6",
        "It is wrong.\n**Rating: 0**",
        "rating: 3, fine",
        "Rating: 60",
        "Rating: 2 or Rating: 4",
        "Good.",
        "",
    ]
)


@given(st.lists(REPLIES, min_size=16, max_size=16))
def test_any_replies_read_officially_give_what_the_script_prints(replies):
    read = [read_officially(one) for one in replies]
    got = mmhal.compute([""] * 16, rows(2), ratings=[int(one.numbers["rating"]) for one in read])
    kinds = [got[f"rating/{kind}"] for kind in TYPES]
    assert [got["rating"], got["hallucination_rate"], *kinds] == pytest.approx(script(replies))
    assert [one.numbers["readable"] for one in read] == [
        one not in ("Rating: 2 or Rating: 4", "Good.", "") for one in replies
    ]


# Language models


@pytest.mark.filterwarnings("ignore:.*no readable verdict")
def test_an_empty_reply_is_a_zero_where_the_script_reads_it(serve, ran, tmp_path):
    """Of 96 responses one has an empty reply, and one has none, for the server refuses."""

    def script(prompt, *_):
        if "Evaluate\nAnswer 8\n" in prompt:
            return refuse(400, "no")
        return reply("" if "Evaluate\nAnswer 7\n" in prompt else "Rating: 6")

    judge = serve(script).judge
    texts = [f"Answer {number}" for number in range(96)]
    options = {"judge": judge, "progress": False, "prompts": "authors", "max_failed": 1}
    strict = mmhal.compute(texts, rows(12), **options)
    official = mmhal.compute(texts, rows(12), **options, reading="official")
    assert (strict["rating"], strict["hallucination_rate"]) == (6.0, 0.0)
    assert (official["rating"], official["hallucination_rate"]) == (6 * 94 / 95, 1 / 95)
    assert official["unreadable"] == strict["unreadable"] == 2 / 96
    assert official["counts"]["all"]["rated"] == 95 and strict["counts"]["all"]["rated"] == 94
    (tmp_path / "rows.json").write_text(json.dumps(rows(12)))
    filled = [row | {"model_answer": text} for row, text in zip(rows(12), texts, strict=True)]
    (tmp_path / "mine.json").write_text(json.dumps(filled))  # the authors' own format
    command = ["score mmhal --responses", tmp_path / "mine.json", "--dataset", tmp_path / "rows.json"]
    command += ["--judge", judge, "--max-failed", 0.5]
    assert "2.1 % of the responses (they count in no score)" in ran(*command, "--prompts", "authors").out
    printed = ran(*command, "--reading", "official").out
    assert (
        "1.0 % have a reply and count as 0" in printed and "1.0 % have none and count in no score" in printed
    )


@pytest.mark.parametrize(
    ("reply_", "rating"),
    [
        ("It is right.\n\nRating: 6, very informative with good analysis or reasoning, no hallucination", 6),
        ("- Rating: 4", 4),
        ("**Rating: 0**, not informative, with hallucination", 0),
        ("**Rating**: 3", 3),
        ("### Rating: 2/6\nIt invents a cat.", 2),
        ("Rating: 5\nSo it is Rating: 5.", 5),
        ("### Rating:\n6, very informative", 6),
        ("### Rating\n- Rating: 3, not informative", 3),
        ("I would give it a Rating: 5", None),
        ("Rating: 5. The response says Rating: 6.", None),
        ("Rating: 4-5", None),
        ("Rating: 4 to 5", None),
        ("Rating: 4 out of 5", None),
        ("Rating: 4 out of 6", 4),
        ("Rating: 5 -> 2", None),
        ("Rating: 4, 5\nIt is right.", None),
        ("Rating: 3, 2 objects are not there", 3),
        ("Rating: 4.5", None),
        ("Rating: 60", None),
        ("Rating: 7", None),
        ("Rating: five", None),
        ("Rating 5", None),
        ("", None),
    ],
)
def test_words_are_read_strictly(reply_, rating):
    found = read_words(reply_, "There is a dog.")
    assert (found and found.numbers["rating"]) == rating


# The dataset


builder = small_datasets.builder("mmhal")


@pytest.fixture
def files(tmp_path):
    """The authors' zip of response_template.json and of images."""
    with zipfile.ZipFile(tmp_path / "test_data.zip", "w") as archive:
        archive.writestr("response_template.json", json.dumps(rows()))
        for number in range(4):
            with archive.open(f"images/{number}_o.jpg", "w") as file:
                Pillow.new("RGB", (4, 3)).save(file, "jpeg")
    return tmp_path


def test_the_authors_zip_is_a_source(files):
    archive = files / "test_data.zip"
    out = builder.build(archive, archive, files / "out", subset=True)
    dataset = load_dataset(str(out), split="test", cache_dir=str(files / "hf"))
    assert dataset[2]["file_name"] == "1_o.jpg" and dataset[2]["contents"] == ["Dog", "Grass"]
    plain = list(dataset.remove_columns("image"))
    signatures = {mmhal.compute(["A."] * 8, of, ratings=[3] * 8)["signature"] for of in (plain, rows())}
    assert len(signatures) == 1


def test_ratings_of_fewer_files_than_responses(tmp_path, refused):
    files = {
        "a": '{"id": 0, "response": "A dog."}',
        "b": '{"id": 0, "response": "A cat."}',
        "r": '{"id": 0, "rating": 4}',
    }
    for name, line in files.items():
        (tmp_path / name).write_text(line)
    command = ["score mmhal --partial --dataset", small_datasets.build("mmhal", tmp_path)]
    command += ["--responses", tmp_path / "a", tmp_path / "b", "--ratings", tmp_path / "r"]
    assert "There are 1 files of ratings and 2 of responses; expected one for each" in refused(*command)


def test_replies_that_somebody_elses_judge_gave(upstream):
    """Of 96 published replies two have no rating: they are unreadable, not 0."""
    folder = upstream / "wild" / "xjr1051__OPSD-VCD"
    name = "output__eval_mmhal_compare_latest_20260414_4gpu__baseline__mmhal_judge_{}_yunwu_rerun.json"
    raw, scored = (json.loads((folder / name.format(kind)).read_text()) for kind in ("raw", "scored"))
    with pytest.warns(UserWarning, match="2 of the 96 texts in ratings have no readable verdict"):
        got = mmhal.compute([""] * 96, rows(12), ratings=raw, per_question=True)
    ratings = [row["rating"] for row in got["per_question"]]
    different = []
    for rating, judged, row in zip(ratings, raw, scored, strict=True):
        if rating not in (row["rating"], None):
            different.append("**Rating**:" in judged["judge_text"])  # which their script reads as 0
    assert ratings.count(None) == 2 and different == [True] * 5
