"""Views of benchmarks that ask questions: for each one, the scores are recomputed from the items."""

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halluscope import registry
from halluscope.benchmarks.pope.rows import ObjectQuestion
from halluscope.reporting.report_items import Item, pieces
from halluscope.responses.matching import Matched
from halluscope.runs import folder as folders
from halluscope.runs import run as runs
from halluscope.runs.page import shown
from halluscope.runs.run import Run
from halluscope.runs.verifying import differences
from halluscope.scoring import Ready
from tests.fake_judge import FakeJudge
from tests.oracle import inputs
from tests.runs.made import made

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* questions are scored"),
    pytest.mark.filterwarnings("ignore:.* prompts have no readable verdict"),
    pytest.mark.filterwarnings("ignore:.* extra claims that the judge quotes"),
]


def run_of(name: str, rows: Sequence[Any], texts: Sequence[str], inputs: Any = None, **options: Any) -> Run:
    """Responses to rows of a benchmark, scored; `inputs` are options that its room takes."""
    benchmark = registry.benchmark(name)
    room = benchmark.module("rows")
    questions = room.read_all(rows)
    matched = Matched("mine", questions, list(texts), by="id", of=len(questions))
    return runs.score(benchmark, Ready(matched, room.inputs(questions, **(inputs or {}))), options)


def facts(item: Item) -> dict[str, list[str]]:
    return {fact.name: [text for text, _ in fact.values] for fact in item.facts}


# From the items back to the scores

YES_NO = st.sampled_from(["Yes.", "No, there is none.", "I cannot tell.", "", "<think>No.</think> Yes."])
CLAIMS_OR_NONE = st.none() | st.integers(0, 3)
RATINGS = {
    "haloquest": st.none() | st.booleans(),
    "mmhal": st.none() | st.integers(0, 6),
    "gavie": st.none()
    | st.fixed_dictionaries({"accuracy": st.integers(0, 10), "relevancy": st.sampled_from([0, 2.5, 10])}),
    "hqh": st.none() | st.fixed_dictionaries({"correct": st.booleans(), "extra_claims": CLAIMS_OR_NONE}),
}
"""Verdicts that a user gives."""

BY_ERRORS = [
    # benchmark, a score, and the errors of the items that are counted as bad: one less the score, or the score
    ("pope", "accuracy", {"wrong yes", "wrong no", "unreadable"}),
    ("pope", "unparsed", {"unreadable"}),
    ("dash_b", "accuracy", {"wrong", "unreadable"}),
    ("hallusionbench", "aAcc", {"language hallucination", "visual illusion", "mixed"}),
    ("haloquest", "accuracy", {"wrong"}),
    ("mmhal", "hallucination_rate", {"hallucination"}),
    ("hqh", "main_hal", {"wrong answer"}),
    ("hqh", "unjudged", {"unjudged"}),
]
BY_POINTS = [("mmhal", "rating"), ("gavie", "accuracy"), ("gavie", "relevancy")]
UNREAD = {"hqh": "unjudged", "haloquest": "unreadable", "mmhal": "unreadable", "gavie": "unreadable"}


def drawn_run(name: str, data: Any) -> Run:
    """A run on twelve of the oracle's rows, with drawn responses or verdicts."""
    rows = getattr(inputs, name)()[:12]
    if name in RATINGS:
        ratings = data.draw(st.lists(RATINGS[name], min_size=12, max_size=12))
        return run_of(name, rows, ["A."] * 12, {"ratings": ratings})
    texts = data.draw(st.lists(YES_NO, min_size=12, max_size=12))
    options = {} if name == "hallusionbench" else {"parser": "strict"}
    return run_of(name, rows, texts, **options)


def readable(name: str, items: Sequence[Item]) -> list[Item]:
    return [item for item in items if UNREAD.get(name, "") not in item.errors]


few = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize(("name", "score", "errors"), BY_ERRORS)
@few
@given(data=st.data())
def test_a_rate_is_the_share_of_items_with_an_error(
    name: str, score: str, errors: set[str], data: Any
) -> None:
    page = shown(drawn_run(name, data))
    items = page.items if score in ("unparsed", "unjudged") else readable(name, page.items)
    bad = [bool(errors & {*item.errors}) for item in items]
    rate = sum(bad) / len(bad) if bad else math.nan
    if registry.benchmark(name).scores[score].better == "higher":
        rate = 1 - rate
    assert page.scores[score] == pytest.approx(rate, nan_ok=True)


@pytest.mark.parametrize(("name", "score"), BY_POINTS)
@few
@given(data=st.data())
def test_a_rating_is_the_mean_of_the_points_that_items_tell(name: str, score: str, data: Any) -> None:
    page = shown(drawn_run(name, data))
    points = [float(facts(item)[score][0].partition(" of ")[0]) for item in readable(name, page.items)]
    mean = sum(points) / len(points) if points else math.nan
    assert page.scores[score] == pytest.approx(mean, nan_ok=True)


# Judges

REPLIES = {
    "hqh": {"verdict": "correct", "extra_claims": 0, "evidence": []},
    "haloquest": {"point": "A.", "verdict": "correct"},
    "gavie": {"reason": "A.", "relevancy": 9, "accuracy": 7},
    "mmhal": {"analysis": "A.", "rating": 4},
}
OTHERS = {"verdict": "incorrect", "accuracy": 6, "rating": 2}


@pytest.mark.parametrize("name", REPLIES)
def test_judges_that_change_their_mind_are_seen(name: str, tmp_path: Any) -> None:
    """The second repeat judges one response differently, and cannot read another."""
    reply = REPLIES[name]
    other = json.dumps(reply | {part: value for part, value in OTHERS.items() if part in reply})
    numbers: dict[str, int] = {}

    def verdict(prompt: str, times: int) -> str:
        number = numbers.setdefault(prompt, len(numbers))
        if times == 1 or number > 1:
            return json.dumps(reply)
        return "nonsense" if number else other

    judge = FakeJudge(verdict)
    run = made(registry.benchmark(name), tmp_path, judge=judge, repeats=2, max_failed=1.0, thoughts="kept")
    assert [item.disputed for item in shown(run).items][:3] == [True, False, False]
    assert all(len(values) == 2 for row in run.found for values in row["repeats"].values())
    folders.write([run], tmp_path / "run")
    assert list(differences(tmp_path / "run")) == []


@pytest.mark.parametrize("name", REPLIES)
def test_what_judges_write_cannot_steer(name: str, tmp_path: Any, monkeypatch: Any) -> None:
    """Reasons, points and quotes hold control characters, and an access key that a server repeats."""
    monkeypatch.setenv("SOME_API_KEY", "sk-secret-0123456789")
    bad = "Dog \x1b[31m \u202e sk-secret-0123456789\n</script>"
    reply = {part: bad if value == "A." else value for part, value in REPLIES[name].items()}
    if name == "hqh":
        reply |= {"extra_claims": 1, "evidence": [f"\ufb01ne {bad}"]}
    judge = FakeJudge(lambda prompt, _: json.dumps(reply))
    texts = [f"A fine {bad}!"]  # and so the quote, whose first letters are one, is counted, but not marked
    page = shown(made(registry.benchmark(name), tmp_path, texts, judge=judge, max_failed=1.0))
    texts_of_facts = [text for item in page.items for fact in item.facts for text, _ in fact.values]
    assert any("Dog \\x1b" in text for text in texts_of_facts)
    assert not any({*text} & {*"\x1b\u202e\n"} or "secret" in text for text in texts_of_facts)


# By hand


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
    judge = FakeJudge(lambda prompt, _: reply)
    run = run_of("hqh", inputs.hqh()[:1], [text], judge=judge, progress=False)
    (item,) = shown(run).items
    assert [text[mark.start : mark.end] for mark in item.marks] == marked
    assert {mark.kind for mark in item.marks} <= {"bad"}
    assert facts(item).get("claims quoted in other words", []) == told
    assert len({mark.says for mark in item.marks}) + len(told) == len(evidence) == run.scores["extra_hal"]
    assert "".join(piece.text for piece in pieces(text, item.marks)) == text
    assert [piece.text for piece in pieces(text, item.marks) if piece.kind == "bad"] != [] or not marked
    assert item.errors == ["wrong answer", *(["extra claims"] if evidence else [])]
    assert item.badness == 1 + len(evidence)
