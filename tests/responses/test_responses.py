"""Responses: rows that are none, thoughts, and columns of responses that parsers read."""

import json
import random
import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halluscope
from halluscope.judging.thought_marks import without
from halluscope.responses import parsers, thoughts
from tests import small_datasets


@pytest.fixture
def scored(tmp_path):
    """Score descriptions of some of three images, given as rows or as lines of a file."""
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps({7: ["dog"], 3: [], 9: ["cat"]}))

    def score(*rows, **options):
        file = tmp_path / "r.jsonl"
        file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
        return halluscope.score("throne", file, labels, judges="lexical", bootstrap=0, **options)

    return score


# Reading


def test_a_file_with_a_comma_in_its_name_can_be_named(tmp_path):
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps({7: ["dog"]}))
    file = tmp_path / "a dog, b.json"
    file.write_text(json.dumps([{"image_id": 7, "response": "A dog."}]))
    result = halluscope.score("throne", f"mine={file}", labels, judges="lexical", bootstrap=0)
    assert [row["responses"] for row in result.rows] == ["mine"]


def test_responses_of_some_images_are_matched_by_id(scored):
    rows = [{"image_id": "000007", "caption": "A dog."}, "", {"image_id": 3.0, "caption": ""}]
    result = scored(*rows)
    assert (result["images"], result["matched"], result["part"]) == (2, "image_id", [2, 3])
    assert result["recall_all"] == 1
    assert scored(*rows, limit=1)["images"] == 1
    with pytest.raises(ValueError, match="limit is 0; expected a whole number of responses of at least 1"):
        scored(*rows, limit=0)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"image_id": 7, "caption": ""}, '{"image_id": 1, "capt'], "line 2 is not JSON, or is cut off"),
        (['[{"image_id": 7, "capt'], "is not JSON, or is cut off"),
        ([{"image_id": 7}], "line 1: expected an object with the LVLM's text under one of the keys"),
        ([{"caption": "A dog."}], r"r\.jsonl holds 1 responses without an id, and the dataset has 3 rows"),
        ([{"image_id": 7, "caption": "a"}, {"caption": "b"}], "line 2 has no image_id"),
        ([{"image_id": 7, "response": 3}], "line 1: response is 3; expected the LVLM's text"),
        (
            [{"image_id": 7, "response": {"tokens": 3}}],
            "line 1: response is {'tokens': 3}; expected the LVLM's",
        ),
        (
            [{"image_id": 7, "response": {"choices": [3]}}],
            "line 1: response is {'choices': .*; expected the LVLM's",
        ),
        ([{"image_id": True, "caption": "a"}], "line 1: image_id is True; expected a whole number or a name"),
        (
            [{"image_id": "x", "caption": "a"}],
            "line 1: image_id x is not among the 3 rows of the dataset; expected one such as image_id ",
        ),
        ([{"image_id": 1.7, "caption": "a"}], "line 1: image_id is 1.7; expected a whole number or a name"),
        (
            [{"image_id": 7, "caption": "a"}, {"image_id": "07", "caption": "b"}],
            r"line 2: image_id 7 is already in .*r\.jsonl, line 1; expected one response per row. Remove one",
        ),
        (["7"], "line 1 is 7; expected an object"),
        ([], "r.jsonl holds no responses; expected one JSON object per line"),
    ],
)
def test_bad_responses(scored, rows, message):
    with pytest.raises(ValueError, match=message):
        scored(*rows)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"sheet": "a"}, r"names a sheet of an xlsx file, but the responses are .*r\.jsonl"),
        ({"text_column": "said"}, "under the key said; .*Texts here: caption"),
        ({"id_column": "nr"}, "No response has the column nr; .* line 1 has image_id, caption"),
    ],
)
def test_options_that_name_what_is_not_there(scored, option, message):
    with pytest.raises(ValueError, match=message):
        scored({"image_id": 7, "caption": "A dog."}, **option)


def test_a_refusal_names_ten_columns_of_texts(scored):
    texts = {f"q{number}": "A dog." for number in range(80)}
    with pytest.raises(ValueError, match=r"Texts here: q0, q1, .*q9 and 70 more\."):
        scored({"image_id": 7, **texts}, {"image_id": 8, **texts})


def test_names_are_as_long_as_they_must_be(tmp_path, json_of, refused):
    (tmp_path / "labels.json").write_text(json.dumps({7: ["dog"]}))
    files = []
    for place in ("a/x", "b/x", "c", "c/y"):
        (tmp_path / place).mkdir(parents=True)
        files.append(tmp_path / place / "answers.jsonl")
        files[-1].write_text('{"image_id": 7, "response": "A dog."}')
    command = ["score throne --judges lexical --bootstrap 0 --dataset", tmp_path / "labels.json"]
    results = json_of(*command, "--responses", *files)
    assert {result["responses"] for result in results} == {
        "a/x/answers",
        "b/x/answers",
        "c/answers",
        "y/answers",
    }
    assert "Two LVLMs are called 'm'" in refused(
        *command, "--responses", *(f"m={file}" for file in files[:2])
    )


# What a response says of its row

QUESTION = "Is there a dog in the image?"
IMAGE = "COCO_val2014_000000000007.jpg"


@pytest.fixture
def beside(tmp_path):
    """Score two responses to POPE, of which the first says more of its row."""
    file = tmp_path / "coco_pope_random.json"
    dataset = small_datasets.pope_file(file, [(IMAGE, "dog", "yes"), (IMAGE, "cat", "no")])

    def score(more, **options):
        rows = more
        if isinstance(more, dict):
            rows = [{"question_id": 1, "response": "Yes"} | more, {"question_id": 2, "response": "No"}]
        return halluscope.score("pope", rows, dataset, bootstrap=0, **options)

    return score


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("question", "Is there a cow?"),
        ("prompt", "Is there a cow?"),
        ("image_id", 8),
        ("image_id", "COCO_val2014_000000000008.jpg"),
        ("file_name", "x.jpg"),
        ("image", ["000000000008.jpg"]),
        ("image", "images%2FCOCO_val2014_000000000008.jpg"),
        ("image_url", "https://example.org/COCO_val2014_000000000008.jpg"),
        ("image_url", [{"url": "https://example.org/COCO_val2014_000000000008.jpg"}]),
        ("sampling", "popular"),
        ("category", "popular"),
    ],
)
def test_what_contradicts_its_row_is_refused(beside, column, said):
    with pytest.raises(ValueError, match=r"responses\[0\] .* but its row in the dataset has .*\. Are these"):
        beside({column: said})


@pytest.mark.parametrize(
    "more",
    [
        {"question": f"USER: <image>\n  {QUESTION} Answer with a word."},
        {"question": 7},
        {"image_id": "007"},
        {"image_id": 7.5},
        {"image_id": True},
        {"image": [IMAGE]},
        {"image": {"bytes": "..."}},
        {"sampling": "", "category": "animals"},
        {"sampling": 7},
        {"image_url": "https://example.org/dog.jpg"},
    ],
)
def test_what_agrees_or_says_nothing_is_taken(beside, more):
    assert beside(more)["accuracy"] == 1


def test_the_image_of_another_row_under_a_name_that_is_no_files(tmp_path):
    dataset = small_datasets.build("mmhal", tmp_path)
    rows = [{"image_id": f"a{number}", "response": "Two."} for number in range(3)]
    assert halluscope.score("mmhal", rows, dataset, judge="none")["matched"] == "order"
    with pytest.raises(
        ValueError, match=r"responses\[0\] .* has the image_id 'a1', but its row in the dataset has 'a0'"
    ):
        halluscope.score("mmhal", [rows[1], rows[0], rows[2]], dataset, judge="none")


def test_a_sampling_of_which_nothing_is_there(beside, tmp_path):
    with pytest.raises(ValueError, match="None of the 2 rows is left.* sampling is 'random'"):
        beside({}, sampling="popular")
    both = [tmp_path / "coco_pope_random.json", tmp_path / "coco_pope_popular.json"]
    small_datasets.pope_file(both[1], [(IMAGE, "cow", "yes"), (IMAGE, "car", "no")])
    rows = [{"question_id": number, "sampling": "random", "response": "Yes"} for number in (1, 2)]
    with pytest.raises(ValueError, match="no response is about popular"):
        halluscope.score("pope", rows, list(map(str, both)), sampling="popular")


@pytest.mark.parametrize("states", ["question", "nothing"])
def test_a_second_column_of_ids_counts_if_something_else_agrees(states, tmp_path):
    """The first one, named as the dataset names its own, holds ids of the LVLM's script."""
    file = tmp_path / "coco_pope_random.json"
    dataset = small_datasets.pope_file(file, [(IMAGE, "dog", "yes"), (IMAGE, "cat", "no")])
    rows = []
    for number, thing, text in ((2, "cat", "No"), (1, "dog", "Yes")):
        rows.append({"question_id": 100 + number, "id": number, "response": text})
        if states == "question":
            rows[-1]["question"] = f"Is there a {thing} in the image?"
    if states == "question":
        result = halluscope.score("pope", rows, dataset, bootstrap=0)
        assert (result["accuracy"], result["matched"]) == (1.0, "id")
    else:
        with pytest.raises(ValueError, match="question_id 102 is not among the 2 rows"):
            halluscope.score("pope", rows, dataset, bootstrap=0)


@pytest.mark.parametrize("image", ["2_o.jpg", "7_o.jpg"])
def test_an_address_of_another_image_is_refused(image, tmp_path):
    dataset = str(small_datasets.build("mmhal", tmp_path))
    rows = [{"id": number, "image_url": None, "response": "Two dogs."} for number in range(3)]
    rows[1]["image_url"] = f"https://example.org/{image}"
    with pytest.raises(ValueError, match=rf"\[1\] .* has the image_url .*{image}.*, but its row .*/1_o\.jpg"):
        halluscope.score("mmhal", rows, dataset, judge="none")


@pytest.mark.parametrize("name", ["mine_popular", "LLaVA-Popular"])
def test_a_file_whose_name_says_another_sampling_is_doubted(name, beside, tmp_path):
    beside({})
    file = tmp_path / f"{name}.jsonl"
    file.write_text('{"question_id": 1, "response": "Yes"}\n{"question_id": 2, "response": "No"}')
    with pytest.warns(UserWarning, match="its name says popular, but the sampling of the dataset is random"):
        halluscope.score("pope", file, str(tmp_path / "coco_pope_random.json"), bootstrap=0)


@pytest.mark.parametrize("name", ["mine_random", "mine_popular"])
def test_a_name_of_one_sampling_is_not_doubted_where_there_are_several(name, tmp_path):
    """`popular` may be how the LVLM was trained."""
    datasets = []
    rows = []
    for sampling, thing in (("random", "dog"), ("popular", "cow")):
        file = tmp_path / f"coco_pope_{sampling}.json"
        datasets.append(small_datasets.pope_file(file, [(IMAGE, thing, "yes")]))
        question = f"Is there a {thing} in the image?"
        rows.append({"question_id": 1, "sampling": sampling, "question": question, "response": "Yes"})
    responses = small_datasets.write_lines(tmp_path / f"{name}.jsonl", rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert halluscope.score("pope", responses, datasets, bootstrap=0)["rows"] == 2


def test_names_of_prompts_where_there_are_none(scored):
    with pytest.raises(
        ValueError, match="names no prompt of throne; expected no name, because it has no other"
    ):
        scored({"image_id": 7, "caption": "A dog.", "halluscope_prompt": "short"})


def test_a_metric_without_a_dataset_is_not_scored(scored):
    with pytest.raises(ValueError, match=r"or call get_benchmark\('hqm'\)\.compute"):
        halluscope.score("hqm", ["Yes"], "pope")


def test_a_table_of_pandas(beside):
    import pandas as pd

    cells = [[1, "Yes", "Yes"], [2, "No", "No"]]
    table = pd.DataFrame(cells, columns=["question_id", "response", "note"])
    assert beside(table)["accuracy"] == 1
    with pytest.raises(ValueError, match="two columns 'response'"):
        beside(pd.DataFrame(cells, columns=["question_id", "response", "response"]))
    backwards = table.iloc[::-1].set_index("question_id")
    assert beside(backwards)["accuracy"] == 1, "the index is a column too"
    assert beside(backwards["response"])["accuracy"] == 1
    assert beside([{"question_id": np.int64(1), "response": "Yes"}, {"question_id": "2", "response": "No"}])


# Thoughts


def test_texts_without_a_mark_where_the_chat_template_begins_the_thought_are_warned_of(scored):
    """The template's own mark is no part of the responses; one of them never comes to its end."""
    texts = {7: "It barks.</think>A dog.", 3: "Hm.</think>A dog.", 9: "Is it a cat"}
    with pytest.warns(UserWarning, match="1 of 3 responses hold no mark of a thought, though most"):
        scored(*({"image_id": image, "caption": text} for image, text in texts.items()))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A dog.", "A dog."),
        ("", ""),
        ("a < b and <thin> </thin>", "a < b and <thin> </thin>"),
        ("<THINK >a bus</THINK >A dog.", "A dog."),
        ("<seed:think>a bus</seed:think>A dog.", "A dog."),
        ("<|begin_of_thought|>a bus<|end_of_thought|>A dog.", "A dog."),
        ("◁think▷a bus◁/think▷A dog.", "A dog."),
        ("[THINK]a bus[/THINK]A dog.", "A dog."),
        ("<unused94>a bus<unused95>A dog.", "A dog."),
        ("A <think>bus</think>dog <think>or\ntwo</think>runs.", "A dog runs."),
        ("a bus</think>a cat</think>A dog.", "A dog."),
        ("<think>a <think>b</think>c</think>A dog.", "A dog."),
        ("<think>a bus</reasoning>A dog.", "A dog."),
        ("<SUMMARY>a bus</SUMMARY><CAPTION>a cat</CAPTION>\n<CONCLUSION> A dog. </CONCLUSION>", "A dog."),
        ("<SUMMARY>a bus</SUMMARY><REASONING>a cat", ""),
        ("<think>a bus", ""),
        ("<think>a</think>A dog. <think>But", ""),
        ("a bus</think>A dog. [THINK]But", ""),
    ],
)
def test_without_thoughts(text, said):
    assert without(text) == said
    removed = thoughts.take_out(["A cat.", text], "removed")
    assert (removed.texts, removed.thoughts) == (["A cat.", said], int(text != said))
    assert thoughts.take_out([text], "kept").texts == [text]


@given(st.lists(st.sampled_from(["<think>", "</think>", "[THINK]", "◁/think▷", "dog", "</reasoning>", " "])))
def test_no_mark_is_left(parts):
    said = without("".join(parts))
    assert without(said) == said and not {"<", "[", "◁"} & {*said}


# Time


@pytest.mark.parametrize("mark", ["<think>", "</think>", "<think></think>", "<think ", "◁think▷"])
def test_thoughts_are_found_in_linear_time(mark):
    start = time.process_time()
    without(mark * (200_000 // len(mark)))
    assert time.process_time() - start < 3


@pytest.mark.parametrize("name", parsers.PARSERS)
def test_parsers_take_linear_time(name):
    start = time.process_time()
    for unit in (" ", "no, ", "yes or no ", "there is no ", "(", '"a', "\n", ". ", "not visible "):
        parsers.PARSERS[name](unit * (200_000 // len(unit)) + "x")
    assert time.process_time() - start < 10


# Words, marks, and characters that Python and RE2 see otherwise
TRICKY = r"""yes|Yes|YES|no|No|NOT|nope|yeah|n't|isn't|isn\u2019t|neither|None|.|,|?|;|-| - |\u2013|'|\u2019|\n|\t
 |\0|\x0b|\x1c|\x85|\xa0|\u2028|\xe9|\u0130|ye\u017f|\u212a|there is|There is a|there is no|There isn't a|I see a
I can't see|the image|does not show|is visible|not visible|it is|cannot be seen|no doubt|maybe|whether|not sure|a dog
yes or no|no-one|yes-man|know|eyes|1,000|_|**|(|]|<|y,es|n.o|y.e.s|.....................................|any image"""

# Marks of an answer
MARKED = r"""**No**|__yes__|`no`|<b>|</b>|<answer>|</answer>|\\boxed{no}|{"answer": "yes"}|["no"]|Answer:|The answer is
Final answer|# |> |~~|~~no~~|[yes]|response|</s>|\n\n|\nNo|Yes\n|no because|I'd say|well, no -|\u201cno\u201d
"no"|no)|no there"""


@pytest.mark.parametrize("name", parsers.PARSERS)
def test_a_column_of_responses_is_read_as_each_one_is(name):
    draw = random.Random(0)
    plain, marked = (
        parts.replace("\n", "|").encode().decode("unicode_escape").split("|") for parts in (TRICKY, MARKED)
    )
    texts = [
        draw.choice(["", " "]).join(draw.choices(parts, k=draw.choice([1, 2, 3, 5, 9])))
        for parts in (plain, plain + marked)
        for _ in range(parsers.MANY)
    ]
    each = [parsers.PARSERS[name](text) for text in texts]
    assert parsers.read(texts, name).tolist() == each
    assert parsers.read([*texts, "no\ud800"], name)[:-1].tolist() == each
