"""HallusionBench's prompts, and how strictly a language model's replies are read."""

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halluscope.benchmarks.hallusionbench.asking import CODES, ask
from halluscope.benchmarks.hallusionbench.metric import compute
from halluscope.paths import PACKAGE
from tests.benchmarks.test_hallusionbench import row
from tests.fake_judge import FakeJudge

pytestmark = pytest.mark.filterwarnings("ignore")

CORRECT, INCORRECT, UNCLEAR = 1, 0, 2
UNREAD = -1

STRICTLY = [
    ("correct", CORRECT),
    ("“Incorrect”.", INCORRECT),
    ("**Unclear**\nThe answer stays open.", UNCLEAR),
    ("Output: correct", CORRECT),
    ('{"verdict": "correct"}', CORRECT),
    ("**Unclear**\nThe answer takes no side.", UNREAD),
    ("Correct. Wait, no: that is wrong.", UNREAD),
    ("Correct, but only in part.", UNREAD),
    ("Incorrect. The bar is not red.", UNREAD),
    ("Not correct", UNREAD),
    ("", UNREAD),
]

OFFICIALLY = [
    ("The prediction answer is correct.", CORRECT),
    ("It is not Correct", CORRECT),
    ("Unclear", UNCLEAR),
    ("", UNCLEAR),
]


@pytest.mark.parametrize(
    ("replies", "options"),
    [(STRICTLY, {}), (STRICTLY, {"prompts": "authors"}), (OFFICIALLY, {"reading": "official"})],
)
def test_how_replies_are_read(replies, options):
    """A judge's reply about each question of an image, by the number in its question."""
    asked = [row("VD", "map", 0, 0, number, 1, 1) for number in range(len(replies))]
    judge = FakeJudge(lambda prompt, _: replies[int(re.search(r"[Tt]hing (\d+)", prompt)[1])][0])
    got = compute(
        ["A bar."] * len(asked), asked, judge=judge, max_failed=1, per_question=True, progress=False,
        protocol="lmms-eval", **options,
    )  # fmt: skip
    for question, (reply, code) in zip(got["per_question"], replies, strict=True):
        read = UNREAD if question["unread"] else question["correctness"]
        assert read == code, reply


@given(st.text(), st.sampled_from([*CODES["correctness"]]), st.text(), st.data())
def test_no_part_of_a_response_is_a_verdict(before, word, after, data):
    response = before + word + after
    start = data.draw(st.integers(0, len(response)))
    end = data.draw(st.integers(start, len(response)))
    asked = ask("correctness", {"question": "Is it red?", "reference": "It is red.", "answer": response})
    assert asked.read(response) is asked.read(response[start:end]) is None
    prompted = re.findall(r"generate [“\"]([\w-]+)[”\"]", asked.prompt)  # what an honest judge says
    assert [asked.read(verdict) for verdict in prompted] == [*CODES["correctness"]]


DIGESTS = {"correctness": "21bb81e2", "same": "0bb4f15c"}


def test_the_authors_prompts_are_sent_as_they_are():
    """Texts stand in them as they are, and no schema is asked for."""
    fields = {"question": 'Is "it" red?', "reference": "{answer}", "answer": "It is\nred.", "control": "No."}
    for kind, digest in DIGESTS.items():
        template = (PACKAGE / f"benchmarks/hallusionbench/prompts/authors_{kind}.txt").read_text("utf-8")
        assert hashlib.sha256(template.encode()).hexdigest().startswith(digest)
        asked = ask(kind, fields, "authors")
        assert asked.schema is None
        assert asked.prompt == re.sub(r"\{(\w+)\}", lambda place: fields[place[1]], template)
