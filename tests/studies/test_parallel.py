"""Parallel forms: negation, rephrasing, shuffling, and the command that makes them."""

import io
import json
import re
import time
from collections import Counter
from string import ascii_uppercase

import datasets
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from halluscope import vocabularies
from halluscope.judging.questions import OBJECT_QUESTION, QuestionSet
from halluscope.judging.votes import NO, OTHER, YES
from halluscope.responses import parsers
from halluscope.studies.parallel.form import parallel_form
from halluscope.studies.parallel.rules import Refused, frame, negate, opposite, rephrase, table
from halluscope.studies.parallel import rules
from tests.studies.sheets import lines, printed, read_json, read_lines, refused, run

COCO = vocabularies.load("coco")
ASKED = [
    question.text
    for question in QuestionSet("pope", (OBJECT_QUESTION,), "{response}{question}").about(COCO)[0]
]


def shuffle(*words):
    got = rules.shuffle(*words)
    return got.options, got.answer


def polarity(question):
    """How often a question turns yes and no around: each "no" after "there is", each "false" or "untrue"."""
    return len(re.findall(r"\bthere (?:is|are|was|were) no\b|\b(?:false|untrue) that\b", question)) % 2


# Negation


@given(st.sampled_from(ASKED), st.integers(0, 50))
def test_popes_questions(question, seed):
    """A negated question about the same object has the opposite right answer; negated again, it has the first one."""
    name = re.fullmatch(r"Is there (?:an? )?(.+) in the image\?", question)[1]
    once = negate(question, seed)
    twice = negate(once, seed)
    assert (polarity(question), polarity(once), polarity(twice)) == (0, 1, 0)
    assert all(re.search(rf"\b{re.escape(name)} in the image\?$", text) for text in (once, twice))
    assert negate(question, seed) == once


NEGATED = {
    "Is there a dog in the image?": "Is it true that there is no dog in the image?",
    "Is there an umbrella in the image?": "Is it true that there is no umbrella in the image?",
    "Are there any carrots in this figure?": "Is it true that there are no carrots in this figure?",
    "Is there a dog and a cat in the image?": "Is it false that there is a dog and a cat in the image?",
    "Is there a lot of snow?": "Is it false that there is a lot of snow?",
    "Are there more than two people?": "Is it false that there are more than two people?",
    "Is it true that there is no dog here?": "Is it false that there is no dog here?",
    "Is it untrue that he is old?": "Is it true that he is old?",
    "According to the map, is Texas larger than Ohio? Answer in one word.":
    "According to the map, is it false that Texas is larger than Ohio? Answer in one word.",
    "A square is shown. Are the two red lines the same length? Yes or No":
    "A square is shown. Is it false that the two red lines are the same length? Yes or No",
    "If x is 2, then is the value of y equal to 4?": "If x is 2, then is it false that the value of y is equal to 4?",
    "Does the image show a cat?": "Is it false that the image does show a cat?",
    "Is this a Roma ham?": "Is it false that this is a Roma ham?",
    "Was Ann Lee the top scorer at the 2018 FIFA World Cup?":
    "Is it false that Ann Lee was the top scorer at the 2018 FIFA World Cup?",
    "In 2020, did China have the highest GDP, followed by Japan?":
    "In 2020, is it false that China did have the highest GDP, followed by Japan?",
    "Did China's exports to the United States experience a decrease?":
    "Is it false that China's exports to the United States did experience a decrease?",
    "Does the blue car attempt to park?": "Is it false that the blue car does attempt to park?",
    "Does the value of 'e' range from 2.70 to 2.71?":
    "Is it false that the value of 'e' does range from 2.70 to 2.71?",
    "Are the Rocky Mountains located in Asia?": "Is it false that the Rocky Mountains are located in Asia?",
    "Is this sign located in College Park, MD?": "Is it false that this sign is located in College Park, MD?",
    "Is this poster for the movie Alien?": "Is it false that this poster is for the movie Alien?",
    'Is "To be" made by Hamlet?': 'Is it false that "To be" is made by Hamlet?',
    "Are all the animals in this figure swans?": "Is it false that all the animals in this figure are swans?",
    "Are two circles in the image different color? Yes or No":
    "Is it false that two circles in the image are different color? Yes or No",
    "Are the two lines both curved?": "Is it false that the two lines are both curved?",
    "If AM=BM, is M the centroid of triangle ABC?":
    "If AM=BM, is it false that M is the centroid of triangle ABC?",
    "Look closely.\nIs there a dog?": "Look closely.\nIs it true that there is no dog?",
}  # fmt: skip


@pytest.mark.parametrize(("question", "expected"), NEGATED.items())
def test_negated_questions(question, expected):
    got = negate(question)
    assert got.replace("correct that", "true that").replace("untrue that", "false that") == expected
    assert polarity(negate(got)) == polarity(question)


NO_END, NEGATIVE = "where its subject ends", "a negative question"
TWO_THINGS, NO_SINGLE = "which of two things", "not a single question"
REFUSED = {
    "Is the dog brown?": NO_END,
    "Are children younger than ten allowed?": NO_END,
    "Are the lines of the same length parallel?": NO_END,
    "Is the man who is taller than the woman old?": NO_END,
    "Is a bigger than usual dog here?": NO_END,
    "Is the image of a dog larger than the frame allowed?": NO_END,
    "Is Tom the cat asleep?": NO_END,
    "Is Kim the oldest player in Spain happy?": NO_END,
    "Is this good for Bob?": NO_END,
    "Is the line kept straight?": NO_END,
    "Is the dog in something different?": NO_END,
    "Is the dog in a house made by Ann?": NO_END,
    "Is the man holding the stick straight?": NO_END,
    "Does the boy help open the door?": NO_END,
    "Does the sign say dogs have a home?": NO_END,
    "Does the price range from 2 to 3 vary?": NO_END,
    "Does the sign say prices range from 1 to 2?": NO_END,
    "Does the album cover look nice?": NO_END,
    "Does the dog never have a bone?": NO_END,
    "Does each dog have a bone?": NO_END,
    "Does Bob have no dog?": NO_END,
    "Isn't there a dog?": NO_SINGLE,
    "Is there no dog in the image?": NEGATIVE,
    "Is not there a dog?": NEGATIVE,
    "Is it not true that it is red?": NEGATIVE,
    "Is it a sunny day or is it raining?": TWO_THINGS,
    "Does this figure have a title, or not?": TWO_THINGS,
    "Is there a dog and if so, is it brown?": NO_SINGLE,
    "What color is the dog?": NO_SINGLE,
    "Is there a dog? Is it brown?": NO_SINGLE,
    "Is there a dog": NO_SINGLE,
    "": NO_SINGLE,
    "?" * 10_000: NO_SINGLE,
    "is " * 10_000 + "?": NO_END,
}


@pytest.mark.parametrize(("question", "reason"), REFUSED.items())
def test_what_cannot_be_negated_safely_is_refused(question, reason):
    with pytest.raises(Refused, match=reason):
        negate(question)


def test_most_of_a_real_benchmark_is_negated(upstream):
    """Every other real question is refused, not guessed; a negated question keeps all its words."""
    rows = json.loads((upstream / "hallusionbench/HallusionBench.json").read_text())
    negated = []
    for row in rows:
        try:
            negated.append((row["question"], negate(row["question"])))
        except Refused:
            continue
    assert len(negated) == 793 and len(rows) == 1129
    for both in negated:
        kept, added = (Counter(re.findall(r"\w+", question.lower())) for question in both)
        assert {*(kept - added)} <= {"is", "an", "a", "any", "true", "there"}, both
        assert {*(added - kept)} <= {"is", "it", "false", "untrue", "true", "correct", "that", "no"}, both


@pytest.mark.parametrize("answer", ["yes", "No", "YES", "0", 1, True])
def test_the_opposite_answer(answer):
    assert opposite(answer) != answer and opposite(opposite(answer)) == answer
    assert type(opposite(answer)) is type(answer)


@pytest.mark.parametrize("answer", ["maybe", "", 2, None, 0.0])
def test_an_answer_without_an_opposite(answer):
    with pytest.raises(Refused, match="neither yes nor no"):
        opposite(answer)


READ = {
    YES: ["Yes, there is no dog.", "YES", "1. Yes", "> yes", "\u201cYes\u201d"],
    NO: ["**No**", "  no."],
    OTHER: [
        *("1. There is no dog.", "There is no dog in the image.", "Not visible", "Nothing", "no\u2019s"),
        *("The answer is yes", "", "?!"),
    ],
}


def test_replies_to_negated_questions():
    """To "Is it true that there is no dog?" "There is no dog" means yes; the parser `strict` would read a no."""
    assert parsers.strict("There is no dog in the image.") == NO
    assert {code: [s for s in said if parsers.first_word(s) == code] for code, said in READ.items()} == READ


# Rephrasing


@given(
    st.sampled_from([(group, p) for group in table().groups for p in group]),
    st.integers(),
)
def test_a_prompt_becomes_another_of_its_group(chosen, seed):
    group, prompt = chosen
    got = rephrase(prompt, seed)
    assert got in group and got != prompt
    assert rephrase(prompt.upper().rstrip("."), seed).lower() != prompt.lower()


def test_no_prompt_is_in_two_groups():
    prompts = [" ".join(p.lower().split()).rstrip(".") for group in table().groups for p in group]
    assert len(prompts) == len(set(prompts))


@given(st.text(max_size=60).map(lambda text: text.strip() + "?"), st.integers())
def test_a_framed_question_keeps_its_words(question, seed):
    got = frame(question, seed)
    assert question.strip() in got and got != question


def test_an_instruction_that_the_table_does_not_have():
    with pytest.raises(Refused, match="nor an instruction in the table"):
        rephrase("Sing about the image.")


# Shuffling


WORDS = st.from_regex(r" ?[a-h][a-h ]{0,3}[a-h] ?", fullmatch=True)


@given(st.lists(WORDS, min_size=2, max_size=6, unique_by=str.strip), st.data(), st.integers(0, 99))
def test_shuffling_moves_texts_and_keeps_the_answers_text(options, data, seed):
    place = data.draw(st.integers(0, len(options) - 1))
    shuffled, letter = shuffle(options, ascii_uppercase[place], seed)
    assert sorted(shuffled) == sorted(options) and shuffled != options
    assert shuffled[ascii_uppercase.index(letter)] == options[place]
    assert shuffle(options, place, seed) == (shuffled, ascii_uppercase.index(letter))
    assert shuffle(options, options[place], seed) == (shuffled, options[place])
    assert shuffle(options, ascii_uppercase[place].lower(), seed)[1] == letter.lower()


@pytest.mark.parametrize(
    ("options", "answer", "reason"),
    [
        (["red", "blue", "all of the above"], "A", "refers to other options"),
        (["red", "blue", "None of the above"], "A", "refers to other options"),
        (["red", "blue", "Both A and B"], "A", "refers to other options"),
        (["A. cat", "B. dog"], "A", "opens with its letter"),
        (["(a) cat", "(b) dog"], "A", "opens with its letter"),
        (["1. cat", "2. dog"], 0, "opens with its letter"),
        (["red", "Red "], "A", "two of its options are equal"),
        (["red"], "A", "fewer than two options"),
        (["red", 2], "A", "fewer than two options"),
        (["red", "blue"], "C", "not one of its options"),
        (["red", "blue"], "green", "not one of its options"),
        (["red", "blue"], -1, "not one of its options"),
    ],
)
def test_options_that_cannot_be_shuffled(options, answer, reason):
    with pytest.raises(Refused, match=reason):
        shuffle(options, answer)


@pytest.mark.parametrize(
    "question", ["Options: A. cat B. dog. Which animal is it?", "Which is it?\n(A) cat\n(B) dog\nAnswer?"]
)
def test_a_question_that_holds_its_options(question):
    row = {"question": question, "options": ["cat", "dog"], "answer": "A"}
    assert list(parallel_form([row]).refused) == ["its question holds the options in their order"]
    asked = row | {"question": "In picture A. Smith took, is it a cat?"}
    assert parallel_form([asked]).rows[0]["options"] == ["dog", "cat"]


@pytest.mark.parametrize(
    ("answer", "expected"), [("Yes.", "No."), (" no ", " yes "), (True, False), (False, True)]
)
def test_yes_and_no_in_other_dress_are_negated(answer, expected):
    form = parallel_form([{"question": "Is there a dog in the image?", "answer": answer}])
    assert Counter(form.methods) == {"negated": 1} and form.rows[0]["answer"] == expected


def test_an_answer_that_says_more_than_yes_is_refused():
    rows = [{"question": "Is there a dog in the image?", "answer": "Yes, a brown one."}]
    assert list(parallel_form(rows).refused) == ["its answer says more than yes or no"]
    form = parallel_form([{"question": "What is behind it?", "answer": "No place."}])
    assert Counter(form.methods) == {"rephrased": 1}


def test_a_letter_that_is_an_option():
    """ "B" is the text of the first option here, not the letter of the second."""
    shuffled, answer = shuffle(["B", "C"], "B")
    assert (shuffled, answer) == (["C", "B"], "B")


# Rows


def test_rows_keep_their_ids_and_say_what_has_no_form():
    rows = [
        {"question_id": 7, "question": "Is there a dog in the image?", "answer": "yes", "sampling": "random"},
        {"question_id": 8, "question": "Is the dog brown?", "answer": "no"},
        {"id": 9, "question": "How many dogs are there?", "answer": "1"},
        {"id": 10, "question": "What is it?", "options": ["a dog", "a cat"], "answer": "A"},
        {"image_id": 11, "prompt": "Describe this image in detail.", "objects": ["dog"]},
    ]
    form = parallel_form(rows, seed=1)
    assert Counter(form.methods) == {"negated": 1, "rephrased": 2, "shuffled": 1}
    assert form.originals == [0, 2, 3, 4]
    assert form.refused == {"no rule can tell where its subject ends": [1]}
    negated, counted, chosen, described = form.rows
    assert (negated["question_id"], negated["answer"], negated["sampling"]) == (7, "no", "random")
    assert counted["answer"] == "1" and re.match("What (is the )?number of dogs ", counted["question"])
    assert (chosen["options"], chosen["answer"]) == (["a cat", "a dog"], "B")
    assert described["objects"] == ["dog"] and described["prompt"] != rows[4]["prompt"]
    assert rows[0]["answer"] == "yes"


def test_a_row_is_changed_the_same_way_whatever_the_others():
    """POPE asks the same question in several samplings; it needs one answer."""
    row = {"question": "Is there a cat in the image?", "answer": "yes"}
    others = [{"question": "Is there a dog in the image?", "answer": "no"}] * 3
    (alone,) = parallel_form([row], seed=5).rows
    assert parallel_form([*others, row], seed=5).rows[-1] == alone
    wordings = {parallel_form([row], seed=seed).rows[0]["question"] for seed in range(20)}
    assert len(wordings) == 2


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ("No, they differ.", "they differ."),
        ("Yes. They are.", "They are."),
        ("no", "yes"),
        ("Yes.", "no"),
        ("No answer", "No answer"),
        ("Norway is larger.", "Norway is larger."),
    ],
)
def test_details_do_not_keep_the_old_answer(details, expected):
    row = {"question": "Are the lines the same length?", "gt_answer": "0", "gt_answer_details": details}
    (got,) = parallel_form([row]).rows
    assert (got["gt_answer"], got["gt_answer_details"]) == ("1", expected)


# The command


OFFICIAL = [
    {"question_id": 1, "image": "1.jpg", "text": "Is there a dog in the image?", "label": "yes"},
    {"question_id": 2, "image": "1.jpg", "text": "Is there a cat in the image?", "label": "no"},
]


def test_popes_own_file_is_scored_in_parallel_form(tmp_path, capsys):
    """The first right answer was yes and becomes no, the second the reverse: both responses are right."""
    source = lines(tmp_path / "coco_pope_random.json", OFFICIAL)
    out, first = tmp_path / "parallel_random.jsonl", tmp_path / "first.jsonl"
    said = printed(capsys, "study", "parallel", source, "--out", out, "--first", first)
    assert "2 of 2 rows: 2 negated; 0 without a parallel form" in said
    assert read_lines(first) == OFFICIAL
    replied = [{"question_id": 1, "response": "No."}, {"question_id": 2, "response": "Yes, there is no cat."}]
    answers = lines(tmp_path / "mine.jsonl", replied)
    words = ["score", "pope", "--responses", answers, "--dataset", out, "--bootstrap", 0]
    (result,) = read_json(capsys, *words, "--parser", "first-word")
    assert (result["accuracy"], result["yes_ratio"]) == (1.0, 0.5)


def test_a_dataset_keeps_images_and_types(tmp_path, capsys):
    file = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(file, "PNG")
    image = {"bytes": file.getvalue(), "path": None}
    row = {"question_id": 3, "image_id": 1, "object": "dog", "answer": "yes", "image": image}
    rows = [{**row, "question": q} for q in ("Is there a dog in the image?", "Is the dog brown?")]
    types = {name: datasets.Value("int32" if name.endswith("id") else "string") for name in rows[0]}
    features = datasets.Features(types | {"image": datasets.Image()})
    datasets.Dataset.from_list(rows, features=features).to_parquet(tmp_path / "source.parquet")
    words = ["study", "parallel", tmp_path / "source.parquet", "--out", tmp_path / "out"]
    run(*words)
    assert "no parallel form: 1 rows, since no rule can tell" in capsys.readouterr().err
    got = datasets.load_dataset(str(tmp_path / "out"), split="train")
    assert got.features["question_id"].dtype == "int32" and got[0]["image"].size == (4, 4)
    assert (got["question_id"][:], got["answer"][:]) == ([3], ["no"])
    assert "is there already" in refused(capsys, *words)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"question": "Is the dog brown?", "answer": "yes"}], "No row of"),
        ([["Is there a dog?"]], "expected an object"),
        ([{"id": 1}], "rows[0] has no question"),
    ],
)
def test_bad_rows(tmp_path, capsys, rows, message):
    source, out = lines(tmp_path / "rows.jsonl", rows), tmp_path / "out.jsonl"
    assert message in refused(capsys, "study", "parallel", source, "--out", out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "fewest", "question", "answer"),
    [
        ("pope/coco/coco_pope_popular.json", 3000, "text", "label"),
        ("hallusionbench/HallusionBench.json", 300, "question", "gt_answer"),
    ],
)
def test_upstreams_questions(upstream, name, fewest, question, answer):
    """All of POPE is negated; every negated question of HallusionBench is turned, and has the opposite answer."""
    text = (upstream / name).read_text()
    rows = json.loads(text) if text.startswith("[") else [*map(json.loads, text.splitlines())]
    form = parallel_form(rows)
    assert len(form.rows) >= fewest
    for place, row in zip(form.originals, form.rows, strict=True):
        before = rows[place]
        assert polarity(row[question]) != polarity(before[question])
        assert row[answer] == opposite(before[answer])


@pytest.mark.parametrize(
    "unit", [" ", "\n", "is ", "\nis ", ". is ", "the same ", "\u2028", "larger than ", ": ", "what "]
)
@pytest.mark.parametrize(
    "around", ["Is {}?", "Is there a {}?", "Are the {} the same size?", "{}Is it red?", "Is it{}"]
)
def test_long_questions_take_linear_time(unit, around):
    question = around.format(unit * (200_000 // len(unit)))
    start = time.process_time()
    for row in ({"answer": "yes"}, {"answer": "yes", "gt_answer_details": question}, {"answer": question}):
        parallel_form([{"question": question, **row}])
    assert time.process_time() - start < 3


def test_more_options_than_letters():
    row = {"question": "Which?", "options": [f"thing {number}" for number in range(30)]}
    form = parallel_form([row | {"answer": "B"}, row | {"answer": "thing 3"}, row | {"answer": 29}])
    assert form.refused == {"it has more options than there are letters": [0]} and form.originals == [1, 2]
