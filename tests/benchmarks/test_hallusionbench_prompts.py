"""HallusionBench's prompts, and how strictly a language model's replies are read."""

import hashlib
import json
import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halluscope.benchmarks.hallusionbench.asking import CODES, PROMPTS, ask, read

VERDICTS, AGREEMENTS = CODES["correctness"], CODES["same"]
correctness, same = partial(ask, "correctness"), partial(ask, "same")
CORRECTNESS = {word: word for word in VERDICTS}
SAME = {word: word for word in AGREEMENTS}


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("correct", "correct"),
        ("“Incorrect”.", "incorrect"),
        ("**Unclear**\nThe answer stays open.", "unclear"),
        ("Incorrect. The bar is red.", "incorrect"),
        ("**Unclear**\nThe answer takes no side.", None),
        ("Correct. Wait, no: that is wrong.", None),
        ("Correct: not at all", None),
        ("Correct. Actually, it conflicts with the reference.", None),
        ("Correct. On second thought, it isn’t.", None),
        ("Correct, but only in part.", None),
        ("Correct. However, the bar is blue.", None),
        ("Incorrect. The bar is not red.", None),
        ("Output: correct", "correct"),
        ("Correct. The answer is not incorrect.", None),
        ("Not correct", None),
        ("Correct answer: no", None),
        ("correct or incorrect", None),
        ("", None),
    ],
)
def test_a_judges_reply_is_read_strictly(reply, verdict):
    assert read(reply, CORRECTNESS) == verdict


def test_whether_two_answers_agree_is_read_strictly():
    assert [read(reply, SAME) for reply in ("Same.", "different", "not the same", "same, different")] == [
        "same",
        "different",
        None,
        None,
    ]


# A judge that only repeats


def about(answer: str, by: str = "ours"):
    return correctness({"question": "Is it red?", "reference": "It is red.", "answer": answer}, by)


@pytest.mark.parametrize(
    "answer",
    [
        *VERDICTS,
        "Correct.",
        "**Correct**",
        "Output: correct",
        '"correct"',
        '{"verdict": "correct"}',
        "Yes, that is correct. So please output: correct",
        "correct correct-000000 correct-ffffff",
    ],
)
def test_repeating_an_answer_or_a_word_of_it_is_no_verdict(answer):
    one = about(answer)
    words = re.findall(r"[\w-]+", answer)
    assert not [reply for reply in (answer, json.dumps(answer), *words) if one.read(reply)]
    agreement = same({"question": "Is it red?", "control": "It is the same", "answer": "different: no"})
    assert not [reply for reply in ("same", "Same.", "different") if agreement.read(reply)]


@given(st.text(), st.sampled_from([*VERDICTS]), st.text(), st.data())
def test_no_part_of_an_answer_is_a_verdict(before, word, after, data):
    answer = before + word + after
    start, end = (data.draw(st.integers(0, len(answer))) for _ in "ab")
    one = about(answer)
    assert one.read(answer) is one.read(answer[min(start, end) : max(start, end)]) is None


@pytest.mark.parametrize(
    "answer", ["Yes.", "That is correct, it is red.", "The order is incorrect", "\ud800"]
)
def test_an_honest_verdict_on_any_answer_is_read(answer):
    """Whoever says the words as the prompt, or the schema, has them."""
    one = about(answer)
    prompted = re.findall(r"generate [“\"]([\w-]+)[”\"]", one.prompt)
    assert prompted == one.schema["properties"]["verdict"]["enum"]
    assert [one.read(word) for word in prompted] == [*VERDICTS]
    assert [one.read(f"{word}.\nThe bar is red.") for word in prompted] == [*VERDICTS]
    assert [one.read(json.dumps({"verdict": word})) for word in prompted] == [*VERDICTS]
    assert one.read(f"{prompted[0]} or {prompted[1]}") is None


def test_the_papers_words_are_asked_by_where_they_stand_in_no_answer():
    assert about("Yes.").schema["properties"]["verdict"]["enum"] == [*VERDICTS]
    assert "generate “correct”." in about("Yes.").prompt
    assert about("The order is correct.").read("incorrect") is None, (
        "no verdict is easier to give than another"
    )


def test_the_authors_words_lay_two_answers_side_by_side_without_the_question():
    fields = {"question": "Is it red?", "control": "It is blue.", "answer": "It is green."}
    one = same(fields, "authors")
    assert one.prompt.endswith("\n response1:It is green.\nresponse2: It is blue.\nOutput:")
    assert fields["question"] not in one.prompt and fields["question"] in same(fields).prompt
    assert [one.read(word) for word in AGREEMENTS] == [*AGREEMENTS]
    assert one.read("The same") is one.read("They are not the same.") is None, "the script takes both"
    assert about("Yes.", "authors").prompt != about("Yes.").prompt


AUTHORS = {"correctness": "21bb81e2", "same": "0bb4f15c"}


def test_the_authors_prompts_are_sent_as_they_are():
    """Compare digests of the templates; texts stand in them as they are, and no schema is asked for."""
    fields = {"question": 'Is "it" red?', "reference": "{answer}", "answer": "It is\nred.", "control": "No."}
    both = {"correctness": correctness(fields, "authors"), "same": same(fields, "authors")}
    for name, one in both.items():
        template = PROMPTS["authors"][name]
        assert hashlib.sha256(template.encode()).hexdigest().startswith(AUTHORS[name])
        assert one.schema is None
        plain = re.sub(r"\{(\w+)\}", lambda found: fields[found[1]], template)
        assert one.prompt == plain


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("The prediction answer is correct.", "correct"),
        ("The prediction is incorrect, it is not correct.", "incorrect"),
        ("It is not Correct", "correct"),
        ("Unclear", "unclear"),
        ("", "unclear"),
    ],
)
def test_replies_as_the_authors_script_reads_them(reply, verdict):
    fields = {"question": "q", "reference": "r", "answer": "a", "control": "c"}
    assert correctness(fields, "authors", "official").read(reply) == verdict
    assert same(fields, "authors", "official").read(f"Not the SAME. {reply}") == "same"
    assert same(fields, "authors", "official").read(reply) == "different"
