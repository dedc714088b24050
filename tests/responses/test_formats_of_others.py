"""Files in the forms that other scripts and harnesses write are read without an option."""

import json
from itertools import product
from pathlib import Path

import pytest

import halluscope
from halluscope import cli
from halluscope.benchmarks.mme.metric import METRIC
from halluscope.vocabularies import load
from tests import small_datasets
from tests.responses.test_by_content import IMAGES, THINGS, questions_file

LABELS = {"7": ["dog", "cat"], "9": ["car"]}
CAPTIONS = {"7": "A dog and a car.", "9": "A car."}


@pytest.fixture
def labels(tmp_path):
    (tmp_path / "labels.json").write_text(json.dumps(LABELS))
    return str(tmp_path / "labels.json")


def throne(path, labels, content):
    path.write_text(json.dumps(content))
    return halluscope.score("throne", str(path), labels, judges="lexical", bootstrap=0)


def coco(number):
    return f"COCO_val2014_{int(number):012}.jpg"


def turns(who, what, user, model, text):
    return [{who: user, what: "?"}, {who: model, what: text}]


FORMS = {
    "chair": {
        "sentences": [{"image_id": int(n), "caption": c, "metrics": {}} for n, c in CAPTIONS.items()],
        "overall_metrics": {"CHAIRs": 0.5},
    },
    "rounds": {
        "config": {"seed": 42},
        "per_image": [{"image_id": n, "rounds": [{"response": c}]} for n, c in CAPTIONS.items()],
    },
    "by image": {coco(n): {"captions": [{"caption": c, "logprob": -1.0}]} for n, c in CAPTIONS.items()},
    "by id, beside settings": {"model": "m", "args": {"beams": 5}, "captions": CAPTIONS},
    "objects by file": {"results": {coco(n): {"response": c, "time": 1.5} for n, c in CAPTIONS.items()}},
    "lists by id": {n: [c] for n, c in CAPTIONS.items()},
    "lists of objects by file": {coco(n): [{"prompt": "?", "caption": c}] for n, c in CAPTIONS.items()},
    "settings first": [{"args": {"beams": 5}}, *({"image_id": n, "caption": c} for n, c in CAPTIONS.items())],
    "texts": [*CAPTIONS.values()],
    "columns": {"image_id": [*CAPTIONS], "caption": [*CAPTIONS.values()]},
    "names and cells": {
        "columns": ["image_id", "caption"],
        "index": [0, 1],
        "data": [[int(n), c] for n, c in CAPTIONS.items()],
    },
    "columns of pandas": {
        "image_id": {str(row): n for row, n in enumerate(CAPTIONS)},
        "caption": {str(row): c for row, c in enumerate(CAPTIONS.values())},
    },
    "one column of pandas": {"llava": CAPTIONS},
}


def claude(n, text):
    """A reply of Anthropic's API."""
    parts = [{"type": "thinking", "thinking": "A cat?"}, {"type": "text", "text": text}]
    return {"id": f"msg_{n}", "type": "message", "role": "assistant", "model": "m", "content": parts}


def gemini(text):
    """A reply of Google's API."""
    parts = [{"text": "A cat?", "thought": True}, {"text": text[:5]}, {"text": text[5:]}]
    return {"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": "STOP"}]}


def openai(text):
    """A reply of OpenAI's newer API."""
    message = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    return {"id": "resp_1", "object": "response", "output": [{"type": "reasoning", "summary": []}, message]}


ROWS = {
    "other index": lambda i, n, c: {"image_path": f"images/{coco(n)}", "index": i, "prediction": c},
    "img": lambda i, n, c: {"img": coco(n), "model": "m", "gt_answer": "?", "generated_text": c},
    "only text": lambda i, n, c: {"image_name": coco(n), "said": c, "url": f"https://host/{n}"},
    "chat": lambda i, n, c: {"id": n, "messages": turns("role", "content", "user", "assistant", c)},
    "chat as the response": lambda i, n, c: {
        "id": n,
        "response": turns("role", "content", "user", "assistant", c),
    },
    "chat from a pipeline": lambda i, n, c: {
        "id": n,
        "output": [{"generated_text": turns("role", "content", "user", "assistant", c)}],
    },
    "LLaVA's chat": lambda i, n, c: {
        "image": coco(n),
        "conversations": turns("from", "value", "human", "gpt", c),
    },
    "OpenAI's chat beside images": lambda i, n, c: {
        "image": coco(n),
        "messages": turns(
            "role", "content", "user", "assistant", [{"type": "text", "text": c}, {"type": "image_url"}]
        ),
    },
    "chat beside a list of its image": lambda i, n, c: {
        "images": [coco(n)],
        "messages": turns("role", "content", "user", "assistant", c),
    },
    "pipeline of transformers": lambda i, n, c: {"image_id": n, "output": [{"generated_text": c}]},
    "signed address": lambda i, n, c: {"url": f"https://host/{coco(n)}?signed=1", "caption": c},
    "batch": lambda i, n, c: {
        "custom_id": n,
        "response": {"body": {"choices": [{"message": {"content": c}}]}},
    },
    "Claude": lambda i, n, c: {"image_id": n, **claude(n, c)},
    "Claude in a column": lambda i, n, c: {"image_id": n, "output": claude(n, c)},
    "Claude's batch": lambda i, n, c: {
        "custom_id": n,
        "result": {"type": "succeeded", "message": claude(n, c)},
    },
    "Gemini": lambda i, n, c: {"image_id": n, **gemini(c)},
    "Gemini in a column": lambda i, n, c: {"image_id": n, "response": gemini(c)},
    "Gemini's batch": lambda i, n, c: {"key": n, "response": gemini(c)},
    "OpenAI's newer API": lambda i, n, c: {"image_id": n, **openai(c)},
    "object with the text": lambda i, n, c: {"image_id": n, "output": {"text": c, "tokens": 9}},
    "capitals": lambda i, n, c: {"imageId": int(n), "modelAnswer": c},
    "boxes beside": lambda i, n, c: {
        "image_id": n,
        "description": c,
        "boxes": [{"of": "dog"}],
        "ps": {"1": {}},
    },
    "a caption by people": lambda i, n, c: {"image_id": n, "caption": f"A cat {i}.", "generated_caption": c},
    "objects beside": lambda i, n, c: {"file_0": coco(n), "said": c, "found": {"0": {"text": "cat"}}},
    "number.jpg": lambda i, n, c: {"id": "563", "question": "?", "image": f"/data/{n}.jpg", "text": c},
}


@pytest.mark.parametrize("form", [*FORMS, *ROWS])
def test_captions_are_read_in_each_form(tmp_path, labels, form):
    content = FORMS.get(form) or [ROWS[form](i, *item) for i, item in enumerate(CAPTIONS.items())]
    result = throne(tmp_path / "captions.json", labels, content)
    assert (result["precision_all"], result["images"]) == (pytest.approx(2 / 3), 2)


def test_an_apis_id_of_a_reply_is_no_id(pope, tmp_path):
    replies = []
    for number in range(18):
        message = {"role": "assistant", "content": "yes"}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        replies.append({"id": f"chatcmpl-{number}", "object": "chat.completion", "choices": choices})
    file = tmp_path / "replies.jsonl"
    file.write_text("\n".join(map(json.dumps, replies)))
    with pytest.warns(UserWarning, match="matched by their order"):
        assert halluscope.score("pope", str(file), pope[0], bootstrap=0)["yes_ratio"] == 1


def test_a_reply_of_which_only_the_text_was_saved(tmp_path, labels):
    rows = []
    for number, caption in CAPTIONS.items():
        rows.append({"image_id": int(number), "object": "response", "output_text": caption})
    plain = throne(tmp_path / "plain.json", labels, CAPTIONS)
    assert throne(tmp_path / "replies.json", labels, rows)["texts"] == plain["texts"]


def test_one_of_several_columns_of_pandas(pope, tmp_path):
    cells = {str(number): "yes" for number in range(1, 19)}
    file = tmp_path / "models.json"
    file.write_text(json.dumps({"llava": cells, "qwen": cells}))
    result = halluscope.score("pope", str(file), pope[0], text_column="qwen", bootstrap=0)
    assert result["yes_ratio"] == 1


def test_scores_that_a_file_states(tmp_path, labels, capsys):
    (tmp_path / "synonyms.txt").write_text("\n".join(load("coco").classes))
    sentences = [{"image_id": int(n), "caption": c} for n, c in CAPTIONS.items()]
    metrics = {"CHAIRs": 0.5, "CHAIRi": 1 / 3, "Recall": 0.9, "BLEU": 0.1}
    file = tmp_path / "chair.json"
    file.write_text(json.dumps({"sentences": sentences, "overall_metrics": metrics}))
    words = ["score", "chair", "--responses", str(file), "--dataset", labels]
    words += ["--synonyms", str(tmp_path / "synonyms.txt"), "--bootstrap", "0", "--allow-other-synonyms"]
    assert cli.main([*words, "--json"]) == 0
    out, err = capsys.readouterr()
    (result,) = json.loads(out)
    assert result["printed"] == {"chair_s": 0.5, "chair_i": pytest.approx(1 / 3), "recall": 0.9}
    assert (
        "states scores itself: chair_i 33.3 (here 33.3), chair_s 50.0 (here 50.0), recall 90.0 (here 66.7). "
        in err
    )
    assert "Not equal: recall; `halluscope explain chair`" in err
    file.write_text(json.dumps({"sentences": sentences, "overall_metrics": {"CHAIRs": 50.0}}))
    assert cli.main(words) == 0
    assert "chair_s 50.0 (here 50.0). They agree." in capsys.readouterr().out


@pytest.fixture
def pope(tmp_path):
    """Two samplings that share their images and some questions."""
    return [
        questions_file(tmp_path / f"pope_{name}.json", product(IMAGES, things))
        for name, things in THINGS.items()
    ]


def cells(dataset):
    """Return VLMEvalKit's rows: each image and question once, the samplings that have it in one cell."""
    found = {}
    for path in dataset:
        name = path.rpartition("pope_")[2].removesuffix(".json")
        for line in Path(path).read_text().splitlines():
            row = json.loads(line)
            found.setdefault((row["image"], row["text"]), [row["label"]]).append(name)
    return [
        {
            "index": i,
            "question": text,
            "answer": label.title(),
            "category": ",".join(names),
            "prediction": label,
        }
        for i, ((_, text), (label, *names)) in enumerate(found.items())
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_vlmevalkits_pope(pope, order):
    rows = cells(pope[::order])
    assert len(rows) == 27 and len({row["category"] for row in rows}) == 3
    result = halluscope.score("pope", rows, pope, bootstrap=0)
    assert (result["rows"], result["accuracy"], result["matched"]) == (36, 1.0, "order and question")
    assert "left_out" not in result  # though some responses belong to several rows
    without = [row for row in rows if row["category"] != "popular"]
    with pytest.raises(ValueError, match="no response to 9 of the 36 rows"):
        halluscope.score("pope", without, pope, bootstrap=0)
    assert halluscope.score("pope", without, pope, bootstrap=0, partial=True)["rows"] == 27
    rows[0]["prediction"] = "No"  # one question of two samplings
    result = halluscope.score("pope", rows, pope, bootstrap=0)
    assert [result[f"accuracy/{name}"] for name in THINGS] == [17 / 18, 17 / 18]
    with pytest.raises(ValueError, match="several of the 36 rows of the dataset share their|is not among"):
        halluscope.score("pope", [rows[2], rows[1], rows[0], *rows[3:]], pope, bootstrap=0)


def test_vlmevalkits_hallusionbench(tmp_path):
    """Its index joins the columns that identify a row."""
    dataset = small_datasets.build("hallusionbench", tmp_path)
    rows = [{"index": f"VS_chart_{n}_0_{n}_0", "prediction": "Yes." if n < 2 else "No."} for n in (2, 0, 1)]
    result = halluscope.score("hallusionbench", rows, str(dataset), bootstrap=0)
    assert (result["questions"], result["aAcc"]) == (3, 1.0)
    with pytest.raises(ValueError, match="is not among the 3 rows"):
        halluscope.score("hallusionbench", [rows[0] | {"index": "VS_chart_7_0_7_0"}, *rows[1:]], str(dataset))


def test_lmms_evals_samples_of_mme(tmp_path):
    """They hold no document, but each score names the image as the question's id."""
    dataset = small_datasets.build("mme", tmp_path)
    samples = []
    for number, row in enumerate(METRIC.load([str(dataset)])):
        image = f"{row.subtask}/{Path(row.file_name).name}"
        sample = {"doc_id": number, "target": row.answer, "filtered_resps": [row.answer.title()]}
        samples.append(sample | {"input": row.question, "mme_score": {"question_id": image, "score": 1.0}})
    (tmp_path / "samples.jsonl").write_text("\n".join(map(json.dumps, samples[::-1])))
    result = halluscope.score("mme", tmp_path / "samples.jsonl", str(dataset))
    assert (result["accuracy/color"], result["perception"]) == (1.0, 2000)


def test_lmms_evals_short_samples(pope, tmp_path):
    rows = [
        json.loads(line) | {"sampling": path} for path in pope for line in Path(path).read_text().splitlines()
    ]
    samples = []
    for number, row in enumerate(rows):
        said = {"target": row["label"], "filtered_resps": [row["label"].title()], "doc_hash": "0" * 8}
        asked = f"{row['text']}\nAnswer the question using a single word or phrase."
        samples.append({"doc_id": number, "input": asked, **said})
    (tmp_path / "samples.jsonl").write_text("\n".join(map(json.dumps, samples[::-1])))
    result = halluscope.score("pope", str(tmp_path / "samples.jsonl"), pope, bootstrap=0)
    assert (result["rows"], result["accuracy"], result["matched"]) == (36, 1.0, "order")
    for sample in samples:
        sample["input"] = "Which of these is a mammal?"
    (tmp_path / "samples.jsonl").write_text("\n".join(map(json.dumps, samples)))
    with pytest.raises(ValueError, match="Which of these is a mammal"):
        halluscope.score("pope", str(tmp_path / "samples.jsonl"), pope, bootstrap=0)


@pytest.mark.parametrize("write", [str.lower, str.title, str.upper])
def test_the_name_of_a_part_tells_its_sampling_in_any_case(write, pope, tmp_path):
    """The samplings share their ids, so without it the parts are taken in the dataset's order."""
    parts = []
    expected = {}
    for number, sampling in enumerate(THINGS):
        responses = []
        for line in Path(pope[number]).read_text().splitlines():
            row = json.loads(line)
            answer = row["label"] if number == 0 else {"yes": "no", "no": "yes"}[row["label"]]
            responses.append(json.dumps({"question_id": row["question_id"], "response": answer}))
        part = tmp_path / f"{write(f'pope_{sampling}')}.jsonl"
        part.write_text("\n".join(responses))
        parts.append(str(part))
        expected[sampling] = float(number == 0)
    named = "mine=" + ",".join(reversed(parts))
    result = halluscope.score("pope", named, pope, bootstrap=0)
    assert {sampling: result[f"accuracy/{sampling}"] for sampling in THINGS} == expected


@pytest.mark.parametrize("column", ["category", "sampling", "Split", "file"])
@pytest.mark.parametrize("write", [str, str.title, str.upper, "coco_pope_{}.json".format])
def test_a_column_tells_the_sampling_in_any_case_and_within_a_name(column, write, pope):
    """Where only the first sampling is answered right; the responses are in another order than the dataset's."""
    responses = []
    for number, sampling in reversed(list(enumerate(THINGS))):
        for line in Path(pope[number]).read_text().splitlines():
            row = json.loads(line)
            answer = row["label"] if number == 0 else {"yes": "no", "no": "yes"}[row["label"]]
            responses.append({"question_id": row["question_id"], column: write(sampling), "response": answer})
    result = halluscope.score("pope", responses, pope, bootstrap=0)
    assert [result[f"accuracy/{sampling}"] for sampling in THINGS] == [1.0, 0.0]
    assert result["matched"] == "question_id and sampling"


def test_one_word_in_all_rows_is_no_sampling(pope):
    """An LVLM's name may hold such a word: it does not choose among samplings."""
    rows = [json.loads(line) for line in Path(pope[1]).read_text().splitlines()]
    responses = []
    for row in rows:
        responses.append({"question_id": row["question_id"], "run": "random-init", "response": row["label"]})
    with pytest.raises(ValueError, match="Choose one config or sampling"):
        halluscope.score("pope", responses, pope, bootstrap=0)
    result = halluscope.score("pope", responses, pope, sampling="popular", bootstrap=0)
    assert result["accuracy"] == 1


def test_two_text_columns(tmp_path, labels):
    rows = [{"image_id": 7, "response_64": "A dog."}, {"image_id": 9, "said": "A car and a cat."}]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    with pytest.raises(
        ValueError,
        match=r"1 of 2 rows have no response.*entry 2: it has no response_64.*--text-column response_64",
    ):
        halluscope.score("throne", str(tmp_path / "r.json"), labels, judges="lexical")
    columns = ["response_64", "said"]
    result = halluscope.score("throne", rows, labels, judges="lexical", text_column=columns)
    assert result["precision_all"] == pytest.approx(2 / 3)
    words = (
        f"score throne --judges lexical --json --responses {tmp_path / 'r.json'} --dataset {labels}".split()
    )
    assert cli.main([*words, "--text-column", *columns]) == 0


def test_two_text_columns_of_a_table(tmp_path, labels):
    lines = ["image_id,response_64,said", "7,A dog.,", "9,,A car and a cat."]
    (tmp_path / "r.csv").write_text("\n".join(lines))
    result = halluscope.score(
        "throne",
        str(tmp_path / "r.csv"),
        labels,
        judges="lexical",
        text_column=["response_64", "said"],
    )
    assert result["precision_all"] == pytest.approx(2 / 3)
    assert result["mean_words"] == 3.5


def test_an_index_of_pandas_without_a_name_may_hold_commas(tmp_path, labels):
    file = tmp_path / "captions.csv"
    lines = [",image_id,response"]
    for number, caption in CAPTIONS.items():
        lines.append(f'"{number}, 0",{number},{caption}')
    file.write_text("\n".join(lines) + "\n")
    result = halluscope.score("throne", str(file), labels, judges="lexical", bootstrap=0)
    assert result["matched"] == "image_id"
