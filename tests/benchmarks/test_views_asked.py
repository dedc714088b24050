"""Views of benchmarks that ask questions: for each one, the scores are recomputed from the items."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from halluscope import registry
from halluscope.benchmarks.pope.metric import CONVENTIONS
from halluscope.benchmarks.pope.rows import SAMPLINGS, ObjectQuestion
from halluscope.reporting.report_items import (
    FOUND,
    HALLUCINATED,
    MISSED,
    Item,
    Shown,
    pieces,
)
from halluscope.responses.matching import Matched
from halluscope.responses.parsers import PARSERS
from halluscope.runs import folder as folders
from halluscope.runs import run as runs
from halluscope.runs.page import shown
from halluscope.runs.run import Run
from halluscope.runs.verifying import differences
from halluscope.scoring import Ready
from halluscope.signature import keys_of
from tests.fake_judge import FakeJudge
from tests.oracle import inputs
from tests.runs.made import made
from tests.test_frozen import control_pairs

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* questions are scored"),
    pytest.mark.filterwarnings("ignore:.* prompts have no readable verdict"),
    pytest.mark.filterwarnings("ignore:.* extra claims that the judge quotes"),
]
NAN = math.nan
SAID = ("Yes.", "No, there is none.", "I cannot tell.", "Perhaps", "", "<think>No.</think> Yes.")
"""What LVLMs say."""

fast = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def run_of(name: str, rows: Iterable[Any], texts: Sequence[str], given: Any = None, **options: Any) -> Run:
    """Responses to rows of a benchmark, scored.

    Args:
        name: of the benchmark.
        rows: of its dataset.
        texts: the responses.
        given: options that the room's `inputs` takes.
        options: of the metric.
    """
    benchmark = registry.benchmark(name)
    room = benchmark.module("rows")
    questions = room.read_all(rows)
    matched = Matched("mine", questions, list(texts), by="id", of=len(questions))
    return runs.score(benchmark, Ready(matched, room.inputs(questions, **(given or {}))), options)


def with_error(items: Sequence[Item], *errors: str) -> float:
    """The share of items that have one of these errors."""
    return share([bool({*errors} & {*item.errors}) for item in items])


def share(hits: Sequence[bool | float]) -> float:
    return sum(hits) / len(hits) if hits else NAN


def about(value: float) -> Any:
    return pytest.approx(value, abs=1e-12, nan_ok=True)


def facts(item: Item) -> dict[str, list[str]]:
    return {fact.name: [text for text, _ in fact.values] for fact in item.facts}


# Every room


@pytest.mark.parametrize("name", ["hqh", "haloquest", "gavie", "mmhal", "hallusionbench"])
def test_judges_that_change_their_mind_are_seen(name: str, tmp_path: Any) -> None:
    """For each benchmark, the second repeat judges one response differently, and cannot read another."""
    wordings = {
        "hqh": ('{"verdict": "correct", "extra_claims": 0, "evidence": []}', "correct", "incorrect"),
        "haloquest": ('{"point": "A.", "verdict": "correct"}', "correct", "incorrect"),
        "gavie": ('{"reason": "", "relevancy": 9, "accuracy": 7}', "7", "6"),
        "mmhal": ('{"analysis": "", "rating": 4}', "4", "2"),
        "hallusionbench": ("correct", "correct", "incorrect"),
    }
    reply, word, other = wordings[name]
    numbers: dict[str, int] = {}

    def verdict(prompt: str, times: int) -> str:
        number = numbers.setdefault(prompt, len(numbers))
        if name == "hallusionbench" and "same" in prompt.split("\n")[0]:
            return "same"
        if times == 1 or number > 1:
            return reply
        return "nonsense" if number else reply.replace(word, other)

    judge = FakeJudge(verdict)
    run = made(registry.benchmark(name), tmp_path, judge=judge, repeats=2, max_failed=1.0, thoughts="kept")
    found = shown(run)
    unread_counts = name == "hallusionbench"  # as uncertain
    assert [item.disputed for item in found.items][:3] == [True, unread_counts, False]
    assert all(len(values) == 2 for row in run.found for values in row["repeats"].values())
    folders.write([run], tmp_path / "run")
    assert list(differences(tmp_path / "run")) == []


@pytest.mark.parametrize("name", ["hqh", "haloquest", "gavie", "mmhal"])
def test_what_judges_write_cannot_steer(name: str, tmp_path: Any, monkeypatch: Any) -> None:
    """Reasons, points and quotes hold control characters, and an access key that a server repeats."""
    monkeypatch.setenv("SOME_API_KEY", "sk-secret-0123456789")
    bad = "Dog \x1b[31m \u202e sk-secret-0123456789\n</script>"
    replies = {
        "hqh": {"verdict": "correct", "extra_claims": 1, "evidence": [f"\ufb01ne {bad}"]},
        "haloquest": {"point": bad, "verdict": "correct"},
        "gavie": {"reason": bad, "relevancy": 9, "accuracy": 7},
        "mmhal": {"analysis": bad, "rating": 2},
    }
    judge = FakeJudge(lambda prompt, _: json.dumps(replies[name]))
    texts = [f"A fine {bad}!"]  # and so the quote, whose first letters are one, is counted, but not marked
    found = shown(made(registry.benchmark(name), tmp_path, texts, judge=judge, max_failed=1.0))
    told = [text for item in found.items for fact in item.facts for text, _ in fact.values]
    assert any("Dog \\x1b" in text for text in told)
    assert not any({*text} & {*"\x1b\u202e\n"} or "secret" in text for text in told)


# POPE


def recounted(items: Sequence[Item], left_out: bool) -> dict[str, float]:
    """Compute POPE's scores from the items alone, with or without the unreadable responses."""
    came = Counter(outcome for item in items for outcome in item.classes.values())
    said = came[FOUND] + came[HALLUCINATED]
    counted = [item for item in items if not (left_out and "unreadable" in item.errors)]
    return {
        "accuracy": 1 - with_error(counted, "wrong yes", "wrong no", "unreadable") if counted else NAN,
        "precision": came[FOUND] / said if said else NAN,
        "recall": came[FOUND] / present if (present := came[FOUND] + came[MISSED]) else NAN,
        "unparsed": with_error(items, "unreadable"),
    }


def check_pope(found: Shown) -> None:
    scores: Mapping[str, Any] = found.scores
    groups = {"": (found.items, scores)}
    for name in ("random", "popular", "adversarial"):
        table = {key.removesuffix(f"/{name}"): scores[key] for key in scores if key.endswith(f"/{name}")}
        if table:
            groups[name] = ([item for item in found.items if item.parts == {"sampling": name}], table)
    assert len(groups) > 1 or not found.items[0].parts
    keys = keys_of(scores["signature"])
    left_out = (keys.get("convention") or keys["parser"]) == "repope"
    for items, table in groups.values():
        own = recounted(items, left_out)
        assert {name: table[name] for name in own} == {name: about(value) for name, value in own.items()}
        assert len(items) == table["rows"]


@fast
@given(
    answers=st.lists(
        st.tuples(st.sampled_from(["yes", "no"]), st.sampled_from(SAID)), min_size=1, max_size=20
    ),
    parser=st.sampled_from(sorted(PARSERS)),
    convention=st.sampled_from([None, *CONVENTIONS]),
    sampled=st.booleans(),
)
def test_pope_from_the_items_back_to_the_scores(
    answers: list[tuple[str, str]], parser: str, convention: str | None, sampled: bool
) -> None:
    # these parsers leave nothing unread, so RePOPE's convention is refused
    assume(convention != "repope" or parser not in ("pope", "vcd"))
    rows = [
        ObjectQuestion(n, n % 3, "", "Is it?", f"thing {n % 4}", answer, SAMPLINGS[n % 3] if sampled else "")
        for n, (answer, _) in enumerate(answers)
    ]
    texts = [text for _, text in answers]
    choice = {} if convention is None else {"convention": convention}
    check_pope(shown(run_of("pope", rows, texts, parser=parser, **choice)))


def test_pope_tells_each_kind_of_error() -> None:
    """Yes and no, right and wrong, and a reply that says neither, read strictly."""
    rows = [
        ObjectQuestion(n, 7, "7.jpg", f"Is there a {thing}?", thing, answer, "random")
        for n, (thing, answer) in enumerate(zip("abcdef", ["yes", "no"] * 3, strict=True))
    ]
    texts = ["Yes.", "Yes.", "No.", "No.", "Perhaps.", "Perhaps."]
    corrected = ["yes", "yes", "yes", None, "no", "no"]
    items = shown(run_of("pope", rows, texts, parser="strict", corrected=corrected)).items
    errors = [[], ["wrong yes"], ["wrong no"], [], ["unreadable"], ["unreadable"]]
    assert [item.errors for item in items] == errors
    outcomes = [{"a": "found"}, {"b": "hallucinated"}, {"c": "missed"}, {"d": "absent"}, {"e": "missed"}, {}]
    assert [item.classes for item in items] == outcomes
    assert (items[1].id, items[1].image, items[1].question) == ("random 1", "7.jpg", "Is there a b?")
    assert facts(items[1]) == {"read as": ["yes"], "right answer": ["no"], "corrected answer": ["yes"]}
    assert facts(items[3])["corrected answer"] == ["none: the question is ambiguous"]
    assert max(items, key=lambda item: item.badness) is items[1]


# HallusionBench


def check_hallusionbench(found: Shown) -> None:
    """Compute aAcc, qAcc, fAcc, those of the parts, and the leaves from the items alone."""
    scores, items = found.scores, found.items
    right = {item.id: not [error for error in item.errors if error != "unreadable"] for item in items}
    assert scores["aAcc"] == about(share([*right.values()]))
    for score, key in (("qAcc", "group"), ("fAcc", "image")):
        together: dict[str, list[bool]] = defaultdict(list)
        for item in items:
            if (name := getattr(item, key)) is not None:
                together[name].append(right[item.id])
        assert scores[score] == about(share([all(answers) for answers in together.values()]))
        told = "control pair" if score == "qAcc" else "figure"
        for item in items:
            if (name := getattr(item, key)) is not None:
                assert facts(item)[told] == [f"{sum(together[name])} of {len(together[name])} right"]
    for part in ("category", "subcategory"):
        for name in {item.parts[part] for item in items}:
            assert scores[f"aAcc/{name}"] == about(
                share([right[i.id] for i in items if i.parts[part] == name])
            )
    failed = [item for item in items if not right[item.id]]
    for failure in ("language_hallucination", "visual_illusion", "mixed"):
        if not math.isnan(scores[failure]):
            assert scores[failure] == about(with_error(failed, failure.replace("_", " ")))
    assert {item.id for item in failed} >= {item.id for item in items if "failure" in facts(item)}


@fast
@given(data=st.data(), protocol=st.sampled_from(["official", "lmms-eval", "vlmevalkit"]))
def test_hallusionbench_from_the_items_back_to_the_scores(data: Any, protocol: str) -> None:
    rows = [row for row in control_pairs() if protocol == "official" or row["visual_input"]]
    size = len(rows)
    codes = st.lists(st.integers(0, 2), min_size=size, max_size=size)
    given_ = {
        "correctness": data.draw(codes),
        "same": data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)),
    }
    found = shown(run_of("hallusionbench", rows, ["Yes."] * size, protocol=protocol, **given_))
    check_hallusionbench(found)
    assert all(
        ("failure" in facts(item)) == (bool(item.errors) and protocol == "official") for item in found.items
    )


VD = ("VD", ((0, 1), (1, 2)))
VS = ("VS", ((0, 0), (1, 1), (2, 2)))
WHY = [
    # category and figures, verdicts, whether each answer is the control's, what the last one fails of, and why
    (VD, [1, 0], 1, "mixed", "about the original"),
    (VD, [1, 0], 0, "visual illusion", "at the image"),
    (VS, [1, 1, 0], 1, "language hallucination", "the same as its response without an image"),
    (VS, [0, 1, 2], 0, "mixed", "in another way"),
]


@pytest.mark.parametrize(("pairs", "verdicts", "same", "error", "why"), WHY)
def test_hallusionbench_says_why_a_response_fails(
    pairs: Any, verdicts: list[int], same: int, error: str, why: str
) -> None:
    category, figures = pairs
    rows = []
    for figure, visual in figures:
        place = {
            "category": category,
            "subcategory": "ocr",
            "set_id": 3,
            "figure_id": figure,
            "question_id": 1,
        }
        told = {"question": "Is it red?", "gt_answer": "no", "gt_answer_details": "It is blue."}
        rows.append(place | told | {"visual_input": visual})
    options = {"correctness": verdicts, "same": [same] * len(rows)}
    items = shown(run_of("hallusionbench", rows, ["No."] * len(rows), **options)).items
    assert items[-1].errors == [error] and why in facts(items[-1])["failure"][0]
    assert facts(items[0])["right answer"] == ["no: It is blue."]
    assert {item.group for item in items} == {f"{category}/ocr/3/q1"}


# HQH


def questions(count: int) -> list[dict[str, Any]]:
    """Questions of HQH about two images."""
    types = ("existence", "count", "OCR")
    return [
        {"id": n, "image_id": n % 2, "question": "What?", "answer": "two dogs", "type": types[n % 3]}
        for n in range(count)
    ]


JUDGEMENT = st.none() | st.fixed_dictionaries(
    {"correct": st.none() | st.booleans(), "extra_claims": st.none() | st.integers(0, 3)}
)


@fast
@given(ratings=st.lists(JUDGEMENT, min_size=1, max_size=12))
def test_hqh_from_the_items_back_to_the_scores(ratings: list[Any]) -> None:
    found = shown(run_of("hqh", questions(len(ratings)), ["A."] * len(ratings), {"ratings": ratings}))
    judged = [item for item in found.items if "unjudged" not in item.errors]
    assert found.scores["unjudged"] == about(with_error(found.items, "unjudged"))
    assert not any({"unjudged", "wrong answer"} <= {*item.errors} for item in found.items)
    assert found.scores["main_hal"] == about(with_error(judged, "wrong answer"))
    claims = {item.id: facts(item)["extra claims that contradict the image"][0] for item in found.items}
    searched = [item for item in found.items if claims[item.id] != "not looked for"]
    assert found.scores["extra_hal"] == about(share([int(claims[item.id]) for item in searched]))
    both = [item for item in judged if item in searched]
    assert found.scores["overall_hal"] == about(with_error(both, "wrong answer", "extra claims"))
    of_count = [item for item in judged if item.parts["type"] == "count"]
    assert of_count == [] or found.scores["main_hal/count"] == about(with_error(of_count, "wrong answer"))


CLAIMS = {
    # response, what the judge quotes, what is marked of it, and what of it is only told
    "as it stands": ("A dog, and a red car.", ["a red car"], ["a red car"], []),
    "twice in the response": ("a cat, a cat", ["a cat"], ["a cat"], []),
    "overlapping": ("a big red car", ["a big red", "red car"], ["a big red", "red car"], []),
    "a part left out": ("Fast: a car that is red drives fast.", ["A car ... fast"], ["a car", "fast"], []),
    "signs of a pattern": ("It says (a+b)* [c]", ["(a+b)* [c]"], ["a+b)* [c"], []),
    "another form of its letters": ("It is \ufb01ne", ["It is fine"], [], ["It is fine"]),
    "none": ("A dog.", [], [], []),
}


@pytest.mark.parametrize("case", CLAIMS)
def test_the_claims_that_a_judge_quotes_are_marked(case: str) -> None:
    text, evidence, marked, told = CLAIMS[case]
    reply = json.dumps({"verdict": "incorrect", "extra_claims": len(evidence), "evidence": evidence})
    run = run_of("hqh", questions(1), [text], judge=FakeJudge(lambda prompt, _: reply), progress=False)
    (item,) = shown(run).items
    assert [text[mark.start : mark.end] for mark in item.marks] == marked
    assert {mark.kind for mark in item.marks} <= {"bad"}
    assert facts(item).get("claims quoted in other words", []) == told
    assert len({mark.says for mark in item.marks}) + len(told) == len(evidence) == run.scores["extra_hal"]
    assert "".join(piece.text for piece in pieces(text, item.marks)) == text
    assert [piece.text for piece in pieces(text, item.marks) if piece.kind == "bad"] != [] or not marked
    assert item.errors == ["wrong answer", *(["extra claims"] if evidence else [])]
    assert item.badness == 1 + len(evidence)


# HaloQuest, GAVIE, MMHal-Bench, LLaVA-Bench

JUDGED = {
    # the oracle's rows; a verdict; what the page tells of a missing one; score -> from its items: (error, points)
    "haloquest": (inputs.haloquest, st.booleans(), {"accuracy": ("wrong", None)}),
    "mmhal": (
        inputs.mmhal,
        st.integers(0, 6),
        {"hallucination_rate": ("hallucination", None), "rating": ("", "rating")},
    ),
    "gavie": (
        inputs.gavie,
        st.fixed_dictionaries({"accuracy": st.integers(0, 10), "relevancy": st.sampled_from([0, 2.5, 10])}),
        {"accuracy": ("not fully accurate", "accuracy"), "relevancy": ("not fully relevant", "relevancy")},
    ),
}


@pytest.mark.parametrize("name", JUDGED)
@fast
@given(data=st.data())
def test_judged_from_the_items_back_to_the_scores(name: str, data: Any) -> None:
    """A score is the share of readable items with an error, or the mean of the points that they tell."""
    make, verdict, scores = JUDGED[name]
    rows = make()[:12]
    ratings = data.draw(st.lists(st.none() | verdict, min_size=12, max_size=12))
    found = shown(run_of(name, rows, ["A."] * 12, {"ratings": ratings}))
    read = [item for item in found.items if "unreadable" not in item.errors]
    assert found.scores["unreadable"] == about(with_error(found.items, "unreadable"))
    for score, (error, points) in scores.items():
        if points:
            told = [float(facts(item)[points][0].partition(" of ")[0]) for item in read]
            expected = share(told)
            if (
                score != "relevancy"
            ):  # by which GAVIE's items are ordered only where their accuracy is the same
                read.sort(key=lambda item: item.badness)
                ordered = [float(facts(item)[points][0].partition(" of ")[0]) for item in read]
                assert ordered == sorted(told, reverse=True)
            if error:
                assert with_error(read, error) == about(share([value < 10 for value in told]))
        else:
            expected = with_error(read, error)
            if score == "accuracy":
                expected = 1 - expected
        assert found.scores[score] == about(expected)
