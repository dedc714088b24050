"""Verdicts that a user gives as a judge's texts are read by the rule that is named; numbers are read by none."""

import json
import warnings

import numpy as np
import pytest

import halluscope
from halluscope import cli, registry
from halluscope.signature import keys_of
from tests import small_datasets
from tests.test_contract import example

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* questions are scored"),
    pytest.mark.filterwarnings("ignore:.* texts in .* have no readable verdict"),
    pytest.mark.filterwarnings("ignore:.* texts in .* begin with no verdict"),
    pytest.mark.filterwarnings("ignore:.* holds chat completions without ids"),
    pytest.mark.filterwarnings("ignore:.* chat completions in .* were cut off"),
    pytest.mark.filterwarnings("ignore:.* are not the responses that are scored"),
]

TEMPLATE = "wild/RLHF-V__RLHF-V/eval__data__mmhal-bench_answer_template.json"
EVALUATIONS = {
    "mmhal/blip2_gpt-4o-2024-08-06_eval.json": (1.3125, 0.645833),
    "wild/HilariusJeremy__fyp-multimodal-hallucination/results__evals__qwen3vl_4b_128_new_tokens_gpt-4o-mini.json": (
        4.270833,
        0.322917,
    ),
}
"""Files that the authors' script wrote, and the mean and rate by its rule (upstream's manifest)."""

SEVERAL_READINGS = ["**Rating**: 6", "Rating: 2", "Rating: 60", "No verdict."]
"""By the authors' rule 0, 2, 6 and 0; strictly 6, 2, and twice none."""


def mmhal_rows(count):
    """Rows of as many questions, of four types."""
    types = ["attribute", "adversarial", "comparison", "counting"]
    return [
        {
            "id": number,
            "question_type": types[number],
            "question_topic": "animal",
            "image_id": f"a{number}",
            "image_src": f"https://example.org/{number}_o.jpg",
            "image_content": ["Dog"],
            "question": f"What about thing {number}?",
            "gt_answer": "There are two dogs.",
        }
        for number in range(count)
    ]


def completion(text, **more):
    message = {"role": "assistant", "content": text}
    return {"object": "chat.completion", "choices": [{"message": message}], **more}


def score_mmhal(responses, dataset, *options):
    return cli.main(
        ["score", "mmhal", "--responses", str(responses), "--dataset", str(dataset), *map(str, options)]
    )


@pytest.fixture
def asked(tmp_path):
    """Four questions and a response to each."""
    rows = mmhal_rows(4)
    (tmp_path / "questions.json").write_text(json.dumps(rows))
    answers = [{"id": row["id"], "response": f"Text {row['id']}"} for row in rows]
    (tmp_path / "mine.json").write_text(json.dumps(answers))
    return tmp_path


def scored(folder, capsys, *options):
    assert score_mmhal(folder / "mine.json", folder / "questions.json", "--json", *options) == 0
    (result,) = json.loads(capsys.readouterr().out)
    return result


# MMHal


@pytest.mark.parametrize("name", EVALUATIONS)
def test_the_authors_evaluation_files(upstream, tmp_path, capsys, name):
    rows = json.loads((upstream / TEMPLATE).read_text("utf-8"))
    answers = [row | {"id": number, "model_answer": f"Text {number}"} for number, row in enumerate(rows)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, answers)))
    (tmp_path / "questions.json").write_text(json.dumps(rows))
    given = ["--ratings", upstream / name, "--reading", "official", "--json"]
    assert score_mmhal(tmp_path / "mine.jsonl", tmp_path / "questions.json", *given) == 0
    (result,) = json.loads(capsys.readouterr().out)
    rating, rate = EVALUATIONS[name]
    assert result["rating"] == pytest.approx(rating, abs=1e-6)
    assert result["hallucination_rate"] == pytest.approx(rate, abs=1e-6)
    assert keys_of(result["signature"])["judge"].startswith("given,authors-official-")


@pytest.mark.parametrize(
    "texts",
    [
        SEVERAL_READINGS,
        [{"judge_text": text} for text in SEVERAL_READINGS],
        [completion(text) for text in SEVERAL_READINGS],
    ],
)
def test_texts_in_python(texts):
    compute = registry.benchmark("mmhal").compute
    official = compute([""] * 4, mmhal_rows(4), ratings=texts, reading="official")
    assert (official["rating"], official["hallucination_rate"]) == (2, 0.75)
    assert official["unreadable"] == 0.5
    strict = compute([""] * 4, mmhal_rows(4), ratings=texts)
    assert (strict["rating"], strict["unreadable"]) == (4, 0.5)
    assert "judge:given,authors-strict-" in strict["signature"]


def test_judges_that_completions_name_are_in_the_signature():
    texts = [completion("Rating: 3", model=judge) for judge in ("gpt-4o", "gpt-4o", "gpt-4-0314", "gpt-4o")]
    compute = registry.benchmark("mmhal").compute
    with pytest.warns(UserWarning, match=r"by several judges, gpt-4-0314 \(1\), gpt-4o \(3\)"):
        result = compute([""] * 4, mmhal_rows(4), ratings=texts)
    assert keys_of(result["signature"])["judge"].endswith(",gpt-4-0314,gpt-4o")


def test_a_completions_model_is_no_rating():
    """LLaVA-Bench's verdicts have a `model`, as completions do, which were refused."""
    llava_bench = registry.benchmark("llava_bench")
    responses, rows, _ = example(llava_bench)
    texts = [completion("8 6", model="gpt-4")] * len(rows)
    assert llava_bench.compute(responses, rows, ratings=texts)["score"] == 75


@pytest.mark.parametrize("column", ["judge_text", "reply", "gpt_eval"])
def test_texts_in_a_file(asked, capsys, column):
    rows = [{"id": number, column: text} for number, text in enumerate(SEVERAL_READINGS)]
    rows.reverse()
    file = asked / "judged.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    assert scored(asked, capsys, "--ratings", file, "--reading", "official")["rating"] == 2
    assert scored(asked, capsys, "--ratings", file)["rating"] == 4


@pytest.mark.parametrize("column", ["id", "index", "question_id"])
@pytest.mark.parametrize("own", [{}, {"id": "chatcmpl-7"}, {"id": None}], ids=["none", "its own", "null"])
def test_completions_that_name_their_questions_are_taken_by_name(asked, capsys, column, own):
    """Whatever the order, and though a completion has an id of its own."""
    rows = []
    for number in (3, 2, 1, 0):
        rows.append(completion(f"Rating: {6 if number < 2 else 0}", **(own | {column: number})))
    (asked / "judged.json").write_text(json.dumps(rows))
    result = scored(asked, capsys, "--ratings", asked / "judged.json")
    assert (result["rating/attribute"], result["rating/counting"]) == (6, 0)


@pytest.mark.parametrize("column", ["question_id", "index"])
def test_completions_with_a_count_of_rows_beside_their_question(asked, capsys, column):
    """`question_id` names the question; of `id` and `index` neither does if they differ."""
    rows = []
    for place, number in enumerate((3, 2, 1, 0)):
        rows.append(completion(f"Rating: {6 if number < 2 else 0}", **{"id": place, column: number}))
    (asked / "judged.json").write_text(json.dumps(rows))
    if column == "question_id":
        result = scored(asked, capsys, "--ratings", asked / "judged.json")
        assert (result["rating/attribute"], result["rating/counting"]) == (6, 0)
    else:
        given = ["--ratings", asked / "judged.json"]
        assert score_mmhal(asked / "mine.json", asked / "questions.json", *given) == 2
        assert "names two questions, 0 (id) and 3 (index)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (7, "entry 4 is no chat completion with a text"),
        ({"choices": [{"message": {"content": None}}]}, 'said nothing, write "" as the content'),
        (None, "holds 3 chat completions, which have no ids"),
    ],
)
def test_completions_that_are_not_one_for_each_question(asked, capsys, row, message):
    rows = [completion("Rating: 6") for _ in range(3)]
    if row is not None:
        rows.append(row)
    (asked / "judged.json").write_text(json.dumps(rows))
    given = ["--ratings", asked / "judged.json"]
    assert score_mmhal(asked / "mine.json", asked / "questions.json", *given) == 2
    assert message in capsys.readouterr().err


def write(folder, rows):
    file = folder / "judged.json"
    file.write_text(json.dumps(rows))
    return file


def refused(folder, capsys, rows):
    """The message about a file of ratings that is refused."""
    given = ["--ratings", write(folder, rows)]
    assert score_mmhal(folder / "mine.json", folder / "questions.json", *given) == 2
    return capsys.readouterr().err


def batch(number, body, **more):
    """A row of a batch's output, whose request is called after its question."""
    response = {"status_code": 200, "body": body}
    return {
        "id": f"batch_req_{number}",
        "custom_id": str(number),
        "response": response,
        "error": None,
        **more,
    }


RATED = [6, 6, 0, 0]


def test_completions_whose_questions_are_texts(asked, capsys):
    """They were taken in the file's order."""
    rows = [completion(f"Rating: {RATED[number]}", question_id=str(number)) for number in (3, 2, 1, 0)]
    assert scored(asked, capsys, "--ratings", write(asked, rows))["rating/attribute"] == 6


def test_completions_of_which_one_names_no_question(asked, capsys):
    """The order says nothing, as the others may stand in any."""
    rows = [completion(f"Rating: {RATED[number]}", question_id=number) for number in (3, 2, 1, 0)]
    rows[1]["question_id"] = 40
    assert "entry 2 names none of the 4 questions" in refused(asked, capsys, rows)


def test_a_batchs_output_is_taken_by_its_requests(asked, capsys):
    """OpenAI writes it in any order; each line has an id of its own, and so has the completion in it."""
    rows = [batch(number, completion(f"Rating: {RATED[number]}", id="chatcmpl-7")) for number in (2, 0, 3, 1)]
    result = scored(asked, capsys, "--ratings", write(asked, rows))
    assert (result["rating/attribute"], result["rating/counting"]) == (6, 0)
    flat = [row["response"]["body"] | {"custom_id": row["custom_id"]} for row in rows]
    assert scored(asked, capsys, "--ratings", write(asked, flat))["rating/attribute"] == 6


def test_a_batch_whose_requests_are_not_called_after_questions(asked, capsys):
    rows = [batch(number, completion("Rating: 6"), custom_id=f"request-{number}") for number in range(4)]
    assert "the custom_id 'request-0' is not among the 4 questions" in refused(asked, capsys, rows)


def test_a_request_of_a_batch_that_failed(asked, capsys):
    rows = [batch(number, completion("Rating: 6")) for number in range(4)]
    rows[2]["response"] = {"status_code": 429, "body": {"error": {"message": "Too many requests"}}}
    message = refused(asked, capsys, rows)
    assert "entry 3" in message and "null for a response that could not be judged" in message


@pytest.mark.parametrize("named", [True, False])
def test_several_choices_are_refused(asked, capsys, named):
    rows = [completion("Rating: 6") for _ in range(4)]
    rows[1]["choices"] *= 2
    if named:
        rows = [row | {"question_id": number} for number, row in enumerate(rows)]
    assert "entry 2 is a chat completion with 2 choices" in refused(asked, capsys, rows)
    with pytest.raises(ValueError, match=r"ratings\[1\] is a chat completion with 2 choices"):
        registry.benchmark("mmhal").compute([""] * 4, mmhal_rows(4), ratings=rows)


def test_completions_that_were_cut_off_are_told(asked, capsys):
    rows = [completion("Rating: 6", question_id=number) for number in range(4)]
    for row, end in zip(rows, ["stop", "length", None, "content_filter"], strict=True):
        row["choices"][0]["finish_reason"] = end
    told = r"2 of the 4 chat completions in .* were cut off \(finish_reason content_filter: 1, length: 1\)"
    with pytest.warns(UserWarning, match=told):
        registry.benchmark("mmhal").compute([""] * 4, mmhal_rows(4), ratings=rows)
    assert scored(asked, capsys, "--ratings", write(asked, rows))["rating"] == 6


# What stands beside a verdict


def ratings(*more):
    return [{"id": number, "rating": RATED[number]} | of_row for number, of_row in enumerate(more)]


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (
            "question",
            [f"What about thing {number}?" for number in (1, 0, 2, 3)],
            "the question 'What about thing 1?'",
        ),
        ("image", [f"images/{number}_o.jpg" for number in (1, 0, 2, 3)], "the image 'images/1_o.jpg'"),
        ("image_id", [f"a{number}" for number in (1, 0, 2, 3)], "the image_id 'a1'"),
    ],
)
def test_a_verdict_on_another_question_is_refused(asked, capsys, column, values, message):
    """Its id was counted anew in another order, say."""
    given = ratings(*({column: value} for value in values))
    assert message in refused(asked, capsys, given)
    with pytest.raises(ValueError, match="expected verdicts on the scored questions"):
        registry.benchmark("mmhal").compute([""] * 4, mmhal_rows(4), ratings=given)


@pytest.mark.parametrize("name", ["{:03d}.jpg", "{}", "saved/picture_{}.png"])
def test_verdicts_beside_images_of_own_names_are_taken(asked, capsys, name):
    """A judge's script that counts its images contradicts nothing."""
    given = ratings(*({"image": name.format(number)} for number in range(4)))
    assert scored(asked, capsys, "--ratings", write(asked, given))["rating"] == 3
    assert registry.benchmark("mmhal").compute([""] * 4, mmhal_rows(4), ratings=given)["rating"] == 3


@pytest.mark.parametrize(
    "repeated", ["Question: What  about thing {}?\nAnswer:", "what about thing {}?", "WHAT ABOUT THING {}?"]
)
def test_a_verdict_that_repeats_its_question_is_taken(asked, capsys, repeated):
    """With words around it, other spaces, or in another case."""
    given = ratings(*({"question": repeated.format(number)} for number in range(4)))
    assert scored(asked, capsys, "--ratings", write(asked, given))["rating"] == 3


def test_ratings_beside_columns_of_a_completion(asked, capsys):
    """A question may have choices, and a row may name its model, without being a chat completion."""
    given = ratings(*[{"choices": ["red", "blue"], "model": "mine"}] * 4)
    assert scored(asked, capsys, "--ratings", write(asked, given))["rating"] == 3


@pytest.mark.parametrize("column", ["response", "model_answer"])
def test_verdicts_on_another_models_responses_are_told(asked, capsys, column):
    other = ratings(*({column: f"Text {number % 2}"} for number in range(4)))
    with pytest.warns(
        UserWarning, match=rf"2 of the 4 texts under {column} in .*judged\.json are not the responses"
    ):
        scored(asked, capsys, "--ratings", write(asked, other))
    texts = [f"Text {number}" for number in range(4)]
    with pytest.warns(UserWarning, match=f"2 of the 4 texts under {column} in ratings are not the responses"):
        registry.benchmark("mmhal").compute(texts, mmhal_rows(4), ratings=other)


def test_verdicts_beside_their_responses_are_not_told(asked, capsys):
    """Whatever the spaces, and without a thought that the response begins with."""
    same = ratings(*({"response": f"Text  {number}"} for number in range(4)))
    texts = [f"<think>A dog?</think>Text {number}" for number in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".* questions are scored")
        scored(asked, capsys, "--ratings", write(asked, same))
        registry.benchmark("mmhal").compute(texts, mmhal_rows(4), ratings=same)


@pytest.mark.parametrize("value", ["judged.json", {"a": [1] * 4, "b": [2] * 4}, {1, 2}])
def test_one_value_of_ratings_for_two_models(asked, value):
    responses = {"a": ["A dog."] * 4, "b": ["A cat."] * 4}
    with pytest.raises(ValueError, match="expected a list with a value for each of the 2 files"):
        halluscope.score("mmhal", responses, str(asked / "questions.json"), ratings=value)


def test_texts_beside_numbers():
    """A row in numbers is taken as it is; a bare text beside bare numbers is a mistake."""
    compute = registry.benchmark("mmhal").compute
    mixed = [{"rating": 4}, {"judge_text": "Rating: 2"}, None]
    got = compute([""] * 3, mmhal_rows(3), ratings=mixed)
    assert (got["rating"], got["unreadable"]) == (3, pytest.approx(1 / 3))
    with pytest.raises(ValueError, match=r"ratings\[1\].*'Rating: 2'.*expected a whole number"):
        compute([""] * 2, mmhal_rows(2), ratings=[4, "Rating: 2"])


@pytest.mark.parametrize("reading", ["official", "strict"])
@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        (["3", "Good."], "2 of the 2 texts in ratings have no readable verdict"),
        ([3, 4], "the ratings are given as numbers, so no reply is read"),
    ],
)
def test_what_the_rule_cannot_read_is_refused(reading, ratings, message):
    with pytest.raises(ValueError, match=message):
        registry.benchmark("mmhal").compute([""] * 2, mmhal_rows(2), ratings=ratings, reading=reading)


# Other benchmarks


CLAIM = [{"reply": json.dumps({"verdict": "incorrect", "evidence": ["zzz"], "extra_claims": 1})}]


@pytest.mark.parametrize(
    ("name", "texts", "options", "expected", "key"),
    [
        (
            "gavie",
            [
                "Relevancy:\nscore of the answer1: 9\nAccuracy:\nscore of the answer1: 2",
                "Relevancy:\nscore of the answer1: 7\nAccuracy:\nscore of the answer1: 8",
            ],
            {},
            {"relevancy": 8, "accuracy": 5},
            "authors-",
        ),
        (
            "haloquest",
            [json.dumps({"point": "It does.", "verdict": said}) for said in ("correct", "incorrect")],
            {"prompts": "ours"},
            {"accuracy": 0.5},
            "haloquest-prompt-",
        ),
        # Claims that are no part of the response do not count, unless all do
        ("hqh", CLAIM, {}, {"main_hal": 1, "extra_hal": 0}, ""),
        ("hqh", CLAIM, {"claims": "all"}, {"main_hal": 1, "extra_hal": 1}, ""),
    ],
)
def test_other_benchmarks_texts(name, texts, options, expected, key):
    benchmark = registry.benchmark(name)
    predictions, references, _ = example(benchmark)
    count = len(texts)
    result = benchmark.compute(predictions[:count], references[:count], ratings=texts, **options)
    assert {score: result[score] for score in expected} == expected
    assert f"judge:given,{key}" in result["signature"]


def test_hallusionbenchs_texts():
    """ "It is incorrect" begins with no verdict; the authors' rule finds one in it."""
    predictions, references, _ = example(registry.benchmark("hallusionbench"))
    compute = registry.benchmark("hallusionbench").compute
    count = len(predictions)
    texts = ["Correct."] * (count - 1) + ["I find it incorrect"]
    same = [1] * count
    official = compute(predictions, references, correctness=texts, same=same, reading="official")
    by_codes = compute(predictions, references, correctness=[1] * (count - 1) + [0], same=same)
    assert official["aAcc"] == by_codes["aAcc"]
    assert official["unread"] == 0
    strict = compute(predictions, references, correctness=texts, same=same)
    assert strict["unread"] == pytest.approx(1 / count)
    for result, key in ((official, "given,authors-prompts-3,official"), (strict, "given,authors-prompts-3")):
        assert keys_of(result["signature"])["correctness"] == key
        assert keys_of(result["signature"])["same"] == "given"
    with pytest.raises(ValueError, match="reading is 'official'.*leave reading out"):
        compute(predictions, references, correctness=[1] * count, same=same, reading="official")


def test_a_thought_is_no_part_of_hallusionbenchs_texts():
    """By the authors' rule "incorrect" anywhere counts."""
    predictions, references, _ = example(registry.benchmark("hallusionbench"))
    compute = registry.benchmark("hallusionbench").compute
    count = len(predictions)
    texts = ["<think>Or is it incorrect?</think>Correct"] * count
    for options in ({}, {"reading": "official"}):
        result = compute(predictions, references, correctness=texts, same=[1] * count, **options)
        assert (result["aAcc"], result["unread"]) == (1, 0)


# Files as people's own scripts write them

VERDICTS = [f"It is fine.\n\nRating: {rating}, informative" for rating in RATED]
IN_ORDER = "holds verdicts without the questions' ids: they are taken in the questions' order"


def rows_beside(**columns):
    """A row per question, with a value of each column."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize(
    ("content", "is_told"),
    [
        (rows_beside(question=[f"What about thing {n}?" for n in range(4)], rating=VERDICTS), True),
        (rows_beside(index=[1, 2, 3, 4], rating=RATED), True),
        (rows_beside(gpt_evaluation=VERDICTS), True),
        (VERDICTS, True),
        (RATED, True),
        (
            rows_beside(question_id=range(4), prompt=["Why?"] * 4, text=["It."] * 4, gpt4_review=VERDICTS),
            False,
        ),
        (rows_beside(id=["0", "1", "2", "3"], rating=["6", "6.0", 0.0, "0"]), False),
        ({"rating": 3, "by": {"attribute": 6}, "results": rows_beside(id=range(4), rating=RATED)}, False),
        ({str(number): text for number, text in enumerate(VERDICTS)}, False),
        (dict(zip("0123", RATED, strict=True)), False),
        ({"id": {"7": 0, "8": 1, "9": 2, "6": 3}, "rating": {"7": 6, "8": 6, "9": 0, "6": 0}}, False),
    ],
    ids=[
        "text",
        "from 1",
        "no id",
        "texts",
        "numbers",
        "RLHF-V",
        "spelled",
        "object",
        "by id",
        "number by id",
        "columns",
    ],
)
def test_ratings_are_read_from_each_form_of_file(asked, capsys, content, is_told):
    """They were refused; the mean rating beside rows is none of theirs."""
    (asked / "judged.json").write_text(json.dumps(content, indent=2))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = scored(asked, capsys, "--ratings", asked / "judged.json")
    assert (result["rating/attribute"], result["rating/counting"], result["unreadable"]) == (6, 0, 0)
    assert any(IN_ORDER in str(warning.message) for warning in told) is is_told


@pytest.mark.parametrize("counter", ["id", "index"])
def test_a_count_of_rows_beside_the_question(asked, capsys, counter):
    """The count was taken for the question, as its column stood first."""
    rows = rows_beside(question_id=[3, 2, 1, 0], rating=RATED[::-1])
    for number, row in enumerate(rows):
        row[counter] = number
    assert scored(asked, capsys, "--ratings", write(asked, rows))["rating/attribute"] == 6


@pytest.mark.parametrize("ids", [[2, 3, 4, 5], [1, 2, 3, 5]])
@pytest.mark.parametrize("by_completion", [True, False])
def test_ids_that_look_like_a_count_of_other_questions(asked, capsys, ids, by_completion):
    """Ratings of questions 1 to 4 are none of these; they were taken in the file's order."""
    questions = [row | {"id": id} for row, id in zip(mmhal_rows(4), ids, strict=True)]
    (asked / "questions.json").write_text(json.dumps(questions))
    responses = [{"id": id, "response": f"Text {id}"} for id in ids]
    (asked / "mine.json").write_text(json.dumps(responses))
    rows = [{"id": number, "rating": 3} for number in range(1, 5)]
    if by_completion:
        rows = [completion("Rating: 3", id=number) for number in range(1, 5)]
    message = refused(asked, capsys, rows)
    assert "none of the 4 questions" in message or "not among the 4 questions" in message


def test_completions_that_are_written_as_texts(asked, capsys):
    """As OpenAI's client writes each (model_dump_json)."""
    texts = [json.dumps(completion(f"Rating: {rating}"), indent=4) for rating in RATED]
    assert scored(asked, capsys, "--ratings", write(asked, texts))["rating/attribute"] == 6


def test_a_table_of_ratings(asked, capsys):
    (asked / "judged.csv").write_text('id,rating,reason\n3,0,"No, wrong"\n2,,\n1,6,Yes\n0,6,Yes\n')
    result = scored(asked, capsys, "--ratings", asked / "judged.csv")
    assert (result["rating"], result["unreadable"]) == (4, 0.25)


def test_an_error_beside_ratings_is_unreadable(asked, capsys):
    rows = rows_beside(id=range(4), rating=[6, "error: timeout", 0, "3"])
    result = scored(asked, capsys, "--ratings", write(asked, rows))
    assert (result["rating"], result["unreadable"]) == (3, 0.25)


def test_a_judge_that_said_nothing(asked, capsys):
    rows = rows_beside(id=range(4), judge_text=[*VERDICTS[:2], None, VERDICTS[3]])
    result = scored(asked, capsys, "--ratings", write(asked, rows))
    assert (result["rating"], result["unreadable"]) == (4, 0.25)


@pytest.mark.filterwarnings("ignore:.*taken in the questions' order")
def test_rows_that_hold_no_verdict(asked, capsys):
    message = refused(asked, capsys, rows_beside(index=[1, 2, 3, 4], similarity_score=RATED))
    assert "Its columns are index, similarity_score: rename the one that holds it." in message
    assert "3 rows here, and 4 questions" in refused(asked, capsys, VERDICTS[:3])
    mixed = [{"id": 0, "rating": 6}, {"rating": 6}, {"id": 2, "rating": 6}, {"id": 3, "rating": 6}]
    assert "entry 2" in refused(asked, capsys, mixed)


@pytest.mark.filterwarnings("ignore:.*taken in the questions' order")
@pytest.mark.parametrize("column", ["correct", "is_prediction_correct"])
@pytest.mark.parametrize(
    "values", [[True, False, None], [1, 0, ""], ["True", "False", ""], ["yes", "no", ""]]
)
def test_truth_values_in_a_table(tmp_path, capsys, column, values):
    """As pandas writes them, of HaloQuest's three rows; the authors' notebook has a name of its own."""
    built = small_datasets.build("haloquest", tmp_path)
    lines = [f"x,{value}" for value in values]
    (tmp_path / "judged.csv").write_text(
        "\n".join([f"prediction,{column}", *lines]).replace("None", "") + "\n"
    )
    (tmp_path / "mine.json").write_text(json.dumps([{"id": number, "response": "x"} for number in range(3)]))
    words = [
        "score",
        "haloquest",
        "--responses",
        str(tmp_path / "mine.json"),
        "--dataset",
        str(built),
        "--json",
    ]
    assert cli.main([*words, "--ratings", str(tmp_path / "judged.csv")]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert (result["accuracy"], result["unreadable"]) == (0.5, 1 / 3)


# Which question a row of ratings is about

BACKWARDS = (3, 2, 1, 0)


def of_question(number, **columns):
    return {"rating": RATED[number]} | columns


def completion_of(number, **columns):
    return completion(f"Rating: {RATED[number]}", **columns)


@pytest.mark.parametrize("row_of", [of_question, completion_of])
@pytest.mark.parametrize("write_id", [float, "{}.0".format, "00{}".format, " {}".format])
@pytest.mark.parametrize("counters", [[], ["id"], ["index"]], ids=["alone", "id", "index"])
def test_ids_as_tables_write_them(asked, capsys, row_of, write_id, counters):
    """Rows were taken by a count beside their ids, and completions in the file's order."""
    rows = []
    for place, number in enumerate(BACKWARDS):
        rows.append(row_of(number, question_id=write_id(number), **dict.fromkeys(counters, place)))
    assert scored(asked, capsys, "--ratings", write(asked, rows))["rating/attribute"] == 6


@pytest.mark.parametrize("row_of", [of_question, completion_of])
@pytest.mark.parametrize("counters", [[], ["id"]], ids=["alone", "beside a count"])
@pytest.mark.parametrize("id", [True, [3], {"of": 3}, "q3", 2.5, "9" * 5000])
def test_a_question_id_that_names_no_question_is_refused(asked, capsys, row_of, counters, id):
    """The count beside it, or the file's order, was taken in its place."""
    rows = []
    for place, number in enumerate(BACKWARDS):
        rows.append(row_of(number, question_id=id, **dict.fromkeys(counters, place)))
    message = refused(asked, capsys, rows)
    assert "entry 1" in message
    assert "none of the 4 questions" in message or "not among the 4 questions" in message


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_an_id_that_is_missing_among_others_is_refused(asked, capsys, missing):
    rows = [of_question(number, id=missing if number == 2 else number) for number in BACKWARDS]
    assert "entry 2 is" in refused(asked, capsys, rows)


def test_missing_ids_of_completions_say_nothing(asked, capsys):
    """As pandas writes them, beside the ids that count."""
    rows = [completion_of(number, question_id=float("nan"), id=number) for number in BACKWARDS]
    assert scored(asked, capsys, "--ratings", write(asked, rows))["rating/attribute"] == 6


@pytest.mark.parametrize("indent", [None, 1])
def test_completions_by_their_questions_ids(asked, capsys, indent):
    """The id of the completion itself, which names no question, was taken for its key's."""
    content = {str(number): completion_of(number, id="chatcmpl-7") for number in BACKWARDS}
    (asked / "judged.json").write_text(json.dumps(content, indent=indent))
    assert scored(asked, capsys, "--ratings", asked / "judged.json")["rating/attribute"] == 6


def test_truth_values_by_ids_are_no_ratings(asked, capsys):
    """They ended in a TypeError."""
    message = refused(asked, capsys, {str(number): True for number in range(4)})
    assert "rating is True; expected a whole number from 0 to 6" in message


def score_built(name, folder, content):
    """Score three texts by a file of ratings, of the small dataset."""
    built = small_datasets.build(name, folder)
    (folder / "judged.json").write_text(json.dumps(content))
    (folder / "mine.json").write_text(json.dumps([{"response": "x"}] * 3))
    words = ["--responses", str(folder / "mine.json"), "--dataset", str(built), "--json"]
    return cli.main(["score", name, *words, "--ratings", str(folder / "judged.json")])


def test_truth_values_by_ids(tmp_path, capsys):
    assert score_built("haloquest", tmp_path, {"0": True, "1": False, "2": None}) == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert (result["accuracy"], result["unreadable"]) == (0.5, 1 / 3)


def test_one_number_by_id_where_two_are_needed(tmp_path, capsys):
    """Its ids were listed as columns, one of which was to be renamed."""
    assert score_built("gavie", tmp_path, {"0": 4, "1": 5}) == 2
    message = capsys.readouterr().err
    assert "judged.json, '0' is 4; expected an object with id, relevancy, accuracy" in message
    assert "rename" not in message


def test_a_request_that_is_not_called_after_a_question_is_quoted(asked, capsys):
    """The first request of all was, though it names one."""
    rows = [batch(number, completion_of(number)) for number in BACKWARDS]
    rows[2]["custom_id"] = "request-1"
    assert "entry 3: the custom_id 'request-1' is not among" in refused(asked, capsys, rows)


@pytest.mark.parametrize("column", ["id", "question_id"])
@pytest.mark.parametrize("write_id", [int, float, str, np.int64, "{}.0".format])
def test_rows_in_python_are_not_in_another_order(column, write_id):
    given = [of_question(number, question_id=None) | {column: write_id(number)} for number in BACKWARDS]
    compute = registry.benchmark("mmhal").compute
    with pytest.raises(ValueError, match=r"ratings\[0\] has the id .*3.*, but the row there has 0"):
        compute([""] * 4, mmhal_rows(4), ratings=given)
    assert compute([""] * 4, mmhal_rows(4), ratings=given[::-1])["rating/attribute"] == 6
