"""Questions in other words by rules: negated, rephrased, shuffled, or refused."""

import hashlib
import json
import re
import time
from collections import Counter
from string import ascii_uppercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halluscope import vocabularies
from halluscope.studies.parallel.form import parallel_form
from halluscope.studies.parallel.rules import (
    Refused,
    frame,
    negate,
    opposite,
    rephrase,
    reshape,
    shuffle,
    table,
)

COCO = vocabularies.load("coco")


def polarity(question):
    """How often a question turns yes and no around: each "no" after "there is", each "false" or "untrue"."""
    return len(re.findall(r"\bthere (?:is|are|was|were) no\b|\b(?:false|untrue) that\b", question)) % 2


# Negation


NEGATED = {
    "Is there an umbrella in the image?": "Is it true that there is no umbrella in the image?",
    "Is there a dog and a cat in the image?": "Is it false that there is a dog and a cat in the image?",
    "Is it true that there is no dog here?": "Is it false that there is no dog here?",
    "According to the map, is Texas larger than Ohio? Answer in one word.":
    "According to the map, is it false that Texas is larger than Ohio? Answer in one word.",
    "In 2020, did China have the highest GDP, followed by Japan?":
    "In 2020, is it false that China did have the highest GDP, followed by Japan?",
    'Is "To be" made by Hamlet?': 'Is it false that "To be" is made by Hamlet?',
    "Look closely.\nIs there a dog?": "Look closely.\nIs it true that there is no dog?",
}  # fmt: skip


@pytest.mark.parametrize(("question", "expected"), NEGATED.items())
def test_negated_questions(question, expected):
    negated = negate(question)
    assert negated.replace("correct that", "true that").replace("untrue that", "false that") == expected
    assert polarity(negate(negated)) == polarity(question)


def test_only_a_question_stands_in_other_words():
    asked = "Is it this one or that one: which do you see?"
    assert asked in frame(asked)
    with pytest.raises(Refused, match="neither a question nor an instruction"):
        frame("Which one? Or both. Say it.".replace("?", "."))


def refuses(say, reason, question):
    with pytest.raises(Refused, match=reason):
        say(question)


@pytest.mark.parametrize(
    ("reason", "questions"),
    [
        (
            "where its subject ends",
            [
                "Is the dog brown?",
                "Is the man who is taller than the woman old?",
                "Is this good for Bob?",
                "Does the boy help open the door?",
                "Does Bob have no dog?",
            ],
        ),
        ("a negative question", ["Is there no dog in the image?", "Is it not true that it is red?"]),
        (
            "which of two things",
            ["Is it a sunny day or is it raining?", "Does this figure have a title, or not?"],
        ),
        (
            "not a single question",
            ["Isn't there a dog?", "What color is it?", "Is there a dog? Is it brown?", "Is there a dog", ""],
        ),
    ],
)
def test_what_cannot_be_negated_safely_is_refused(reason, questions):
    for question in questions:
        refuses(negate, reason, question)


@pytest.mark.parametrize("answer", ["yes", "No", "YES", "0", 1, True])
def test_the_opposite_answer(answer):
    assert opposite(answer) != answer and opposite(opposite(answer)) == answer
    assert type(opposite(answer)) is type(answer)


def test_an_answer_without_an_opposite():
    for answer in ("maybe", "", 2, None, 0.0):
        refuses(opposite, "neither yes nor no", answer)


# Rephrasing


@given(st.sampled_from([(group, prompt) for group in table().groups for prompt in group]), st.integers())
def test_a_prompt_becomes_another_of_its_group(chosen, seed):
    group, prompt = chosen
    assert rephrase(prompt, seed) in set(group) - {prompt}
    assert rephrase(prompt.upper().rstrip("."), seed).lower() != prompt.lower()


SAID = {
    "What colors is the toothbrush?":
    ("Which colors does the toothbrush have?", "What are the colors of the toothbrush?"),
    "What color is the car, red or blue?": ("Which color is the car, red or blue?",),
    "How many people are not wearing 2 hats?": ("What number of people are not wearing 2 hats?",),
    "Where was this taken?": ("In what place was this taken?", "In which place was this taken?"),
    "What are they doing?": ("Which action are they performing?", "Which activity are they carrying out?"),
    "What's behind the bus?": ("What can be seen behind the bus?", "What is there behind the bus?"),
    "Who is taller than the boy?": ("Who is it that is taller than the boy?",),
    "Is there a dog in the image?": ("Do you see a dog in the image?", "Can you see a dog in the image?"),
    "what color is the sky? Answer in one word.":
    ("which color does the sky have? Answer in one word.", "what is the color of the sky? Answer in one word."),
}  # fmt: skip


@pytest.mark.parametrize(("question", "expected"), SAID.items())
def test_each_shape_of_a_question_is_reworded(question, expected):
    assert {reshape(question, seed) for seed in range(30)} == set(expected)


ASKING = """
what which who where when why how is are was were do does did has have be been there of the a an it that to in at for
you see can seen one like number many text place time reason way kind type action activity performing carrying out
doing would say image s
"""
"""Words that ask, or that go with them."""


def content(question):
    """Count the words of a question, except its question words."""
    words = re.findall(r"[\w']+", re.sub(r"'s\b(?= )", " s", question.lower()))
    return Counter(word for word in words if word not in ASKING.split())


# Shuffling

WORDS = st.from_regex(r" ?[a-h][a-h ]{0,3}[a-h] ?", fullmatch=True)


@given(st.lists(WORDS, min_size=2, max_size=6, unique_by=str.strip), st.data(), st.integers(0, 99))
def test_shuffling_moves_texts_and_keeps_the_answers_text(options, data, seed):
    place = data.draw(st.integers(0, len(options) - 1))
    by_letter = shuffle(options, ascii_uppercase[place], seed)
    assert sorted(by_letter.options) == sorted(options) and by_letter.options != options
    moved = ascii_uppercase.index(by_letter.answer)
    assert by_letter.options[moved] == options[place]
    assert shuffle(options, place, seed).answer == moved
    assert shuffle(options, options[place], seed).answer == options[place]
    assert shuffle(options, ascii_uppercase[place].lower(), seed).answer == by_letter.answer.lower()


def test_a_letter_that_is_an_option():
    """ "B" is the text of the first option here, not the letter of the second."""
    shuffled = shuffle(["B", "C"], "B")
    assert (shuffled.options, shuffled.answer) == (["C", "B"], "B")


@pytest.mark.parametrize(
    ("options", "answer", "reason"),
    [
        (["red", "blue", "None of the above"], "A", "refers to other options"),
        (["(a) cat", "(b) dog"], "A", "opens with its letter"),
        (["red", "Red "], "A", "two of its options are equal"),
        (["red"], "A", "fewer than two options"),
        (["red", "blue"], "C", "not one of its options"),
        (["red", "blue"], -1, "not one of its options"),
        ([f"thing {number}" for number in range(30)], "B", "more options than there are letters"),
    ],
)
def test_options_that_cannot_be_shuffled(options, answer, reason):
    with pytest.raises(Refused, match=reason):
        shuffle(options, answer)


# Real questions, and very long ones


@pytest.mark.parametrize(
    ("name", "methods", "frozen"),
    [
        ("pope/coco/coco_pope_popular.json", {"negated": 3000}, "aaf18adb0d33a134"),
        ("hallusionbench/HallusionBench.json", {"negated": 793}, "7d0bb271226abcc4"),
        ("hqh/HQH.json", {"rephrased": 3739}, "c42b3b96b511ad47"),
    ],
)
def test_the_forms_of_real_benchmarks(upstream, name, methods, frozen):
    """All other questions are refused, not guessed. A negated question keeps all its words and has the opposite answer,
    a rephrased one keeps its content; all of them are what they were in earlier versions."""
    text = (upstream / name).read_text()
    rows = json.loads(text) if text.startswith("[") else [*map(json.loads, text.splitlines())]
    form = parallel_form(rows, seed=1)
    assert Counter(form.methods) == methods
    assert len(form.rows) + sum(map(len, form.refused.values())) == len(rows)
    column = next(name for name in ("question", "text", "instruction") if name in rows[0])
    questions = [row[column] for row in form.rows]
    assert hashlib.sha256(json.dumps(questions).encode()).hexdigest()[:16] == frozen
    for place, row in zip(form.originals, form.rows, strict=True):
        before, after = rows[place][column], row[column]
        if "negated" in methods:
            answer = "label" if "label" in row else "gt_answer"
            assert polarity(after) != polarity(before) and row[answer] == opposite(rows[place][answer])
            kept, added = (Counter(re.findall(r"\w+", question.lower())) for question in (before, after))
            assert {*(kept - added)} <= {"is", "an", "a", "any", "true", "there"}
            assert {*(added - kept)} <= {"is", "it", "false", "untrue", "true", "correct", "that", "no"}
        elif before.endswith("?"):
            assert content(after) == content(before)


@pytest.mark.parametrize("unit", ["\n", "is ", ". is ", "the same ", "\u2028", "larger than ", "what "])
@pytest.mark.parametrize("around", ["Is {}?", "Is there a {}?", "Are the {} the same size?", "{}Is it red?"])
def test_long_questions_take_linear_time(unit, around):
    question = around.format(unit * (200_000 // len(unit)))
    start = time.process_time()
    for row in ({"answer": "yes"}, {"answer": "yes", "gt_answer_details": question}, {"answer": question}):
        parallel_form([{"question": question, **row}])
    assert time.process_time() - start < 3
