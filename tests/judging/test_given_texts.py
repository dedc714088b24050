"""Verdicts that a user gives as a judge's texts are read by the rule that is named; numbers are read by none."""

import json

import pytest

from halluscope import cli, registry
from halluscope.signature import keys_of
from tests.test_contract import example

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* questions are scored"),
    pytest.mark.filterwarnings("ignore:.* texts in .* have no readable verdict"),
    pytest.mark.filterwarnings("ignore:.* texts in .* begin with no verdict"),
    pytest.mark.filterwarnings("ignore:.* holds chat completions without ids"),
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
