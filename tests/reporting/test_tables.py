"""Printed tables: no wider than a terminal, and nothing lost."""

from hypothesis import given
from hypothesis import strategies as st

from halluscope.reporting.formats import WIDEST, aligned

NUMBERS = st.lists(st.lists(st.integers(0, 99).map(str), min_size=12, max_size=12), min_size=1, max_size=3)


@given(NUMBERS, st.integers(1, 2))
def test_a_wide_table_comes_in_parts(rows, left):
    """Each part repeats the left columns; the other columns appear once, in order."""
    header = [f"column {number}" for number in range(12)]
    parts = aligned(rows, header, left).split("\n\n")
    assert len(parts) > 1 and all(len(line) <= WIDEST for part in parts for line in part.splitlines())
    cells = [[line.split() for line in part.splitlines()[2:]] for part in parts]
    whole = [
        row[0][:left] + [cell for part in row for cell in part[left:]] for row in zip(*cells, strict=True)
    ]
    assert whole == rows


def test_names_that_leave_no_room_leave_the_table_whole():
    shown = aligned([["x" * 61, *"123"]], ["responses", "first score", "second score", "third score"])
    assert len(shown.splitlines()) == 3
