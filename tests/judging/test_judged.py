"""Verdicts as numbers: given ones, a model's, and missing ones."""

import json
import math

import numpy as np
import pytest

from halluscope.judging.verdicts import Criterion, from_given, read_given

RIGHT, RATING, SHARE = Criterion("right", bool), Criterion("rating", int, 6), Criterion("share", float, 10)


def test_what_is_given_and_what_it_stands_for():
    """Rows: both, one of two, none."""
    got = from_given(
        "verdicts", [{"right": True, "rating": 6}, {"right": None, "rating": 0}, None], (RIGHT, RATING), 3
    )
    assert np.array_equal(got.values["right"], [[1, np.nan, np.nan]], equal_nan=True)
    assert [got.of(row) for row in range(3)] == [
        {"right": True, "rating": 6},
        {"right": None, "rating": 0},
        {"right": None, "rating": None},
    ]
    assert (got.key, got.repeats, got.by_model, got.digest([1, 2, 3])) == ("given", 1, False, {})
    (one,) = got.each()
    assert one["rating"].tolist()[:2] == [6.0, 0.0]
    alone = from_given("ratings", np.array([3, 6]), (RATING,), 2)
    assert alone.values["rating"].tolist() == [[3.0, 6.0]]


@pytest.mark.parametrize(
    ("criterion", "bad"),
    [
        *((RIGHT, bad) for bad in (1, 0.0, "yes", [True])),
        *((RATING, bad) for bad in (7, -1, 3.0, True, "3", math.nan, 10**400)),
        *((SHARE, bad) for bad in (10.1, -0.1, True, "3", math.nan, math.inf)),
    ],
)
def test_a_value_of_another_kind_or_out_of_range(criterion, bad):
    with pytest.raises(ValueError, match=rf"verdicts\[1\]: {criterion.name} is .*expected .*, or null"):
        from_given("verdicts", [None, {criterion.name: bad}], (criterion,), 2)
    with pytest.raises(ValueError, match=r"verdicts\[0\] is .*expected 'right' and 'rating', or null"):
        from_given("verdicts", [{criterion.name: bad}], (RIGHT, RATING), 1)


def test_a_file_of_verdicts(tmp_path):
    """In the order of the ids, of the responses that are meant."""
    file = tmp_path / "verdicts.jsonl"
    rows = [{"id": 2, "rating": 1}, {"id": 1, "rating": 5, "responses": "mine"}]
    file.write_text("\n".join(map(json.dumps, [*rows, {"id": 1, "rating": 0, "responses": "other"}])))
    assert [row["rating"] for row in read_given(file, "mine", [1, 2], (RATING,))] == [5, 1]
    with pytest.raises(ValueError, match="line 2: the id 1 is not among the 1 questions"):
        read_given(file, "mine", [2], (RATING,))
    with pytest.raises(ValueError, match="no verdict on 1 of the 3 questions, such as id 3 of mine"):
        read_given(file, "mine", [1, 2, 3], (RATING,))
    file.write_text('{"rating": 1}')
    with pytest.raises(ValueError, match="expected an object with id, rating"):
        read_given(file, "mine", [1], (RATING,))


def test_the_verdicts_of_a_run(tmp_path):
    """Take the verdicts on these responses only; other fields of a row are left out."""
    with pytest.raises(
        ValueError, match=r"is a folder without run\.json; expected a file of verdicts, or the fol"
    ):
        read_given(tmp_path, "mine", [1], (RATING,))
    (tmp_path / "run.json").write_text('{"responses": "mine"}')
    (tmp_path / "items.jsonl").write_text('{"id": 1, "rating": null, "response": "A dog.", "inputs": {}}')
    assert read_given(tmp_path, "mine", [1], (RATING,)) == [{"rating": None}]
    with pytest.raises(ValueError, match="is a run of the responses 'mine'; expected a run of 'other'"):
        read_given(tmp_path, "other", [1], (RATING,))
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(ValueError, match="is a run of the responses None"):
        read_given(tmp_path, "mine", [1], (RATING,))
