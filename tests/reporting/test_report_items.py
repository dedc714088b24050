"""Texts cut at their marks."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from halluscope.reporting.report_items import KINDS, Mark, pieces

TEXT = "abcdefghij"
PLACES = st.tuples(st.integers(0, len(TEXT)), st.integers(0, len(TEXT))).map(sorted)
MARKS = st.lists(
    st.builds(lambda at, *more: Mark(*at, *more), PLACES, st.sampled_from(KINDS), st.sampled_from("xyz"))
)


@given(MARKS.map(lambda marks: sorted(marks, key=lambda mark: mark.start)))
def test_each_character_has_the_marks_that_hold_it(marks):
    """Counted character by character."""
    found = pieces(TEXT, marks)
    assert "".join(piece.text for piece in found) == TEXT
    shown = [piece for piece in found for _ in piece.text]
    for place, piece in enumerate(shown):
        here = [mark for mark in marks if mark.start <= place < mark.end]
        assert piece.says == "; ".join(dict.fromkeys(mark.says for mark in here))
        assert piece.kind == next((kind for kind in KINDS if kind in {mark.kind for mark in here}), "plain")
    ends = {end for mark in marks for end in (mark.start, mark.end)}
    assert {len(piece.text) for piece in found} == {b - a for a, b in pairwise(sorted({0, len(TEXT), *ends}))}
