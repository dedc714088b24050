"""What of the texts is hardly the LVLM's: it is scored by the benchmark's rule, and told with a number."""

import json
import random
import warnings

import pytest

import halluscope
from halluscope.responses import odd_texts
from tests import small_datasets

IMAGES = 40
TEXTS = [f"A dog runs {number} miles." for number in range(IMAGES)]


def scored(tmp_path, texts, name="throne", **columns):
    """Return the score of descriptions of 40 pictures of dogs, and what is said of them."""
    dataset = tmp_path / "labels.json"
    dataset.write_text(json.dumps({str(number): ["dog"] for number in range(IMAGES)}))
    rows = [{"image_id": number, "response": text, **columns} for number, text in enumerate(texts)]
    options = {"judges": "lexical"} if name == "throne" else {"synonyms": "names"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = halluscope.score(name, rows, str(dataset), bootstrap=0, **options)
    return result, " ".join(str(warning.message) for warning in caught)


REFUSALS = ["I'm sorry, I can't assist with that.", "Error: CUDA out of memory", "Ein Hund.", "nan"]


@pytest.mark.parametrize("name", ["throne", "chair"])
@pytest.mark.parametrize("text", REFUSALS)
def test_responses_that_name_nothing_are_counted(tmp_path, name, text):
    """A refusal invents nothing, so it makes a model look better by CHAIR."""
    _, told = scored(tmp_path, TEXTS[:30] + [text] * 10, name)
    assert f"10 of 40 responses name none of the benchmark's objects, such as {text!r}"[:70] in told
    assert "name none" not in scored(tmp_path, TEXTS[:31] + [text] * 9, name)[1]
    assert "name none" not in scored(tmp_path, TEXTS[:30] + [""] * 10, name)[1], "told as empty ones"


PROMPT = "Say what the people and cars in the image do."
TEMPLATES = [
    "USER: <image>\n{} ASSISTANT: ",
    "[INST] <image>\n{} [/INST] ",
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n",
    "system\nYou are a helpful assistant.\nuser\n{}\nassistant\n",
    "###Human: {} ###Assistant: ",
]


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_prompt_before_the_response_is_told(tmp_path, template):
    told = scored(tmp_path, [template.format(PROMPT) + text for text in TEXTS])[1]
    assert "40 of 40 responses repeat the prompt, whose words are scored too" in told


def test_a_mark_at_the_beginning_is_no_prompt(tmp_path):
    for mark in ("ASSISTANT: ", "<|im_start|>assistant\n"):
        assert "repeat the prompt" not in scored(tmp_path, [mark + text for text in TEXTS])[1]


def test_a_prompt_that_stands_beside_the_response_is_told(tmp_path):
    texts = [f"{PROMPT}\n{text}" for text in TEXTS]
    assert "40 of 40 responses repeat the prompt" in scored(tmp_path, texts, prompt=PROMPT)[1]
    assert "repeat the prompt" not in scored(tmp_path, TEXTS, prompt=PROMPT)[1]


def test_a_description_that_was_asked_to_be_corrected_and_is_right(tmp_path):
    """LURE states the first description as the question; the second is often the same."""
    assert "repeat the prompt" not in scored(tmp_path, [TEXTS[0]] * len(TEXTS), prompt=TEXTS[0])[1]


def test_lists_that_are_written_as_texts(tmp_path):
    """Of one text, as pandas writes cells with lists to csv, it is read; of several, it is told."""
    broken = [text + '\n\nThe end isn\'t "near".' for text in TEXTS]
    result, told = scored(tmp_path, broken)
    for write in (repr, json.dumps):
        assert scored(tmp_path, [write([text]) for text in broken])[0]["texts"] == result["texts"]
    assert "\\n" not in told
    emoji = [f"{text} \U0001f415" for text in TEXTS]  # JSON writes the dog in two parts
    for write in (repr, json.dumps):
        assert scored(tmp_path, [write([text]) for text in emoji]) == scored(tmp_path, emoji)
    several = [repr([text, "A cat sleeps here."]) for text in TEXTS]
    assert (
        "40 of 40 responses are lists of several texts, which are scored as one"
        in scored(tmp_path, several)[1]
    )
    names = [json.dumps(["dog", "cat", f"thing {number}"]) for number in range(IMAGES)]
    assert "lists" not in scored(tmp_path, names)[1], "what an LVLM may say"


def test_line_breaks_that_are_spelled_are_told(tmp_path):
    said = "40 of 40 responses have line breaks spelled as \\n"
    assert said in scored(tmp_path, [f"{text}\\n\\nThe end." for text in TEXTS])[1]
    assert said not in scored(tmp_path, [f"{text} It is $x \\neq y$.\nThe end." for text in TEXTS])[1]


THINGS = ["dog", "cat", "bus", "car", "cup", "fork", "tree", "house", "lamp", "shoe", "bird", "boat"]
TOKENS = ["</s>", "<pad>", "<|im_end|>", "<end_of_turn>"]


@pytest.mark.parametrize("token", TOKENS)
def test_special_tokens_are_told(tmp_path, token):
    """OpenCHAIR reads "pad" as a thing."""
    told = scored(tmp_path, [text + token for text in TEXTS])[1]
    assert "40 of 40 responses hold special tokens" in told and repr(token) in told
    thought = [f"<|begin_of_thought|>a bus<|end_of_thought|>{text} <b>" for text in TEXTS]
    assert "special tokens" not in scored(tmp_path, thought)[1]


def test_json_is_told(tmp_path):
    said = "40 of 40 responses are objects of JSON"
    objects = [json.dumps({"description": text}) for text in TEXTS]
    assert said in scored(tmp_path, objects)[1]
    assert said in scored(tmp_path, [f"```json\n{text}\n```" for text in objects])[1]
    assert said not in scored(tmp_path, [f"{{{text}}}" for text in TEXTS])[1]


def test_captions_of_other_images_are_told(tmp_path):
    """Nothing but OpenCHAIR's nouns tells that ids begin one too late."""
    draw = random.Random(0)
    captions = [" beside ".join(draw.sample(THINGS, 2)) for _ in range(200)]
    dataset = tmp_path / "captions.jsonl"
    rows = [{"image_id": number, "true_caption": f"A {caption}"} for number, caption in enumerate(captions)]
    dataset.write_text("\n".join(map(json.dumps, rows)))
    told = []
    for first in (0, 1):
        said = [{"image_id": (place + first) % 200, "response": text} for place, text in enumerate(captions)]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            halluscope.score("openchair", said, str(dataset), judges="lexical", bootstrap=0)
        told.append("another order" in str([warning.message for warning in caught]))
    assert told == [False, True]


def amber_file(tmp_path):
    """Write rows of AMBER that ask for 40 descriptions, and 80 that ask for yes or no."""
    rows = []
    for number in range(3 * IMAGES):
        row = {"id": number + 1, "file_name": f"AMBER_{number % IMAGES + 1}.jpg", "hallu": []}
        if number < IMAGES:
            more = {"prompt": "Describe this image.", "task": "generative", "dimension": "generation"}
            row |= more | {"answer": None, "truth": ["dog"]}
        else:
            more = {"prompt": f"Is there a thing {number}?", "task": "discriminative"}
            row |= more | {"dimension": "existence", "answer": "yes", "truth": []}
        rows.append(row)
    file = tmp_path / "amber.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


@pytest.mark.parametrize("with_answers", [False, True])
def test_descriptions_beside_answers_are_told_too(tmp_path, with_answers):
    """AMBER's file holds both, and most of its rows are answers."""
    rows = [{"id": number + 1, "response": f"{text}<pad>"} for number, text in enumerate(TEXTS)]
    if with_answers:
        for number in range(IMAGES, 3 * IMAGES):
            rows.append({"id": number + 1, "response": ("Yes", "No")[number % 2]})
    with pytest.warns(UserWarning, match="40 of 40 responses hold special tokens"):
        halluscope.score("amber", rows, amber_file(tmp_path), bootstrap=0, partial=True)


def test_a_second_column_of_descriptions_where_other_rows_ask_for_yes_or_no(tmp_path):
    rows = []
    for number, text in enumerate(TEXTS):
        rows.append({"id": number + 1, "response": text, "response_vcd": f"A cat sleeps on sofa {number}."})
    with pytest.warns(UserWarning, match="'response_vcd' has another text in 40 of 40 rows"):
        halluscope.score("amber", rows, amber_file(tmp_path), bootstrap=0, partial=True)


NOTES = [
    "ERROR",
    "Error code: 429 - {'error': {'message': 'Rate limit reached'}}",
    "[ERROR] no reply",
    "openai.APITimeoutError: Request timed out.",
    "anthropic.InternalServerError: Error code: 500",
    "Request aborted",
    "Connection error.",
    "Traceback (most recent call last):",
    "CUDA out of memory. Tried to allocate 2 GiB",
    "nan",
    "None",
]


@pytest.mark.parametrize("note", NOTES)
def test_a_single_note_of_a_program_is_told(tmp_path, note):
    """POPE's rule reads each as yes."""
    asked = [(f"COCO_val2014_{number:012}.jpg", "dog", "yes") for number in range(IMAGES)]
    dataset = small_datasets.pope_file(tmp_path / "random.json", asked)
    rows = [{"response": "No."} for _ in asked]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        halluscope.score("pope", rows, str(dataset), bootstrap=0)
    assert "a program's note" not in " ".join(str(warning.message) for warning in caught)
    rows[1]["response"] = note
    with pytest.warns(UserWarning, match=f"1 of {len(rows)} responses are a program's note that it has none"):
        halluscope.score("pope", rows, str(dataset), bootstrap=0)


@pytest.mark.parametrize(
    "answer",
    [
        "None.",
        "No error",
        "Errors are shown.",
        "Error messages, yes",
        "Null Island",
        "Terror",
        "Nan bread",
        "HTTP, yes",
    ],
)
def test_an_answer_is_no_note(answer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        odd_texts.warn_of_notes([answer, "Yes", "No"])
        odd_texts.warn_of_notes(["None", "Two dogs", "A cat"])
