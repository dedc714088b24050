"""What rules read in responses as models write them today: marked answers, thoughts, and refusals."""

import time
import warnings

import pytest

from halluscope.registry import benchmark

POPE, AMBER, DASH_B = (benchmark(name).compute for name in ("pope", "amber", "dash_b"))
HUMBLEBENCH, HALLUSIONBENCH = (benchmark(name).compute for name in ("humblebench", "hallusionbench"))

WAYS = r"""
WORD
WORD.
"WORD"
**WORD**
**WORD.**
__WORD__
*WORD.*
_WORD_
***WORD***
`WORD`
```WORD```
```\nWORD\n```
# WORD
## Answer\n\nWORD
### Final Answer\n**WORD**
> WORD
(WORD)
<WORD>
~~It is.~~ WORD
<answer>WORD</answer>
< Answer > WORD </ Answer >
<ANSWER>\nWORD\n</ANSWER>
<answer>WORD
WORD</answer>
<output>WORD</output>
<response>WORD</response>
<b>WORD</b>
<strong>WORD.</strong>
<b>WORD
<b>\nWORD\n</b>
<p>WORD</p>
<s> WORD </s>
WORD<|im_end|>
<CAPTION>There is a street.</CAPTION><CONCLUSION> WORD </CONCLUSION>
\boxed{WORD}
$\boxed{\text{WORD}}$
\[\boxed{\textbf{WORD}}\]
\boxed{WORD
The answer is $\boxed{WORD}$ because of the street.
<|begin_of_box|>WORD<|end_of_box|>
{"answer": "WORD"}
{"answer": ["WORD"]}
{'answer': 'WORD'}
["WORD"]
```json\n{"answer": "WORD"}\n```
Here it is:\n```json\n{\n  "answer": "WORD"\n}\n```
{"reason": "There is a street.", "answer": "WORD"}
{"answer": "WORD", "reason": "There are no cars."}
Answer: WORD
**Answer:** WORD
**Answer: WORD**
Final answer: **WORD**
Final Answer\nWORD
The final answer is: WORD
The answer is **WORD** because the image shows a street.
<answer>**WORD**</answer>
<answer>\boxed{WORD}</answer>
<answer>{"answer": "WORD"}</answer>
<answer>The answer is WORD.</answer>
WORD\n\nThe image shows a street.
WORD\r\n\r\nThe image shows a street.
There is a street, and there are no cars.\n\nAnswer: WORD
There is a street, and there are no cars. **WORD**
It could be yes, it could be no.\n\n**WORD**
Is it yes or no? <answer>WORD</answer>
"""
WORDS_ONLY = r"""
WORD\n\nThere is a street.
WORD\n\nThere is no street.
**WORD**\n\nThere is a street.
WORD - it is a street.
Well, WORD - it is a street.
My answer is WORD because the image shows a street.
I would say WORD to that.
I'd answer "WORD" to this question.
"""


def ways(text):
    """Return ways to write an answer, a line each, in which a line break is spelt out."""
    return [line.replace("\\n", "\n").replace("\\r", "\r") for line in text.strip().split("\n")]


def spelt(way, word):
    """Return a way to write an answer with its word, in each of the usual letters."""
    return [way.replace("WORD", letters) for letters in (word, word.lower(), word.upper())]


@pytest.mark.parametrize("way", ways(WAYS + WORDS_ONLY.lstrip()))
def test_what_strict_reads_for_yes_it_reads_for_no(way):
    for word in ("Yes", "No"):
        result = POPE(spelt(way, word), [word.lower()] * 3, parser="strict")
        assert (result["accuracy"], result["unparsed"]) == (1, 0)


@pytest.mark.parametrize("way", ways(WAYS))
def test_strict_reads_letters_in_the_same_ways(way):
    rows = [{"question_id": number, "type": "Relation", "label": label} for number, label in enumerate("ABCDE")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = HUMBLEBENCH([way.replace("WORD", label) for label in "ABCDE"], rows, parser="strict")
    assert (result["accuracy"], result["unreadable"]) == (1, 0)


@pytest.mark.parametrize("way", ways(WAYS))
def test_hallusionbench_reads_yes_and_no_in_the_same_ways(way):
    rows = [question(number) for number in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = HALLUSIONBENCH([way.replace("WORD", word) for word in ("No", "Yes")], rows)
    assert result["aAcc"] == 1


def question(number):
    """Return a question of HallusionBench without its figure, the right answer to an odd one being yes."""
    return {
        "category": "VS",
        "subcategory": "ocr",
        "set_id": number,
        "figure_id": 0,
        "question_id": 0,
        "visual_input": 0,
        "question": f"Is thing {number} red?",
        "gt_answer": ("no", "yes")[number % 2],
        "gt_answer_details": "",
    }


@pytest.mark.parametrize(
    "response",
    [
        "Answer with **Yes** or **No**.",
        r"Answer with \boxed{Yes} or \boxed{No}.",
        "<answer>Yes</answer> or <answer>No</answer>",
        "<answer>Yes or no</answer>",
        "**Yes**/**No**",
        "Yes, perhaps. <answer>I cannot tell</answer>",
        "<answer>a dog</answer>",
        "<answer></answer>",
        '["yes", "no"]',
        '{"cat": "yes", "dog": "no"}',
        "Answer: yes/no",
        "The answer is not yes",
        "- Yes\n- No",
        "No\n\nYes, there is a dog.",
        "The dog has **no** tail.",
        "No\nQuestion: Is there a cat?\nAnswer: Yes",
    ],
)
def test_what_says_neither_yes_nor_no_stays_unread(response):
    assert POPE([response], ["no"], parser="strict")["unparsed"] == 1


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("<answer>Yes</answer> No, wait. <answer>No</answer>", "no"),
        ("**Yes**, I thought, but it is a cat. **No**", "no"),
        ("Answer: no\nI looked again.\nFinal answer: yes", "yes"),
        ("The answer is no, but \\boxed{Yes}", "yes"),
        ("<answer>No</answer> There is a dog.", "no"),
    ],
)
def test_the_last_marked_answer_decides(response, answer):
    assert POPE([response], [answer], parser="strict")["accuracy"] == 1


@pytest.mark.parametrize("mark", ["**", "**No", "<b>", "<answer>", "<answer> ", "</answer>", r"\boxed{", "{", "{\"a\":", "["])
@pytest.mark.parametrize("more", ["", " ", "\n", "answer: "])
def test_marks_are_read_in_linear_time(mark, more):
    text = (mark + more) * (200_000 // len(mark + more))
    start = time.process_time()
    POPE([text], ["no"], parser="strict", thoughts="kept")
    assert time.process_time() - start < 6


@pytest.mark.parametrize("mark", ["answer\n", "answer is ", "question: ", "\n", "#", "> ", "~~", "<del>", "**a** or "])
def test_labels_are_read_in_linear_time(mark):
    text = "answer:" + mark * (200_000 // len(mark))
    start = time.process_time()
    POPE([text], ["no"], parser="strict")
    assert time.process_time() - start < 6


# What a published rule reads otherwise


def warned(recorded):
    """Return the warnings that say what a rule reads otherwise."""
    return [str(one.message) for one in recorded if "otherwise" in str(one.message)]


def said_by(compute, *given, **options):
    """Return a metric's result, and what it says that a rule reads otherwise."""
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        result = compute(*given, **options)
    return result, warned(recorded)


def test_pope_says_how_many_responses_its_rule_reads_otherwise():
    """Of 3,000 answers, 80 % are right, and 1,497 say no in bold."""
    labels = ["yes"] * 1503 + ["no"] * 1497
    responses = ["**Yes**"] * 1203 + ["**No**"] * 1497 + ["**Yes**"] * 300
    result, (said,) = said_by(POPE, responses, labels)
    assert result["accuracy"] == 1503 / 3000
    assert "1,497 of 3,000" in said and "'**No**'" in said and "--parser strict" in said
    assert "50.10 % by 'pope'" in said and "80.00 % by 'strict'" in said
    assert said_by(POPE, responses, labels, parser="strict")[1] == []


@pytest.mark.parametrize(
    ("otherwise", "rows", "is_said"), [(9, 20, False), (10, 20, True), (49, 1000, False), (50, 1000, True)]
)
def test_at_least_ten_responses_and_five_percent_count(otherwise, rows, is_said):
    responses = ["**No**"] * otherwise + ["No", "Yes"] * rows
    said = said_by(POPE, responses[:rows], ["no"] * rows)[1]
    assert bool(said) == is_said
    assert not said or f"{otherwise:,} of {rows:,}" in said[0]


@pytest.mark.parametrize("plain", [0, 1, 10])
def test_one_plain_no_does_not_silence_it(plain):
    responses = ["No"] * plain + ["I'm sorry, I can't help with that."] * 2999
    said = said_by(POPE, responses, ["no"] * len(responses))[1]
    assert f"2,999 of {len(responses):,}" in said[0] and "cannot read 2,999" in said[0]


PUBLISHED = [
    (POPE, "pope", "**No**"),
    (POPE, "lmms-eval", "No."),
    (POPE, "vlmevalkit", "**No**"),
    (POPE, "repope", "<answer>No</answer> It is not known."),
    (POPE, "vcd", "There isn't any."),
]


@pytest.mark.parametrize("parser", ["lmms-eval", "vlmevalkit", "vcd", "repope"])
def test_each_published_rule_of_pope_is_compared(parser):
    response = "There isn't any." if parser != "repope" else "Not there, though the yesteryear sign is."
    response = {"lmms-eval": "No.", "repope": "<answer>No</answer> Yes is wrong."}.get(parser, "There isn't any.")
    result, said = said_by(POPE, [response] * 20, ["no"] * 20, parser=parser)
    assert len(said) == 1 and "20 of 20" in said[0] and f"by '{parser}'" in said[0]
    assert f"{100 * result['accuracy']:.2f} % by '{parser}' and 100.00 % by 'strict'" in said[0]


def test_other_benchmarks_say_it_too():
    rows = [{"question_id": n, "question": "Is it?", "object": "dog", "answer": "no"} for n in range(20)]
    dash_b = [one | {"file_name": f"{n}.jpg", "source": "coco"} for n, one in enumerate(rows)]
    said = said_by(DASH_B, ["<answer>No</answer> It is not yes."] * 20, dash_b)[1]
    assert "20 of 20" in said[0] and "0.00 % by 'official' and 100.00 % by 'strict'" in said[0]
    letters = [{"question_id": n, "type": "Relation", "label": "B"} for n in range(20)]
    said = said_by(HUMBLEBENCH, ["B. a dog"] * 20, letters)[1]
    assert "20 of 20" in said[0] and "unreadable by 'official', B by 'strict'" in said[0]
    said = said_by(HALLUSIONBENCH, ["<answer>Yes</answer> It is no car."] * 20, [question(n) for n in range(20)], judge="vlmevalkit")[1]
    assert "20 of 20" in said[0] and "50.00 % by 'rules'" in said[0] and "--judge rules" in said[0]
