"""Tests for the removal of thoughts, where texts that hold no sign of a mark are not searched."""

import pytest

from halluscope.responses.thoughts import TAGS, take_out

PAIRS = [
    *((f"<{tag}>", f"</{tag}>") for tag in TAGS),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<unused94>", "<unused95>"),
]


@pytest.mark.parametrize(("opening", "closing"), PAIRS)
def test_each_mark_is_found_beside_texts_without_marks(opening, closing):
    texts = ["Yes.", f"{opening}No?{closing}Yes.", f"No?{closing}Yes.", f"{opening}No? But", " No. "]
    assert take_out(texts, "removed") == (["Yes.", "Yes.", "Yes.", "", " No. "], 3)


def test_texts_without_marks_stay_as_they_are():
    texts = ["Yes.", " No. ", ""]
    assert take_out(texts, "removed") == (texts, 0)
