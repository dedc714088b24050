"""What rules read in responses as models write them today: marked answers, thoughts, and refusals."""

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

import halluscope
from halluscope.registry import benchmark
from tests import small_datasets

POPE, AMBER, DASH_B = (benchmark(name).compute for name in ("pope", "amber", "dash_b"))
HUMBLEBENCH = benchmark("humblebench").compute

HERE = Path(__file__).parent


def ways(name):
    """Return ways to write an answer, a line of the file each, in which a line break is spelt out."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line.replace("\\n", "\n").replace("\\r", "\r") for line in lines]


MARKED = ways("marked_answers.txt")
"""Read as letters too, where "worded_answers.txt" is about yes and no."""


def spelt(way, word):
    """Return a way to write an answer with its word, in each of the usual letters."""
    return [way.replace("WORD", letters) for letters in (word, word.lower(), word.upper())]


@pytest.mark.parametrize("way", MARKED + ways("worded_answers.txt"))
def test_what_strict_reads_for_yes_it_reads_for_no(way):
    for word in ("Yes", "No"):
        result = POPE(spelt(way, word), [word.lower()] * 3, parser="strict")
        assert (result["accuracy"], result["unparsed"]) == (1, 0)


def test_strict_reads_true_and_false_of_json():
    said = ['{"answer": true}', '{"reason": "No cat.", "answer": false}', "[false]"]
    result = POPE(said, ["yes", "no", "no"], parser="strict")
    assert (result["accuracy"], result["unparsed"]) == (1, 0)


@pytest.mark.parametrize("way", MARKED)
def test_strict_reads_letters_in_the_same_ways(way):
    rows = [
        {"question_id": number, "type": "Relation", "label": label} for number, label in enumerate("ABCDE")
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = HUMBLEBENCH([way.replace("WORD", label) for label in "ABCDE"], rows, parser="strict")
    assert (result["accuracy"], result["unreadable"]) == (1, 0)


@pytest.mark.parametrize(
    "response",
    [
        "Answer with **Yes** or **No**.",
        "<answer>Yes</answer> or <answer>No</answer>",
        "Yes, perhaps. <answer>I cannot tell</answer>",
        "<answer>a dog</answer>",
        "<answer></answer>",
        '{"cat": "yes", "dog": "no"}',
        "The answer is not yes",
        "- Yes\n- No",
        "No\n\nYes, there is a dog.",
        "The dog has **no** tail.",
        "No\nQuestion: Is there a cat?\nAnswer: Yes",
        "None",  # what Python writes for a response that was never given
        "None.\n",
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


@pytest.mark.parametrize("mark", ["**No", "<b>", "<answer>", "</answer>", r"\boxed{", '{"a":', "[", "<"])
@pytest.mark.parametrize("more", ["", "\n", "answer: "])
def test_marks_are_read_in_linear_time(mark, more):
    text = (mark + more) * (200_000 // len(mark + more))
    start = time.process_time()
    POPE([text], ["no"], parser="strict", thoughts="kept")
    assert time.process_time() - start < 6


def test_white_space_before_a_letter_is_read_in_linear_time():
    """Models that fail may end in it."""
    rows = [{"question_id": number, "type": "Relation", "label": "A"} for number in range(2)]
    text = "The answer is" + " " * 1000 + ":" + "\n" * 1000
    start = time.process_time()
    assert HUMBLEBENCH([text + "A", text + "none"], rows, parser="strict")["unreadable"] == 0.5
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


@pytest.mark.parametrize(("text", "is_said"), [("No", False), ("**No**", True)])
def test_of_very_many_responses_a_sample_tells_whether_all_are_to_be_read(text, is_said):
    assert bool(said_by(POPE, [text] * 20_001, ["no"] * 20_001)[1]) == is_said


def test_empty_responses_that_a_rule_reads_are_said_too():
    (said,) = said_by(POPE, [""] * 20, ["yes"] * 20)[1]
    assert (
        "20 of 20 responses otherwise" in said and "such as '': yes by 'pope', unreadable by 'strict'" in said
    )


def amber_question(number):
    return {
        "id": 1005 + number,
        "file_name": f"{number}.jpg",
        "prompt": "Is there a dog?",
        "task": "discriminative",
        "dimension": "existence",
        "answer": "no",
        "truth": [],
        "hallu": [],
    }


def test_amber_dash_b_and_humblebench_say_it_too():
    rows = [amber_question(number) for number in range(20)]
    (said,) = said_by(AMBER, ["No."] * 20, rows, parser="official")[1]
    assert "20 of 20" in said and "0.00 % by 'official' and 100.00 % by 'strict'" in said
    (said,) = said_by(DASH_B, ["<answer>No</answer> Yes is wrong."] * 20, dash_b_rows(20))[1]
    assert "20 of 20" in said and "0.00 % by 'official' and 100.00 % by 'strict'" in said
    letters = [{"question_id": number, "type": "Relation", "label": "B"} for number in range(20)]
    (said,) = said_by(HUMBLEBENCH, ["B. a dog"] * 20, letters)[1]
    assert "20 of 20" in said and "unreadable by 'official', B by 'strict'" in said


def dash_b_rows(count, answer="no"):
    about = {"question": "Is it?", "object": "dog", "source": "coco", "answer": answer}
    return [about | {"question_id": number, "file_name": f"{number}.jpg"} for number in range(count)]


def stderr_of(*words):
    """Run a command in a process of its own, where warnings are printed; return the lines of its standard error."""
    command = [sys.executable, "-m", "halluscope", *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return ran.stderr.splitlines()


@pytest.mark.parametrize("form", ["table", "json"])
def test_the_command_says_it_once_per_file_on_standard_error(form, tmp_path):
    asked = [(f"{number}.jpg", "dog", ("no", "yes")[number % 2]) for number in range(40)]
    dataset = small_datasets.pope_file(tmp_path / "coco_pope_random.json", asked)
    files = []
    for name, no in (("first", "**No**"), ("second", "**No**"), ("plain", "No")):
        said = [no, "Yes", "Yes", "Yes"] * 10
        rows = [{"question_id": number, "response": text} for number, text in enumerate(said, 1)]
        files.append(str(tmp_path / f"{name}.json"))
        Path(files[-1]).write_text(json.dumps(rows))
    words = ["--responses", *files, "--dataset", dataset, "--format", form, "--bootstrap", "0"]
    lines = [line for line in stderr_of("score", "pope", *words) if "otherwise" in line]
    assert [line.split(": ")[1] for line in lines] == ["first", "second"]
    assert all("10 of 40" in line and "75.00 % by 'strict'" in line for line in lines)


def test_no_published_file_of_popes_responses_is_read_otherwise(upstream):
    """Of 25 files at most 1.4 % of the responses are read otherwise."""
    manifest = json.loads((upstream / "wild" / "manifest.json").read_text(encoding="utf-8"))
    datasets = [str(file) for file in sorted((upstream / "pope" / "coco").glob("*.json"))]
    scored = 0
    for entry in manifest:
        if entry["benchmark"] != "POPE (coco)":
            continue
        with warnings.catch_warnings(record=True) as recorded:
            warnings.simplefilter("always")
            file = str(upstream / "wild" / entry["file"])
            halluscope.score("pope", file, datasets, partial=True, bootstrap=0)
        assert warned(recorded) == []
        scored += 1
    assert scored > 10


# Thoughts

ENDED = [
    "<|channel|>analysis<|message|>Is it no? Yes?<|end|><|start|>assistant<|channel|>final<|message|>WORD<|return|>",
    "<|start|>assistant<|channel|>analysis<|message|>No.<|end|><|start|>assistant<|channel|>final<|message|>WORD",
    "<|channel|>analysis<|message|>No.<|end|><|start|>assistant<|channel|>commentary to=functions.look "
    "<|constrain|>json<|message|>{}<|call|><|start|>assistant<|channel|>final<|message|>WORD<|end|>",
    "analysisWe see a dog. No, we do not.assistantfinalWORD",
    "analysiswe look. assistantcommentarylooking assistantfinal WORD",
    "<think>Yes or no?</think>\n\nWORD",
    "Yes or no?\n</think>\n\nWORD",
]
ENDLESS = [
    "<think>First I look at",
    "<|channel|>analysis<|message|>No.<|end|><|start|>assistant<|channel|>commentary<|message|>No.",
    "analysisWe look at the image. No dog is",
]


@pytest.mark.parametrize("text", ENDED)
def test_only_what_follows_thoughts_is_the_response(text):
    responses = [text.replace("WORD", word) for word in ("Yes", "No")]
    for parser in ("pope", "strict", "lmms-eval"):
        result = POPE(responses, ["yes", "no"], parser=parser)
        assert (result["accuracy"], result["unfinished_thoughts"]) == (1, 0)


@pytest.mark.parametrize("text", ENDLESS)
def test_a_thought_that_never_ends_is_an_empty_response(text):
    with pytest.warns(
        UserWarning, match="1 of 2 responses are a thought that never ends.*'pope' reads as yes"
    ):
        result = POPE([text, "No"], ["no", "no"])
    assert (result["thoughts"], result["unfinished_thoughts"], result["accuracy"]) == (1, 1, 0.5)
    with pytest.warns(
        UserWarning, match="1 of 2 responses are a thought that never ends.*'strict' cannot read"
    ):
        assert POPE([text, "No"], ["no", "no"], parser="strict")["unparsed"] == 0.5


# Dataset -> its metric, and the options by which no judge is asked
SCORED = {
    "pope": ["pope", "--parser", "all"],
    "dash_b": ["dash_b"],
    "humblebench": ["humblebench"],
    "mme": ["mme"],
    "hallusionbench": ["hallusionbench"],
    "throne_coco": ["throne", "--judges", "lexical"],
}
KEYS = {
    "question_id",
    "image_id",
    "category",
    "subcategory",
    "set_id",
    "figure_id",
    "visual_input",
    "sampling",
}


@pytest.mark.parametrize("name", SCORED)
def test_every_benchmark_says_how_many_thoughts_never_end(name, tmp_path, ran):
    dataset = small_datasets.build(name, tmp_path)
    config = "coco" if name == "pope" else ""
    rows = []
    for table in sorted((dataset / "data" / config).rglob("*.parquet")):
        rows += parquet.read_table(table).to_pylist()
    responses = []
    for number, row in enumerate(rows):
        ids = {key: row[key] for key in KEYS & row.keys()}
        responses.append(ids | {"response": "No" if number else "<think>I see no"})
    file = tmp_path / "cut.json"
    file.write_text(json.dumps(responses))
    source = f"{dataset}:{config}" if config else dataset
    with pytest.warns(UserWarning, match=f"1 of {len(rows):,} responses are a thought that never ends"):
        printed = ran("score", *SCORED[name], "--responses", file, "--dataset", source, "--json").out
    assert all(result["unfinished_thoughts"] == 1 for result in json.loads(printed))


# Right answers

GIVEN = [1, 0, 0, 1]
TEXTS = ["Yes", "NO", "no", "yes"]


def test_right_answers_in_any_form():
    torch, pandas, arrow = (pytest.importorskip(name) for name in ("torch", "pandas", "pyarrow"))
    tensor = torch.tensor(GIVEN)
    plain = [GIVEN, TEXTS, [True, False, False, True], [np.int64(value) for value in GIVEN]]
    arrays = [np.array(GIVEN), np.array(GIVEN, bool), np.array(TEXTS), arrow.array(GIVEN), arrow.array(TEXTS)]
    series = [pandas.Series(TEXTS, index=[7, 8, 9, 10]), pandas.Series(GIVEN, dtype="category")]
    for labels in [*plain, *arrays, tensor, tensor.bool(), tensor.float(), list(tensor), *series]:
        result = POPE(["Yes", "No", "Yes", "Yes"], labels)
        assert (result["accuracy"], result["precision"], result["recall"]) == (3 / 4, 2 / 3, 1)


def test_columns_of_pandas_in_different_orders():
    """They are paired by position, as lists are; an index that says otherwise is no accident."""
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series(TEXTS, index=[7, 8, 9, 10])
    responses = pandas.Series(["Yes", "No", "No", "Yes"], index=labels.index)
    compute = halluscope.get_benchmark("pope").compute
    for order in (labels.index, [10, 9, 8, 7]):
        assert compute(responses.loc[order], labels.loc[order])["accuracy"] == 1
    with pytest.raises(ValueError, match="the same index in different orders"):
        compute(responses.sort_index(ascending=False), labels)
    other = responses.reset_index(drop=True).iloc[::-1]
    assert compute(other, labels)["accuracy"] == 1, "another index says nothing"


@pytest.mark.parametrize("no", ["No", False, np.int64(0)])
def test_right_answers_in_rows(no):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert DASH_B(["No"], dash_b_rows(1, no))["accuracy"] == 1
        assert AMBER(["No"], [amber_question(0) | {"answer": no}])["accuracy/existence"] == 1
