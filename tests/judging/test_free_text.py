"""The judge `rules`: each rule by its name, and hostile texts."""

import time

import pytest

from halluscope.judging import free_text

BAR = "According to the chart, is the red bar taller than the blue bar?"


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("Yes, it is.", "yes", "opening"),
        ("no", "no", "opening"),
        ("**No**, the bar is blue.", "no", "opening"),
        ("Answer: yes", "yes", "conclusion"),
        ("Final answer: No.", "no", "conclusion"),
        ("Sure! Yes.", "yes", "opening"),
        ("Not really.", "no", "opening"),
        ("Incorrect, it is blue.", "no", "opening"),
        ("The sides are 3 and 4. So, yes, it is 5.", "yes", "conclusion"),
        ("I looked at both bars. My reading: no.", "no", "single word"),
        ("I cannot determine that from the image.", "uncertain", "refusal"),
        ("I’m sorry, but without the chart I can’t answer this.", "uncertain", "refusal"),
        ("It depends on the scale.", "uncertain", "refusal"),
        ("Unclear.", "uncertain", "refusal"),
        ("No data provided.", "uncertain", "refusal"),
        ("No, I cannot tell which is taller.", "uncertain", "undecided"),
        ("Yes. On reflection, the answer is no.", "uncertain", "contradiction"),
        ("The red bar is taller than the blue bar.", "yes", "restated"),
        (
            "The red bar isn't taller than the blue one. The red bar is not taller than the blue bar.",
            "no",
            "restated",
        ),
        ('{"reason": "It is taller.", "answer": true}', "yes", "opening"),
        ('{"answer": false}', "no", "opening"),
        ("", None, "empty"),
        ("A dog.", None, "unread"),
        ("The blue bar is taller than the red bar.", None, "unread"),
        ("If the red bar were taller than the blue bar, it would show.", None, "unread"),
        ("<think>Yes? The answer is yes.</think>No.", "no", "opening"),
        ("so, the answer is yes</think> No.", "no", "opening"),
        ("<think>Yes. The answer is", None, "empty"),
        ("Red: no. Blue: yes.", None, "unread"),
        ("yesterday", None, "unread"),
        ("Correct order of the bars", None, "unread"),
        ("不知道", None, "unread"),
    ],
)
def test_each_rule(text, answer, rule):
    assert free_text.read(text, BAR) == free_text.Reading(answer, rule)


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("The bar isn't red.", "Is the bar red?", "no"),
        ("The bar isn’t red.", "Is the bar red?", "no"),
        ("The bar isnt red.", "Is the bar red?", "no"),
        ("The man can't reach the bar.", "Can the man reach the bar?", "no"),
        ("The man cannot reach the bar.", "Can the man reach the bar?", "no"),
        ("The bar isn't red, is not it.", "Is the bar red?", None),
        ("It is false that the bar is red.", "Is the bar red?", None),
        ("The claim that the bar is red is wrong.", "Is the bar red?", None),
        ('"The bar is red." That is false.', "Is the bar red?", None),
        ("The bar is hardly red.", "Is the bar red?", None),
        ("The clock is wrong.", "Is the clock wrong?", "yes"),
        ("The bar is red.", "Isn't the bar red?", None),
    ],
)
def test_denials_are_not_read_as_yes(text, question, answer):
    assert free_text.read(text, question).answer == answer


@pytest.mark.parametrize(
    "hostile",
    [
        "\x00\ud800 yes",
        "without the " * 50_000,
        "i don't have " + "a " * 50_000,
        "answer: " * 30_000,
        "not " * 50_000,
        "<think>" * 50_000,
        "</think>" * 50_000,
        "<" * 50_000,
    ],
)
def test_hostile_texts_are_read_quickly_or_not_at_all(hostile):
    start = time.perf_counter()
    assert free_text.read(hostile, hostile + "?").answer in (None, "yes", "no", "uncertain")
    assert time.perf_counter() - start < 2
