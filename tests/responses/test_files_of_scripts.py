"""Files as the scripts of published repositories write them: each is scored, or the message says what to type."""

import json
import os
from pathlib import Path

import pytest

import halluscope
from halluscope.inspection.inspecting import inspect
from tests.responses.test_by_content import dataset as samplings  # noqa: F401
from tests.responses.test_by_content import said
from tests.responses.test_response_column import Model, accuracy, dataset, merged, question_rows  # noqa: F401

UPSTREAM = os.environ.get("HALLUSCOPE_UPSTREAM")
needs_upstream = pytest.mark.skipif(not UPSTREAM, reason="needs HALLUSCOPE_UPSTREAM")


def answered(seed=0):
    rows = question_rows()
    return rows, Model(rows, seed=seed)


# Columns


def test_responses_of_two_ways_of_decoding(samplings):  # noqa: F811
    """Two columns, of which one is called as POPE's samplings are: refused before, also where the user named one."""
    rows = []
    for row in said("popular", image=True):
        other = "No." if row["text"].startswith("Yes") else "Yes."
        asked = row["prompt"].partition("\n")[0]
        rows.append({"question": asked, "image": row["image"], "greedy": row["text"], "sampling": other})
    with pytest.raises(ValueError, match="Texts here: greedy, sampling"):
        halluscope.score("pope", rows, samplings, bootstrap=0)
    for column, share in (("greedy", 1.0), ("sampling", 0.0)):
        result = halluscope.score("pope", rows, samplings, bootstrap=0, text_column=column, parser="strict")
        assert (result["accuracy"], result["rows/popular"]) == (share, len(rows))


@pytest.mark.parametrize(
    "names", [("raw_generation", "parsed_prediction"), ("raw_prediction", "answer_pred")]
)
def test_what_an_lvlm_said_beside_what_a_script_read_in_it(dataset, names, tmp_path):  # noqa: F811
    rows, model = answered()
    raw, read = names
    columns = {raw: [f"{word}." for word in model.words], read: [word.lower() for word in model.words]}
    columns["correct"] = [
        int(word.lower() == row["label"]) for word, row in zip(model.words, rows, strict=True)
    ]
    score, told = accuracy(merged(rows, **columns), dataset)
    assert score == pytest.approx(model.accuracy) and read not in told
    (tmp_path / "r.json").write_text(json.dumps(merged(rows, **columns)))
    assert inspect(tmp_path / "r.json").columns["text"] == raw


def test_a_judges_check_is_no_other_response(dataset):  # noqa: F811
    rows, model = answered()
    checks = [str(place % 2) for place in range(len(rows))]
    _, told = accuracy(merged(rows, model_prediction=model.words, output_gpt_check=checks), dataset)
    assert "output_gpt_check" not in told


@pytest.mark.parametrize("prompt", ["A", "Please answer this question with one word."])
def test_a_prompt_that_only_says_how_to_answer(dataset, prompt):  # noqa: F811
    rows, model = answered()
    score, _ = accuracy(merged(rows, prompt=[prompt] * len(rows), response=model.words), dataset)
    assert score == pytest.approx(model.accuracy)


@pytest.mark.parametrize("prompt", ["Describe this image.", "Is the picture real?"])
def test_another_prompt_for_all_is_refused(dataset, prompt):  # noqa: F811
    rows, model = answered()
    with pytest.raises(ValueError, match=f"has the prompt '{prompt}'".replace("?", r"\?")):
        accuracy(merged(rows, prompt=[prompt] * len(rows), response=model.words), dataset)


def test_a_column_may_say_that_all_are_of_one_sampling(samplings):  # noqa: F811
    rows = []
    for row in said("popular"):
        rows.append({"question_id": row["question_id"], "category": "popular", "answer": row["text"]})
    result = halluscope.score("pope", rows, samplings, bootstrap=0, parser="strict")
    assert (result["rows"], result["rows/popular"], result["accuracy"]) == (len(rows), len(rows), 1.0)


def test_inspect_takes_labels_for_responses(tmp_path):
    rows, model = answered()
    labels = [str(int(word == "Yes")) for word in model.words]
    (tmp_path / "r.json").write_text(json.dumps(merged(rows, question=["?"] * len(rows), pred=labels)))
    said = inspect(tmp_path / "r.json")
    assert (said.columns["text"], said.problem) == ("pred", "")


def test_a_count_from_0_of_all_rows_is_their_order(dataset):  # noqa: F811
    model = Model(question_rows())
    by_number = {str(place): {"prediction": word} for place, word in enumerate(model.words)}
    score, told = accuracy(by_number, dataset)
    assert score == pytest.approx(model.accuracy) and "matched by their order" in told


def test_a_count_from_0_of_several_samplings_is_no_order(samplings):  # noqa: F811
    both = {
        str(place): {"prediction": row["text"]} for place, row in enumerate(said("random") + said("popular"))
    }
    with pytest.raises(ValueError, match="Choose one config or sampling"):
        accuracy(both, samplings)


def test_rows_that_other_columns_tell_apart_are_no_repeats(tmp_path):
    """HallusionBench's questions are told apart by five columns, of which one is called as an id is."""
    rows = []
    for place in range(40):
        rows.append(
            {"set_id": place // 2, "question_id": place % 2, "answer_id": f"a{place}", "response": "Yes"}
        )
    file = tmp_path / "r.json"
    file.write_text(json.dumps(rows))
    assert not inspect(file).odd
    file.write_text(json.dumps([*rows, {**rows[0], "answer_id": "b"}]))
    assert inspect(file).odd == {"repeats of an earlier row": 1}


def test_inspect_knows_dash_bs_questions(tmp_path):
    rows = []
    for place, thing in enumerate(("dog", "traffic light")):
        asked = f"Can you see a {thing} in this image. Please answer only with yes or no. Answer with yes or no only."
        rows.append({"question_id": place, "question": asked, "prediction": "yes"})
    (tmp_path / "r.json").write_text(json.dumps({"metrics": {"accuracy": 1}, "predictions": rows}))
    said = inspect(tmp_path / "r.json")
    assert list(said.benchmarks) == ["dash_b"] and list(said.words[-3:]) == [
        "--dataset",
        "dash_b",
        "--partial",
    ]


# JSON

FILES = {
    "an object per lines": lambda rows: "\n".join(json.dumps(row, indent=4) for row in rows),
    "commas between them": lambda rows: ",\n".join(json.dumps(row, indent=4) for row in rows),
    "commas at the ends of lines": lambda rows: "".join(f"{json.dumps(row)},\n" for row in rows),
    "objects without line breaks": lambda rows: "".join(map(json.dumps, rows)),
    "a list per batch": lambda rows: json.dumps(rows[:8]) + "\n" + json.dumps(rows[8:]),
    "two lists": lambda rows: json.dumps(rows[:8]) + json.dumps(rows[8:]),
}


@pytest.mark.parametrize("form", FILES)
def test_values_one_after_another(dataset, form, tmp_path):  # noqa: F811
    """As `json.dump` into a file that is open writes them: refused before, as cut off."""
    rows, model = answered()
    file = tmp_path / "r.json"
    file.write_text(FILES[form](merged(rows, response=model.words)))
    assert accuracy(str(file), dataset)[0] == pytest.approx(model.accuracy)
    file.write_text(file.read_text().rstrip(",\n")[:-10])
    with pytest.raises(ValueError, match="cut off"):
        accuracy(str(file), dataset)


# What a refusal says to type


def test_a_refusal_names_the_options_that_choose_a_sampling(samplings):  # noqa: F811
    responses = [
        {"question_id": row["question_id"], "answer": row["text"]} for row in reversed(said("popular"))
    ]
    with pytest.raises(ValueError, match=r"--dataset NAME:CONFIG, --sampling random\|popular\|adversarial"):
        halluscope.score("pope", responses, samplings, bootstrap=0)
    alone = [row["answer"] for row in reversed(responses)]
    with pytest.raises(ValueError, match="one set of rows, choose it: --sampling random, --sampling popular"):
        halluscope.score("pope", alone, samplings, bootstrap=0)
    assert (
        halluscope.score("pope", alone, samplings, bootstrap=0, sampling="popular", parser="strict")[
            "accuracy"
        ]
        == 1
    )


def test_a_folder_is_refused_with_how_its_files_are_joined(dataset, tmp_path):  # noqa: F811
    (tmp_path / "model").mkdir()
    with pytest.raises(ValueError, match="parts of one LVLM's responses: --responses NAME=FILE,FILE"):
        accuracy(str(tmp_path / "model"), dataset)


@needs_upstream
def test_a_refusal_names_the_config_that_asks_the_questions(tmp_path):
    rows = json.loads(Path(UPSTREAM, "pope/gqa/gqa_pope_seem_random.json").read_text())
    lines = []
    for row in rows:
        lines.append(
            {
                "question_id": row["question_id"],
                "prompt": row["text"],
                "text": "Yes" if row["label"] == "no" else "No",
            }
        )
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, lines)))
    coco = [f"{UPSTREAM}/pope/coco/coco_pope_{name}.json" for name in ("random", "popular", "adversarial")]
    with pytest.raises(ValueError, match="questions of another config: --dataset pope:gqa"):
        halluscope.score("pope", str(tmp_path / "r.jsonl"), coco, bootstrap=0)


@needs_upstream
def test_questions_with_a_visual_in_their_order(tmp_path):
    """A question's number alone is no id; the questions, some without a mark at their end, are in their order."""
    rows = json.loads(Path(UPSTREAM, "hallusionbench/HallusionBench.json").read_text())
    lines = []
    for row in rows:
        if row["visual_input"] != "0":
            asked = f"{row['question']} Answer with yes or no only."
            lines.append({"question_id": row["question_id"], "question": asked, "prediction": "yes"})
    (tmp_path / "r.json").write_text(json.dumps({"metrics": {}, "predictions": lines}))
    arguments = ("hallusionbench", str(tmp_path / "r.json"), f"{UPSTREAM}/hallusionbench/HallusionBench.json")
    with pytest.raises(ValueError, match="by itself has so many: --protocol lmms-eval"):
        halluscope.score(*arguments, bootstrap=0)
    right = sum(row["gt_answer"] == "1" for row in rows if row["visual_input"] != "0")
    result = halluscope.score(*arguments, bootstrap=0, protocol="lmms-eval")
    assert result["aAcc"] == pytest.approx(right / len(lines))
