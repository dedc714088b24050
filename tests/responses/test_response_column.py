"""Which column of a file is the response: one for the whole file, and never right answers or prompts.

What an LVLM said is drawn here, and its share of right answers counted as it is drawn: a file scores this share, or is
refused.
"""

import csv
import json
import os
import random
import warnings
from pathlib import Path

import pytest

import halluscope
from halluscope.inspection.inspecting import inspect

QUESTIONS = 60
OTHER = {"yes": "no", "no": "yes"}
UPSTREAM = os.environ.get("HALLUSCOPE_UPSTREAM")
needs_upstream = pytest.mark.skipif(not UPSTREAM, reason="needs HALLUSCOPE_UPSTREAM")


def question_rows():
    """Return POPE's form of rows: two of three answers are no."""
    rows = []
    for number in range(1, QUESTIONS + 1):
        image = f"COCO_val2014_{number % 7:012}.jpg"
        text = f"Is there a thing{number} in the image?"
        label = "no" if number % 3 else "yes"
        rows.append({"question_id": number, "image": image, "text": text, "label": label})
    return rows


@pytest.fixture
def dataset(tmp_path):
    path = tmp_path / "coco_pope_random.json"
    path.write_text("\n".join(map(json.dumps, question_rows())))
    return str(path)


class Model:
    """An LVLM that is right in a share of the rows: what it says, and in how many it is right."""

    def __init__(self, rows, share=0.8, seed=0):
        draw = random.Random(seed)
        self.words = []
        right = 0
        for row in rows:
            is_right = draw.random() < share
            right += is_right
            word = row["label"] if is_right else OTHER[row["label"]]
            self.words.append(word.capitalize())
        self.accuracy = right / len(rows)


def merged(rows, **columns):
    """Return rows with an id and these columns."""
    merged_rows = []
    for place, row in enumerate(rows):
        cells = {name: values[place] for name, values in columns.items()}
        merged_rows.append({"question_id": row["question_id"], **cells})
    return merged_rows


def upstream_rows(path):
    """Return the rows of a published file, JSON lines or one list."""
    text = Path(UPSTREAM, path).read_text()
    if text.startswith("["):
        return json.loads(text)
    return [json.loads(line) for line in text.splitlines()]


def labels(rows, spelled=str):
    return [spelled(row["label"]) for row in rows]


def accuracy(rows, dataset, **options):
    """Return the accuracy, and what is said beside it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = halluscope.score("pope", rows, dataset, bootstrap=0, **options)
    return result["accuracy"], " ".join(str(warning.message) for warning in caught)


# Right answers

SPELLINGS = {
    "capitals": str.upper,
    "full stop": lambda label: label.capitalize() + ".",
    "spaces": lambda label: f"  {label} ",
    "booleans": lambda label: label == "yes",
}
NAMES = ["answer", "text", "response", "pred"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_right_answers_are_passed_over(dataset, name, spelling):
    rows = question_rows()
    model = Model(rows)
    columns = {name: labels(rows, SPELLINGS[spelling]), "model_response": model.words}
    score, told = accuracy(merged(rows, **columns), dataset)
    assert score == pytest.approx(model.accuracy)
    assert f"the column {name} has the right answers, so the responses are those in model_response" in told


@pytest.mark.parametrize("says", [str.lower, "{}, I think.".format, lambda word: int(word == "Yes")])
@pytest.mark.parametrize("name", ["model_response", "llava"])
def test_what_stands_beside_right_answers(dataset, name, says):
    """A column whose name says nothing holds responses if its texts begin with yes or no."""
    rows = question_rows()
    model = Model(rows)
    columns = {name: [says(word) for word in model.words]}
    columns["source"] = [f"Photo {place} of a street" for place in range(QUESTIONS)]
    if name == "llava" and says(model.words[0]) in (0, 1):
        with pytest.raises(ValueError, match="'answer' is the right answer"):
            accuracy(merged(rows, answer=labels(rows), **columns), dataset)
        return
    score, told = accuracy(merged(rows, answer=labels(rows), **columns), dataset)
    assert score == pytest.approx(model.accuracy) and f"the responses are those in {name}" in told


ONE, OTHER_ONE = Model(question_rows()).words, Model(question_rows(), seed=1).words


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"answer": labels(question_rows()), "reply": ONE, "reply_2": OTHER_ONE}, "in reply or reply_2"),
        ({"answer": labels(question_rows()), "caption": ONE}, "in caption, name it: --text-column caption"),
        (
            {"response": ["See the reply."] * QUESTIONS, "reply": ONE, "reply_2": OTHER_ONE},
            "in nearly all rows",
        ),
        ({"caption": ONE, "reply": OTHER_ONE}, "caption and reply both hold texts"),
    ],
)
def test_two_columns_of_texts_are_refused(dataset, columns, said):
    with pytest.raises(ValueError, match=said):
        accuracy(merged(question_rows(), **columns), dataset)
    assert accuracy(
        merged(question_rows(), **columns),
        dataset,
        text_column="caption" if "caption" in columns else "reply",
    )


@pytest.mark.parametrize("other", ["answer_ours", "vcd"])
def test_other_answers_beside_those_that_are_taken_are_told(dataset, other):
    """A baseline's and a method's, say; a column that says the same in other words is nothing to tell."""
    rows = question_rows()
    model = Model(rows)
    differ = sum(map(str.__ne__, model.words, OTHER_ONE))
    score, told = accuracy(merged(rows, answer=model.words, **{other: OTHER_ONE}), dataset)
    assert score == pytest.approx(model.accuracy)
    assert f"'answer'; '{other}' has another answer in {differ} of 60 rows" in told
    in_words = [f"{word}, I think." for word in model.words]
    assert "another answer" not in accuracy(merged(rows, answer=model.words, **{other: in_words}), dataset)[1]


@pytest.mark.parametrize("name", NAMES)
def test_right_answers_alone_are_refused(dataset, name):
    rows = question_rows()
    alone = merged(rows, **{name: labels(rows, str.title)})
    with pytest.raises(
        ValueError, match=f"'{name}' is the right answer in all 60 rows.*--text-column {name}"
    ) as error:
        accuracy(alone, dataset)
    assert "\n" not in str(error.value)
    assert accuracy(alone, dataset, text_column=name)[0] == 1.0


def test_notes_beside_right_answers_are_no_responses(dataset):
    rows = question_rows()
    notes = [f"Seen by Ann, page {number}." for number in range(QUESTIONS)]
    with pytest.raises(ValueError, match="'answer' is the right answer in all 60 rows"):
        accuracy(merged(rows, answer=labels(rows), remark=notes), dataset)


def test_an_honest_model_is_scored(dataset):
    rows = question_rows()
    for share in (0.9, 0.95):
        model = Model(rows, share)
        assert model.accuracy < 0.99
        assert accuracy(merged(rows, answer=model.words), dataset)[0] == pytest.approx(model.accuracy)


def test_one_text_in_all_rows_is_scored_and_told(dataset):
    score, told = accuracy(merged(question_rows(), answer=["Yes, there is."] * QUESTIONS), dataset)
    assert score == pytest.approx(1 / 3)
    assert "nearly all of the 60 responses are the same text, 'Yes, there is.'" in told


@needs_upstream
def test_popes_answers_are_right_answers_in_repopes_place():
    """RePOPE corrects 5 to 6 % of POPE's answers."""
    corrected = str(Path(UPSTREAM, "repope/coco_repope_adversarial.json"))
    pope = Path(UPSTREAM, "pope/coco/coco_pope_adversarial.json")
    rows = upstream_rows(pope)
    with pytest.raises(ValueError, match="'answer' is the right answer"):
        accuracy(merged(rows, answer=labels(rows)), corrected)
    theirs = upstream_rows(corrected)
    changed = labels(theirs)
    changed[17] = OTHER[changed[17]]
    with pytest.raises(ValueError, match="'answer' is the right answer"):
        accuracy(merged(theirs, answer=changed), str(pope), partial=True)
    model = Model(theirs, 0.95)
    assert accuracy(merged(theirs, answer=model.words), corrected)[0] == pytest.approx(model.accuracy)


# Free texts and letters


def digest(name, rows, dataset, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return halluscope.score(name, rows, dataset, bootstrap=0, **options)["texts"]


def haloquest(folder):
    header = "image_name,url,image type,hallucination type,question,groundtruth responses,split"
    lines = []
    for number in range(40):
        address = f"https://h/{number}.png"
        lines.append(f"{number}.png,{address},real,false premises,What is {number}?,It is {number}; One,eval")
    path = folder / "haloquest-eval.csv"
    path.write_text("\n".join([header, *lines]))
    return str(path)


@pytest.mark.parametrize("right, is_gold", [(40, True), (20, True), (19, False)])
def test_free_texts_that_are_right_in_half_of_the_rows_are_right_answers(tmp_path, right, is_gold):
    dataset = haloquest(tmp_path)
    rows = []
    for number in range(40):
        text = f"it is {number}." if number < right else f"A dog {number}."
        rows.append({"url": f"https://h/{number}.png", "output": text, "reply": f"I see {number} dogs."})
    texts = [row["reply" if is_gold else "output"] for row in rows]
    clean = [{"url": row["url"], "response": text} for row, text in zip(rows, texts, strict=True)]
    expected = digest("haloquest", clean, dataset, judge="none")
    assert digest("haloquest", rows, dataset, judge="none") == expected


# Two columns of descriptions

DESCRIPTIONS = [f"A dog runs {number} miles." for number in range(40)]
OTHERS = [f"Cats sleep on sofa {number}." for number in range(40)]


def told_of_descriptions(tmp_path, **columns):
    """Return what is said of descriptions of 40 pictures of dogs, whose scores are checked."""
    dataset = tmp_path / "labels.json"
    dataset.write_text(json.dumps({str(number): ["dog"] for number in range(40)}))
    rows = []
    for number in range(40):
        rows.append({"image_id": number} | {name: texts[number] for name, texts in columns.items()})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = halluscope.score("throne", rows, str(dataset), judges="lexical", bootstrap=0)
    assert (result["recall_all"], result["precision_all"]) == (1.0, 1.0)
    return " ".join(str(warning.message) for warning in caught)


@pytest.mark.parametrize(
    ("column", "other"),
    [("response", "response_vcd"), ("output", "raw_output"), ("prediction", "ours"), ("response", "refined")],
)
def test_other_descriptions_beside_those_that_are_taken_are_told(tmp_path, column, other):
    told = told_of_descriptions(tmp_path, **{column: DESCRIPTIONS, other: OTHERS})
    assert f"'{column}'; '{other}' has another text in 40 of 40 rows" in told
    assert f"--text-column {other} " in told


def test_a_second_method_that_changes_half_of_the_descriptions_is_told(tmp_path):
    changed = [text if number % 2 else "" for number, text in enumerate(OTHERS)]
    told = told_of_descriptions(tmp_path, response=DESCRIPTIONS, revised_response=changed)
    assert "'revised_response' has another text in 20 of 40 rows" in told


def test_a_response_that_was_taken_out_of_another_is_told(tmp_path):
    raw = [f"USER: Describe it. ASSISTANT: {text}" for text in DESCRIPTIONS]
    told = told_of_descriptions(tmp_path, output=raw, answer=DESCRIPTIONS)
    assert "'answer' has another text in 40 of 40 rows" in told


BESIDE = {
    "reasoning": OTHERS,
    "thinking": OTHERS,
    "caption": OTHERS,  # people's
    "human_caption": OTHERS,
    "judge_output": OTHERS,
    "raw_output": [f"<think>A cat?</think>{text}</s>" for text in DESCRIPTIONS],
    "tidy": [f"**{text.upper()}**" for text in DESCRIPTIONS],
    "tags": [f"a cat, a sofa, a thing {number}" for number in range(40)],
    "expected_output": OTHERS,
    "dialog": [f"USER: Describe it. ASSISTANT: {text}" for text in DESCRIPTIONS],
    "asked": [f"<img>val/{number}.jpg</img> Describe the image in detail." for number in range(40)],
    "answer_key": [f"{number}.jpg, in a folder" for number in range(40)],
    "output_list": [f"['cat', 'sofa', 'thing {number}']" for number in range(40)],
    "answered": [f"2026-01-{number % 28 + 1} 10:{number}" for number in range(40)],
    "completion_state": ["It ended by itself.", "It was cut at the limit."] * 20,
}


@pytest.mark.parametrize("name", BESIDE)
def test_what_else_stands_beside_descriptions_is_no_other_response(tmp_path, name):
    assert "another text" not in told_of_descriptions(tmp_path, response=DESCRIPTIONS, **{name: BESIDE[name]})


# Prompts

PROMPTS = ["{}", "{} Please answer yes or no.", "USER: <image>\n{}\nAnswer with a single word. ASSISTANT:"]


@pytest.mark.parametrize("form", PROMPTS)
@pytest.mark.parametrize("name", ["text", "response"])
def test_prompts_are_passed_over(dataset, name, form):
    rows = question_rows()
    model = Model(rows)
    prompts = [form.format(row["text"]) for row in rows]
    score, told = accuracy(merged(rows, **{name: prompts, "reply": model.words}), dataset)
    assert score == pytest.approx(model.accuracy)
    assert f"the column {name} has the prompts, so the responses are those in reply" in told
    with pytest.raises(ValueError, match="holds questions, not responses.*--text-column"):
        accuracy(merged(rows, **{name: prompts}), dataset)


@pytest.mark.parametrize("prompt", ["Describe this image in detail.", "Please say all that you see here."])
@pytest.mark.parametrize("images", [4, 40])
def test_one_prompt_for_all_descriptions(tmp_path, prompt, images):
    objects = {str(number): ["dog"] for number in range(images)}
    dataset = tmp_path / "labels.json"
    dataset.write_text(json.dumps(objects))
    rows = []
    for number in range(images):
        text = f"A dog runs {number} miles." if number % 2 else f"A cat sleeps {number} hours."
        rows.append({"image_id": number, "text": prompt, "description": text})
    with pytest.warns(UserWarning, match="so the responses are those in description"):
        result = halluscope.score("throne", rows, str(dataset), judges="lexical", bootstrap=0)
    assert (result["recall_all"], result["precision_all"]) == (0.5, 0.5)


def test_responses_that_repeat_the_question_are_responses(dataset):
    rows = question_rows()
    model = Model(rows)
    texts = [f"{row['text']} {word}." for row, word in zip(rows, model.words, strict=True)]
    assert accuracy(merged(rows, text=texts), dataset)[0] == pytest.approx(model.accuracy)


def test_rows_of_the_built_dataset_are_no_responses(dataset):
    row = {"question_id": 1, "image_id": 7, "question": "Is there a dog?", "object": "dog", "answer": "yes"}
    with pytest.raises(ValueError, match="is a row of the dataset, whose 'answer' is the right answer"):
        accuracy([row | {"sampling": "random"}], dataset)


# Rows without a response


def with_gaps(rows, model, lost, null):
    gaps = merged(rows, answer=labels(rows), response=model.words)
    for place in lost:
        if null:
            gaps[place]["response"] = None
        else:
            del gaps[place]["response"]
    return gaps


@pytest.mark.parametrize("null", [False, True])
def test_a_row_without_a_response_takes_no_other_column(dataset, null):
    rows = question_rows()
    model = Model(rows)
    lost = [0, 5, *range(20, 30)]
    gaps = with_gaps(rows, model, lost, null)
    with pytest.raises(
        ValueError, match=r"12 of 60 rows have no response, the first of them .*\[0\].*--partial"
    ):
        accuracy(gaps, dataset)
    kept = [row for place, row in enumerate(gaps) if place not in lost]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = halluscope.score("pope", gaps, dataset, bootstrap=0, partial=True)
    assert result["accuracy"] == accuracy(kept, dataset, partial=True)[0]
    assert (result["without_response"], result["part"]) == (12, [48, 60])
    assert "12 rows without a response are left out" in str(caught[0].message)


def test_an_empty_cell_of_a_table_is_no_response_unless_its_column_is_named(dataset, tmp_path):
    rows = question_rows()
    path = tmp_path / "model.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["question_id", "answer", "response"])
        writer.writeheader()
        writer.writerows(with_gaps(rows, Model(rows), [3, 4], null=False))
    with pytest.raises(ValueError, match="2 of 60 rows have no response.*row [45]:.*--text-column response"):
        accuracy(str(path), dataset)
    assert "2 responses are empty" in accuracy(str(path), dataset, text_column="response")[1]


# The command line and inspect


@needs_upstream
def test_inspect_names_the_column_that_score_takes(tmp_path):
    rows = upstream_rows("pope/aokvqa/aokvqa_pope_seem_popular.json")
    questions = [row["text"] for row in rows]
    path = tmp_path / "model.json"
    gold = labels(rows)
    gold[5] = OTHER[gold[5]]
    columns = {"question": questions, "answer": gold, "reply": Model(rows).words}
    path.write_text(json.dumps(merged(rows, **columns)))
    inspection = inspect(path)
    assert inspection.columns["text"] == "reply"
    assert "the column answer has the right answers, so the responses are those in reply" in str(inspection)
    prompts = [text + " Please answer yes or no." for text in questions]
    path.write_text(json.dumps(merged(rows, text=prompts, reply=Model(rows).words)))
    inspection = inspect(path)
    assert (inspection.columns["text"], inspection.benchmarks) == ("reply", ["pope"])
    path.write_text(json.dumps(merged(rows, question=questions, answer=gold)))
    inspection = inspect(path)
    assert not inspection.command and "may refuse it" in str(inspection)
