"""`halluscope inspect` says what files are."""

import json
import os
import re
from pathlib import Path

import pytest

from halluscope import cli
from halluscope.inspection.inspecting import inspect

QUESTION = "Is there a {} in the image?\nAnswer the question using a single word or phrase."
THINGS = ("dog", "cat", "car")


def written(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_responses(tmp_path):
    rows = [
        {
            "question_id": i,
            "prompt": QUESTION.format(thing),
            "text": "Yes" if i else "<think>A dog?</think>Yes",
        }
        for i, thing in enumerate(THINGS)
    ]
    found = inspect(written(tmp_path / "r.json", rows))
    assert (found.kind, found.benchmarks, found.rows) == ("responses", ["pope"], 3)
    assert found.columns == {"id": "question_id", "text": "text", "question": "prompt"}
    assert found.odd == {"with thoughts": 1}
    assert "3 questions in another order, or made anew" in str(found)
    assert found.command == f"halluscope score pope --responses {tmp_path / 'r.json'} --dataset DATASET"
    rows = [{"image_id": i, "caption": "A dog runs over a green lawn after a ball."} for i in range(3)]
    found = inspect(written(tmp_path / "r.json", {"config": {}, "captions": rows, "seed": 4}))
    assert {"throne", "chair"} <= {*found.benchmarks} and found.columns["image"] == "image_id"


def test_gold_empty_and_lists(tmp_path):
    rows = [{"question": QUESTION.format(thing), "label": "yes", "answer": ["yes"]} for thing in THINGS]
    assert inspect(written(tmp_path / "r.json", rows)).odd == {"lists of one text": 3}
    rows = [row | {"answer": "yes", "direct_answer": "no"} for row in rows]
    found = inspect(written(tmp_path / "r.json", rows))
    assert found.odd == {"equal to label": 3, "other columns of texts (direct_answer)": 1}
    found = inspect(written(tmp_path / "r.json", [row | {"answer": ""} for row in rows[:1]] + rows[1:]))
    assert found.odd["empty"] == 1


def test_questions_verdicts_and_scores(tmp_path):
    rows = [{"question_id": 1, "image": "1.jpg", "text": QUESTION.format("dog"), "label": "yes"}]
    assert inspect(written(tmp_path / "q.json", rows)).kind == "questions"
    assert (
        inspect(written(tmp_path / "q.json", [{"index": 0, "id": None, "rating": 4}] * 2)).kind == "verdicts"
    )
    scores = {
        "model": "m",
        "metrics": {"accuracy": 0.5, "f1": 0.25, "n_samples": 9},
        "efficiency": {"ms": 3.1},
    }
    found = inspect(written(tmp_path / "s.json", scores))
    assert (found.kind, found.figures) == ("printed scores", {"metrics/accuracy": 0.5, "metrics/f1": 0.25})
    text = "TP\tFP\nAccuracy: 0.85\nF1 score: 0.84\n=====\nAccuracy: 0.88\nSeed: 3\n"
    found = inspect(written(tmp_path / "s.txt", text))
    assert found.figures == {"Accuracy": 0.85, "F1 score": 0.84, "Accuracy #2": 0.88}
    with pytest.raises(ValueError, match="is not JSON"):
        inspect(written(tmp_path / "s.txt", "Nothing to see."))


def test_the_command(tmp_path, capsys):
    good = written(tmp_path / "r.json", [{"prompt": QUESTION.format("dog"), "text": "\x1b[31mYes"}])
    bad = written(tmp_path / "b.json", "{")
    assert cli.main(["inspect", str(good), str(bad)]) == 2
    out, err = capsys.readouterr()
    assert "1 responses of pope" in out and "\x1b" not in out and "1 of 2 files cannot be read" in err
    assert cli.main(["inspect", "--json", str(good)]) == 0
    assert json.loads(capsys.readouterr().out)[0]["kind"] == "responses"


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("Darklightened__vlm/*gqa_pop_default.csv", "score pope .* --dataset pope:gqa"),
        ("Darklightened__vlm/*aokvqa_pop_default.csv", "score pope .* --dataset pope:aokvqa"),
        ("xjr1051__OPSD-VCD/*baseline__mmhal_responses.json", "score mmhal .* --dataset mmhal --judge JUDGE"),
        (
            "tianyi-lab__HallusionBench/*sample.json",
            "score hallusionbench .* --dataset hallusionbench --partial",
        ),
        ("Areebol__vlm-decoding-hal/*llava-1.5__regular.jsonl", "score chair .* --dataset DATASET"),
    ],
)
def test_a_command_names_config_judge_and_part(file, command, upstream):
    (found,) = (upstream / "wild").glob(file)
    assert re.fullmatch(f"halluscope {command}", inspect(found).command)


def test_a_refusal_says_what_the_file_is(tmp_path, capsys):
    labels = written(tmp_path / "labels.json", {"7": ["dog"]})
    file = written(
        tmp_path / "r.json", [{"question_id": 70, "prompt": QUESTION.format("dog"), "text": "Yes"}]
    )
    words = ["score", "throne", "--judges", "lexical", "--dataset", str(labels), "--responses", str(file)]
    assert cli.main(words) == 2
    assert "question_id 70 is not among the 1 rows" in (said := capsys.readouterr().err)
    assert "The file holds 1 responses of pope (1 questions in another order, or made anew)" in said


UPSTREAM = os.environ.get("HALLUSCOPE_UPSTREAM")


@pytest.mark.skipif(not UPSTREAM, reason="needs HALLUSCOPE_UPSTREAM")
def test_published_files():
    wild = Path(UPSTREAM or "", "wild")
    about = {entry["file"]: entry for entry in json.loads((wild / "manifest.json").read_text())}
    found = {name: inspect(wild / name) for name in about}
    names = {"POPE": "pope", "CHAIR": "chair", "HallusionBench": "hallusionbench", "MMHal-Bench": "mmhal"}
    for name, one in found.items():
        entry = about[name]
        of = names.get((entry["benchmark"] or "").partition(" ")[0])
        if of and "ratings" not in entry["benchmark"]:
            assert of in one.benchmarks, name
            assert one.rows == entry["rows"] or "rounds" in entry["format"], name
    assert {one.kind for one in found.values()} == {
        "responses",
        "questions",
        "verdicts",
        "printed scores",
        "other rows",
    }
    versions = {path.name: inspect(path).about for path in (wild / "questions").iterdir()}
    assert versions["llava_pope_test.jsonl"] == (
        "adversarial (COCO, 2023-05); random (COCO, 2023-05); popular (COCO, 2023-05)"
    )
    assert versions["coco_pope_adversarial_2023-10.json"] == "adversarial (COCO, 2023-10)"
