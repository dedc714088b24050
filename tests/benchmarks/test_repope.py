"""RePOPE: corrected answers to POPE's questions, on small rows made here, and on the real rows if available."""

import json

import pytest

import halluscope
from halluscope import cli
from halluscope.benchmarks.pope import rows
from halluscope.benchmarks.pope.metric import compute
from halluscope.benchmarks.pope.rows import SAMPLINGS, LeftOut
from tests import small_datasets
from tests.small_datasets import write_lines

POPE = ["yes", "no", "yes", "no", "yes", "no"]


@pytest.fixture
def built(tmp_path):
    return small_datasets.build("repope", tmp_path)


def replies(texts, samplings=SAMPLINGS):
    return [
        {"question_id": n, "category": sampling, "response": text}
        for sampling in samplings
        for n, text in enumerate(texts)
    ]


def test_responses_to_all_of_pope_serve(built):
    """Right by POPE, six of six; by RePOPE four of five, for the first answer is corrected and the last left out."""
    got = halluscope.score(
        "repope", [one for one in replies(POPE) if one["question_id"]], built, partial=True
    )
    assert (got["rows"], got["accuracy"], got["left_out"]) == (12, 1.0, 3)


def test_objects_may_stand_beside_responses_to_all_of_pope(built):
    """The questions that RePOPE leaves out have no objects."""
    said = [one | {"object": "the dataset's"} for one in replies(POPE) if one["question_id"]]
    assert halluscope.score("repope", said, built, partial=True)["rows"] == 12


def test_other_answers_to_the_same_questions():
    """Replies yes yes no no; POPE says yes no yes no: 2 of 4. RePOPE says no, leaves out, yes, yes: 0 of 3."""
    got = compute(
        ["Yes", "Yes", "No", "No"],
        ["yes", "no", "yes", "no"],
        objects=["dog", "cat", "cup", "bus"],
        sampling=["random"] * 2 + ["popular"] * 2,
        corrected=["no", None, "yes", "yes"],
    )
    assert (got["accuracy"], got["corrected"]["accuracy"], got["difference"]["accuracy"]) == (0.5, 0.0, -0.5)
    assert (got["corrected"]["rows"], got["corrected"]["rows/random"]) == (3, 1)
    alone = compute(
        ["Yes", "No", "No"],
        ["no", "yes", "yes"],
        objects=["dog", "cup", "bus"],
        sampling=["random", "popular", "popular"],
    )
    assert json.dumps(got["corrected"]) == json.dumps(alone)


@pytest.mark.parametrize(
    ("corrected", "said"),
    [
        (["yes", "maybe"], r"corrected\[1\] is 'maybe'"),
        ([None, None], "no answer to any of the questions"),
    ],
)
def test_what_is_no_other_answer(corrected, said):
    with pytest.raises(ValueError, match=said):
        compute(["Yes", "No"], ["yes", "no"], corrected=corrected)


@pytest.mark.usefixtures("wide")
def test_both_in_one_command(built, tmp_path, capsys):
    """The second model says no to the first question, as RePOPE does; the first says what POPE says.

    F1 of the second by POPE: precision 1 and recall 2 of 3, so 0.8. By RePOPE, where two of five are yes, it is 1.
    The first says yes three times, once wrongly by RePOPE: precision 2 of 3 and recall 1, so 0.8.
    """
    small_datasets.build("pope", tmp_path)
    file = tmp_path / "second.jsonl"
    file.write_text("\n".join(map(json.dumps, replies(["no", *POPE[1:]]))))
    score = ["score", "pope", "--responses", str(file), "--dataset", f"{tmp_path / 'pope'}:coco"]
    assert cli.main([*score, "--corrected", str(built), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["f1"], found["corrected"]["f1"], found["corrected"]["rows"]) == (0.8, 1.0, 15)
    assert found["signature"] != found["corrected"]["signature"]
    gqa = ["score", "pope", "--responses", str(file), "--dataset", f"{tmp_path / 'pope'}:gqa"]
    assert cli.main([*gqa, "--corrected", str(built)]) == 2
    assert "corrected has no answer to question_id 0, random" in capsys.readouterr().err
    first = tmp_path / "first.jsonl"
    first.write_text("\n".join(map(json.dumps, replies(POPE))))
    assert cli.main([*score, "--responses", str(first), "--corrected", str(built), "--per-class"]) == 0
    printed = capsys.readouterr().out
    corrected = [line.split() for line in printed.splitlines() if "pooled" in line and len(line.split()) == 9]
    assert sorted(corrected) == [
        ["first", "pope", "pooled", "15", "100.0", "80.0", "-20.0", "1", "2"],
        ["second", "pope", "pooled", "15", "80.0", "100.0", "+20.0", "2", "1"],
    ]
    assert "kite" in printed


@pytest.mark.usefixtures("wide")
def test_models_with_other_samplings_are_ranked_where_they_can_be(built, tmp_path, capsys):
    """One model answers the random questions, one the popular ones; a third never says yes, and has no F1."""
    small_datasets.build("pope", tmp_path)
    command = ["score", "pope", "--dataset", f"{tmp_path / 'pope'}:coco", "--corrected", str(built)]
    answers = {"a": (POPE, "random"), "b": (POPE, "popular"), "c": (["no"] * 6, "popular")}
    for name, (texts, sampling) in answers.items():
        write_lines(tmp_path / f"{name}.jsonl", replies(texts, [sampling]))
        command += ["--responses", str(tmp_path / f"{name}.jsonl")]
    assert cli.main([*command, "--partial"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["a", "pope", "random", "5", "100.0", "80.0", "-20.0", "1", "1"] in rows
    assert ["b", "pope", "popular", "5", "100.0", "80.0", "-20.0", "1", "1"] in rows
    assert ["c", "pope", "popular", "5", "-", "-", "-", "-", "-"] in rows


# The real files


def test_an_answer_right_by_pope_is_right_by_repope_where_both_agree(upstream):
    """Of the 8,185 questions 494 have another answer in RePOPE."""
    official = rows.load([str(upstream / f"pope/coco/coco_pope_{name}.json") for name in SAMPLINGS])
    files = [str(upstream / f"repope/coco_repope_{name}.json") for name in SAMPLINGS]
    other = rows.inputs(official, corrected=files)["corrected"]
    right = [row.answer for row in official]
    got = compute(right, right, sampling=[row.sampling for row in official], corrected=other)
    assert got["accuracy"] == 1.0 and got["corrected"]["rows"] == 8185
    assert got["corrected"]["accuracy"] == pytest.approx(1 - 494 / 8185)
    asked = [row for row in rows.load(files) if not isinstance(row, LeftOut)]
    counted = [
        {"question_id": n, "image": row.file_name, "prompt": row.question, "text": f"{row.answer} it is"}
        for n, row in enumerate(asked)
    ]
    by_content = halluscope.score("repope", counted, files, bootstrap=0)
    assert (by_content["accuracy"], by_content["rows"], by_content.get("part")) == (1.0, 8185, None)
    in_order = [{"response": f"{answer} it is"} for answer in right]
    assert halluscope.score("repope", in_order, files)["accuracy"] == got["corrected"]["accuracy"]
