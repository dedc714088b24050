"""Judges against published marks by people: HAT's words and FaithScore's facts."""

import json
import re

import pytest

from halluscope import cli
from halluscope.studies.judgement import digest
from tests.studies.sheets import lines, printed, read_json, refused

# image 1 shows a dog and a cup, image 2 a cat
TRUTH = {"1": ["dog", "cup"], "2": ["cat"]}


def hat(image, caption):
    """A row of HAT; words in stars are marked."""
    grounding = [[word.strip("*"), word.startswith("*")] for word in caption.split()]
    return {"image_path": f"COCO_val2014_{image:012}.jpg", "grounding": grounding}


@pytest.fixture
def certified(tmp_path, capsys):
    def certify(marks, rows, *options):
        file = tmp_path / "marks.json"
        file.write_text(json.dumps(rows))
        (tmp_path / "truth.json").write_text(json.dumps(TRUTH))
        words = ["study", "certify", file, "--marks", marks, "--dataset", tmp_path / "truth.json"]
        return read_json(capsys, *words, "--judges", "lexical", *options)

    return certify


def test_words_of_captions_by_hand(certified):
    """Called right: the dog of image 1 (people: right) and its cup (people: wrong). Called wrong: the dog of image 2
    (people: wrong). Nothing is read of the cat, which the caption denies."""
    content = certified("hat", [hat(1, "A dog with a *red *cup."), hat(2, "A *dog but no cat here.")])
    overall = content["rates"]["all"]
    assert [overall[name] for name in ("images", "mentions", "right")] == [2, 4, 2]
    assert overall["silent"] == 1 / 4
    assert overall["false_yes"]["value"] == 1 / 2 and overall["false_no"]["value"] == 0
    assert overall["wrong_yes"]["value"] == 1 / 2
    assert content["rates"]["kitchen"]["false_yes"]["value"] == 1
    assert content["rates"]["animal"]["mentions"] == 3
    assert content["data"].startswith("hat-4-") and len(content["digest"]) == 16


def test_facts_by_hand(certified):
    """A fact about two classes is called right if both are in the image; facts without a class do not count."""
    facts = {"There is a dog.": 1, "There is a cat.": 0, "The dog holds a cup.": 0, "The sky is blue.": 1}
    rates = certified("faithscore", [{"id": "000000000001", "stage 2": facts}])["rates"]
    assert [rates[kind]["mentions"] for kind in ("all", "existence", "other facts")] == [3, 2, 1]
    assert rates["existence"]["false_yes"]["value"] == 0 and rates["existence"]["false_no"]["value"] == 0
    assert (
        rates["other facts"]["false_yes"]["value"] == 1 and rates["other facts"]["false_no"]["value"] is None
    )


def case(text, name, answer, **more):
    return {"text": text, "class": name, "answer": answer, **more}


def test_cases_by_hand(tmp_path, capsys):
    """The rules say yes to the dog (people: yes) and the cup (people: no), no to the cat (people: no) and to the
    second dog (people: yes): half agree, as many as say what most people say."""
    rows = [
        case("A dog.", "dog", "yes", kind="a"),
        case("A cup.", "cup", "no", kind="a"),
        case("No cat.", "cat", "no", kind="b"),
        case("No dog.", "dog", "yes", kind="b", note="ignored"),
    ]
    file = lines(tmp_path / "cases.jsonl", rows)
    words = ["study", "certify", file, "--marks", "cases", "--judges", "lexical"]
    content = read_json(capsys, *words)
    overall = content["rates"]["all"]
    assert [overall[name]["value"] for name in ("agree", "majority", "gain")] == [0.5, 0.5, 0]
    assert [overall[name]["value"] for name in ("false_yes", "false_no", "wrong_yes")] == [0.5, 0.5, 0.5]
    assert (overall["mentions"], overall["right"]) == (4, 2) and content["threshold"] is None
    assert content["rates"]["a"]["agree"]["value"] == 0.5 and content["interval"].endswith(",texts")
    assert re.search(r"kind +texts +cases +people: yes +agree", printed(capsys, *words))
    assert "cases have no images" in refused(capsys, *words, "--dataset", file)
    file = lines(tmp_path / "cases.jsonl", [case("A dog.", "dragon", "yes")])
    assert "expected an object with text, class (of the vocabulary 'coco')" in refused(capsys, *words)


def test_the_threshold_of_a_judge_with_margins(tmp_path, capsys, tiny_t5):
    """What is measured is what the judge gives with that threshold, on the texts of the other half."""
    rows = []
    for number in range(12):
        rows.append(case(f"Here {number} dogs and a bus.", "dog", "yes"))
        rows.append(case(f"Here {number} dogs and a bus.", "cat", "no"))
    file = lines(tmp_path / "cases.jsonl", rows)
    words = ["study", "certify", file, "--marks", "cases", "--store", tmp_path / "votes.sqlite", "--judges"]
    found = read_json(capsys, *words, f"likelier:{tiny_t5}")["threshold"]
    assert found["chosen_on"] + found["measured_on"] == 24
    others = [row for row in rows if int(digest(row["text"]), 16) % 2]
    assert len(others) == found["measured_on"]
    lines(file, others)
    again = read_json(capsys, *words, f"likelier={found['threshold']}:{tiny_t5}")
    assert again["rates"]["all"]["agree"] == found["agree"]
    assert f"--judges likelier={found['threshold']:g}:MODEL" in printed(
        capsys, *words[:2], lines(tmp_path / "all.jsonl", rows), *words[3:], f"likelier:{tiny_t5}"
    )


@pytest.mark.parametrize(
    ("marks", "row", "message"),
    [
        ("hat", {"image_path": "1.jpg"}, "expected an object with image_path, and in grounding"),
        ("hat", {"image_path": "a dog", "grounding": [["dog", True]]}, "expected an object with image_path"),
        ("hat", hat(3, "A dog."), "lacks 1 of the images that people's marks are about, such as 3"),
        ("hat", hat(1, "A sky."), "names no class of the vocabulary 'coco'"),
        ("faithscore", {"id": "1", "stage 2": {"A dog.": 2}}, "expected an object with id, and in 'stage 2'"),
        ("faithscore", 7, "expected an object with id"),
    ],
)
def test_files_that_hold_no_marks(tmp_path, capsys, marks, row, message):
    file = lines(tmp_path / "marks.jsonl", [row])
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH))
    words = ["study", "certify", file, "--marks", marks, "--judges", "lexical"]
    assert message in refused(capsys, *words, "--dataset", tmp_path / "truth.json")


def test_what_the_marks_need(tmp_path, capsys):
    file = lines(tmp_path / "marks.jsonl", [hat(1, "A dog.")])
    assert "--marks needs --dataset" in refused(capsys, "study", "certify", file, "--marks", "hat")
    words = ["study", "certify", file, "--responses", file, "--dataset", file, "--synonyms", file]
    assert "--synonyms is for --marks" in refused(capsys, *words)


@pytest.mark.parametrize(
    ("marks", "file", "mentions", "right"),
    [
        ("hat", "aloha_hat-trainval.json", 668, 621),
        ("faithscore", "faithscore_annotation.jsonl", 881, 684),
    ],
)
def test_the_published_marks(upstream, capsys, marks, file, mentions, right):
    """Both ways of reading find nearly all mentions, and call few of those wrong that people call right."""
    words = ["study", "certify", upstream / "human_marks" / file, "--marks", marks]
    words += ["--dataset", upstream / "chair" / "coco2014_chair_objects.json.gz"]
    for how in (["--judges", "lexical"], ["--synonyms", upstream / "chair" / "synonyms.txt"]):
        overall = read_json(capsys, *words, *how)["rates"]["all"]
        assert (overall["mentions"], overall["right"]) == (mentions, right)
        assert overall["silent"] < 0.1 and overall["false_no"]["value"] < 0.1
    assert cli.main([*map(str, words), "--judges", "lexical", "--synonyms", "x"]) == 2
