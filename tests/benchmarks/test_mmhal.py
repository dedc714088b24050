"""MMHal-Bench: dataset, metric, judge and command, on small rows made here."""

import json
import math
import zipfile
from pathlib import Path

import numpy as np
import pytest
from datasets import load_dataset
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from halluscope import cli
from halluscope.benchmarks.mmhal import metric as mmhal
from halluscope.benchmarks.mmhal.data import TYPES
from halluscope.benchmarks.mmhal.reading import read_officially, read_words
from halluscope.errors import BuildError
from tests import small_datasets
from tests.scripted_server import refuse, reply

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")


def rows(each=1):
    """Return rows as in response_template.json: the types in turn, topic by topic; two questions per image."""
    return [
        {
            "question_type": kind,
            "question_topic": f"topic {topic}",
            "image_id": f"{(8 * topic + place) // 2:016x}",
            "image_src": f"https://example.org/8/{(8 * topic + place) // 2}_o.jpg",
            "image_content": ["Dog", "Grass"],
            "question": f"What about thing {8 * topic + place}?",
            "gt_answer": "There are two dogs.",
            "model_answer": "",
        }
        for topic in range(each)
        for place, kind in enumerate(TYPES)
    ]


TEXTS = [f"Answer {number}" for number in range(8)]


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


@pytest.fixture
def served(serve):
    """A server whose `script` a test sets."""
    return serve(lambda *_: reply("Rating: 6"))


@pytest.mark.filterwarnings("ignore:.*no readable verdict")
def test_an_empty_reply_is_a_zero_where_the_script_reads_it(served):
    """95 replies rate 6, and one is empty."""
    served.script = lambda prompt, *_: reply("" if "Evaluate\nAnswer 7\n" in prompt else "Rating: 6")

    def rated(**given_):
        texts = [f"Answer {number}" for number in range(96)]
        return mmhal.compute(texts, rows(12), judge=served.judge, progress=False, prompts="authors", **given_)

    strict, official = rated(), rated(reading="official")
    assert (official["rating"], official["hallucination_rate"]) == (5.9375, 1 / 96)
    assert (strict["rating"], strict["hallucination_rate"]) == (6.0, 0.0)
    assert official["unreadable"] == strict["unreadable"] == 1 / 96
    assert official["counts"]["all"]["rated"] == 96 and strict["counts"]["all"]["rated"] == 95
    asked = len(served.prompts)
    assert rated(reading="official")["rating"] == 5.9375 and len(served.prompts) == asked


@pytest.mark.parametrize("silence", [refuse(400, "no"), reply(None), reply("Rating: 6", "length")])
def test_no_reply_is_no_zero(served, silence):
    served.script = lambda prompt, *_: silence if "Evaluate\nAnswer 7\n" in prompt else reply("Rating: 6")
    with pytest.warns(UserWarning, match="1 without a reply"):
        got = mmhal.compute(
            TEXTS, rows(), judge=served.judge, reading="official", max_failed=0.2, progress=False
        )
    assert (got["rating"], got["hallucination_rate"], got["unreadable"]) == (6.0, 0.0, 1 / 8)


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
    """response_template.json, and the authors' zip of it and of images."""
    (tmp_path / "response_template.json").write_text(json.dumps(rows()))
    with zipfile.ZipFile(tmp_path / "test_data.zip", "w") as archive:
        archive.write(tmp_path / "response_template.json", "response_template.json")
        for row in rows():
            if f"images/{Path(row['image_src']).name}" not in archive.namelist():
                with archive.open(f"images/{Path(row['image_src']).name}", "w") as file:
                    Pillow.new("RGB", (4, 3)).save(file, "jpeg")
    return tmp_path


@pytest.mark.parametrize("images", ["test_data.zip", None])
def test_it_is_built_from_what_a_user_has(files, images):
    out = builder.build(files / (images or "."), images and files / images, files / "out", subset=True)
    dataset = load_dataset(str(out), split="test", cache_dir=str(files / "hf"))
    assert dataset.column_names[:4:3] == (["id", "image"] if images else ["id", "image_url"])
    assert dataset[2]["file_name"] == "1_o.jpg" and dataset[2]["contents"] == ["Dog", "Grass"]
    plain = [{name: value for name, value in row.items() if name != "image"} for row in dataset]
    signatures = {mmhal.compute(TEXTS, of, ratings=[3] * 8)["signature"] for of in (plain, rows())}
    assert len(signatures) == 1


def test_a_whole_one_needs_no_subset(tmp_path, capsys):
    (tmp_path / "response_template.json").write_text(json.dumps(rows(12)))
    out = builder.build(tmp_path, out=tmp_path / "out")
    stats = json.loads((out / "stats.json").read_text())
    assert stats["subset"] is False and stats["counts"]["topics"] == 12 and stats["counts"]["holistic"] == 12
    (tmp_path / "response_template.json").write_text(json.dumps(rows(11)))
    with pytest.raises(BuildError, match="96 questions, 12 attribute.*found 88 questions, 11 attribute"):
        builder.build(tmp_path, out=tmp_path / "two")


def score(files, *responses, options=()):
    data = str(files / "response_template.json")
    return cli.main(["score", "mmhal", "--responses", *responses, "--dataset", data, *map(str, options)])


def answered(files, texts=TEXTS):
    """The authors' own format: the template with the LVLM's texts filled in."""
    made = [row | {"model_answer": text} for row, text in zip(rows(), texts, strict=True)]
    (files / "mine.json").write_text(json.dumps(made))
    return str(files / "mine.json")


def test_the_report_tells_unreadable_replies_from_missing_ones(files, served, capsys):
    mine = answered(files)
    said_ = {"Answer 0": reply("Good."), "Answer 1": reply(""), "Answer 2": refuse(400, "no")}
    served.script = lambda prompt, *_: next(
        (one for name, one in said_.items() if name in prompt), reply("Rating: 6")
    )
    options = ["--judge", served.judge, "--reading", "official", "--max-failed", 0.5]
    with pytest.warns(UserWarning, match="no readable verdict"):
        assert score(files, mine, options=options) == 0
    assert (
        "no readable rating: 37.5 % of the responses; 25.0 % have a reply and count as 0, as in the authors' script; "
        "12.5 % have none and count in no score"
    ) in capsys.readouterr().out


def test_replies_that_somebody_elses_judge_gave(upstream):
    """Of 96 published replies two have no rating: they are unreadable, not 0."""
    folder = upstream / "wild" / "xjr1051__OPSD-VCD"
    name = "output__eval_mmhal_compare_latest_20260414_4gpu__baseline__mmhal_judge_{}_yunwu_rerun.json"
    raw, scored = (json.loads((folder / name.format(kind)).read_text()) for kind in ("raw", "scored"))
    with pytest.warns(UserWarning, match="2 of the 96 texts in ratings have no readable verdict"):
        got = mmhal.compute([""] * 96, rows(12), ratings=raw, per_question=True)
    ratings = [row["rating"] for row in got["per_question"]]
    assert ratings.count(None) == 2 and len(ratings) == 96
    # their script reads "**Rating**: 3" as 0
    other = [
        i
        for i, (one, row) in enumerate(zip(ratings, scored, strict=True))
        if one not in (row["rating"], None)
    ]
    assert all("**Rating**:" in raw[i]["judge_text"] for i in other) and len(other) == 5
