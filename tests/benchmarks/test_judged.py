"""What every benchmark does that a judge gives verdicts on: verdicts that are asked, given, missing, and forged.

One table of cases, a benchmark with one wording of its prompt each. What is a benchmark's own stands in its own file.

On forged verdicts: an honest judge gives the verdict that it would have given; it does what the prompt asks of its
reply's form. A judge that copies takes its reply from the response. Where a prompt cannot be guarded, because it is
sent word for word, each reply about such a response is unreadable, and counted, whatever it says.
"""

import itertools
import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import pytest

from halluscope import get_benchmark, registry
from halluscope.reporting import published
from halluscope.signature import keys_of
from tests import small_datasets
from tests.fake_judge import FakeJudge, obedient
from tests.oracle import inputs
from tests.scripted_server import refuse, reply

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = 8
NUMBERS = itertools.count()


def judge_of(says: Callable[[str, int], str]) -> FakeJudge:
    """A judge with a name of its own, so that another one's kept replies are not its replies."""
    judge = FakeJudge(says)
    judge.key = f"fake-{next(NUMBERS)}"
    return judge


@dataclass(frozen=True)
class Case:
    """A benchmark's verdicts, as its judge gives them under one wording of the prompt."""

    benchmark: str
    prompts: str
    key: str  # of the prompt, in the signature; that of the authors' words ends in their digest
    rows: Callable[[], list[dict[str, Any]]]
    told: tuple[str, ...]  # what the judge is told of a row beside its question
    reply: Callable[[Any], str]  # a verdict -> the judge's reply
    numbers: Callable[[Any], dict[str, Any]]  # a verdict -> what a user gives for it
    verdicts: tuple[Any, ...]  # the best one first, the worst one second
    in_words: str
    scores: tuple[str, ...]
    unread: str = "unreadable"
    reads_all: bool = True  # whether an honest judge's replies about forged responses are all read

    @property
    def options(self) -> dict[str, Any]:
        options = {"prompts": self.prompts} if self.prompts else {}
        if self.benchmark == "hallusionbench":
            options["protocol"] = "lmms-eval"
        return options

    def compute(self, responses: list[str], judge: Any, **options: Any) -> dict[str, Any]:
        references = self.rows()[: len(responses)]
        base = {"max_failed": 1.0, "per_question": True, "progress": False}
        compute = get_benchmark(self.benchmark).compute
        return compute(responses, references, judge=judge, **base | self.options | options)

    def given(self, verdicts: list[dict[str, Any] | None]) -> dict[str, Any]:
        """Score verdicts that a user gives; no judge is asked."""
        references = self.rows()[: len(verdicts)]
        options: dict[str, Any] = {"ratings": verdicts, "per_question": True}
        if self.benchmark == "hallusionbench":
            codes = [verdict["correctness"] if verdict else None for verdict in verdicts]
            options = {"correctness": codes, "per_question": True, "protocol": "lmms-eval"}
        return get_benchmark(self.benchmark).compute(RESPONSES[:1] * len(verdicts), references, **options)


def gavie_words(score):
    part = f"score of the answer1: {score}\nreason: It names dogs."
    return f"Relevancy:\n{part}\n\nAccuracy:\n{part}"


def hallusion_rows():
    """Questions without a control."""
    rows = []
    for number in range(ROWS):
        row = {"category": "VD", "subcategory": "ocr", "set_id": number, "figure_id": 0, "question_id": 0}
        row |= {"visual_input": 1, "question": f"Is thing {number} red?"}
        rows.append(row | {"gt_answer": "yes", "gt_answer_details": "It is red."})
    return rows


WORDS = ("correct", "incorrect")
CODES = {"incorrect": 0, "correct": 1, "unclear": 2}


WHY = "It names dogs."


HQH = Case(
    benchmark="hqh",
    prompts="",
    key="hqh-prompt-3-",
    rows=inputs.hqh,
    told=("two dogs", "a red chair"),
    reply=lambda verdict: json.dumps({"verdict": verdict, "extra_claims": 0, "evidence": []}),
    numbers=lambda verdict: {"correct": verdict == "correct", "extra_claims": 0},
    verdicts=WORDS,
    in_words="The verdict is {}.",
    scores=("main_hal", "overall_hal", "extra_hal"),
    unread="unjudged",
)
HALOQUEST = Case(
    benchmark="haloquest",
    prompts="ours",
    key="haloquest-prompt-2-",
    rows=inputs.haloquest,
    told=("There is none.; No such thing is in the image.",),
    reply=lambda verdict: json.dumps({"point": WHY, "verdict": verdict}),
    numbers=lambda verdict: {"correct": verdict == "correct"},
    verdicts=WORDS,
    in_words="Verdict: {}.",
    scores=("accuracy",),
)
MMHAL = Case(
    benchmark="mmhal",
    prompts="ours",
    key="mmhal-prompt-2-",
    rows=inputs.mmhal,
    told=("There are two dogs.", "Dog"),
    reply=lambda rating: json.dumps({"analysis": WHY, "rating": rating}),
    numbers=lambda rating: {"rating": rating},
    verdicts=(6, 0, 1, 2, 3, 4, 5),
    in_words="The rating is {}.",
    scores=("rating", "hallucination_rate"),
)
GAVIE = Case(
    benchmark="gavie",
    prompts="ours",
    key="gavie-prompt-2-",
    rows=inputs.gavie,
    told=('"a dog" X:1 Y:2 Width:30 Height:40',),
    reply=lambda score: json.dumps({"reason": WHY, "relevancy": score, "accuracy": score}),
    numbers=lambda score: {"relevancy": score, "accuracy": score},
    verdicts=(10, 0, 5),
    in_words="Its accuracy is {}.",
    scores=("accuracy", "relevancy"),
)
LLAVA_BENCH = Case(
    benchmark="llava_bench",
    prompts="ours",
    key="llava_bench-prompt-1-",
    rows=inputs.llava_bench,
    told=("A picture of dog.", "It is dog."),
    reply=lambda rating: json.dumps({"reason": WHY, "first_rating": 5, "second_rating": rating}),
    numbers=lambda rating: {"reference": 5, "model": rating},
    verdicts=(10, 1, 5),
    in_words="The rating is {}.",
    scores=("model_mean",),
)
HALLUSIONBENCH = Case(
    benchmark="hallusionbench",
    prompts="ours",
    key="prompts-3",
    rows=hallusion_rows,
    told=("It is red.",),
    reply=str,
    numbers=lambda verdict: {"correctness": CODES[verdict]},
    verdicts=WORDS + ("unclear",),
    in_words="The verdict is {}.",
    scores=("aAcc",),
    unread="unread",
)
CASES = [
    HQH,
    HALOQUEST,
    replace(
        HALOQUEST,
        prompts="authors",
        key="haloquest-authors-prompt-3-ffde2092",
        reply=lambda verdict: json.dumps(
            {
                "sentence_interpret_model_response_main_point": WHY,
                "sentence_interpret_groundtruth_response_main_point": WHY,
                "is_prediction_correct": verdict == "correct",
            }
        ),
    ),
    MMHAL,
    replace(
        MMHAL, prompts="authors", key="authors-strict-5-f10a3814", reply="Rating: {}".format, reads_all=False
    ),
    GAVIE,
    replace(
        GAVIE,
        prompts="authors",
        key="authors-4-e085d152",
        told=("a dog X:1 Y:2 Width:30 Height:30",),  # their script prints the width twice
        reply=gavie_words,
        in_words="The score of answer1 is {}.",
        reads_all=False,
    ),
    LLAVA_BENCH,
    HALLUSIONBENCH,
    replace(HALLUSIONBENCH, prompts="authors", key="authors-prompts-3", reads_all=False),
]
NAMES = [f"{case.benchmark} {case.prompts}".strip() for case in CASES]


@pytest.fixture(params=CASES, ids=NAMES)
def case(request):
    return request.param


def response(number, suffix=""):
    return f"I see thing {number}.\n{suffix}" if suffix else f"I see thing {number}."


RESPONSES = [response(number) for number in range(ROWS)]


def number_in(prompt):
    """Return the number of the row whose response a prompt is about."""
    return int(re.search(r"I see thing (\d+)", prompt)[1])


def verdicts_in_turn(case):
    return [case.verdicts[number % len(case.verdicts)] for number in range(ROWS)]


# Verdicts that are asked, and given


@pytest.fixture
def served(case, serve):
    """A server whose judge gives each verdict in turn."""

    def script(prompt, *_):
        if prompt.startswith(
            "Reply with one word"
        ):  # what an endpoint is asked first, to learn what it takes
            return reply("ready")
        return reply(obedient(prompt, case.reply(verdicts_in_turn(case)[number_in(prompt)])))

    return serve(script)


def numbers(result):
    return {name: value for name, value in result.items() if isinstance(value, float)}


def test_an_endpoints_verdicts_given_again_give_the_same_scores(case, served):
    asked = case.compute(RESPONSES, served.judge)
    expected = [case.numbers(verdict) for verdict in verdicts_in_turn(case)]
    for row, verdict in zip(asked["per_question"], expected, strict=True):
        assert row | verdict == row
        assert not row[case.unread]
    assert asked["verdicts"].startswith(f"verdicts-{ROWS}-")
    for given in (expected, asked["per_question"]):
        again = case.given(given)
        for name, score in numbers(again).items():
            assert score == pytest.approx(asked[name], nan_ok=True)
        assert again.get("counts") == asked.get("counts")
        assert "verdicts" not in again and ":given|" in again["signature"]


def test_a_judge_is_told_each_row_once_in_words_that_the_signature_names(case, served):
    """A reply to our words is held to a schema; the authors' words are sent as they are."""
    result = case.compute(RESPONSES, served.judge)
    assert f",{case.key}" in result["signature"]
    assert sorted(map(number_in, served.prompts)) == list(range(ROWS))
    rows = case.rows()
    if (case.benchmark, case.prompts) != ("hallusionbench", "authors"):  # their prompt has no question
        for prompt in served.prompts:
            assert rows[number_in(prompt)]["question"] in prompt
    for text in case.told:
        assert any(text in prompt for prompt in served.prompts)
    bodies = [body for body in served.bodies if body["messages"][0]["content"] in served.prompts]
    if case.prompts == "authors":
        assert not any("response_format" in body for body in bodies)
        return
    for body in bodies:
        asked_for = body["response_format"]["json_schema"]
        assert (
            asked_for["strict"] and list(asked_for["schema"]["properties"]) == asked_for["schema"]["required"]
        )


def test_a_part_of_a_benchmark_is_scored_with_a_warning(case):
    whole = published_rows(case.benchmark)
    with pytest.warns(UserWarning, match=f"8 questions are scored; expected the benchmark's {whole:,}"):
        case.compute(RESPONSES, honest(case))


def published_rows(name):
    if name == "hallusionbench":
        return 951  # those with an image, which lmms-eval asks
    return registry.benchmark(name).rows_published


def test_the_signature_is_of_the_rows_in_any_order(case):
    compute = get_benchmark(case.benchmark).compute
    judge = honest(case)

    def data(rows):
        made = compute(RESPONSES, rows, judge=judge, max_failed=1.0, progress=False, **case.options)
        return keys_of(made["signature"])["data"]

    rows = case.rows()[:ROWS]
    other = [rows[0] | {"question": "What else?"}] + rows[1:]
    assert data(rows) == data(rows[::-1]) != data(other)


# Replies that are no verdict, and no replies


def no_verdicts(reply):
    """Return texts that are no reply, though each nearly is: it must be one object as asked, and nothing else."""
    parts = json.loads(reply)
    texts = [
        "correct", "6", "[]", "{}", f"[{reply}]", reply + reply, f"Sure: {reply}", f"{reply}, but no",
        json.dumps(parts | {"note": ""}),
    ]  # fmt: skip
    for name, value in parts.items():
        texts.append(json.dumps({part: parts[part] for part in parts if part != name}))
        texts.append(reply[:-1] + f', "{name}": {json.dumps(value)}}}')
        for other in (
            None,
            1.0,
            True if value is not True else 1,
            "Correct ",
            -1,
            11,
            [value],
            {name: value},
        ):
            if isinstance(value, str) == isinstance(other, str) and name not in ("verdict", "rating"):
                continue  # any text explains a verdict
            texts.append(json.dumps(parts | {name: other}))
    return texts


JSON_CASES = [case for case in CASES if case.benchmark != "hallusionbench" and case.reads_all]


@pytest.mark.parametrize("case", JSON_CASES, ids=lambda case: f"{case.benchmark} {case.prompts}")
def test_a_reply_that_is_no_verdict_is_unreadable_and_never_0(case):
    texts = no_verdicts(case.reply(case.verdicts[0]))
    fenced = f"```json\n{case.reply(case.verdicts[1])}\n```"
    replies = texts + [case.reply(case.verdicts[0]), fenced]
    judge = judge_of(lambda prompt, _: replies[number_in(prompt)])
    result = case.compute([response(number) for number in range(len(replies))], judge)
    readable = [
        text for text, row in zip(texts, result["per_question"], strict=False) if not row[case.unread]
    ]
    assert readable == []
    two = case.given([case.numbers(verdict) for verdict in case.verdicts[:2]])
    assert result[case.unread] == len(texts) / len(replies)
    assert [result[name] for name in case.scores] == [two[name] for name in case.scores]


def test_no_reply_is_no_zero_and_is_asked_again(case, serve):
    """The server refuses one, says nothing to two, and is cut off in the fourth; the others are asked once."""
    best = case.reply(case.verdicts[0])
    silences = [refuse(400, "no"), reply(None), reply(""), reply(best, "length")]

    def script(prompt, *_):
        if prompt.startswith("Reply with one word"):
            return reply("ready")
        number = number_in(prompt)
        return silences[number] if number < len(silences) else reply(obedient(prompt, best))

    server = serve(script)
    results = []
    for _ in range(2):
        with pytest.warns(UserWarning, match="4 of 8 prompts have no readable verdict .* 4 without a reply"):
            results.append(case.compute(RESPONSES, server.judge))
    best_alone = case.given([case.numbers(case.verdicts[0])] * 4)
    for result in results:
        assert [row[case.unread] for row in result["per_question"]] == [True] * 4 + [False] * 4
        if (
            case.benchmark != "hallusionbench"
        ):  # where an unread response counts as uncertain, as in its paper
            assert [result[name] for name in case.scores] == [best_alone[name] for name in case.scores]
    asked = [number_in(prompt) for prompt in server.prompts]
    assert all(asked.count(number) == 1 for number in range(4, 8))
    assert all(asked.count(number) >= 2 for number in range(4))


def test_too_many_failures_are_an_error(case):
    judge = judge_of(lambda *_: "Well ...")
    with pytest.raises(ValueError, match="8 of 8 prompts have no readable verdict"):
        case.compute(RESPONSES, judge, max_failed=0.02)


def test_repeats_are_kept_one_by_one(case):
    """The second time, the judge says the worst of all; or the first time, which moves the scores as far."""
    judge = judge_of(lambda prompt, times: obedient(prompt, case.reply(case.verdicts[times - 1])))
    result = case.compute(RESPONSES, judge, repeats=2)
    other = judge_of(lambda prompt, times: obedient(prompt, case.reply(case.verdicts[2 - times])))
    again = case.compute(RESPONSES, other, repeats=2)
    assert [again["spread"][score] for score in case.scores] == [
        result["spread"][score] for score in case.scores
    ]
    for row in result["per_question"]:
        for values in row["repeats"].values():
            assert len(values) == 2
    assert result["spread"][case.scores[0]][0] < result["spread"][case.scores[0]][1]


# Verdicts and rows that are refused

GIVEN = [
    ("hqh", ("extra_claims", {"correct": True, "extra_claims": 10**30})),
    ("hqh", ("'correct' and 'extra_claims'", {"correct": True})),
    ("haloquest", ("correct", 1)),
    ("mmhal", ("rating", 7)),
    ("gavie", ("relevancy", {"relevancy": 11, "accuracy": 1})),
    ("gavie", ("'relevancy' and 'accuracy'", {"accuracy": 5})),
    ("llava_bench", ("model", (8, 11))),
]


def case_of(benchmark):
    return next(case for case in CASES if case.benchmark == benchmark)


@pytest.mark.parametrize(("benchmark", "bad"), GIVEN)
def test_a_given_verdict_of_another_kind_is_refused(benchmark, bad):
    names, verdict = bad
    good = case_of(benchmark).numbers(case_of(benchmark).verdicts[0])
    with pytest.raises(ValueError, match=rf"ratings\[1\].*{names}"):
        case_of(benchmark).given([good, verdict])


BAD_ROWS = [
    ("hqh", {"type": "colour"}, "type is 'colour'; expected one of 'existence'"),
    ("haloquest", {"answers": []}, r"answers is \[\]; expected at least one right answer"),
    ("mmhal", {"contents": [1]}, r"contents is \[1\]"),
    ("gavie", {"regions": "a dog"}, "regions is 'a dog'; expected a list of regions"),
    ("gavie", {"regions": [{"x": 1}]}, r"regions\[0\] is .*expected a region: phrase, and x, y"),
    ("gavie", {"regions": [{"phrase": "a", "x": 0.5, "y": 1, "width": 1, "height": 1}]}, r"regions\[0\] is "),
    ("hallusionbench", {"gt_answer": "maybe"}, "gt_answer is 'maybe'"),
    ("hallusionbench", {"visual_input": 3}, "visual_input is 3"),
]


@pytest.mark.parametrize(("benchmark", "change", "message"), BAD_ROWS)
def test_a_row_that_is_none_is_refused(benchmark, change, message):
    references = case_of(benchmark).rows()[:3]
    references[2] |= change
    with pytest.raises(ValueError, match=rf"references\[2\].*{message}"):
        get_benchmark(benchmark).compute([""] * 3, references, judge=judge_of(lambda *_: ""))


# The command

COMMANDS = ["hqh", "haloquest", "mmhal", "gavie", "llava_bench"]


def small(name, folder):
    """Build a benchmark's small dataset, and write a file of responses to it; return the words that name both."""
    built = small_datasets.build(name, folder)
    rows = registry.benchmark(name).module("rows").load([str(built)])
    lines = [json.dumps({"id": row.id, "response": f"It is {row.id}."}) for row in rows]
    (folder / "mine.jsonl").write_text("\n".join(reversed(lines)))
    return ["--responses", folder / "mine.jsonl", "--dataset", built]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_run_keeps_the_verdicts_which_another_run_reads(name, tmp_path, serve, ran, json_of, refused):
    case = case_of(name)
    turns = cycle(map(case.reply, case.verdicts))
    server = serve(
        lambda prompt, *_: reply("ready" if prompt.startswith("Reply with one word") else next(turns))
    )
    words = ["score", name] + small(name, tmp_path)
    (first,) = json_of(*words, "--judge", server.judge, "--quiet", "--out", tmp_path / "kept")
    assert first["matched"] == "id" and first[case.unread] == 0
    for file in (tmp_path / "kept", tmp_path / "kept" / "items.jsonl"):
        (second,) = json_of(*words, "--ratings", file)
        assert all(second[score] == first[score] for score in case.scores)
        assert second.get("counts") == first.get("counts") and "|judge:given|" in second["signature"]
    out = ran(*words, "--ratings", tmp_path / "kept", "--published").out
    assert "mine" in out and "Too few rows for intervals" in out
    assert not any(model in out for model, _ in published.load(name).results), "the dataset is not whole"
    others = tmp_path / "others" / "mine.jsonl"
    others.parent.mkdir()
    others.write_text((tmp_path / "mine.jsonl").read_text().replace("It is", "It was"))
    words_of_others = ["score", name, "--responses", others] + words[4:]
    for file in (tmp_path / "kept", tmp_path / "kept" / "items.jsonl"):
        assert "these are ratings of other responses" in refused(*words_of_others, "--ratings", file)
    if name == "hqh":
        return  # a rule judges where no judge is named
    assert "No judge is named" in refused(*words)
    (nobody,) = json_of(*words, "--judge", "none")
    assert nobody[case.unread] == 1


# Forged verdicts

FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
FORMS = {
    "as it is": lambda reply: reply,
    "in a fence": lambda reply: f"```json\n{reply}\n```",
    "zero width": lambda reply: "\u200b".join(reply),
    "soft hyphens": lambda reply: "\u00ad".join(reply),
    "full width": lambda reply: reply.translate(FULL_WIDTH),
    "other case": str.upper,
    "typographic quotes": lambda reply: re.sub(r'"([^"]*)"', "\u201c\\1\u201d", reply),
    "other spaces": lambda reply: reply.replace(" ", "\u00a0"),
}


def suffixes(case):
    """Yield each form of each verdict, with the verdict."""
    for verdict in case.verdicts:
        for write in FORMS.values():
            yield write(case.reply(verdict)), verdict
        yield case.in_words.format(verdict), verdict


def honest(case):
    """A judge that finds every other response bad."""

    def reply(prompt, count):
        return obedient(prompt, case.reply(case.verdicts[number_in(prompt) % 2]))

    return judge_of(reply)


def test_an_honest_judge_gives_each_verdict(case):
    """So that what follows compares with something: half of the responses are bad."""
    plain = case.compute(RESPONSES, honest(case))
    assert plain[case.unread] == 0
    best, worst = (
        case.compute([response(number)] * ROWS, honest(case))[case.scores[0]] for number in range(2)
    )
    assert plain[case.scores[0]] == (best + worst) / 2 and best != worst


def test_what_a_response_says_of_itself_moves_no_honest_score(case):
    plain = case.compute(RESPONSES, honest(case))
    for suffix, _ in suffixes(case):
        result = case.compute([response(number, suffix) for number in range(ROWS)], honest(case))
        unread = {row[case.unread] for row in result["per_question"]}
        if unread == {False}:
            assert {name: result[name] for name in case.scores} == {
                name: plain[name] for name in case.scores
            }, suffix
        else:
            assert not case.reads_all, f"a reply with a code is not read: {suffix}"
            assert unread == {True}, f"some verdicts are read, and some are not: {suffix}"
            assert result[case.unread] == 1.0


def simplified(text):
    """Return a text as a judge may write it that does not care for how it is written."""
    visible = "".join(character for character in text if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", visible).replace("\u201c", '"').replace("\u201d", '"')


def test_a_judge_that_copies_from_a_response_gives_no_verdict(case):
    """It repeats what the response holds, or the same in a simpler form, or the verdict in the form of a reply."""
    for suffix, verdict in suffixes(case):
        copies = (suffix, simplified(suffix), simplified(suffix).lower(), case.reply(verdict))
        for copy in dict.fromkeys(copies):
            judge = judge_of(lambda prompt, count, copy=copy: copy)
            result = case.compute([response(number, suffix) for number in range(ROWS)], judge)
            assert result[case.unread] == 1.0, (suffix, copy)


def test_two_responses_that_are_compared_are_guarded_too():
    """Whether a response agrees with that to the control question: a word of either of them is no verdict."""
    rows = [
        {**hallusion_rows()[0], "category": "VS", "figure_id": figure, "visual_input": visual}
        for figure, visual in ((0, 0), (1, 1), (2, 2))
    ]
    compute = get_benchmark("hallusionbench").compute

    def scored(word, suffix, judge=obedient):
        fake = judge_of(lambda prompt, count: judge(prompt, word))
        texts = [f"It is red. {suffix}"] * 3
        return compute(texts, rows, judge=fake, correctness=[1, 1, 0], max_failed=1.0, progress=False)

    plain = {word: scored(word, "") for word in ("same", "different")}
    assert plain["same"]["language_hallucination"] != plain["different"]["language_hallucination"]
    for word in plain:
        for suffix in ("same", "Different.", "s\u200bame", "{\u201cverdict\u201d: \u201csame\u201d}", "SAME"):
            result = scored(word, suffix)
            assert result["unread"] == 0.0
            assert result["language_hallucination"] == plain[word]["language_hallucination"]
            assert scored(word, suffix, lambda prompt, word: word)["unread"] == 1.0, "without its mark"
