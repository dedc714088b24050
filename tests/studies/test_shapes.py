"""Reworded free-form questions: read by a person, and checked for properties that each must have."""

import json
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halluscope.studies.parallel.form import parallel_form
from halluscope.studies.parallel.rules import Refused, reshape

SAID = {
    "What color is the sky?": ("Which color does the sky have?", "What is the color of the sky?"),
    "What color are the walls?": ("Which color do the walls have?", "What is the color of the walls?"),
    "What colors is the toothbrush?": (
        "Which colors does the toothbrush have?",
        "What are the colors of the toothbrush?",
    ),
    "What colour was her coat?": ("Which colour did her coat have?", "What was the colour of her coat?"),
    "What color is the man wearing?": ("Which color is the man wearing?",),
    "What color is the most common?": ("Which color is the most common?",),
    "What color is the car, red or blue?": ("Which color is the car, red or blue?",),
    "Which colour does the sky have?": ("What is the colour of the sky?",),
    "How many people are there?": ("What is the number of people in the image?", "What number of people are there?"),
    "How many dogs are there on the sofa?": (
        "What is the number of dogs on the sofa?",
        "What number of dogs are there on the sofa?",
    ),
    "How many people are not wearing 2 hats?": ("What number of people are not wearing 2 hats?",),
    "How many of the men are old?": ("What number of the men are old?",),
    "What is the number of dogs in the picture?": ("How many dogs are there in the picture?",),
    "Where is the dog?": ("In what place is the dog?", "In which place is the dog?"),
    "Where was this taken?": ("In what place was this taken?", "In which place was this taken?"),
    "In what place are the dogs?": ("Where are the dogs?",),
    "When was the photo taken?": ("At what time was the photo taken?", "At which time was the photo taken?"),
    "What is the man doing?": ("Which action is the man performing?", "Which activity is the man carrying out?"),
    "What are they doing?": ("Which action are they performing?", "Which activity are they carrying out?"),
    "Which action is the man performing?": ("What is the man doing?",),
    "What is the weather like?": ("How is the weather?",),
    "How's the weather today?": ("What is the weather like today?",),
    "How does the smaller dog look?": ("What does the smaller dog look like?",),
    "What is written on the bus?": ("What text is written on the bus?", "Which text is written on the bus?"),
    "What's behind the bus?": ("What can be seen behind the bus?", "What is there behind the bus?"),
    "What giraffe is taller?": ("Which giraffe is taller?",),
    "What kind of animal is to the right?": (
        "What type of animal is to the right?",
        "Which kind of animal is to the right?",
    ),
    "What is the man wearing on his head?": ("What is it that the man is wearing on his head?",),
    "Who is taller than the boy?": ("Who is it that is taller than the boy?",),
    "Why is the man not happy?": ("For what reason is the man not happy?", "For which reason is the man not happy?"),
    "Is there a dog in the image?": ("Do you see a dog in the image?", "Can you see a dog in the image?"),
    "what color is the sky? Answer in one word.": (
        "which color does the sky have? Answer in one word.",
        "what is the color of the sky? Answer in one word.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("question", "expected"), SAID.items())
def test_each_shape(question, expected):
    assert {reshape(question, seed) for seed in range(30)} == set(expected)


@pytest.mark.parametrize(
    ("reason", "question"),
    [
        ("no rule knows how", "Is there no dog?"),
        ("no rule knows how", "Is the dog brown?"),
        ("no rule knows how", "Who is the older man?"),
        ("no rule knows how", "What is the smaller animal?"),
        ("no rule knows how", "What is the object hanging on the wall?"),
        ("no rule knows how", "What is the man not wearing?"),
        ("no rule knows how", "What is the tall building made of?"),
        ("no rule knows how", "What is on the plate made of?"),
        ("no rule knows how", "What takes up most of the front of the bus?"),
        ("no rule knows how", "What time is it?"),
        ("no rule knows how", "Where is the man going?"),
        ("no rule knows how", "Where is this picture taken on?"),
        ("no rule knows how", "How many are they?"),
        ("no rule knows how", "How many more dogs than cats are there?"),
        ("no rule knows how", "How many years old is he?"),
        ("no rule knows how", "Why is written on the tail of the plane?"),
        ("not a single question", "What is it? Where is it?"),
        ("not a single question", "Two men stand. What are they doing?"),
        ("not a single question", "How many dogs are there and how many cats are there?"),
        ("not a single question", "What color is the dog"),
        ("not a single question", ""),
        ("not a single question", "Where is A.\nWhere is B?"),
    ],
)
def test_what_cannot_be_reworded_is_refused(reason, question):
    with pytest.raises(Refused, match=reason):
        reshape(question)


ASKS = (
    "what which who where when why how is are was were do does did has have be been there of the a an it that to in at "
    "for you see can seen one like number many text place time reason way kind type action activity performing "
    "carrying out doing would say image s"
)
"""Words that ask, or that go with them."""


def content(question: str) -> Counter[str]:
    """Count the words of a question, except its question words."""
    words = re.findall(r"[\w']+", re.sub(r"'s\b(?= )", " s", question.lower()))
    return Counter(word for word in words if word not in re.findall(r"\w+", ASKS))


def check(question: str, seed: int) -> None:
    said = reshape(question, seed)
    assert said.lower() != question.lower() and said.endswith("?") == question.endswith("?")
    assert said.count("?") == 1 and said[0].isupper() == question[0].isupper()
    assert content(said) == content(question), said
    assert said == reshape(question, seed)


THINGS = ["dog", "two red buses", "man in white", "3 cups", "woman with no hat", "sign that is not lit"]
TEMPLATES = [
    "What color is the {}?",
    "What colors are these {}?",
    "How many of the {} are there?",
    "How many chairs are behind the {}?",
    "Where is the {}?",
    "What is the {} doing?",
    "What is in front of the {}?",
    "What is to the left of her {}?",
    "What number is written on the {}?",
    "Why are the {} not in the 2nd row?",
    "When was the photo of the {} taken?",
    "What is written on the {}?",
]


@given(st.sampled_from(TEMPLATES), st.sampled_from(THINGS), st.integers())
def test_a_question_keeps_its_content(template, thing, seed):
    question = template.format(thing)
    try:
        check(question, seed)
    except Refused:
        assert "that is" in question or "doing" in question


@given(st.text(max_size=40), st.integers(0, 9))
def test_any_text_is_refused_or_other(text, seed):
    for question in (text, f"What color is {text}?", f"How many {text} are there?", f"Where is {text}?"):
        try:
            said = reshape(question, seed)
        except Refused:
            continue
        assert said != question and "?" in said


def test_upstreams_free_form_questions(upstream):
    rows = json.loads((upstream / "hqh" / "HQH.json").read_text())
    form = parallel_form(rows, seed=1)
    assert len(form.rows) >= 3700 and Counter(form.methods) == {"rephrased": len(form.rows)}
    assert sum(map(len, form.refused.values())) + len(form.rows) == 4000
    for place, row in zip(form.originals, form.rows, strict=True):
        if rows[place]["instruction"].endswith("?"):
            check(rows[place]["instruction"], 1)
            assert row["ground_truth"] == rows[place]["ground_truth"]
