"""An item in a terminal: its marks can be recovered from the text, and colours do not change the text."""

import os
import re
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halluscope import terminal
from halluscope.reporting.marked_text import marked
from halluscope.reporting.report_items import KINDS, Fact, Item, Mark, pieces
from halluscope.sanitize import printable

ITEM = Item(
    "1",
    "A red dog sees some cats, but no car.\nA [bus]?",
    marks=[
        Mark(6, 9, "good", "dog: found"),
        Mark(20, 24, "bad", "cat: hallucinated"),
        Mark(33, 36, "back", "car: not counted (negated)"),
        Mark(41, 44, "open", "bus: mentioned, but the judges do not agree"),
    ],
    facts=[Fact("missed", [("tree", "plain"), ("bench", "plain")])],
)

PLAIN = r"""  A red [dog] sees some [cats (cat: hallucinated)], but no ~car~.
  A \[[bus: mentioned, but the judges do not agree]\]?
  missed: tree, bench"""


def text(item, **options):
    return "".join(part for part, _ in marked(item, **options))


def read_back(said):
    """The marks of a text as `marked` gives it, letter by letter: (what surrounds it, its words)."""
    found, inside, letters = [], "", iter(said)
    for letter in letters:
        if letter == "\\":
            words = next(letters)
        elif letter in "[~" and not inside:
            inside, words = letter, ""
            found.append([letter, ""])
        elif inside and letter == {"[": "]", "~": "~"}[inside]:
            inside, words = "", ""
        else:
            words = letter
        if inside:
            found[-1][1] += words
    return [(kind, " ".join(words.split())) for kind, words in found]


def test_a_worked_example():
    assert text(ITEM) == PLAIN
    assert text(Item("1", "")) == text(Item("1", " \n ")) == "  (empty)"


@st.composite
def items(draw):
    """Texts of characters that have a meaning in marked text or in a terminal, with marks that do not overlap."""
    words = "a" + draw(st.text(st.sampled_from("ab [](): ~\\\n\x01\x02\x05\x1b\u2028"), max_size=40))
    ends = sorted(draw(st.sets(st.integers(0, len(words)), max_size=6)))
    kinds = st.sampled_from(["good", "bad", "open", "back", "plain"])
    pairs = zip(ends[::2], ends[1::2], strict=False)
    return Item("1", words, marks=[Mark(*two, draw(kinds), "told") for two in pairs])


@given(items(), st.integers(12, 40))
def test_marks_are_read_back(item, width):
    narrow = text(item, width=width)
    assert printable(narrow) == narrow and all(len(line) <= width for line in narrow.split("\n"))
    expected = []
    for mark in item.marks:
        words = printable(item.text[mark.start : mark.end]) + " (told)" * (mark.kind in ("bad", "open"))
        if mark.kind != "plain":
            expected.append(("~" if mark.kind == "back" else "[", " ".join(words.split())))
    assert read_back(text(item, width=10_000)) == expected


@pytest.fixture
def on_a_terminal(monkeypatch):
    """Return what is printed on a separate terminal."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    ours, its = os.openpty()

    def said(parts):
        with monkeypatch.context() as patch, open(its, "w", encoding="utf-8", closefd=False) as screen:
            patch.setattr(sys, "stdout", screen)
            terminal.say_coloured(parts)
            screen.write("END")
        found = b""
        while not found.endswith(b"END"):
            found += os.read(ours, 10_000)
        return found.decode().removesuffix("END").replace("\r\n", "\n")

    yield said
    os.close(ours)
    os.close(its)


def test_colours_only_colour(on_a_terminal, monkeypatch):
    said = on_a_terminal(marked(ITEM))
    assert "\x1b[1;31m[cats (cat: hallucinated)]\x1b[m" in said and "\x1b[2m~car~\x1b[m" in said
    assert re.sub(r"\x1b\[[\d;]*m", "", said) == PLAIN + "\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert on_a_terminal(marked(ITEM)) == PLAIN + "\n"


def test_a_key_is_no_less_black_for_a_mark_in_it(on_a_terminal, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-dog-0123456789")
    words = "My dog has sk-dog-0123456789."
    said = on_a_terminal(marked(Item("1", words, marks=[Mark(14, 17, "bad", "dog: hallucinated")])))
    assert "0123456789" not in said and "access key" in said


# Texts cut at their marks

LETTERS = "abcdefghij"
PLACES = st.tuples(st.integers(0, len(LETTERS)), st.integers(0, len(LETTERS))).map(sorted)
MARKS = st.lists(
    st.builds(lambda at, *more: Mark(*at, *more), PLACES, st.sampled_from(KINDS), st.sampled_from("xyz"))
)


@given(MARKS.map(lambda marks: sorted(marks, key=lambda mark: mark.start)))
def test_each_character_has_the_marks_that_hold_it(marks):
    """Counted character by character."""
    found = pieces(LETTERS, marks)
    assert "".join(piece.text for piece in found) == LETTERS
    shown = [piece for piece in found for _ in piece.text]
    for place, piece in enumerate(shown):
        here = [mark for mark in marks if mark.start <= place < mark.end]
        assert piece.says == "; ".join(dict.fromkeys(mark.says for mark in here))
        assert piece.kind == next((kind for kind in KINDS if kind in {mark.kind for mark in here}), "plain")
    ends = {end for mark in marks for end in (mark.start, mark.end)}
    assert {len(piece.text) for piece in found} == {
        b - a for a, b in pairwise(sorted({0, len(LETTERS), *ends}))
    }
