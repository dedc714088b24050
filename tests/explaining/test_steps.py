"""The parts of a difference sum to it, for any score."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from halluscope.explaining.explained import OTHER_ORDER, parts, path
from halluscope.explaining.protocols import ASPECTS

FIRST, SECOND = (dict.fromkeys(ASPECTS, name) for name in "ab")


def along(values, order=ASPECTS):
    """The score of each setting on the way, of the 32 settings between two."""
    return [
        values[sum((setting[aspect] == "b") << index for index, aspect in enumerate(ASPECTS))]
        for setting in path(FIRST, SECOND, order)
    ]


@given(st.lists(st.floats(0, 1), min_size=32, max_size=32), st.permutations(ASPECTS))
def test_the_parts_sum_to_the_difference(values, order):
    found = parts(along(values, order), order)
    assert [*found] == order
    assert math.isclose(math.fsum(found.values()), values[-1] - values[0], abs_tol=1e-12)


@given(st.lists(st.floats(-1, 1), min_size=5, max_size=5))
def test_where_each_change_adds_its_own_the_order_does_not_matter(adds):
    own = dict(zip(ASPECTS, adds, strict=True))

    def score(setting):
        return sum(own[aspect] for aspect in ASPECTS if setting[aspect] == "b")

    for order in (ASPECTS, OTHER_ORDER):
        found = parts(list(map(score, path(FIRST, SECOND, order))), order)
        assert all(math.isclose(found[aspect], own[aspect], abs_tol=1e-12) for aspect in ASPECTS)


def test_beside_an_undefined_score_the_parts_are_undefined():
    values = [0.5] * 32
    values[1] = math.nan  # after the first change
    found = parts(along(values))
    assert [math.isnan(found[aspect]) for aspect in ASPECTS] == [True, True, False, False, False]


def test_each_step_changes_one_thing():
    steps = path(FIRST, SECOND)
    assert [{one for one in ASPECTS if a[one] != b[one]} for a, b in pairwise(steps)] == [
        {aspect} for aspect in ASPECTS
    ]
    assert steps[0] == FIRST and steps[-1] == SECOND
