"""Files as frameworks write them, shuffled: each response is scored for its own row, or the file is refused.

What an LVLM said is drawn here, and its share of right answers counted as it is drawn. Before, each of these files gave
another number in silence.
"""

import json
import random

import pytest

import halluscope
from halluscope import cli
from halluscope.inspection.inspecting import inspect
from tests import small_datasets
from tests.responses.test_response_column import OTHER, Model, accuracy, dataset, question_rows  # noqa: F401

ADDRESS = "https://images.cocodataset.org/val2014/{}"


def asked(row):
    """Return a user's turn, as Qwen's and OpenAI's messages have it, with the image in it."""
    parts = [
        {"type": "image_url", "image_url": {"url": ADDRESS.format(row["image"])}},
        {"type": "text", "text": row["text"]},
    ]
    return {"role": "user", "content": parts}


def said(word):
    return {"role": "assistant", "content": word}


def completion(*words):
    return {"body": {"choices": [{"message": said(word)} for word in words]}}


READ = {
    "messages that a response answers": lambda row, word: {"messages": [asked(row)], "response": word},
    "a pipeline's input beside its text": lambda row, word: {
        "input_text": [asked(row)],
        "generated_text": word,
    },
    "a pipeline's input beside its chat": lambda row, word: {
        "input_text": [asked(row)],
        "generated_text": [asked(row), said(word)],
    },
    "a pipeline's list for each of several chats": lambda row, word: [
        {"input_text": [asked(row)], "generated_text": [asked(row), said(word)]}
    ],
    "a batch's line": lambda row, word: {
        "id": f"batch_req_{row['question_id']}",
        "custom_id": str(row["question_id"]),
        "response": completion(word),
    },
    "a completion with the row's id": lambda row, word: {
        "id": "chatcmpl-1",
        "question_id": row["question_id"],
        **completion(word)["body"],
    },
    "whether it is right, beside": lambda row, word: {
        "question_id": row["question_id"],
        "answer": row["label"],
        "answer_correct": word.lower() == row["label"],
        "reply": word,
    },
    "an id in an object, beside a prompt": lambda row, word: {
        "prompt": row["text"],
        "answer": word,
        "metainfos": {"question_id": row["question_id"]},
    },
}
REFUSED = {
    "whether it is right, alone": (
        lambda row, word, number: {
            "question_id": row["question_id"],
            "answer": row["label"],
            "is_correct": word.lower() == row["label"],
        },
        "the right answer in all 60 rows",
    ),
    "whether it is right, as a number": (
        lambda row, word, number: {
            "question_id": row["question_id"],
            "answer": row["label"],
            "pred_correct": int(word.lower() == row["label"]),
        },
        "the right answer in all 60 rows",
    ),
    "several completions": (
        lambda row, word, number: {"question_id": row["question_id"], "response": completion(word, "Maybe.")},
        "expected the LVLM's text",
    ),
    "questions without the image": (
        lambda row, word, number: {
            "messages": [{"role": "user", "content": "<image>" + row["text"]}],
            "response": word,
        },
        "in another order",
    ),
    "right answers of other rows": (
        lambda row, word, number: {"label": row["label"], "pred": word},
        "matched by order: the column label holds right answers, but to other rows",
    ),
    "a count that looks like an id, beside right answers": (
        lambda row, word, number: {"index": number, "gt": int(row["label"] == "yes"), "pred": word},
        "matched by index: the column gt holds right answers, but to other rows",
    ),
    "a count that looks like an id, beside images": (
        lambda row, word, number: {"id": number, "picture": f"val2014/{row['image']}", "pred": word},
        "has the image",
    ),
    "two LVLMs, each in half of the rows": (
        lambda row, word, number: {
            "question_id": row["question_id"],
            "model": "ab"[number % 2],
            "response": word,
        },
        "holds responses of 2 LVLMs: the column model is",
    ),
    "probabilities": (
        lambda row, word, number: {
            "question_id": row["question_id"],
            "pred": "0.9" if word == "Yes" else "2e-1",
        },
        "the column 'pred' holds numbers, such as ",
    ),
    "notes that there is no response": (
        lambda row, word, number: {
            "question_id": row["question_id"],
            "prediction": word if number > 2 else "Failed to obtain answer via API.",
        },
        "2 of 60 rows have no response",
    ),
}


def shuffled(rows):
    rows = list(rows)
    random.Random(1).shuffle(rows)
    return rows


def answered():
    """Return shuffled rows with the LVLM's words, and its accuracy."""
    rows = question_rows()
    model = Model(rows)
    return shuffled(zip(rows, model.words, strict=True)), model.accuracy


@pytest.mark.parametrize("form", READ)
def test_each_response_is_scored_for_its_row(form, dataset, tmp_path):  # noqa: F811
    rows, share = answered()
    file = tmp_path / "responses.json"
    file.write_text(json.dumps([READ[form](row, word) for row, word in rows]))
    assert accuracy(str(file), dataset)[0] == pytest.approx(share)


@pytest.mark.parametrize("form", REFUSED)
def test_what_is_about_other_rows_or_no_response_is_refused(form, dataset, tmp_path):  # noqa: F811
    write, message = REFUSED[form]
    rows, _ = answered()
    file = tmp_path / "responses.jsonl"
    lines = [json.dumps(write(row, word, number)) for number, (row, word) in enumerate(rows, 1)]
    file.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=message):
        accuracy(str(file), dataset)


def test_parts_that_call_one_lvlm_by_several_names_are_joined(dataset, tmp_path):  # noqa: F811
    rows, share = answered()
    names = []
    for part in (0, 1):
        file = tmp_path / f"{part}.jsonl"
        lines = []
        for row, word in rows[part::2]:
            lines.append(
                json.dumps({"question_id": row["question_id"], "model": f"part {part}", "response": word})
            )
        file.write_text("\n".join(lines))
        names.append(str(file))
    assert accuracy("mine=" + ",".join(names), dataset)[0] == pytest.approx(share)


@pytest.mark.parametrize("rows", [5, 20])
def test_right_answers_in_a_first_try_are_not_scored(rows, dataset):  # noqa: F811
    first = question_rows()[:rows]
    responses = []
    for row in first:
        word = OTHER[row["label"]] if row is first[0] else row["label"]
        responses.append({"question_id": row["question_id"], "answer": row["label"], "reply": word})
    with pytest.raises(ValueError, match=f"in all {rows} rows.*in reply, name it"):
        accuracy(responses, dataset, partial=True)
    assert accuracy(responses, dataset, partial=True, text_column="reply")[0] == pytest.approx(1 - 1 / rows)
    # an LVLM that is right in all of them, as a script repeats it
    right = [
        {"question_id": row["question_id"], "answer": row["label"], "label": row["label"]} for row in first
    ]
    assert accuracy(right, dataset, partial=True)[0] == 1


@pytest.mark.parametrize("name", ["text", "answer"])
def test_what_people_wrote_is_no_description(name, tmp_path):
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps({str(image): ["dog"] for image in range(8)}))
    responses = []
    for image in range(8):
        responses.append(
            {"image_id": image, name: f"{image} men.", "generation": f"A dog, then {image} cats."}
        )
    with pytest.raises(ValueError, match=f"{name} and generation both hold texts"):
        halluscope.score("throne", responses, str(labels), judges="lexical", bootstrap=0)
    result = halluscope.score(
        "throne", responses, str(labels), judges="lexical", bootstrap=0, text_column="generation"
    )
    assert result["recall_all"] == 1


def test_a_row_of_several_samplings_leaves_out_none(tmp_path):
    datasets = []
    for sampling in ("random", "popular"):
        file = tmp_path / f"coco_pope_{sampling}.json"
        file.write_text("\n".join(map(json.dumps, question_rows())))
        datasets.append(str(file))
    rows = question_rows()
    responses = []
    for number, (row, word) in enumerate(zip(rows, Model(rows).words, strict=True)):
        responses.append(
            {"index": number, "question": row["text"], "category": "random,popular", "prediction": word}
        )
    result = halluscope.score("pope", responses, datasets, bootstrap=0)
    assert result["accuracy"] == pytest.approx(Model(rows).accuracy) and "left_out" not in result


def test_inspect_finds_what_score_finds_in_a_chat(tmp_path):
    rows, _ = answered()
    file = tmp_path / "responses.json"
    form = READ["a pipeline's input beside its text"]
    file.write_text(json.dumps([form(row, word) for row, word in rows]))
    found = inspect(file)
    assert found.columns == {"id": "image", "text": "generated_text", "image": "image", "question": "prompt"}
    file.write_text(json.dumps([READ["a batch's line"](row, word) for row, word in rows]))
    found = inspect(file)
    assert (
        found.columns["id"] == "custom_id" and found.benchmarks == ()
    )  # not descriptions, by the words of its JSON


def test_earlier_turns_of_a_chat_are_said_to_be_ignored(dataset, tmp_path, capsys):  # noqa: F811
    rows, _ = answered()
    file = tmp_path / "chats.jsonl"
    lines = []
    for row, word in rows:
        first = [{"role": "user", "content": "Look closely."}, said("I do.")]
        lines.append(json.dumps({"messages": [*first, asked(row), said(word)]}))
    file.write_text("\n".join(lines))
    assert (
        cli.main(["score", "pope", "--responses", str(file), "--dataset", dataset, "--bootstrap", "0"]) == 0
    )
    assert "60 are the last of several responses in a chat" in capsys.readouterr().err


def test_right_answers_of_other_rows_that_are_all_alike(tmp_path):
    """Responses about present objects alone, which would be matched to rows about absent ones, that come first."""
    questions = sorted(question_rows(), key=lambda row: row["label"])
    for row in questions:
        row["text"] = "Is there a thing in the image?"
    file = tmp_path / "coco_pope_random.json"
    file.write_text("\n".join(map(json.dumps, questions)))
    for label in ("no", "yes"):
        responses = [
            {"question": row["text"], "label": label, "pred": "Yes" if n else "No"}
            for n, row in enumerate(questions[:35])
        ]
        if label == "no":
            assert accuracy(responses, str(file), limit=35)[0] == pytest.approx(1 / 35)
            continue
        with pytest.raises(ValueError, match="the column label holds right answers, but to other rows"):
            accuracy(responses, str(file), limit=35)


def samples_of_amber(*numbers):
    """lmms-eval's samples of the small AMBER's rows: 1 describes, the others answer."""
    samples = []
    for place, number in enumerate(numbers):
        text = "No" if number > 1 else "A dog on the grass."
        doc = {"question_id": number}
        samples.append(
            {"doc_id": place, "doc": doc, "arguments": {}, "filtered_resps": [text], "resps": [[text]]}
        )
    return samples


@pytest.mark.parametrize(
    ("numbers", "is_whole"),
    [((1,), True), ((1005, 1006, 1007), True), ((1005, 1006), False), ((1, 1005), False)],
)
def test_a_harness_may_have_a_task_for_descriptions_alone(numbers, is_whole, tmp_path):
    """lmms-eval's amber_g was called a run that had a limit, or was cut off."""
    built = small_datasets.build("amber", tmp_path)
    file = tmp_path / "samples.jsonl"
    file.write_text("\n".join(map(json.dumps, samples_of_amber(*numbers))))
    if is_whole:
        assert halluscope.score("amber", str(file), str(built), bootstrap=0)["rows"] == len(numbers)
        return
    with pytest.raises(ValueError, match="the run had a limit, or was cut off|has no response"):
        halluscope.score("amber", str(file), str(built), bootstrap=0)


def test_ids_in_a_column_of_images(tmp_path):
    """The message says what to write."""
    built = small_datasets.build("amber", tmp_path)
    responses = [{"image_id": 1, "caption": "A dog."}]
    with pytest.raises(ValueError, match="If image_id is this id, say so: --id-column image_id"):
        halluscope.score("amber", responses, str(built), bootstrap=0)
    assert halluscope.score("amber", responses, str(built), bootstrap=0, id_column="image_id")["rows"] == 1
