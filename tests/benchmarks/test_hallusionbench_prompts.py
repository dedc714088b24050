"""HallusionBench's prompts: how strictly a language model's reply to them is read."""

import pytest

from halluscope.benchmarks.hallusionbench.prompts import read_correctness, read_same


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("correct", "correct"),
        ("“Incorrect”.", "incorrect"),
        ("**Unclear**\nThe answer stays open.", "unclear"),
        ("Incorrect. The bar is red.", "incorrect"),
        ("**Unclear**\nThe answer takes no side.", None),
        ("Correct. Wait, no: that is wrong.", None),
        ("Correct: not at all", None),
        ("Correct. Actually, it conflicts with the reference.", None),
        ("Correct. On second thought, it isn’t.", None),
        ("Correct, but only in part.", None),
        ("Correct. However, the bar is blue.", None),
        ("Incorrect. The bar is not red.", None),
        ("Output: correct", "correct"),
        ("Correct. The answer is not incorrect.", None),
        ("Not correct", None),
        ("Correct answer: no", None),
        ("correct or incorrect", None),
        ("", None),
    ],
)
def test_a_judges_reply_is_read_strictly(reply, verdict):
    assert read_correctness(reply) == verdict


def test_whether_two_answers_agree_is_read_strictly():
    assert [read_same(reply) for reply in ("Same.", "different", "not the same", "same, different")] == [
        "same",
        "different",
        None,
        None,
    ]
